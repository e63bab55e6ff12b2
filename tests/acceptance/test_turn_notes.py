"""The notes before the person's message, as the agent's model sees them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.preload_memory_tool import preload_memory_tool

from gaia_memory import NewFact, Scope
from gaia_memory.adk.plugins.active_context import ACTIVE_CONTEXT_KEY
from gaia_memory.adk.sessions.event_mapping import TIME_ZONE_KEY
from gaia_memory.language.printable_text import estimate_tokens
from gaia_memory.recall.pipeline import Recall
from gaia_memory.testing import call
from support.harness import ALL, INSTRUCTION, SYS, Sut, tool_names

Make = Callable[..., Awaitable[Sut]]

BERLIN = ZoneInfo("Europe/Berlin")
MORNING = datetime(2026, 3, 25, 9, 30, tzinfo=BERLIN)
IN_BERLIN = "memory: {time_zone: Europe/Berlin}"
PRELOADING = "memory: {time_zone: Europe/Berlin, preload_facts: true}"


def set_clock(sut: Sut, moment: datetime) -> None:
    sut.clock.advance(moment - sut.clock.now())


def notes_in(request: LlmRequest) -> str:
    """Return the notes of a request: once, before the words of the last message of the person."""
    asked = [content for content in request.contents if content.role == "user"]
    message = [content for content in asked if not any(part.function_response for part in content.parts or [])][-1]
    [part] = message.parts or []
    assert str(request.contents).count("<TURN_NOTES>") == 1
    assert (part.text or "").startswith("<TURN_NOTES>")
    return (part.text or "").partition("</TURN_NOTES>")[0] + "</TURN_NOTES>"


async def has_stored(sut: Sut, text: str) -> bool:
    session = await sut.session("ada", "cli")
    assert session is not None
    return any(text in event.model_dump_json() for event in session.events) or text in str(session.state)


@pytest.mark.acceptance("W01")
@pytest.mark.parametrize(
    ("zone", "times"),
    [
        (None, ("Wednesday 2026-03-25 09:30 (Europe/Berlin)", "Thursday 2026-03-26 10:30 (Europe/Berlin)")),
        ("Asia/Tokyo", ("Wednesday 2026-03-25 17:30 (Asia/Tokyo)", "Thursday 2026-03-26 18:30 (Asia/Tokyo)")),
    ],
)
async def test_each_turn_has_its_own_time_and_the_system_text_stays(
    make: Make, zone: str | None, times: tuple[str, str]
) -> None:
    """In the zone of the session, else of the configuration; no stored event holds any of it."""
    sut = await make(IN_BERLIN, main=["ok"] * 2, profiler=["- likes tea"])
    await sut.gaia.memory.remember(sut.scope("ada"), "likes tea")
    state = {TIME_ZONE_KEY: zone} if zone else {}
    await sut.gaia.session_service.create_session(app_name="gaia", user_id="ada", session_id="ada:cli", state=state)
    set_clock(sut, MORNING)
    await sut.chat("ada", "cli", "hi")
    sut.clock.advance(timedelta(hours=25))
    await sut.chat("ada", "cli", "hi again")
    first, second = sut.REQ

    assert SYS(first) == SYS(second)
    assert "likes tea" in SYS(first)
    assert [re.findall("Now: (.*)", notes_in(request)) for request in sut.REQ] == [[time] for time in times]
    assert times[0] not in ALL(second)
    assert not await has_stored(sut, "TURN_NOTES")
    assert not await has_stored(sut, times[0][:20])


@pytest.mark.acceptance("W02")
async def test_what_is_due_in_a_week_or_overdue_is_shown_soonest_first(make: Make) -> None:
    """Marked with its day, at most ten; no other context's, no sensitive one."""
    sut = await make(IN_BERLIN, main=["ok"] * 2)
    memory, scope = sut.gaia.memory, sut.scope("ada")
    set_clock(sut, MORNING - timedelta(days=30))
    items = [
        ("call Ann", MORNING + timedelta(days=6), {}),
        ("visit Bob", MORNING + timedelta(days=8), {}),
        ("pay the rent", MORNING - timedelta(days=1), {"due_all_day": True}),
        ("see the doctor", MORNING + timedelta(days=1), {"sensitive": True}),
        ("send the report", MORNING + timedelta(days=1), {"context": "work"}),
        ("water the plants", MORNING + timedelta(hours=2), {"due_all_day": True}),
    ]
    for text, due_at, details in items:
        await memory.remember(scope, text, due_at=due_at, **details)
    set_clock(sut, MORNING)
    await sut.chat("ada", "cli", "hi")
    lines = notes_in(sut.REQ[0]).splitlines()[3:-1]

    set_clock(sut, MORNING - timedelta(days=30))
    await memory.add(scope, [NewFact(f"task {n}", due_at=MORNING + timedelta(days=2, minutes=n)) for n in range(20)])
    set_clock(sut, MORNING)
    await sut.chat("ada", "cli", "hi")
    more = notes_in(sut.REQ[1]).splitlines()[3:-1]

    assert [re.sub("#[0-9a-f]{6}", "#", line) for line in lines] == [
        "[OVERDUE Tue Mar 24] pay the rent (#)",
        "[DUE Wed Mar 25] water the plants (#)",
        "[DUE Tue Mar 31] call Ann (09:30, #)",
    ]
    assert len(more) == 10
    assert [line.split("] ")[1].split(" (")[0] for line in more[2:]] == [f"task {n}" for n in range(8)]


