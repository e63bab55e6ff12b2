"""A user and an agent, message by message."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from gaia_memory.adk.conversation import APOLOGY, Reply
from gaia_memory.adk.models.offline_model import OfflineModel
from gaia_memory.backend.providers.sentence_encoder import SentenceEncoder
from gaia_memory.errors import MemoryUnavailable, ModelUnavailableError
from gaia_memory.models import NewFact
from gaia_memory.testing import ScriptedExtractor, ScriptedLlm, call
from support.conversations import Conversations, open_conversations
from support.plugin_host import broken_ledger_client, build_agent, contents_text, set_extractor


def thinking(thought: str, text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=thought, thought=True), types.Part(text=text)])


async def pieces(talks: Conversations, text: str, **arguments: Any) -> list[str]:
    return [piece async for piece in talks.get().stream(text, **arguments)]


@pytest.mark.acceptance("S01", "S02")
async def test_a_conversation_continues_after_a_restart_separate_from_other_channels(tmp_path: Path) -> None:
    """The session belongs to the user on that channel."""
    model = ScriptedLlm("nice to meet you", "hi again", "hello")
    async with open_conversations(tmp_path, model) as talks:
        await talks.send("my name is Itay")
    async with open_conversations(tmp_path, model) as talks:
        await talks.send("hi")
        await talks.send("x", channel="telegram")
        cli, telegram = await talks.load_session(), await talks.load_session(channel="telegram")

    assert contents_text(model.requests[1]) == "my name is Itay\nnice to meet you\nhi"
    assert contents_text(model.requests[2]) == "x"
    assert cli is not None
    assert telegram is not None
    assert (cli.id, len(cli.events), len(telegram.events)) == ("itay:cli", 4, 2)


async def test_unstorable_characters_are_replaced_before_the_turn(tmp_path: Path) -> None:
    """NUL and unpaired surrogates: if stored, they would prevent the whole conversation from being learned."""
    model = ScriptedLlm("one", "two")
    async with open_conversations(tmp_path, model) as talks:
        await talks.send("caf\udce9 and\0 tea")
        [piece async for piece in talks.get().stream("so\ud83d")]
        session = await talks.load_session()

    assert session is not None
    assert [event.content.parts[0].text for event in session.events if event.author == "user"] == [
        "caf\ufffd and\ufffd tea",
        "so\ufffd",
    ]


async def test_a_conversation_reports_whether_the_last_message_failed(tmp_path: Path) -> None:
    """A failing model, a command, and an answer."""
    model = ScriptedLlm(ConnectionError("away"), "fine")
    async with open_conversations(tmp_path, model) as talks:
        talk = talks.get()
        seen = []
        for text in ("one", "/help", "two"):
            await talk.send(text)
            seen.append(talk.has_failed)

    assert seen == [True, False, False]


@pytest.mark.acceptance("S08")
async def test_concurrent_messages_are_answered_one_after_the_other(tmp_path: Path) -> None:
    """At most one model call per session is in flight, whichever conversation object sent the message."""
    running = most = 0

    async def slow(request: LlmRequest) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        return "re: " + contents_text(request).splitlines()[-1]

    async with open_conversations(tmp_path, ScriptedLlm(default=slow)) as talks:
        replies = await asyncio.gather(*(talks.send(text) for text in ("a", "b", "c")))
        session = await talks.load_session()

    assert replies == ["re: a", "re: b", "re: c"]
    assert most == 1
    assert session is not None
    assert [event.author for event in session.events] == ["user", "root"] * 3


@pytest.mark.acceptance("S09")
async def test_a_burst_is_one_turn_and_its_last_message_gets_the_reply(tmp_path: Path) -> None:
    """The texts are joined by line feeds."""
    model = ScriptedLlm("ok")
    async with open_conversations(tmp_path, model, coalesce_seconds=0.1) as talks:
        replies = await asyncio.gather(*(talks.get().send(text) for text in ("one", "two", "three")))

    assert replies == [Reply("", merged=True), Reply("", merged=True), Reply("ok")]
    assert len(model.requests) == 1
    assert contents_text(model.requests[0]) == "one\ntwo\nthree"


async def test_a_merged_message_streams_nothing(tmp_path: Path) -> None:
    """The answer is streamed once."""
    async with open_conversations(tmp_path, ScriptedLlm("ok then"), coalesce_seconds=0.1) as talks:
        streams = await asyncio.gather(pieces(talks, "one"), pieces(talks, "two"))

    assert streams == [[], ["ok ", "then"]]


@pytest.mark.acceptance("S10")
async def test_a_reply_contains_only_the_agents_text(tmp_path: Path) -> None:
    """It excludes thoughts, the user's text, and text before a tool call."""

    def look() -> str:
        """Look it up."""
        return "sun"

    asking = types.Content(
        role="model", parts=[types.Part(text="let me look"), types.Part.from_function_call(name="look", args={})]
    )
    model = ScriptedLlm(asking, thinking("the user wants weather", "It is sunny."))
    async with open_conversations(tmp_path, build_agent(model, tools=[look])) as talks:
        reply = await talks.get().send("how is the weather in Haifa")

    assert reply == Reply("It is sunny.")


