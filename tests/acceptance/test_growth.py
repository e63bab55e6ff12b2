"""Growth: what is counted of turns, what a model is asked about it, and what is kept of its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import yaml
from google.adk.agents.llm_agent import LlmAgent

from gaia_memory.cli.grow import grow
from gaia_memory.errors import InvalidInputError, ModelUnavailableError
from gaia_memory.facts.outbox import Outbox
from gaia_memory.growth.digest import UsageDigest
from gaia_memory.ledger.usage_log import load_usage, usage_parameters
from gaia_memory.models import Scope, SessionKey, TurnUsage
from gaia_memory.testing import ScriptedLlm, call
from support.cli.cli_runner import CommandResult, run_gaia
from support.harness import INSTRUCTION, Sut
from support.servers.memory_server import http_client

OpenSut = Callable[..., Awaitable[Sut]]

SAID = "zebrawood quokka marmalade"
TEXT = "Ada plans her trips early in the morning"


def find_trains(to: str) -> dict[str, str]:
    """Find trains."""
    return {"train": f"to {to}, {SAID}"}


def book(seat: str) -> dict[str, str]:
    """Book a seat."""
    raise TimeoutError(seat)


def traveller(model: ScriptedLlm) -> LlmAgent:
    return LlmAgent(name="assistant", model=model, instruction=INSTRUCTION, tools=[find_trains, book])


async def talk(sut: Sut, user: str = "ada", turns: int = 10) -> None:
    """Have turns in each of which a tool is called twice."""
    for _ in range(turns):
        sut.main.add(call("find_trains", to=SAID), call("find_trains", to=SAID), f"{SAID}.")
        await sut.chat(user, "telegram", f"Trains, please: {SAID}")


def proposal(user: str = "ada", text: str = TEXT, key: str | None = "user/planning") -> dict[str, Any]:
    return {"user": user, "text": text, "key": key, "because": "10 turns"}


def propose(sut: Sut, *proposals: dict[str, Any]) -> None:
    sut.script.answers["extractor"].append(json.dumps({"proposals": list(proposals)}))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[CommandResult]]:
    """Return a function that runs a command on the home of a system."""

    async def run(sut: Sut, *arguments: str, stdin: str = "") -> CommandResult:
        monkeypatch.setenv("GAIA_HOME", str(sut.home))
        command = (*arguments, "--config", str(sut.config_path))
        return await asyncio.to_thread(run_gaia, *command, stdin=stdin)

    return run


Run = Callable[..., Awaitable[CommandResult]]


@pytest.mark.acceptance("R08", "K01")
async def test_a_dry_run_prints_proposals_with_their_figures_and_keeps_nothing(opened: OpenSut, run: Run) -> None:
    """Without a terminal and without --yes a run is a dry one, too."""
    sut = await opened(agent=traveller)
    await talk(sut)
    outputs = []
    for options in (["--dry-run"], []):
        propose(sut, proposal())
        outputs.append(await run(sut, "grow", "run", *options))

    assert [each.code for each in outputs] == [0, 0]
    assert all(TEXT in each.out and "10 turns on 1 of 7 days" in each.out for each in outputs)
    assert await sut.gaia.memory.facts(sut.scope("ada")) == []


@pytest.mark.acceptance("R09", "K02")
async def test_only_what_is_agreed_to_is_kept_word_for_word_with_its_figures(
    opened: OpenSut, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is unconfirmed, and `gaia memory why` shows what it rests on; what is known is not proposed again."""
    monkeypatch.setattr(grow, "is_interactive", lambda: True)
    sut = await opened(agent=traveller)
    await talk(sut)
    propose(sut, proposal(text="Ada likes trains", key=None), proposal())
    await run(sut, "grow", "run", "-i", stdin="n\ny\n")
    [fact] = await sut.gaia.memory.facts(sut.scope("ada"))
    why = await run(sut, "memory", "why", "--user", "ada", fact.id)
    propose(sut, proposal(), proposal(text="Ada plans late"), proposal(text="Ada likes trains", key=None))
    again = await run(sut, "grow", "run", "--yes", "--json")

    assert (fact.text, fact.source, fact.key, fact.is_unconfirmed) == (TEXT, "grow", "user/planning", True)
    assert "10 turns on 1 of 7 days" in why.out
    [person] = again.json_output["people"]
    assert [each["text"] for each in person["proposals"]] == ["Ada likes trains"]
    assert person["left_out"] == 2


