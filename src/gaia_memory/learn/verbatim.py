"""Turns facts that a host adds verbatim into drafts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal, get_args

from gaia_memory.errors import InvalidInputError
from gaia_memory.learn.screen import reject_unkeepable
from gaia_memory.models import Draft, NewFact, Scope
from gaia_memory.models.validation import raise_invalid

OnRefused = Literal["raise", "skip"]
"""What to do with facts that may not be kept: write nothing at all, or leave out only those."""

_YIELD_EVERY_FACTS = 200
"""Facts checked, a millisecond of work, before the thread offers the interpreter's lock to the event loop."""


def build_verbatim_drafts(
    facts: object, scope: Scope, *, on_refused: OnRefused = "raise"
) -> tuple[list[Draft], list[tuple[int, str]]]:
    """Return facts as drafts, and with `on_refused="skip"` the index and the reason of each one left out.

    Raises:
        InvalidInputError: `facts` is no list of `NewFact`, `on_refused` is neither "raise" nor "skip", or, with
            "raise", a fact is too long or contains a credential; the message names its index.
    """
    if not isinstance(facts, Sequence) or isinstance(facts, str | bytes):
        raise_invalid("facts", facts, "pass a list of NewFact")
    if on_refused not in get_args(OnRefused):
        raise_invalid("on_refused", on_refused, "pass 'raise' or 'skip'")
    for index, fact in enumerate(facts):
        if not isinstance(fact, NewFact):
            raise_invalid(f"facts[{index}]", fact, "pass a NewFact, such as NewFact('likes tea')")
    drafts: list[Draft] = []
    refused: list[tuple[int, str]] = []
    for index, fact in enumerate(facts):
        draft = Draft(fact=fact, source="add", app=scope.app)
        try:
            reject_unkeepable(draft)
            drafts.append(draft)
        except InvalidInputError as error:
            if on_refused == "raise":
                raise error if len(facts) == 1 else InvalidInputError(f"facts[{index}]: {error}") from error
            refused.append((index, str(error)))
        if not index % _YIELD_EVERY_FACTS:
            time.sleep(0)
    return drafts, refused