@pytest.mark.filterwarnings("ignore:SequentialAgent is deprecated:DeprecationWarning")
async def test_the_answers_of_several_agents_are_joined(tmp_path: Path) -> None:
    """In a stream too."""
    agents: list[Any] = [
        build_agent(ScriptedLlm(default="a draft"), "writer"),
        build_agent(ScriptedLlm(default="fine"), "critic"),
    ]
    async with open_conversations(tmp_path, SequentialAgent(name="root", sub_agents=agents)) as talks:
        reply = await talks.send("write")
        streamed = await pieces(talks, "write")

    assert reply == "a draft\nfine"
    assert "".join(streamed) == "a draft\nfine"


async def test_a_stream_yields_each_piece_once(tmp_path: Path) -> None:
    """A model sends the whole answer again after its last piece."""
    model = ScriptedLlm("one two three", thinking("hm", "four five"))
    async with open_conversations(tmp_path, model) as talks:
        first = await pieces(talks, "hi")
        second = await pieces(talks, "hi")

    assert first == ["one ", "two ", "three"]
    assert "".join(second) == "four five"


@pytest.mark.acceptance("S11")
@pytest.mark.parametrize(
    "failure", [RuntimeError("429 RESOURCE_EXHAUSTED"), LlmResponse(error_code="SAFETY", error_message="blocked")]
)
async def test_a_failing_model_causes_one_apology(tmp_path: Path, failure: Any) -> None:
    """The apology is neither in the session nor learned, and the next turn works."""
    model = ScriptedLlm(failure, "back", failure)
    extractor = ScriptedExtractor(default=[])
    async with open_conversations(tmp_path, model) as talks:
        set_extractor(talks.engine, extractor)
        sorry = await talks.send("hi")
        fine = await talks.send("hi again")
        streamed = await pieces(talks, "and again")
        await talks.gaia.sweep(force=True)

    assert (sorry, fine, streamed) == (APOLOGY, "back", [APOLOGY])
    assert APOLOGY not in contents_text(model.requests[1])
    assert APOLOGY not in str([said.text for chunk in extractor.chunks for said in chunk.messages])


async def test_with_on_unavailable_fail_the_error_reaches_the_host(tmp_path: Path) -> None:
    """An apology would hide it."""
    async with open_conversations(tmp_path, ScriptedLlm("ok"), {"memory": {"on_unavailable": "fail"}}) as talks:
        talks.engine.turns._client = broken_ledger_client(talks.engine)
        with pytest.raises(MemoryUnavailable, match="on_unavailable"):
            await talks.send("hi")
        with pytest.raises(MemoryUnavailable, match="on_unavailable"):
            await pieces(talks, "hi")


