"""Keeps a model from saving anew what the person asked to forget."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import NewFact, Said, Scope
from gaia_memory.ports import FactStore, Transaction

_LONG_AGO = datetime.fromtimestamp(0, UTC)
_FORGOTTEN = (
    "the user asked to forget this and does not speak of it now: do not save it, and do not bring it up; it may be "
    "saved when the user says it again"
)


async def refuse_forgotten(facts: FactStore, tx: Transaction, scope: Scope, texts: Sequence[str], said: Said) -> None:
    """Refuse texts that were forgotten, unless what the person says meanwhile, `said`, speaks of them.

    Raises:
        InvalidInputError: one of them was forgotten.
    """
    unsaid = [text for text in texts if not facts.speaks_of(said.text, text)]
    forgotten_at = (await facts.state(tx, scope)).forgotten_at
    # Everything was forgotten, in the middle of this turn or before it, and the model still sees what was said.
    is_before = forgotten_at is not None and (said.at if not unsaid else said.since) <= forgotten_at
    spoken = [NewFact(text, said_at=datetime.fromtimestamp(said.at, UTC)) for text in texts]
    if is_before or any(await facts.told_again(tx, scope, spoken)):
        raise InvalidInputError(_FORGOTTEN)
    buried = await facts.buried(tx, scope, unsaid)
    # Whenever it was said: what somebody wants kept counts as talk of before.
    told_again = await facts.told_again(tx, scope, [NewFact(text, said_at=_LONG_AGO) for text in unsaid])
    if any((*buried, *told_again)):
        raise InvalidInputError(_FORGOTTEN)