@pytest.mark.acceptance("R10", "K03")
async def test_a_proposal_about_somebody_else_is_reported_and_kept_for_nobody(opened: OpenSut, run: Run) -> None:
    """Not even if that person is known: the model saw nothing of theirs."""
    sut = await opened(agent=traveller)
    await talk(sut)
    await sut.chat("bob", "telegram", "hello")
    propose(sut, proposal("bob"), proposal("nobody"))
    result = await run(sut, "grow", "run", "--yes")

    assert result.code == 1
    assert "'bob'" in result.err
    assert "'nobody'" in result.err
    assert [await sut.gaia.memory.facts(sut.scope(user)) for user in ("ada", "bob", "nobody")] == [[], [], []]


async def test_what_may_not_be_kept_is_left_out_and_costs_no_other_proposal(opened: OpenSut, run: Run) -> None:
    """A credential alone, what was forgotten, what is too long; of a text with a credential, the rest is shown."""
    sut = await opened(agent=traveller)
    scope = sut.scope("ada")
    await talk(sut)
    await sut.gaia.memory.forget(scope, fact_id=(await sut.gaia.memory.remember(scope, "Ada sleeps late")).id)
    texts = ("sk-abcdefghijklmnopqrstuvwxyz123456", "Ada sleeps late", "a" * 301, "Ada's password is hunter2Xy", TEXT)
    propose(sut, *(proposal(text=text, key=None) for text in texts))
    result = await run(sut, "grow", "run", "--yes")
    kept = [fact.text for fact in await sut.gaia.memory.facts(scope)]

    assert result.code == 0
    assert kept[-1] == TEXT
    assert len(kept) == 2
    assert "3 left out" in result.out
    assert "hunter2Xy" not in result.out + str(kept)


@pytest.mark.parametrize("what", [{}, {"session_id": "ada:telegram"}])
async def test_what_is_forgotten_after_the_question_gives_no_fact(opened: OpenSut, what: dict[str, str]) -> None:
    """The counts of a person or of a conversation are erased, and a fact from them would bring these back."""
    sut = await opened(agent=traveller)
    scope, memory = sut.scope("ada"), sut.gaia.memory
    await memory.remember(scope, "likes tea")
    await talk(sut)
    propose(sut, proposal())
    found = await memory.proposals(scope)
    await memory.forget(scope, **what)

    with pytest.raises(InvalidInputError, match="was forgotten after"):
        await memory.keep_proposal(scope, found.proposals[0], counted=found.counted)
    assert "grow" not in [fact.source for fact in await memory.facts(scope)]


@pytest.mark.acceptance("R11", "K04")
async def test_the_question_holds_no_word_that_anybody_said(opened: OpenSut, run: Run) -> None:
    """Neither the person's, nor the agent's, nor an argument or an answer of a tool, nor of an error."""
    sut = await opened(agent=traveller)
    await talk(sut)
    sut.main.add(call("book", seat=SAID), call(SAID.replace(" ", "_")), "ok")
    await sut.chat("ada", "telegram", SAID)
    propose(sut)
    await run(sut, "grow", "run")
    [question] = sut.EXT
    exported = await sut.gaia.memory.export(sut.scope("ada"))

    assert '"find_trains": 20' in question
    assert not any(word in question + json.dumps(exported["usage"]) for word in SAID.split())


@pytest.mark.acceptance("K05")
@pytest.mark.parametrize("answer", [ModelUnavailableError("503"), "I think so", '{"proposals": [{"text": "tea"}]}'])
async def test_a_model_that_fails_keeps_nothing_and_the_command_says_so(
    opened: OpenSut, run: Run, answer: str | Exception
) -> None:
    """The counts are shown nevertheless."""
    sut = await opened(agent=traveller)
    await talk(sut)
    sut.script.answers["extractor"].append(answer)
    result = await run(sut, "grow", "run", "--yes")

    assert result.code == 1
    assert "nothing was kept" in result.err
    assert "find_trains 20" in result.out
    assert await sut.gaia.memory.facts(sut.scope("ada")) == []


