"""Memory in a trace: nesting, links of background work, and no content without permission."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps.app import App
from google.adk.cli.api_server import InMemoryExporter
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.telemetry.context import ContentCapturingMode, TelemetryConfig
from google.adk.tools.load_memory_tool import load_memory_tool
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from gaia_memory import Mem0MemoryService, NewFact
from gaia_memory.recall.pipeline import Recall
from gaia_memory.recall.retrievers import KeywordRetriever
from gaia_memory.telemetry import memory_span, shows_content, spans, store_id
from gaia_memory.testing import ScriptedLlm, call
from support.harness import Sut, facts
from support.host_matrix import wait_until
from support.plugin_host import SCOPE, BrokenDatabase, build_agent, events_text, open_plugin_host, user_content
from support.tracing import SpanCollector, attributes, collect_spans

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

Make = Callable[..., Awaitable[Sut]]
TURN = ["invoke_agent assistant", "invoke_workflow assistant"]
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
ADK_CAPTURE = "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS"
NAMES = {
    *("search_memory", "create_memory", "upsert_memory", "delete_memory", "create_memory_store"),
    *("distil_profile", "follow_store"),
}


@pytest.fixture(autouse=True)
def no_telemetry_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (CAPTURE, ADK_CAPTURE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def seen() -> Iterator[SpanCollector]:
    with collect_spans() as found:
        yield found


async def test_a_search_is_a_child_of_the_tool_that_called_it(make: Make, seen: SpanCollector) -> None:
    """It has the attributes of the conventions and no others."""
    sut = await make(main=[call("load_memory", query="tea"), "tea"], profiler=["- likes tea"])
    await sut.gaia.memory.add(sut.scope("ada"), [NewFact("Likes green tea"), NewFact("Has a teapot for tea")])
    await sut.chat("ada", "cli", "what do I drink?")

    search = seen.only("search_memory")
    assert seen.parents(search) == ["execute_tool load_memory", *TURN]
    assert search.kind is SpanKind.INTERNAL
    assert search.status.status_code is StatusCode.UNSET
    assert attributes(search) == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.provider.name": "mem0",
        "gen_ai.memory.store.id": store_id(sut.scope("ada")),
        "gen_ai.memory.record.count": 2,
    }
    assert seen.parents(seen.only("distil_profile")) == ["invoke_workflow assistant"]


async def test_adks_own_tool_is_traced_in_a_foreign_runner(tmp_path: Path, seen: SpanCollector) -> None:
    """The service alone suffices."""
    service = Mem0MemoryService(config={"home": str(tmp_path / "gaia")})
    agent = LlmAgent(name="root", model=ScriptedLlm(call("load_memory", query="tea"), "ok"), tools=[load_memory_tool])
    sessions = InMemorySessionService()
    app = App(name="host", root_agent=agent)
    async with Runner(app=app, session_service=sessions, memory_service=service, auto_create_session=True) as runner:
        async for _ in runner.run_async(user_id="ada", session_id="s", new_message=user_content("hi")):
            pass
    await service.source.release()

    assert seen.parents(seen.only("search_memory"))[0] == "execute_tool load_memory"


async def test_spans_of_remember_and_forget_carry_record_ids(make: Make, seen: SpanCollector) -> None:
    """One record has its id, several have a count; forgetting everything has neither."""
    sut = await make(main=[call("remember", fact="Likes tea"), "noted"], profiler=["- likes tea"])
    scope = sut.scope("ada")
    await sut.chat("ada", "cli", "remember that I like tea")
    [fact] = await sut.gaia.memory.facts(scope)
    await sut.gaia.memory.add(scope, [NewFact("Has a dog"), NewFact("Has a cat")])
    await sut.gaia.memory.forget(scope, fact_id=fact.id)
    await sut.gaia.memory.forget(scope, session_id="ada:cli")
    await sut.gaia.memory.forget(scope)

    one, many = seen.named("create_memory")
    assert seen.parents(one) == ["execute_tool remember", *TURN]
    assert attributes(one)["gen_ai.memory.record.id"] == fact.id
    assert [attributes(span)["gen_ai.memory.record.count"] for span in (one, many)] == [1, 2]
    assert "gen_ai.memory.record.id" not in attributes(many)
    of_fact, of_session, of_all = [attributes(span) for span in seen.named("delete_memory")]
    assert of_fact["gen_ai.memory.record.id"] == fact.id
    assert of_session["gen_ai.conversation.id"] == "ada:cli"
    assert "gen_ai.memory.record.id" not in of_all
    assert [found["gen_ai.memory.record.count"] for found in (of_fact, of_session, of_all)] == [1, 0, 2]


async def test_learning_is_a_root_of_its_own_that_links_to_the_last_turn(make: Make, seen: SpanCollector) -> None:
    """It happens long after the turn, whose trace is closed."""
    sut = await make(extractor=[facts("Likes tea", "Lives in Oslo")])
    await sut.chat("ada", "cli", "I like tea")
    await sut.chat("ada", "cli", "I live in Oslo")
    await sut.sweep_after_idle()

    learned = seen.only("upsert_memory")
    last = [span for span in seen.ended if span.name == "invoke_workflow assistant"][-1]
    assert learned.parent is None
    assert [link.context for link in learned.links] == [last.context]
    assert attributes(learned) == {
        "gen_ai.operation.name": "upsert_memory",
        "gen_ai.provider.name": "mem0",
        "gen_ai.memory.store.id": store_id(sut.scope("ada")),
        "gen_ai.conversation.id": "ada:cli",
        "gen_ai.memory.record.count": 2,
        "gaia.outcome": "learned",
        "gaia.turns": 2,
        "gaia.chunks": 1,
    }


async def test_the_trace_view_of_adk_web_finds_the_spans_of_a_session(make: Make, seen: SpanCollector) -> None:
    """This includes learning, which is in another trace."""
    sut = await make(main=[call("load_memory", query="tea"), "tea"], extractor=[facts("Likes tea")])
    await sut.chat("ada", "cli", "what do I drink?")
    await sut.sweep_after_idle()
    view = InMemoryExporter({})
    view.export(seen.ended)

    assert {"search_memory", "upsert_memory"} <= {span.name for span in view.get_finished_spans("ada:cli")}


async def test_a_turn_of_another_process_is_not_linked(make: Make, seen: SpanCollector) -> None:
    """After a restart the trace of the turn is unknown."""
    sut = await make(extractor=[facts("Likes tea")])
    await sut.chat("ada", "cli", "I like tea")
    await sut.reopen()
    await sut.sweep_after_idle()
    # The beat of the new process may have been quicker than this sweep.
    await wait_until(lambda: seen.named("upsert_memory"))

    learned = seen.only("upsert_memory")
    assert learned.parent is None
    assert not learned.links


async def test_an_untraced_turn_removes_the_link_to_the_turn_before(make: Make, seen: SpanCollector) -> None:
    """Otherwise the link would lead to a turn that was not the last."""
    sut = await make(extractor=[facts("Likes tea")])
    await sut.chat("ada", "cli", "I like tea")
    key = sut.conversation("ada", "cli").key
    sut.gaia._engine.turn_spans.record_turn(key)
    await sut.sweep_after_idle()

    assert not seen.only("upsert_memory").links


async def test_a_sweep_called_by_the_host_links_to_the_host_and_to_the_turn(make: Make, seen: SpanCollector) -> None:
    """A trace with a thousand conversations under one span would be unreadable."""
    sut = await make(extractor=[facts("Likes tea")])
    await sut.chat("ada", "cli", "I like tea")
    with trace.get_tracer("host").start_as_current_span("nightly"):
        await sut.sweep(force=True)

    learned = seen.only("upsert_memory")
    assert learned.parent is None
    assert seen.links(learned) == ["invoke_workflow assistant", "nightly"]


async def test_background_work_is_no_child_of_the_span_that_opened_memory(make: Make, seen: SpanCollector) -> None:
    """The scheduler and the follower outlive that span."""
    with trace.get_tracer("host").start_as_current_span("startup"):
        sut = await make(
            "sessions: {idle_consolidate_minutes: 0.005, coalesce_seconds: 0}", extractor=[facts("Likes tea")]
        )
    await sut.chat("ada", "cli", "I like tea")
    sut.clock.advance(10)
    await wait_until(lambda: seen.named("upsert_memory"))
    await sut.gaia.memory.settled()

    assert seen.links(seen.only("upsert_memory")) == ["invoke_workflow assistant"]
    followed = [*seen.named("create_memory_store"), *seen.named("follow_store")]
    assert {span.name for span in followed} == {"create_memory_store", "follow_store"}
    assert [(span.parent, list(span.links)) for span in followed] == [(None, [])] * len(followed)
    assert sum(attributes(span).get("gen_ai.memory.record.count", 0) for span in followed) == 1


async def test_work_started_by_a_config_reload_is_no_child_of_that_request(make: Make, seen: SpanCollector) -> None:
    """When memory is switched on, the first call after the change starts the background work."""
    sut = await make("memory: {enabled: false}")
    sut.write_config("memory: {enabled: true}")
    with trace.get_tracer("host").start_as_current_span("request"):
        await sut.gaia.memory.remember(sut.scope("ada"), "Likes tea")
        await sut.gaia.memory.settled()

    assert seen.parents(seen.only("create_memory")) == ["request"]
    assert [(span.parent, list(span.links)) for span in seen.named("follow_store")] == [(None, [])]


async def test_a_reset_is_learned_within_its_turn(make: Make, seen: SpanCollector) -> None:
    """The user waits for it."""
    sut = await make(extractor=[facts("Likes tea")])
    await sut.chat("ada", "cli", "I like tea")
    with trace.get_tracer("host").start_as_current_span("request"):
        await sut.chat("ada", "cli", "/reset")

    learned = seen.named("upsert_memory")[0]
    assert seen.parents(learned)[-1] == "request"
    assert not learned.links


class RefusedError(Exception):
    """A provider's error with a status that quotes the conversation."""

    status_code = 429


