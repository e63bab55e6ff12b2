"""Memory in a trace: nesting, roots of background work, and no content."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from google.adk.cli.api_server import InMemoryExporter
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from gaia_memory import NewFact
from gaia_memory.log import store_id
from gaia_memory.testing import call
from support.harness import Sut, facts
from support.host_matrix import wait_until
from support.tracing import SpanCollector, attributes, collect_spans

Make = Callable[..., Awaitable[Sut]]
TURN = ["invoke_agent assistant", "invoke_workflow assistant"]
NAMES = {
    *("search_memory", "create_memory", "upsert_memory", "delete_memory", "create_memory_store"),
    *("distil_profile", "follow_store", "reconcile_facts"),
}


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
        "gen_ai.usage.input_tokens": 1,
        "gen_ai.usage.output_tokens": 0,
        "gaia.usage.estimated": True,
    }
    assert seen.parents(seen.only("distil_profile")) == ["invoke_workflow assistant"]


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


async def test_learning_is_a_root_of_its_own_with_the_session_of_its_turns(make: Make, seen: SpanCollector) -> None:
    """It happens long after the turn, whose trace is closed."""
    sut = await make(extractor=[facts("Likes tea", "Lives in Oslo")])
    await sut.chat("ada", "cli", "I like tea")
    await sut.chat("ada", "cli", "I live in Oslo")
    await sut.sweep_after_idle()

    learned = seen.only("upsert_memory")
    assert learned.parent is None
    assert {name: value for name, value in attributes(learned).items() if "usage" not in name} == {
        "gen_ai.operation.name": "upsert_memory",
        "gen_ai.provider.name": "mem0",
        "gen_ai.memory.store.id": store_id(sut.scope("ada")),
        "gen_ai.conversation.id": "ada:cli",
        "gen_ai.memory.record.count": 2,
        "gaia.outcome": "learned",
        "gaia.turns": 2,
        "gaia.chunks": 1,
        **{f"gaia.{name}": 0 for name in ("judged", "replaced", "queued")},
    }


async def test_the_trace_view_of_adk_web_finds_the_spans_of_a_session(make: Make, seen: SpanCollector) -> None:
    """This includes learning, which is in another trace."""
    sut = await make(main=[call("load_memory", query="tea"), "tea"], extractor=[facts("Likes tea")])
    await sut.chat("ada", "cli", "what do I drink?")
    await sut.sweep_after_idle()
    view = InMemoryExporter({})
    view.export(seen.ended)

    assert {"search_memory", "upsert_memory"} <= {span.name for span in view.get_finished_spans("ada:cli")}


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

    assert seen.only("upsert_memory").parent is None
    followed = [*seen.named("create_memory_store"), *seen.named("follow_store")]
    assert {span.name for span in followed} == {"create_memory_store", "follow_store"}
    assert [span.parent for span in followed] == [None] * len(followed)
    assert sum(attributes(span).get("gen_ai.memory.record.count", 0) for span in followed) == 1


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


async def run_every_operation(sut: Sut) -> None:
    """Run every operation with a marked word."""
    await sut.chat("ada", "cli", f"remember {MARKER}")
    await sut.chat("ada", "cli", f"look for {MARKER}")
    await sut.sweep_after_idle()
    await sut.chat("ada", "desk", "hi")
    await sut.gaia.memory.settled()
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


@pytest.mark.parametrize("capture", ["", "SPAN_ONLY"])
async def test_no_span_contains_content(
    make: Make, seen: SpanCollector, monkeypatch: pytest.MonkeyPatch, capture: str
) -> None:
    """This covers every operation, also where ADK's own spans show content."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", capture)
    await marked(make)

    assert {span.name for span in seen.memory_spans} == NAMES
    assert MARKER not in seen.json_text()