@pytest.mark.acceptance("K06")
async def test_forgetting_what_growth_kept_takes_back_exactly_that(opened: OpenSut, run: Run) -> None:
    """The question says how many, past ones included; what the person confirmed and other people's facts stay."""
    sut = await opened(agent=traveller)
    memory = sut.gaia.memory
    for user in ("ada", "bob"):
        await memory.remember(sut.scope(user), f"{user} likes tea")
        await talk(sut, user)
        propose(sut, proposal(user, f"{user} plans early"), *(proposal(user, text, None) for text in ("a b", "c d")))
    await run(sut, "grow", "run", "--yes")
    sut.clock.advance(3_600)
    await memory.remember(sut.scope("ada"), "ada plans at night", key="user/planning")
    await memory.remember(sut.scope("ada"), "a b")
    where = ("memory", "forget", "--user", "ada", "--where", "source=grow")
    asked = await run(sut, *where, stdin="n\n")
    before = len(await memory.facts(sut.scope("ada")))
    forgotten = await run(sut, *where, "--yes")

    assert "Forget 1 fact and 1 past one about ada" in asked.err
    assert "Forgot 1 fact and 1 past one about ada" in forgotten.out
    assert before == 4
    assert [fact.text for fact in await memory.facts(sut.scope("ada"))] == [
        "ada likes tea",
        "a b",
        "ada plans at night",
    ]
    assert (await memory.export(sut.scope("ada")))["history"] == []
    assert len(await memory.facts(sut.scope("bob"))) == 4


async def test_turns_are_counted_by_name_outcome_and_channel(opened: OpenSut) -> None:
    """Commands count, and whether memory's own tools found something; a turn that fails counts its error."""
    sut = await opened(agent=traveller)
    await talk(sut, turns=2)
    sut.main.add(call("load_memory", query="trains"), "ok", call("book", seat="12"))
    await sut.chat("ada", "telegram", "what do you know?")
    await sut.chat("ada", "telegram", "book it")
    await sut.chat("ada", "telegram", "/memory")
    digest = await sut.gaia.memory.usage(sut.scope("ada"))

    assert (digest.turns, digest.active_days, digest.channels) == (4, 1, {"telegram": 4})
    assert digest.tools == {"find_trains": 4, "book": 1, "load_memory": 1}
    assert digest.sequences == {"find_trains > find_trains": 3, "find_trains > find_trains > find_trains": 2}
    assert (digest.commands, digest.searches) == ({"memory": 1}, {"nothing": 1})
    assert digest.errors == {"book": {"TimeoutError": 1}}
    assert sum(digest.turns_by_hour.values()) == 4


def test_a_turn_of_many_calls_takes_two_kilobytes_at_most() -> None:
    """Whatever the names are; those calls count that fit."""
    scope, key = Scope("gaia", "ada"), SessionKey("gaia", "ada", "ada:telegram")
    calls = (("ü" * 100, "ok"),) * 5_000
    stored = usage_parameters(TurnUsage(scope=scope, key=key, began_at=0, channel="ü" * 100, tools=calls), now=1)

    assert 1_000 < len(json.dumps(stored["used_used"])) <= 2_000


@pytest.mark.parametrize("kind", ["private", "off", "none kept"])
async def test_what_is_not_to_be_counted_is_not_stored(opened: OpenSut, kind: str) -> None:
    """Private turns and commands, turns while memory is off, and any turn with `memory.usage_days: 0`."""
    sut = await opened(agent=traveller)
    settings = yaml.safe_load(sut.config_path.read_text())
    settings["memory"] |= {"private": {}, "off": {"enabled": False}, "none kept": {"usage_days": 0}}[kind]
    sut.config_path.write_text(yaml.safe_dump(settings))
    if kind == "private":
        await sut.chat("ada", "telegram", "/private on")
    sut.main.add(call("find_trains", to="x"), "ok")
    await sut.chat("ada", "telegram", "trains?", private=kind == "private")
    await sut.chat("ada", "telegram", "/help")
    if kind == "private":
        await sut.chat("ada", "telegram", "/private off")
    async with sut.gaia.memory.stores.database.read_transaction() as tx:
        assert await load_usage(tx, sut.scope("ada"), since=0.0) == []


async def test_forgetting_a_person_takes_their_usage_and_nobody_elses(opened: OpenSut) -> None:
    """The command that forgets is not counted after it."""
    sut = await opened(agent=traveller)
    memory = sut.gaia.memory
    for user in ("ada", "bob"):
        await talk(sut, user, turns=1)
    exported = await memory.export(sut.scope("ada"))
    await memory.forget(sut.scope("ada"), session_id="bob:telegram")
    kept = await memory.usage(sut.scope("ada"))
    await memory.forget(sut.scope("ada"), session_id="ada:telegram")
    gone = await memory.usage(sut.scope("ada"))
    await talk(sut, turns=1)
    await sut.chat("ada", "telegram", "/forget everything")
    await sut.chat("ada", "telegram", "yes")
    await memory.forget(sut.scope("ada"))
    await memory.import_(sut.scope("ada"), exported)

    assert (kept.turns, gone.turns) == (1, 0), "a conversation takes what was used in it"
    assert [each["channel"] for each in exported["usage"]] == ["telegram"]
    assert (await memory.export(sut.scope("ada")))["usage"] == []
    assert (await memory.usage(sut.scope("ada"))) == UsageDigest(days=7)
    assert (await memory.usage(sut.scope("bob"))).turns == 1


