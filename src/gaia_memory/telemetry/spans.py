"""Spans that follow https://github.com/open-telemetry/semantic-conventions-genai for memory, without content."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode

from gaia_memory.errors import ModelError
from gaia_memory.log import store_id
from gaia_memory.models import Fact, Scope, TokenUsage
from gaia_memory.outage import classify_error

TRACER_NAME = "gaia_memory"
PROVIDER_NAME = "mem0"

Operation = Literal[
    "search_memory",
    "create_memory",
    "upsert_memory",
    "delete_memory",
    "create_memory_store",
    # The conventions have no name for these three.
    "distil_profile",
    "reconcile_facts",
    "follow_store",
]


class MemorySpan:
    """The span of one memory operation; all methods work without a tracer."""

    def __init__(self, span: Span, operation: Operation) -> None:
        self._span = span
        self.operation = operation
        self._usage = TokenUsage()

    def add_attributes(self, **attributes: str | bool | int | float) -> None:
        """Add attributes under `gaia.`."""
        self._span.set_attributes({f"gaia.{name}": value for name, value in attributes.items()})

    def set_record_count(self, records: int) -> None:
        """Set the number of records found, written or removed."""
        self._span.set_attribute("gen_ai.memory.record.count", records)

    def add_usage(self, usage: TokenUsage) -> None:
        """Add tokens of questions to a model; an answer that came after the end of the operation is left out."""
        if not self._span.is_recording():
            return
        self._usage = total = self._usage + usage
        self._span.set_attribute("gen_ai.usage.input_tokens", total.input)
        self._span.set_attribute("gen_ai.usage.output_tokens", total.output)
        if total.cached:
            self._span.set_attribute("gen_ai.usage.cache_read.input_tokens", total.cached)
        if total.estimated:
            self._span.set_attribute("gaia.usage.estimated", True)

    def record_facts(self, facts: Sequence[Fact]) -> None:
        """Record the number of facts, and the id of a single one."""
        self.set_record_count(len(facts))
        if len(facts) == 1:
            self._span.set_attribute("gen_ai.memory.record.id", facts[0].id)

    def record_error(self, error: BaseException | str) -> None:
        """Record the error that ended the operation: a given name, the provider's status, or the error's type."""
        kind = error if isinstance(error, str) else error_type(error)
        self._span.set_attribute("error.type", kind)
        # An error's message may contain what a user said.
        self._span.set_status(Status(StatusCode.ERROR, kind))


_current_span: ContextVar[MemorySpan | None] = ContextVar("current_span", default=None)


def current_span() -> MemorySpan | None:
    """Return the innermost span of memory around this code."""
    return _current_span.get()


@contextmanager
def memory_span(
    operation: Operation,
    scope: Scope | None = None,
    *,
    session: str | None = None,
    store: str | None = None,
    record_id: str | None = None,
) -> Iterator[MemorySpan]:
    """Run a block in the span of an operation: a child of the current span, or `in_background` a root.

    Pass the `scope` of the memory or the id of a mem0 `store`, and the `session` if a conversation is involved. An
    error that leaves the block is recorded by type only.
    """
    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": PROVIDER_NAME,
        "gen_ai.memory.store.id": store if scope is None else store_id(scope),
        "gen_ai.memory.record.id": record_id,
        "gen_ai.conversation.id": session,
    }
    with _tracer().start_as_current_span(
        operation,
        attributes={name: value for name, value in attributes.items() if value is not None},
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        span = MemorySpan(current, operation)
        token = _current_span.set(span)
        try:
            yield span
        except BaseException as error:
            span.record_error(error)
            raise
        finally:
            _current_span.reset(token)


@contextmanager
def in_background() -> Iterator[None]:
    """Make the outermost spans of the block roots: a child of a turn's span would end after that turn."""
    token = context.attach(Context())
    try:
        yield
    finally:
        context.detach(token)


def error_type(error: BaseException) -> str:
    """Return the name of an error in a span: the provider's HTTP status, if any, else the error's type."""
    outage = classify_error(error) if isinstance(error, ModelError) else None
    return str(outage.status) if outage is not None and outage.status else type(error).__name__


@functools.cache
def _tracer() -> trace.Tracer:
    """Return the tracer of this package; it also works with a provider that is set later."""
    return trace.get_tracer(TRACER_NAME)
