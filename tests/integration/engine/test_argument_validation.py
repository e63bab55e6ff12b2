"""Invalid arguments of a host are rejected by name, before anything is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory import NewFact, open_memory
from gaia_memory.adk.gaia import Gaia
from gaia_memory.errors import ConfigError, InvalidInputError
from gaia_memory.memory import Memory
from gaia_memory.models import Scope
from gaia_memory.testing import ScriptedLlm
from support.conversations import Conversations, open_conversations

ITAY = Scope("gaia", "itay")


@pytest.fixture
async def talks(tmp_path: Path) -> AsyncIterator[Conversations]:
    """Memory that admits every sender."""
    async with open_conversations(tmp_path, ScriptedLlm(default="ok"), {"people": {"unknown": "allow"}}) as opened:
        yield opened


CALLS: list[tuple[Callable[[Memory, Any], Awaitable[Any]], Any, str]] = [
    (lambda memory, given: memory.add(ITAY, given), ["text"], "facts[0] is 'text': pass a NewFact"),
    (lambda memory, given: memory.add(ITAY, given), "text", "facts is 'text': pass a list of NewFact"),
    (lambda memory, given: memory.add(ITAY, given), None, "facts is None"),
    (lambda memory, given: memory.add(given, [NewFact("x")]), "itay", "scope is 'itay': pass a Scope"),
    (lambda memory, given: memory.remember(given, "x"), None, "scope is None: pass a Scope"),
    (lambda memory, given: memory.remember(ITAY, given), None, "text is None: pass a sentence"),
    (lambda memory, given: memory.remember(ITAY, given), "\u200b\x00", "text is '\\u200b\\x00'"),
    (lambda memory, given: memory.recall(given, "x"), None, "scope is None"),
    (lambda memory, given: memory.recall(ITAY, given), None, "query is None: pass what to look for"),
    (lambda memory, given: memory.recall(ITAY, "x", limit=given), 1.5, "limit is 1.5: pass 1 to 1000"),
    (lambda memory, given: memory.recall(ITAY, "x", limit=given), "5", "limit is '5'"),
    (lambda memory, given: memory.recall(ITAY, "x", limit=given), True, "limit is True"),
    (lambda memory, given: memory.recall(ITAY, "x", limit=given), 0, "limit is 0"),
    (lambda memory, given: memory.recall(ITAY, "x", limit=given), 1001, "limit is 1001: pass 1 to 1000"),
    (lambda memory, given: memory.resolve_contact(ITAY, given), None, "who is None: pass a relation or a name"),
    (lambda memory, given: memory.facts(given), "itay", "scope is 'itay'"),
    (lambda memory, given: memory.count(given), "itay", "scope is 'itay'"),
    (lambda memory, given: memory.forget(given), "itay", "scope is 'itay'"),
    (lambda memory, given: memory.profile(given), "itay", "scope is 'itay'"),
    (lambda memory, given: memory.export(given), "itay", "scope is 'itay'"),
    (lambda memory, given: memory.import_(given, {}), "itay", "scope is 'itay'"),
    (lambda memory, given: memory.status(given), "itay", "scope is 'itay'"),
]


async def test_every_method_of_memory_names_the_invalid_argument(talks: Conversations) -> None:
    """With its value and what to pass instead."""
    for call, given, words in CALLS:
        with pytest.raises(InvalidInputError) as caught:
            await call(talks.gaia.memory, given)
        assert words in str(caught.value)

    assert await talks.gaia.memory.scopes() == []


@pytest.mark.parametrize("nobody", [None, "", True, 1.5])
async def test_an_empty_user_or_channel_is_rejected(talks: Conversations, nobody: Any) -> None:
    """All callers without an id would share one memory, or break every later sweep."""
    gaia, agent = talks.gaia, talks.agent
    with pytest.raises(InvalidInputError, match=r"user_id is .*: pass the id of the user"):
        gaia.scope(user_id=nobody)
    with pytest.raises(InvalidInputError, match=r"user_id is .*: pass the id of the user"):
        gaia.conversation(agent, user_id=nobody, channel="cli")
    with pytest.raises(InvalidInputError, match=r"channel is .*: pass the name of the channel"):
        gaia.conversation(agent, user_id="itay", channel=nobody)
    with pytest.raises(InvalidInputError, match=r"sender_id is .*: pass the id that the channel uses"):
        await gaia.inbound("cli", nobody, "hi", agent=agent)
    with pytest.raises(InvalidInputError, match=r"channel is .*: pass the name of the channel"):
        await gaia.inbound(nobody, "7", "hi", agent=agent)


async def test_a_number_is_the_same_user_as_its_digits(talks: Conversations) -> None:
    """Telegram sends numbers."""
    talk = talks.gaia.conversation(talks.agent, user_id=7, channel="cli")  # type: ignore[arg-type]

    assert talk.key.session == "7:cli"
    assert talks.gaia.scope(7) == Scope("gaia", "7")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["\ud800", "it\x00ay"])
async def test_an_id_that_no_session_database_can_store_is_rejected(talks: Conversations, name: str) -> None:
    """Otherwise each message would be answered with an error, and none of them learned."""
    gaia, agent = talks.gaia, talks.agent
    with pytest.raises(InvalidInputError, match="without NUL and lone surrogates"):
        gaia.conversation(agent, user_id=name, channel="cli")
    with pytest.raises(InvalidInputError, match="without NUL and lone surrogates"):
        gaia.conversation(agent, user_id="itay", channel=name)
    with pytest.raises(InvalidInputError, match="without NUL and lone surrogates"):
        await gaia.inbound("cli", name, "hi", agent=agent)

    assert gaia.scope(name).user == name


@pytest.mark.parametrize("arguments", [{"source": 5}, {"source": {}, "home": 5}, {"source": {}, "model": 5}])
async def test_open_memory_names_the_invalid_argument(tmp_path: Path, arguments: dict[str, Any]) -> None:
    """The error is about the arguments, not about a file."""

    async def opened() -> Gaia:
        async with open_memory(**{"home": tmp_path, **arguments}) as gaia:
            return gaia

    with pytest.raises(ConfigError, match=r"is 5: pass a|: 5 is not allowed; give"):
        await opened()


@pytest.mark.parametrize("attribute", ["memory", "conversation", "plugins", "sweep"])
def test_open_memory_without_a_block_says_how_to_open_it(tmp_path: Path, attribute: str) -> None:
    """The attributes are those of what `async with` gives."""
    with pytest.raises(AttributeError, match=rf"write `async with open_memory\(…\) as gaia:`, then `gaia.{attribute}`"):
        getattr(open_memory({}, home=tmp_path), attribute)


@pytest.mark.parametrize("agent", ["assistant", None, LlmAgent, {}])
async def test_something_else_than_an_agent_is_rejected(talks: Conversations, agent: Any) -> None:
    """The message shows it, and what to pass."""
    with pytest.raises(InvalidInputError, match=r"^root_agent is .*: pass an agent, such as LlmAgent"):
        talks.gaia.conversation(agent, user_id="itay", channel="cli")
