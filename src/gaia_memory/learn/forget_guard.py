"""Keeps a model from saving again what the user asked to forget."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from gaia_memory.errors import InvalidInputError
from gaia_memory.models import NewFact, Scope, UserStatement
from gaia_memory.ports import FactStore, Transaction

_EPOCH = datetime.fromtimestamp(0, UTC)
_FORGOTTEN_MESSAGE = (
    "the user asked to forget this and did not mention it now: do not save it, and do not bring it up; it may be "
    "saved when the user says it again"
)


async def reject_forgotten(
    facts: FactStore, tx: Transaction, scope: Scope, texts: Sequence[str], user_statement: UserStatement
) -> None:
    """Refuse texts that were forgotten, unless the current `user_statement` mentions them.

    Raises:
        InvalidInputError: one of them was forgotten.
    """
    unmentioned = [text for text in texts if not facts.mentions(user_statement.text, text)]
    forgotten_at = (await facts.state(tx, scope)).forgotten_at
    # Everything was forgotten, perhaps during this turn, and the model still sees the old messages.
    is_before_forget = (
        forgotten_at is not None
        and (user_statement.turn_started_at if not unmentioned else user_statement.visible_since) <= forgotten_at
    )
    new_facts = [NewFact(text, said_at=datetime.fromtimestamp(user_statement.turn_started_at, UTC)) for text in texts]
    if is_before_forget or any(await facts.paraphrases_forgotten(tx, scope, new_facts)):
        raise InvalidInputError(_FORGOTTEN_MESSAGE)
    has_tombstone = await facts.have_tombstones(tx, scope, unmentioned)
    # Compared as if said before every forgetting.
    is_paraphrase = await facts.paraphrases_forgotten(
        tx, scope, [NewFact(text, said_at=_EPOCH) for text in unmentioned]
    )
    if any((*has_tombstone, *is_paraphrase)):
        raise InvalidInputError(_FORGOTTEN_MESSAGE)