@pytest.mark.acceptance("I21")
async def test_a_private_turn_is_replayed_and_never_learned(tmp_path: Path) -> None:
    """Messages before and after it are learned."""
    model = ScriptedLlm("one", "two", "three")
    extractor = ScriptedExtractor(default=[])
    async with open_conversations(tmp_path, model) as talks:
        set_extractor(talks.engine, extractor)
        await talks.send("first")
        await talks.send("between us", private=True)
        await talks.send("third")
        await talks.gaia.sweep(force=True)

    learned = [said.text for chunk in extractor.chunks for said in chunk.messages]
    assert "between us" in contents_text(model.requests[2])
    assert learned == ["first", "one", "third", "three"]


@pytest.mark.acceptance("C04", "C05", "C14", "I06")
async def test_commands_leave_no_trace_in_the_session(tmp_path: Path) -> None:
    """The model is not asked, no message is stored, nothing becomes due."""
    async with open_conversations(tmp_path, ScriptedLlm()) as talks:
        replies = [await talks.get().send(text) for text in ("/remember I like teal", "/remember", "/memory", "/nope")]
        session = await talks.load_session()
        texts = await talks.fact_texts()
        row = await talks.engine.conversations.row(talks.get().key)

    assert [reply.command for reply in replies] == ["remember", "remember", "memory", None]
    assert "teal" in replies[0].text
    assert "/help" in replies[3].text
    assert texts == ["I like teal"]
    assert (session, row) == (None, None)


async def test_a_command_streams_its_reply(tmp_path: Path) -> None:
    """In one piece."""
    async with open_conversations(tmp_path, ScriptedLlm()) as talks:
        streamed = await pieces(talks, "/memory")

    assert len(streamed) == 1


async def test_a_command_does_not_overtake_earlier_messages(tmp_path: Path) -> None:
    """A reset learns the message that was still waiting for the rest of its burst."""
    extractor = ScriptedExtractor(["moved to Berlin"])
    async with open_conversations(tmp_path, ScriptedLlm("ok"), coalesce_seconds=30) as talks:
        set_extractor(talks.engine, extractor)
        said = asyncio.create_task(talks.send("I moved to Berlin"))
        await asyncio.sleep(0)
        await talks.send("/reset")
        texts = await talks.fact_texts()

    assert await said == "ok"
    assert texts == ["moved to Berlin"]


@pytest.mark.acceptance("S12")
async def test_reset_learns_and_deletes_the_session(tmp_path: Path) -> None:
    """A message that arrives meanwhile waits, and starts the new one."""
    model = ScriptedLlm("one", "two")
    extractor = ScriptedExtractor(["moved to Berlin"])
    async with open_conversations(tmp_path, model) as talks:
        set_extractor(talks.engine, extractor)
        await talks.send("I moved to Berlin")
        extractor.gate.shut()
        reset = asyncio.create_task(talks.send("/reset"))
        await extractor.gate.wait_for_waiter()
        late = asyncio.create_task(talks.send("hello again"))
        await asyncio.sleep(0.05)
        extractor.gate.open()
        reply, _ = await reset, await late
        texts, session = await talks.fact_texts(), await talks.load_session()

    assert "fresh start" in reply.lower()
    assert len(extractor.chunks) == 1
    assert texts == ["moved to Berlin"]
    assert contents_text(model.requests[1]) == "hello again"
    assert session is not None
    assert len(session.events) == 2


@pytest.mark.acceptance("S13")
async def test_a_reset_that_cannot_learn_keeps_the_session(tmp_path: Path) -> None:
    """The reply says so."""
    async with open_conversations(tmp_path, ScriptedLlm("one")) as talks:
        set_extractor(talks.engine, ScriptedExtractor(ModelUnavailableError("503")))
        await talks.send("I moved to Berlin")
        reply = await talks.send("/reset")
        session = await talks.load_session()

    assert "not saved" in reply
    assert session is not None
    assert len(session.events) == 2