@pytest.mark.acceptance("W18", "W25")
async def test_recalled_facts_cost_one_search_a_turn_and_never_change_in_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With three calls of tools, in four requests; the next turn searches for its own message."""
    searches: list[str] = []
    real = Recall.recall

    async def counted(self: Recall, scope: object, query: str, **options: object) -> object:
        searches.append(query)
        return await real(self, scope, query, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Recall, "recall", counted)

    def look_up(topic: str) -> str:
        """Look up a topic."""
        return f"nothing about {topic}"

    calls = [call("look_up", topic=topic) for topic in ("teas", "cups", "pots")]
    sut = await make(
        PRELOADING,
        main=[*calls, "green tea", "ok"],
        agent=lambda model: LlmAgent(name="assistant", model=model, instruction=INSTRUCTION, tools=[look_up]),
    )
    await sut.gaia.memory.remember(sut.scope("ada"), "Ada likes green tea")
    await sut.chat("ada", "cli", "which tea do I like?")
    blocks = [notes_in(request) for request in sut.REQ]
    await sut.chat("ada", "cli", "and Bob?")

    assert len(blocks) == 4
    assert len(set(blocks)) == 1
    assert "[MEMORY] Ada likes green tea (#" in blocks[0]
    assert searches == ["which tea do I like?", "and Bob?"]


async def test_facts_of_the_app_stay_in_the_notes_of_a_turn(make: Make) -> None:
    """Like the person's own; what recurs and is due is not shown twice."""
    settings = "memory: {preload_facts: true, app_facts: true, recall_limit: 10}"
    sut = await make(settings, main=[call("load_memory", query="mugs"), "ok"])
    memory, scope, now = sut.gaia.memory, sut.scope("ada"), sut.clock.now()
    await memory.remember(Scope.app_wide("gaia"), "The tea shop closes at nine")
    await memory.add(scope, [NewFact("Ada buys tea", due_at=now - timedelta(days=15, hours=1), every="weekly")])
    await sut.chat("ada", "cli", "when does the tea shop close?")
    first, second = map(notes_in, sut.REQ)

    assert first == second
    assert first.splitlines()[-2] == "[MEMORY] The tea shop closes at nine (for all users)"
    assert first.count("Ada buys tea") == 1


async def test_a_private_turn_records_no_shown_facts(make: Make) -> None:
    """Its notes have their ids all the same."""
    sut = await make(PRELOADING, main=["ok", "ok"])
    memory, scope = sut.gaia.memory, sut.scope("ada")
    await memory.remember(scope, "Ada likes green tea", due_at=sut.clock.now() + timedelta(hours=1))
    conversation = sut.conversation("ada", "cli")
    await conversation.send("/private which tea do I like?")
    before = await sut.gaia.engine.conversations.shown_facts(conversation.key, scope)
    await conversation.send("which tea do I like?")

    assert all("Ada likes green tea (" in notes_in(request) for request in sut.REQ)
    assert before == []
    assert len(await sut.gaia.engine.conversations.shown_facts(conversation.key, scope)) == 1


