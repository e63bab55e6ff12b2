"""Links spans of background work to the turns that caused it."""

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
"""The most conversations whose last turn is remembered; older ones are learned without a link."""


class TurnSpans:
    """The span of the last turn of each conversation in this process."""

    def __init__(self) -> None:
        self._spans: OrderedDict[SessionKey, SpanContext] = OrderedDict()

    def record_turn(self, key: SessionKey) -> None:
        """Remember the current span as the conversation's last turn; without a span, remember none."""
        self._spans.pop(key, None)
        turn_span = trace.get_current_span().get_span_context()
        if turn_span.is_valid:
            self._spans[key] = turn_span
        if len(self._spans) > _MAX_CONVERSATIONS:
            self._spans.popitem(last=False)

    def linked_to_turn(self, key: SessionKey) -> AbstractContextManager[None]:
        """Run a block `in_background`, with links to the conversation's last turn if it is remembered."""
        turn_span = self._spans.get(key)
        return in_background([] if turn_span is None else [turn_span])


@contextmanager
def in_background(causes: Sequence[SpanContext] = ()) -> Iterator[None]:
    """Make the outermost spans of the block roots, with links to `causes` and to the caller's span.

    Background work outlives the turn: a child span would end after its parent, in a trace that is already closed.
    """
    caller = trace.get_current_span().get_span_context()
    linked_spans = [*causes, *([caller] if caller.is_valid and caller not in causes else [])]
    token = context.attach(context.set_value(_LINKS_KEY, linked_spans, Context()))
    try:
        yield
    finally:
        context.detach(token)


def background_links() -> list[Link]:
    """Return the links of a span that starts here; a span with a parent has none."""
    if trace.get_current_span().get_span_context().is_valid:
        return []
    linked_spans = context.get_value(_LINKS_KEY)
    return [Link(cause) for cause in linked_spans] if isinstance(linked_spans, list) else []
