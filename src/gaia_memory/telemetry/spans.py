"""Spans by OpenTelemetry's conventions for memory: https://github.com/open-telemetry/semantic-conventions-genai.

Nothing here fails memory: a tracer, sampler or processor that raises costs its span.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Literal, Self

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from gaia_memory.errors import ModelError
from gaia_memory.log import logger_for
from gaia_memory.models import Fact, Hit, Scope
from gaia_memory.outage import classify_error
from gaia_memory.telemetry.content_capture import shows_content
from gaia_memory.telemetry.store_id import store_id
from gaia_memory.telemetry.turn_spans import background_links

logger = logger_for(__name__)

TRACER_NAME = "gaia_memory"
PROVIDER_NAME = "mem0"

Operation = Literal[
    "search_memory",
    "create_memory",
    "upsert_memory",
    "delete_memory",
    "create_memory_store",
    # Ours: the conventions have no name for these two.
    "distil_profile",
    "follow_store",
]


class MemorySpan(AbstractContextManager["MemorySpan"]):
    """One operation of memory as a trace shows it; make it with `memory_span`.

    An error that leaves the block is named by its kind alone. Every method may be called without a tracer.
    """

    def __init__(self, operation: Operation, attributes: dict[str, Any]) -> None:
        self._operation = operation
        self._attributes = attributes
        self._span: Span = trace.INVALID_SPAN
        self._active_context: AbstractContextManager[Any] | None = None

    def __enter__(self) -> Self:
        try:
            self._span = _tracer().start_span(
                self._operation,
                kind=SpanKind.INTERNAL,
                attributes=self._attributes,
                links=background_links(),
            )
            current = trace.use_span(self._span, record_exception=False, set_status_on_exception=False)
            current.__enter__()
            self._active_context = current
        except Exception as error:  # somebody's tracer: memory goes on without its span
            _log_lost_span(error)
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if error is not None:
            self.record_error(error)
        try:
            if self._active_context is not None:
                self._active_context.__exit__(None, None, None)
            self._span.end()
        except Exception as broken:  # somebody's processor: memory goes on
            _log_lost_span(broken)

    @property
    def shows_content(self) -> bool:
        """Whether somebody collects this span and wants content in it."""
        return self._span.is_recording() and shows_content()

    def add_attributes(self, **attributes: str | bool | int | float) -> None:
        """Add attributes of our own, `gaia.name` each."""
        self._set_attributes({f"gaia.{name}": value for name, value in attributes.items()})

    def set_record_id(self, record_id: str) -> None:
        """Name the one record that the operation is about."""
        self._set_attributes({"gen_ai.memory.record.id": record_id})

    def set_record_count(self, records: int) -> None:
        """Say how many records were found, written or removed."""
        self._set_attributes({"gen_ai.memory.record.count": records})

    def record_hits(self, hits: Sequence[Hit]) -> None:
        """Count what was found, and show it where content is wanted."""
        self.set_record_count(len(hits))
        if self.shows_content:
            self._set_records([{"id": hit.fact.id, "content": hit.fact.text, "score": hit.score} for hit in hits])

    def record_facts(self, facts: Sequence[Fact]) -> None:
        """Count what was written, name it where it is one, and show it where content is wanted."""
        self.set_record_count(len(facts))
        if len(facts) == 1:
            self.set_record_id(facts[0].id)
        if self.shows_content:
            self._set_records([{"id": fact.id, "content": fact.text} for fact in facts])

    def record_learned(self, texts: Sequence[str]) -> None:
        """Show what was learned, where content is wanted."""
        if self.shows_content and texts:
            self._set_records([{"content": text} for text in texts])

    def record_query(self, query: str) -> None:
        """Show the question where content is wanted."""
        if self.shows_content:
            self._set_attributes({"gen_ai.memory.query.text": query})

    def record_error(self, error: BaseException | str) -> None:
        """Name the error that the operation ended with: a provider's status, else its kind; or a name of ours."""
        kind = error if isinstance(error, str) else error_type(error)
        self._set_attributes({"error.type": kind})
        # An error's message may hold what a person said.
        self._span.set_status(Status(StatusCode.ERROR, kind))

    def _set_records(self, records: Sequence[dict[str, Any]]) -> None:
        self._set_attributes({"gen_ai.memory.records": json.dumps(records, ensure_ascii=False)})

    def _set_attributes(self, attributes: dict[str, Any]) -> None:
        self._span.set_attributes(attributes)


def memory_span(
    operation: Operation,
    scope: Scope | None = None,
    *,
    session: str | None = None,
    store: str | None = None,
    record_id: str | None = None,
) -> MemorySpan:
    """Return a span for an operation, to be entered: under the current one or, `in_background`, a root with links.

    `scope` memory it is, or the id of a mem0 `store`; `session` is the conversation's, where there is one.
    """
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": PROVIDER_NAME,
        "gen_ai.memory.store.id": store if scope is None else store_id(scope),
        "gen_ai.memory.record.id": record_id,
        "gen_ai.conversation.id": session,
    }
    return MemorySpan(operation, {name: value for name, value in attributes.items() if value is not None})


def error_type(error: BaseException) -> str:
    """Return what an error is called in a span: the status of a provider that answered with one, else its kind."""
    outage = classify_error(error) if isinstance(error, ModelError) else None
    return str(outage.status) if outage is not None and outage.status else type(error).__name__


@functools.cache
def _tracer() -> trace.Tracer:
    """Return our tracer; it waits by itself for a provider that is set later."""
    return trace.get_tracer(TRACER_NAME)


def _log_lost_span(error: Exception) -> None:
    logger.debug("a span was lost: %s", type(error).__name__)
