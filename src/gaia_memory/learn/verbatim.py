"""Takes facts that a host gives word for word."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gaia_memory.errors import InvalidInputError
from gaia_memory.learn.screen import refuse_unkeepable
from gaia_memory.models import Draft, NewFact, Scope
from gaia_memory.models.validation import refuse

_GIVE_WAY = 200
"""Facts looked through, a millisecond of work, before the event loop is offered the interpreter's lock."""


def drafts_given(facts: object, scope: Scope) -> list[Draft]:
    """Return facts as drafts.

    Raises:
        InvalidInputError: they are no facts, or one is too long or holds a credential; it names its place.
    """
    if not isinstance(facts, Sequence) or isinstance(facts, str | bytes):
        refuse("facts", facts, "pass a list of NewFact")
    for place, fact in enumerate(facts):
        if not isinstance(fact, NewFact):
            refuse(f"facts[{place}]", fact, "pass a NewFact, such as NewFact('likes tea')")
    drafts = [Draft(fact=fact, source="add", app=scope.app) for fact in facts]
    for place, draft in enumerate(drafts):
        try:
            refuse_unkeepable(draft)
        except InvalidInputError as error:
            raise error if len(drafts) == 1 else InvalidInputError(f"facts[{place}]: {error}") from error
        if not place % _GIVE_WAY:
            time.sleep(0)
    return drafts