@pytest.mark.acceptance("S12")
async def test_a_reset_keeps_the_session_if_the_setting_says_so(tmp_path: Path) -> None:
    """With `sessions.clear: keep` no request holds the messages before it, and the session does."""
    model = ScriptedLlm("one", "two")
    async with open_conversations(tmp_path, model, {"sessions": {"clear": "keep"}}) as talks:
        set_extractor(talks.engine, ScriptedExtractor([]))
        await talks.send("I moved to Berlin")
        reply = await talks.send("/reset")
        await talks.send("Where do I live?")
        session = await talks.load_session()

    assert "fresh start" in reply
    assert contents_text(model.requests[-1]) == "Where do I live?"
    assert session is not None
    assert len(session.events) == 4


@pytest.mark.parametrize("answer", ["yes", "/forget yes"])
async def test_without_a_fact_only_forget_yes_keeps_what_was_said_from_being_learned(
    tmp_path: Path, answer: str
) -> None:
    """The question says so, and a mere yes is told that it prevents nothing."""
    async with open_conversations(tmp_path, OfflineModel()) as talks:
        await talks.send("I live in Graz")
        asked = await talks.send("/forget")
        answered = await talks.send(answer)
        await talks.gaia.sweep(force=True)
        learned = await talks.fact_texts()

    assert "I may still learn what you have said so far. Send /forget yes to prevent that" in asked
    if answer == "yes":
        assert "Nothing was forgotten yet" in answered
        assert learned == ["I live in Graz"]
    else:
        assert "I will not learn from what you have said so far." in answered
        assert learned == []


async def test_what_was_forgotten_is_learned_again_only_from_the_command(tmp_path: Path) -> None:
    """Said in the conversation that taught it and in another one; of another user nothing was forgotten."""
    async with open_conversations(tmp_path, OfflineModel()) as talks:
        await talks.send("I am allergic to peanuts")
        await talks.gaia.sweep(force=True)
        await talks.send("/forget peanuts")
        await talks.send("/forget peanuts yes")
        await talks.send("I am allergic to peanuts.")
        await talks.send("I am allergic to peanuts", channel="telegram")
        await talks.send("I am allergic to dust")
        await talks.send("I am allergic to peanuts", user="grace")
        await talks.gaia.sweep(force=True)
        learned, of_another = await talks.fact_texts(), await talks.fact_texts("grace")
        await talks.send("/remember I am allergic to peanuts")
        brought_back = await talks.fact_texts()

    assert learned == ["I am allergic to dust"]
    assert of_another == ["I am allergic to peanuts"]
    assert "I am allergic to peanuts" in brought_back


@pytest.mark.acceptance("C10", "C12", "C13")
async def test_forget_yes_forgets_and_keeps_the_conversation(tmp_path: Path) -> None:
    """Earlier messages are never learned; another user loses nothing."""
    extractor = ScriptedExtractor(default=["the PIN word is ZEBRA"])
    async with open_conversations(tmp_path, ScriptedLlm("ok")) as talks:
        set_extractor(talks.engine, extractor)
        memory, scope = talks.gaia.memory, talks.gaia.scope(user_id="itay")
        await memory.add(scope, [NewFact(f"fact {number}") for number in range(45)])
        await memory.remember(talks.gaia.scope(user_id="grace"), "likes coffee")
        await talks.send("my PIN word is ZEBRA")
        asked = await talks.send("/forget")
        done = await talks.send("/forget yes")
        again = await talks.send("/forget yes")
        session = await talks.load_session()
        await talks.gaia.sweep(force=True)
        left = await talks.fact_texts(), await talks.fact_texts("grace")

    assert "45" in asked
    assert "45" in done
    assert "nothing to forget" in again
    assert left == ([], ["likes coffee"])
    assert extractor.chunks == []
    assert session is not None
    assert len(session.events) == 2