async def test_a_turn_that_ends_while_its_person_is_forgotten_leaves_nothing(
    opened: OpenSut, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever transaction is first, the other sees it."""
    called, answered, deleted, committing = (asyncio.Event() for _ in range(4))
    record_erasure = Outbox.record_erasure

    async def wait() -> str:
        called.set()
        await answered.wait()
        return "done"

    async def record_late(self: Outbox, *arguments: Any, **options: Any) -> None:
        deleted.set()
        await committing.wait()
        await record_erasure(self, *arguments, **options)

    sut = await opened(agent=lambda model: LlmAgent(name="assistant", model=model, tools=[wait]))
    await sut.gaia.memory.remember(sut.scope("ada"), "likes tea")
    monkeypatch.setattr(Outbox, "record_erasure", record_late)
    sut.main.add(call("wait"), "ok")
    turn = asyncio.create_task(sut.chat("ada", "telegram", "hello"))
    await called.wait()
    forget = asyncio.create_task(sut.gaia.memory.forget(sut.scope("ada")))
    await deleted.wait()
    answered.set()
    await asyncio.sleep(0.3)
    committing.set()
    await asyncio.gather(turn, forget)

    assert (await sut.gaia.memory.export(sut.scope("ada")))["usage"] == []


async def test_usage_moves_with_a_merge_and_goes_after_its_days(opened: OpenSut) -> None:
    """A sweep deletes what is older than `memory.usage_days`."""
    sut = await opened(agent=traveller, extractor=['{"memory": []}'])
    await talk(sut, turns=1)
    await sut.sweep_after_idle()
    for user in ("ada", "lovelace"):
        await sut.gaia.memory.remember(sut.scope(user), "likes tea")
    await sut.gaia.memory.merge(sut.scope("ada"), sut.scope("lovelace"))
    moved = await sut.gaia.memory.usage(sut.scope("lovelace"))
    sut.clock.advance(91 * 86_400)
    await sut.sweep()

    assert moved.turns == 1
    assert (await sut.gaia.memory.export(sut.scope("lovelace")))["usage"] == []


async def test_forgotten_usage_is_in_no_file_of_the_memory(make: OpenSut) -> None:
    """Its row is erased as the text of facts is."""
    sut = await make(agent=traveller)

    def files() -> list[str]:
        return [file.name for file in sut.home.glob("memory.db*") if b"find_trains" in file.read_bytes()]

    await talk(sut, turns=1)
    before = files()
    await sut.gaia.memory.forget(sut.scope("ada"))
    await sut.gaia.memory.settled()

    assert before
    assert files() == []


async def test_the_counts_are_served_and_shown_on_a_page(make: OpenSut) -> None:
    """As JSON, and as a table on the page of the person."""
    sut = await make(agent=traveller)
    await talk(sut, turns=2)
    async with http_client(sut.gaia) as client:
        served = await client.get("/v1/apps/gaia/users/ada/usage?days=30")
        refused = await client.get("/v1/apps/gaia/users/ada/usage?days=0")
        page = await client.get("/people/gaia/ada/usage")

    assert served.json() == (await sut.gaia.memory.usage(sut.scope("ada"), days=30)).to_dict()
    assert served.json()["tools"] == {"find_trains": 4}
    assert "from 1 to 3650" in refused.text
    assert "<bdi>find_trains</bdi>" in page.text


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--days", "0"], "--days"),
        (["--user", "nobody"], "nobody is known as 'nobody'"),
        (["-i"], "asks at a terminal"),
        (["--yes", "--dry-run"], "pass one of"),
    ],
)
async def test_a_run_refuses_what_it_cannot_do(make: OpenSut, run: Run, options: list[str], error: str) -> None:
    """The message says what to pass."""
    sut = await make(agent=traveller)
    result = await run(sut, "grow", "run", *options)

    assert result.code != 0
    assert error in result.err


@pytest.mark.parametrize("filters", [{}, {"AND": [{}]}, {"OR": [{"source": "grow"}, {}]}])
async def test_an_empty_filter_forgets_nothing(make: OpenSut, filters: dict[str, Any]) -> None:
    """Every fact passes an empty part of one."""
    sut = await make()
    await sut.gaia.memory.remember(sut.scope("ada"), "likes tea")

    with pytest.raises(InvalidInputError, match="name a field"):
        await sut.gaia.memory.forget(sut.scope("ada"), filters=filters)
    assert await sut.texts("ada") == ["likes tea"]