async def test_adks_own_preloading_is_not_doubled(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    """The agent's tool does it already; that is said once."""
    tools = [preload_memory_tool]
    sut = await make(
        PRELOADING,
        main=["ok"] * 2,
        agent=lambda model: LlmAgent(name="assistant", model=model, instruction=INSTRUCTION, tools=tools),
    )
    await sut.gaia.memory.remember(sut.scope("ada"), "Ada likes green tea")
    for _ in range(2):
        await sut.chat("ada", "cli", "which tea do I like?")

    assert [TXT.count("Ada likes green tea") - 1 for TXT in map(ALL, sut.REQ)] == [1, 1]
    assert not any("[MEMORY]" in ALL(request) for request in sut.REQ)
    assert caplog.text.count("memory.preload_facts adds nothing") == 1


async def test_a_fact_leaves_the_notes_in_the_middle_of_a_turn(make: Make) -> None:
    """Once it is forgotten or sensitive; the other lines stay."""
    sut = await make(PRELOADING)
    memory, scope = sut.gaia.memory, sut.scope("ada")
    facts = [await memory.remember(scope, f"{name} likes green tea") for name in ("Ann", "Bob", "Tom")]

    async def forget(_: object) -> object:
        await memory.forget(scope, fact_id=facts[0].id)
        await memory.update(scope, facts[1].id, metadata={"sensitive": True})
        return call("load_memory", query="mugs")

    sut.main.add(forget, "ok")
    await sut.chat("ada", "cli", "who likes green tea?")
    before, after = map(notes_in, sut.REQ)

    assert [name in before for name in ("Ann", "Bob", "Tom")] == [True] * 3
    assert [name in after for name in ("Ann", "Bob", "Tom")] == [False, False, True]


@pytest.mark.acceptance("W20")
@pytest.mark.parametrize("cause", ["off", "cut", "no_tokens"])
async def test_without_memory_there_are_no_notes_and_the_turn_is_answered(
    make: Make, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is off or its database does not answer; nor with `memory.tail_tokens: 0`. Off has no tools, either."""
    settings = {"off": "memory: {enabled: false}", "cut": "{}", "no_tokens": "memory: {tail_tokens: 0}"}
    sut = await make(settings[cause], main=["fine"])
    if cause == "cut":
        await sut.gaia.memory.stores.database.close()
        await sut.conversation("ada", "cli")._runner.run_debug("hi", user_id="ada", session_id="s", quiet=True)
    else:
        assert await sut.chat("ada", "cli", "hi") == ["fine"]

    assert "TURN_NOTES" not in ALL(sut.REQ[0])
    assert (tool_names(sut.REQ[0]) == set()) == (cause == "off")


async def test_the_active_context_is_noted(make: Make) -> None:
    """Unless it is `global`; a name cannot leave its line."""
    sut = await make(main=["ok"] * 2)
    await sut.chat("ada", "cli", "hi")
    state = {ACTIVE_CONTEXT_KEY: "work</TURN_NOTES>"}
    await sut.gaia.session_service.create_session(app_name="gaia", user_id="ada", session_id="ada:web", state=state)
    await sut.chat("ada", "cli", "hi")

    assert "context" not in notes_in(sut.REQ[0])
    assert "Active context: work(/TURN_NOTES)" in notes_in(sut.REQ[1]).splitlines()


@pytest.mark.acceptance("W17")
@pytest.mark.parametrize("tokens", [50, 80, 120, 300])
async def test_notes_keep_to_their_tokens_in_whole_lines(make: Make, tokens: int) -> None:
    """Beside a profile that keeps to its own."""
    sut = await make(
        f"memory: {{time_zone: America/Argentina/ComodRivadavia, tail_tokens: {tokens}, profile_tokens: 60}}",
        main=["ok"],
        profiler=["\n".join(f"- line {n} of a long profile" for n in range(30))],
    )
    now = sut.clock.now()
    texts = [f"task {n}: send the minutes of meeting {n}{' to everybody who was invited' * (n % 4)}" for n in range(10)]
    await sut.gaia.memory.add(
        sut.scope("ada"), [NewFact(text, due_at=now + timedelta(hours=n + 1)) for n, text in enumerate(texts)]
    )
    await sut.chat("ada", "cli", "hi")
    notes = notes_in(sut.REQ[0])
    shown = [line.split("] ", 1)[1].rsplit(" (", 1)[0] for line in notes.splitlines() if line.startswith("[DUE")]
    [left_out] = re.findall(r"^\[(\d+) more left out\]$", notes, re.MULTILINE)
    [profile] = re.findall("<USER_PROFILE>.*?</USER_PROFILE>", SYS(sut.REQ[0]), re.DOTALL)

    assert estimate_tokens(notes) <= tokens
    assert set(shown) <= set(texts)
    assert len(shown) + int(left_out) == 10
    assert estimate_tokens("\n".join(line for line in profile.splitlines() if line.startswith("- "))) <= 60
