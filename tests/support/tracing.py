"""Spans as a host's OpenTelemetry collects them: one provider per process, one collector per test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

TRACER_NAME = "gaia_memory"


class SpanCollector(SpanProcessor):
    """The ended spans, in order."""

    def __init__(self) -> None:
        self.ended: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.ended.append(span)

    @property
    def memory_spans(self) -> list[ReadableSpan]:
        """The spans of memory."""
        return [span for span in self.ended if _is_memory_span(span)]

    def named(self, name: str) -> list[ReadableSpan]:
        """The spans of memory with this name."""
        return [span for span in self.memory_spans if span.name == name]

    def only(self, name: str) -> ReadableSpan:
        """The only span of memory with this name."""
        [span] = self.named(name)
        return span

    def parents(self, span: ReadableSpan) -> list[str]:
        """The names of a span's ancestors, the nearest first."""
        by_id = {_id(found): found for found in self.ended}
        names = []
        while span.parent is not None:
            span = by_id[span.parent.span_id]
            names.append(span.name)
        return names

    def json_text(self) -> str:
        """The names, attributes and events of memory's spans as text."""
        return "\n".join(span.to_json() for span in self.memory_spans)


class _CollectorSwitch(SpanProcessor):
    """Passes spans to the collector of the running test, and to none between tests."""

    collector: SpanCollector | None = None

    def on_end(self, span: ReadableSpan) -> None:
        if self.collector is not None:
            self.collector.on_end(span)


_switch = _CollectorSwitch()


@contextmanager
def collect_spans() -> Iterator[SpanCollector]:
    """Collect the spans of the block. The provider is set once: OpenTelemetry accepts no second one in a process."""
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(_switch)
        trace.set_tracer_provider(provider)
    _switch.collector = SpanCollector()
    try:
        yield _switch.collector
    finally:
        _switch.collector = None


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """The attributes of a span."""
    return dict(span.attributes or {})


def _id(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def _is_memory_span(span: ReadableSpan) -> bool:
    return span.instrumentation_scope is not None and span.instrumentation_scope.name == TRACER_NAME