MARKER = "ZEBRA-77"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (RefusedError(f"too many requests: {MARKER}"), "429"),
        ("", "BadAnswerError"),
        (OSError(MARKER), "ModelUnavailableError"),
    ],
)
async def test_a_failing_model_is_recorded_by_error_type_without_its_message(
    make: Make, seen: SpanCollector, answer: Any, kind: str
) -> None:
    """The provider's status comes first, then the type; a message may contain what a user said."""
    sut = await make(extractor=[answer] * 3)
    await sut.chat("ada", "cli", f"the word is {MARKER}")
    report = await sut.sweep_after_idle()

    learned = seen.only("upsert_memory")
    assert report.failed == 1
    assert attributes(learned)["error.type"] == kind
    assert attributes(learned)["gaia.outcome"] == "failed"
    assert (learned.status.status_code, learned.status.description) == (StatusCode.ERROR, kind)
    assert not learned.events
    assert MARKER not in seen.json_text()


async def test_a_search_without_a_working_retriever_is_an_error(tmp_path: Path, seen: SpanCollector) -> None:
    """The turn continues, and the trace shows the failure."""
    model = ScriptedLlm(call("load_memory", query="tea"), "ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        engine = await host.engine()
        away: Any = BrokenDatabase()
        recaller = Recall(away, engine.facts, [KeywordRetriever(away, engine.facts)], engine.clock)
        engine.memory = replace(engine.memory, recaller=recaller)
        events = await host.run_turn("hi")

    search = seen.only("search_memory")
    assert events_text(events).endswith("ok")
    assert attributes(search)["error.type"] == "MemoryUnavailable"
    assert "ZEBRA" not in seen.json_text()


async def run_every_operation(sut: Sut) -> None:
    """Run every operation with a marked word."""
    await sut.chat("ada", "cli", f"remember {MARKER}")
    await sut.chat("ada", "cli", f"look for {MARKER}")
    await sut.sweep_after_idle()
    await sut.chat("ada", "desk", "hi")
    await sut.gaia.memory.forget(sut.scope("ada"))
    await sut.gaia.memory.settled()


async def marked(make: Make) -> Sut:
    sut = await make(
        main=[call("remember", fact=f"Knows {MARKER}"), "ok", call("load_memory", query=f"who is {MARKER}?"), "ok"],
        extractor=[facts(f"Likes {MARKER}")],
        profiler=[f"- {MARKER}"] * 3,
    )
    await run_every_operation(sut)
    return sut


async def test_by_default_no_span_contains_content(make: Make, seen: SpanCollector) -> None:
    """This covers every operation, including queries and their hits."""
    await marked(make)

    assert {span.name for span in seen.memory_spans} == NAMES
    assert MARKER not in seen.json_text()
    assert "gen_ai.memory.records" not in seen.json_text()


@pytest.mark.parametrize(
    ("capture", "adk", "shown"),
    [
        *[("", "", False), ("", "true", False), ("true", "", False), ("1", "true", False), ("nonsense", "", False)],
        *[("NO_CONTENT", "true", False), ("EVENT_ONLY", "true", False)],
        *[("SPAN_ONLY", "", True), (" span_and_event ", "1", True)],
        *[("SPAN_ONLY", "false", False), ("SPAN_ONLY", " 0 ", False)],
    ],
)
def test_environment_variables_that_allow_or_forbid_content(
    monkeypatch: pytest.MonkeyPatch, capture: str, adk: str, *, shown: bool
) -> None:
    """ADK's own switch is on by default, so it can only forbid content. `true` stands for events."""
    monkeypatch.setenv(CAPTURE, capture)
    monkeypatch.setenv(ADK_CAPTURE, adk)

    assert shows_content() is shown


async def test_content_is_recorded_on_request(make: Make, seen: SpanCollector, monkeypatch: pytest.MonkeyPatch) -> None:
    """Query and records have the form of the conventions."""
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    await marked(make)

    def records(span: ReadableSpan) -> Any:
        return json.loads(str(attributes(span)["gen_ai.memory.records"]))

    search = seen.only("search_memory")
    [found] = records(search)
    assert attributes(search)["gen_ai.memory.query.text"] == f"who is {MARKER}?"
    assert (found["content"], set(found)) == (f"Knows {MARKER}", {"id", "content", "score"})
    assert [record["content"] for record in records(seen.only("create_memory"))] == [f"Knows {MARKER}"]
    assert records(seen.only("upsert_memory")) == [{"content": f"Likes {MARKER}"}]


@pytest.mark.parametrize(
    ("environment", "wished", "shown"), [("SPAN_ONLY", "NO_CONTENT", False), ("", "SPAN_ONLY", True)]
)
async def test_a_run_can_allow_or_forbid_content_for_itself(
    tmp_path: Path, seen: SpanCollector, monkeypatch: pytest.MonkeyPatch, environment: str, wished: str, *, shown: bool
) -> None:
    """The setting also applies to ADK's own spans and ends with the run."""
    monkeypatch.setenv(CAPTURE, environment)
    wish = TelemetryConfig(capture_message_content=ContentCapturingMode(wished))
    model = ScriptedLlm(call("load_memory", query=MARKER), "ok", default="ok")
    async with open_plugin_host(tmp_path, build_agent(model)) as host:
        before = shows_content()
        await host.run_turn("hi", run_config=RunConfig(telemetry=wish))
        await host.run_turn(f"/remember Knows {MARKER}", run_config=RunConfig(telemetry=wish))
        after = shows_content()

    assert ("gen_ai.memory.query.text" in attributes(seen.only("search_memory"))) is shown
    assert ("gen_ai.memory.records" in attributes(seen.only("create_memory"))) is shown
    assert before == after == (environment == "SPAN_ONLY")


async def test_a_broken_processor_loses_only_the_span(make: Make, seen: SpanCollector) -> None:
    """Turns, search, learning and forgetting still work."""
    seen.failing_hooks.add("end")
    sut = await marked(make)

    [response] = [found for request in sut.REQ for found in _memories(request)][-1:]
    assert [memory["text"] for memory in response] == [f"Knows {MARKER}"]
    assert (await sut.sweep()).failed == 0
    assert seen.memory_spans == []
    assert not trace.get_current_span().get_span_context().is_valid


def test_a_processor_that_fails_at_the_start_is_ignored(seen: SpanCollector) -> None:
    """There is no span, and recording into it does nothing."""
    seen.failing_hooks.add("start")
    with memory_span("search_memory", SCOPE) as span:
        span.record_query("a question")
        span.record_hits([])

    assert seen.memory_spans == []


def _memories(request: Any) -> list[Any]:
    parts = [part for content in request.contents for part in content.parts or []]
    return [part.function_response.response["memories"] for part in parts if _is_search(part)]


def _is_search(part: Any) -> bool:
    return bool(part.function_response and part.function_response.name == "load_memory")


async def test_without_a_provider_nothing_is_collected_and_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the OpenTelemetry API is a dependency; the host chooses the SDK."""
    monkeypatch.setattr(spans, "_tracer", trace.NoOpTracer)
    with memory_span("search_memory", SCOPE, session="s") as span:
        span.record_query("a question")
        span.record_hits([])
        span.add_attributes(turns=1)
    with pytest.raises(LookupError), memory_span("search_memory", SCOPE):
        raise LookupError
    assert span._span.get_span_context().is_valid is False
