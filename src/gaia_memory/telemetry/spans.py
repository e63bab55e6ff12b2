"""Spans that follow https://github.com/open-telemetry/semantic-conventions-genai for memory.

A failing tracer, sampler or processor loses its span and never affects memory.
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
    # The conventions have no name for these two.
    "distil_profile",
    "follow_store",
]


class MemorySpan(AbstractContextManager["MemorySpan"]):
    """The span of one memory operation; create it with `memory_span`.

    An error that leaves the block is recorded by type only. All methods work without a tracer.
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
        except Exception as error:  # a foreign tracer: continue without its span
            _log_lost_span(error)
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if error is not None:
            self.record_error(error)
        try:
            if self._active_context is not None:
                self._active_context.__exit__(None, None, None)
            self._span.end()
        except Exception as broken:  # a foreign span processor: continue
            _log_lost_span(broken)

    @property
    def shows_content(self) -> bool:
        """Whether the span is recorded and may contain content."""
        return self._span.is_recording() and shows_content()

    def add_attributes(self, **attributes: str | bool | int | float) -> None:
        """Add attributes under `gaia.`."""
        self._set_attributes({f"gaia.{name}": value for name, value in attributes.items()})

    def set_record_id(self, record_id: str) -> None:
        """Set the id of the single record of the operation."""
        self._set_attributes({"gen_ai.memory.record.id": record_id})

    def set_record_count(self, records: int) -> None:
        """Set the number of records found, written or removed."""
        self._set_attributes({"gen_ai.memory.record.count": records})

    def record_hits(self, hits: Sequence[Hit]) -> None:
        """Record the number of hits and, if content is allowed, the hits."""
        self.set_record_count(len(hits))
        if self.shows_content:
            self._set_records([{"id": hit.fact.id, "content": hit.fact.text, "score": hit.score} for hit in hits])

    def record_facts(self, facts: Sequence[Fact]) -> None:
        """Record the number of facts, the id of a single one and, if content is allowed, the facts."""
        self.set_record_count(len(facts))
        if len(facts) == 1:
            self.set_record_id(facts[0].id)
        if self.shows_content:
            self._set_records([{"id": fact.id, "content": fact.text} for fact in facts])

    def record_learned(self, texts: Sequence[str]) -> None:
        """Record the learned facts if content is allowed."""
        if self.shows_content and texts:
            self._set_records([{"content": text} for text in texts])

    def record_query(self, query: str) -> None:
        """Record the query if content is allowed."""
        if self.shows_content:
            self._set_attributes({"gen_ai.memory.query.text": query})

    def record_error(self, error: BaseException | str) -> None:
        """Record the error that ended the operation: a given name, the provider's status, or the error's type."""
        kind = error if isinstance(error, str) else error_type(error)
        self._set_attributes({"error.type": kind})
        # An error's message may contain what a user said.
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
    """Return the span of an operation, to use in `with`: a child of the current span, or `in_background` a linked root.

    Pass the `scope` of the memory or the id of a mem0 `store`, and the `session` if a conversation is involved.
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
    """Return the name of an error in a span: the provider's HTTP status, if any, else the error's type."""
    outage = classify_error(error) if isinstance(error, ModelError) else None
    return str(outage.status) if outage is not None and outage.status else type(error).__name__


@functools.cache
def _tracer() -> trace.Tracer:
    """Return the tracer of this package; it also works with a provider that is set later."""
    return trace.get_tracer(TRACER_NAME)


def _log_lost_span(error: Exception) -> None:
    logger.debug("a span was lost: %s", type(error).__name__)