@pytest.mark.acceptance("C06")
async def test_with_memory_off_turns_work_and_commands_say_so(tmp_path: Path) -> None:
    """Nothing is stored."""
    async with open_conversations(tmp_path, ScriptedLlm("ok"), {"memory": {"enabled": False}}) as talks:
        reply = await talks.send("hi")
        said = [await talks.send(text) for text in ("/remember x", "/memory", "/forget", "/reset")]

    assert reply == "ok"
    assert all("off" in text for text in said)


@pytest.mark.parametrize("text", ["", "  \n"])
async def test_a_blank_message_is_no_turn(tmp_path: Path, text: str) -> None:
    """There is nothing for the model to answer."""
    async with open_conversations(tmp_path, ScriptedLlm()) as talks:
        assert await talks.send(text) == ""
        assert await pieces(talks, text) == []


async def test_closing_an_unfinished_stream_lets_the_next_turn_start(tmp_path: Path) -> None:
    """Closing it ends the turn."""
    async with open_conversations(tmp_path, ScriptedLlm("one two three", "ok")) as talks:
        stream = talks.get().stream("hi")
        first = await anext(stream)
        await stream.aclose()
        reply = await asyncio.wait_for(talks.send("hi"), 60)
        row = await talks.engine.conversations.row(talks.get().key)

    assert (first, reply) == ("one ", "ok")
    assert row is not None
    assert row.turn.active_until is None


@pytest.mark.acceptance("L10")
async def test_a_slow_embedder_never_blocks_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tasks proceed while it works."""
    async with open_conversations(tmp_path, ScriptedLlm(call("load_memory", query="tea"), "ok")) as talks:
        await talks.send("/remember I like tea")
        embed = SentenceEncoder.embed_batch

        def slow(self: SentenceEncoder, texts: Sequence[str], purpose: str = "add") -> Any:
            before, ends = ticks, time.monotonic() + 30
            while ticks < before + 5 and time.monotonic() < ends:
                time.sleep(0.01)
            counted.append(ticks - before)
            return embed(self, texts, purpose)

        ticks = 0
        counted: list[int] = []
        monkeypatch.setattr(SentenceEncoder, "embed_batch", slow)

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.02)
                ticks += 1

        ticker = asyncio.create_task(tick())
        await talks.send("what do I drink?")
        recalled = len(counted)
        await talks.send("/remember I like coffee")
        ticker.cancel()

    assert 0 < recalled < len(counted)
    assert min(counted) >= 5


@pytest.mark.acceptance("L11")
async def test_learning_from_one_user_does_not_delay_another(tmp_path: Path) -> None:
    """Grace's fact is stored while the model still works on Itay's conversation."""
    extractor = ScriptedExtractor([])
    async with open_conversations(tmp_path, ScriptedLlm("ok", call("remember", fact="likes coffee"), "ok")) as talks:
        set_extractor(talks.engine, extractor)
        await talks.send("hi")
        extractor.gate.shut()
        sweep = asyncio.create_task(talks.gaia.sweep(force=True))
        await extractor.gate.wait_for_waiter()
        await asyncio.wait_for(talks.send("I like coffee", user="grace"), 60)
        texts = await talks.fact_texts("grace")
        extractor.gate.open()
        await sweep

    assert texts == ["likes coffee"]


@pytest.mark.parametrize("model", [ScriptedLlm(default="Noted."), OfflineModel()])
async def test_models_without_tokens_cause_no_warning_of_adk(
    tmp_path: Path, model: BaseLlm, caplog: pytest.LogCaptureFixture
) -> None:
    """A program that configures no logging would print one for every answer, streamed or not."""
    async with open_conversations(tmp_path, model) as conversations:
        await conversations.send("I like tea")
        pieces = [piece async for piece in conversations.get().stream("I like figs")]

    assert pieces
    assert [record.getMessage() for record in caplog.records if record.name.startswith("google_adk")] == []
