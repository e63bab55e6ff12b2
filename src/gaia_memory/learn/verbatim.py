"""Turns facts that a host adds verbatim into drafts."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gaia_memory.errors import InvalidInputError
from gaia_memory.learn.screen import reject_unkeepable
from gaia_memory.models import Draft, NewFact, Scope
from gaia_memory.models.validation import raise_invalid

_YIELD_EVERY_FACTS = 200
"""Facts checked, a millisecond of work, before the thread releases the interpreter's lock to the event loop."""


def build_verbatim_drafts(facts: object, scope: Scope) -> list[Draft]:
    """Return facts as drafts.

    Raises:
        InvalidInputError: they are no facts, or one is too long or contains a credential; the error names its index.
    """
    if not isinstance(facts, Sequence) or isinstance(facts, str | bytes):
        raise_invalid("facts", facts, "pass a list of NewFact")
    for index, fact in enumerate(facts):
        if not isinstance(fact, NewFact):
            raise_invalid(f"facts[{index}]", fact, "pass a NewFact, such as NewFact('likes tea')")
    drafts = [Draft(fact=fact, source="add", app=scope.app) for fact in facts]
    for index, draft in enumerate(drafts):
        try:
            reject_unkeepable(draft)
        except InvalidInputError as error:
            raise error if len(drafts) == 1 else InvalidInputError(f"facts[{index}]: {error}") from error
        if not index % _YIELD_EVERY_FACTS:
            time.sleep(0)
    return drafts
