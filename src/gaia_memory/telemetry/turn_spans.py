"""Which spans caused work that goes on behind them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanContext

from gaia_memory.models import SessionKey

_LINKS_KEY = context.create_key("gaia-memory-links")
_MAX_CONVERSATIONS = 4096
"""Conversations whose last turn is known at once; an older one is learned without a link."""


class TurnSpans:
    """The span of the last turn of each conversation in this process."""

    def __init__(self) -> None:
        self._spans: OrderedDict[SessionKey, SpanContext] = OrderedDict()

    def record_turn(self, key: SessionKey) -> None:
        """Take the current span for that of the conversation's last turn; a turn without one leaves none."""
        self._spans.pop(key, None)
        turn_span = trace.get_current_span().get_span_context()
        if turn_span.is_valid:
            self._spans[key] = turn_span
        if len(self._spans) > _MAX_CONVERSATIONS:
            self._spans.popitem(last=False)

    def linked_to_turn(self, key: SessionKey) -> AbstractContextManager[None]:
        """Let the spans of a block be `in_background`, linked to the conversation's last turn where that is known."""
        turn_span = self._spans.get(key)
        return in_background([] if turn_span is None else [turn_span])


@contextmanager
def in_background(causes: Sequence[SpanContext] = ()) -> Iterator[None]:
    """Let the first spans of this block be roots, with links to `causes` and to the span it was called in.

    What happens behind a turn outlives it: its child would end after it, in a trace that was closed long ago.
    """
    caller = trace.get_current_span().get_span_context()
    linked_spans = [*causes, *([caller] if caller.is_valid and caller not in causes else [])]
    token = context.attach(context.set_value(_LINKS_KEY, linked_spans, Context()))
    try:
        yield
    finally:
        context.detach(token)


def background_links() -> list[Link]:
    """Return the links of a span that begins now; none where it has a parent."""
    if trace.get_current_span().get_span_context().is_valid:
        return []
    linked_spans = context.get_value(_LINKS_KEY)
    return [Link(cause) for cause in linked_spans] if isinstance(linked_spans, list) else []
