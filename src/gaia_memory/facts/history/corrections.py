"""Gives a fact another wording, and goes back to what was before an ending."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from math import nextafter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, delete, func, insert, select, update

from gaia_memory.database.id_encoding import encode_id
from gaia_memory.facts import scopes
from gaia_memory.facts.current import current_or_past
from gaia_memory.facts.history.fact_history import undo_endings
from gaia_memory.facts.history.move_facts import settle, swap_ids
from gaia_memory.facts.history.timeline import load_timeline, stored_ids
from gaia_memory.facts.identity.text_identity import normal_hash
from gaia_memory.facts.rows import DETAIL_DEFAULTS, change_in, details_of, from_epoch_seconds, to_epoch_seconds
from gaia_memory.facts.scopes import drop_changes, log_changes
from gaia_memory.facts.tables import endings, facts, past_facts, profiles
from gaia_memory.language.tokenizer import TOKENIZER_VERSION
from gaia_memory.models import Draft, Fact, FactEnd, extract_fact_features, holds

if TYPE_CHECKING:
    from gaia_memory.facts.history.fact_history import FactHistory
    from gaia_memory.facts.reconciling.keyed_facts import KeyedFacts
    from gaia_memory.facts.write_facts import FactWriter
    from gaia_memory.models import EndingReason, Scope
    from gaia_memory.ports import Clock, Transaction


_KEPT_TIMES = {"first_said_at", "in_doubt_since"}
"""Times of a statement, which a correction of its details leaves as they are."""


class Corrections:
    """Changes the wording of facts, which keep their ids, and goes back to what was before an ending."""

    def __init__(self, writer: FactWriter, history: FactHistory, keys: KeyedFacts, clock: Clock) -> None:
        """Take what writes the new wording, ends the old one and settles keys, and the clock of lifted endings."""
        self._writer, self._history, self._keys, self._clock = writer, history, keys, clock

    async def reword(
        self, tx: Transaction, scope: Scope, fact_id: str, draft: Draft, *, actor: str, now: datetime
    ) -> Fact | None:
        """Replace a current fact by `draft` and return what is current then; None if there is no such fact.

        The fact keeps its id, and the earlier wording goes to history under a new one. Where the new wording is that of
        another current fact, the two become one, which is returned.
        """
        state = await scopes.bump_revision(tx, scope)
        known = (await self._history.stored(tx, scope, [fact_id])).get(fact_id)
        if known is None:
            return None
        if normal_hash(known.fact.text) == normal_hash(draft.fact.text):
            await _rewrite(tx, scope, fact_id, draft, state, now)
            await self._keys.settle_keys(tx, scope, [(fact_id, actor, None)], now=now)
            return (await self._history.stored(tx, scope, [fact_id], or_past=True))[fact_id].fact
        is_merged = await _is_current(tx, scope, draft.fact.text)
        [new] = await self._writer.write(tx, scope, [draft], now=now, rewording=fact_id)
        why: EndingReason = "merged" if is_merged else "replaced"
        since = min(draft.fact.valid_from or now, now)
        ending = FactEnd(fact_id=fact_id, ended_at=since, why=why, actor=actor, ended_by=new.id)
        ended = [ending] if since == now else await self._ends_since(tx, scope, ending)
        await self._history.end_facts(tx, scope, ended, now=now)
        return new if is_merged else await self._take_id(tx, scope, fact_id, new.id)

    async def _ends_since(self, tx: Transaction, scope: Scope, ending: FactEnd) -> list[FactEnd]:
        """Return what ends a fact, and what it had replaced, at a past time, whatever was said of them since."""
        ids = sorted(await self._history.earlier_ids(tx, scope, [ending.fact_id]), key=ending.fact_id.__eq__)
        known, timeline = await self._history.stored(tx, scope, ids, or_past=True), await load_timeline(tx, scope, ids)
        since, ends = to_epoch_seconds(ending.ended_at), list[FactEnd]()
        for fact_id in ids:
            last_ended = timeline.last_ended_at(fact_id)
            if timeline.has_ended(fact_id) and last_ended is not None and last_ended <= since:
                continue
            begun = [said for said, _ in timeline.sayings.get(fact_id, ()) if said is not None]
            begun += [to_epoch_seconds(start)] if (start := known[fact_id].fact.valid_from) else []
            moments = sorted({since, *(moment for moment in begun if moment > since)})
            ends += [replace(ending, fact_id=fact_id, ended_at=from_epoch_seconds(each)) for each in moments]
        return ends

    async def hide_wordings(self, tx: Transaction, scope: Scope, fact_ids: Collection[str]) -> None:
        """Mark the earlier wordings of sensitive facts as sensitive, and delete the profile made of the facts."""
        in_scope = past_facts.c.partition == scope.partition
        hidden = update(past_facts).where(in_scope).values(sensitive=True)
        await change_in(tx, hidden, past_facts.c.wording_of, fact_ids)
        await tx.execute(delete(profiles).where(profiles.c.partition == scope.partition))

    async def restore(self, tx: Transaction, scope: Scope, fact_id: str, *, actor: str, now: datetime) -> Fact | None:
        """Undo the last ending of a fact or, if it is current, the last one by it; return the fact that is back.

        What replaced it goes to history, unless it was current before that. Returns None if nothing can be undone.
        """
        await scopes.ensure_scope(tx, scope)
        if current := (await self._history.stored(tx, scope, [fact_id])).get(fact_id):
            valid_until = current.fact.valid_until
            if valid_until is not None and valid_until <= now:
                await self._drop_expiry(tx, scope, fact_id)
                await self._keys.settle_keys(tx, scope, [(fact_id, actor, now)], now=now)
                await log_changes(tx, scope.partition, "added", [fact_id])
                return (await self._history.stored(tx, scope, [fact_id]))[fact_id].fact
            ending = await _last_ending(tx, scope, endings.c.ended_by == fact_id)
        else:
            ending = await _ending_of_past(tx, scope, fact_id)
        if ending is None:
            return None
        if ending.why == "expired":
            await self._drop_expiry(tx, scope, ending.fact_id)
        wording_of = await _wording_of(tx, scope, ending.fact_id)
        await self._undo(tx, scope, ending, actor, now)
        # What is wanted back stands, whatever else has its key by now.
        await self._keys.settle_keys(tx, scope, [(ending.fact_id, actor, now)], now=now)
        if wording_of is not None and wording_of == ending.ended_by:
            return await self._take_id(tx, scope, wording_of, ending.fact_id)
        back = (await self._history.stored(tx, scope, [ending.fact_id])).get(ending.fact_id)
        return None if back is None else back.fact

    async def lift_endings(self, tx: Transaction, scope: Scope, session_id: str, *, gone: Collection[str]) -> None:
        """Delete the endings that this conversation or these facts caused, before the facts are deleted.

        What one of these facts had replaced is then replaced by what replaced that.
        """
        in_scope = endings.c.partition == scope.partition
        rows = (await tx.execute(select(endings).where(in_scope).order_by(endings.c.ended_at))).all()
        # An ending by a fact that another conversation taught, too, stays true.
        caused = [
            row
            for row in rows
            if row.ended_by in gone or (row.session_id == encode_id(session_id) and row.ended_by is None)
        ]
        if not caused:
            return
        state = await scopes.bump_revision(tx, scope)
        await change_in(tx, delete(endings), endings.c.row, [row.row for row in caused])
        followed = [found for row in caused if (found := _follow(row, rows, gone)) is not None]
        if followed:
            await tx.execute(insert(endings), followed)
        ids = {row.fact_id for row in caused}
        await settle(tx, scope, ids, await load_timeline(tx, scope, ids), state)
        now = self._clock.now()
        await self._keys.settle_keys(tx, scope, [(fact_id, "host", None) for fact_id in sorted(ids)], now=now)

    async def _undo(self, tx: Transaction, scope: Scope, ending: Row[Any], actor: str, now: datetime) -> None:
        """Undo an ending; what took the place of the fact goes, too, with all that it ended at the time."""
        # Several endings may keep it in history: it is back without all that came after it was said last.
        timeline = await load_timeline(tx, scope, [ending.fact_id])
        last_said = timeline.last_said_at(ending.fact_id)
        later = [row for row in timeline.standing(ending.fact_id) if last_said is None or row.ended_at >= last_said]
        rows = [ending.row, *(row.row for row in later)]
        successor = None if ending.why in ("merged", "expired") else ending.ended_by
        if successor is not None and await _was_current_before(tx, scope, successor, ending):
            successor = None
        if successor is not None:
            is_sibling = endings.c.ended_by == successor, endings.c.noted_at == ending.noted_at
            in_scope = endings.c.partition == scope.partition, endings.c.undone_at.is_(None)
            rows += (await tx.execute(select(endings.c.row).where(*in_scope, *is_sibling))).scalars()
            latest = await self._latest_successor(tx, scope, successor, ending)
            if latest is not None:
                gone = FactEnd(fact_id=latest, ended_at=now, why="replaced", actor=actor, ended_by=ending.fact_id)
                await self._history.end_facts(tx, scope, [gone], now=now)
        await undo_endings(tx, scope, rows, now=now)

    async def _latest_successor(self, tx: Transaction, scope: Scope, fact_id: str, ending: Row[Any]) -> str | None:
        """Return the current fact that took the place of one, or of what did; None if that was current before."""
        seen = {ending.fact_id}
        while fact_id not in seen:
            seen.add(fact_id)
            if await _was_current_before(tx, scope, fact_id, ending):
                return None
            if await stored_ids(tx, scope, [fact_id]):
                return fact_id
            following = await _ending_of_past(tx, scope, fact_id)
            if following is None or following.why != "replaced" or following.ended_by is None:
                return None
            fact_id = following.ended_by
        return None

    async def _take_id(self, tx: Transaction, scope: Scope, fact_id: str, new_id: str) -> Fact:
        """Give the current fact `new_id` the id of the past one `fact_id`, which becomes an earlier wording of it.

        It has been known since that one was stored: a correction makes no new fact.
        """
        state = await scopes.bump_revision(tx, scope)
        await swap_ids(tx, scope, fact_id, new_id, state.revision)
        # Nobody was told of the id of the new wording, and the end of the old one is in the log.
        await drop_changes(tx, scope.partition, new_id)
        is_earlier = past_facts.c.partition == scope.partition, past_facts.c.id == new_id
        await tx.execute(update(past_facts).where(*is_earlier).values(wording_of=fact_id))
        known_since = select(past_facts.c.created_at).where(*is_earlier).scalar_subquery()
        # Of an imported line both may be current after an undone ending.
        created_at = func.coalesce(known_since, facts.c.created_at)
        is_current = facts.c.partition == scope.partition, facts.c.id == fact_id
        await tx.execute(update(facts).where(*is_current).values(version=state.revision, created_at=created_at))
        return (await self._history.stored(tx, scope, [fact_id]))[fact_id].fact

    async def _drop_expiry(self, tx: Transaction, scope: Scope, fact_id: str) -> None:
        state = await scopes.bump_revision(tx, scope)
        for table in (facts, past_facts):
            is_meant = table.c.partition == scope.partition, table.c.id == fact_id
            await tx.execute(update(table).where(*is_meant).values(valid_until=None, version=state.revision))
        await scopes.mark_dirty(tx, [fact_id], state.revision)


def _follow(row: Row[Any], rows: Sequence[Row[Any]], gone: Collection[str]) -> dict[str, Any] | None:
    """Return the ending of a fact by what replaced the one that replaced it, which is gone; None without that."""
    following: Row[Any] | None = row
    passed = set[str]()
    while following is not None and following.ended_by in gone and following.ended_by not in passed:
        passed.add(following.ended_by)
        ended_by, since = following.ended_by, following.ended_at
        later = (each for each in rows if each.fact_id == ended_by and each.ended_at >= since)
        following = next((each for each in later if each.why == "replaced" and each.undone_at is None), None)
    if following is None or following.ended_by in (None, row.fact_id) or row.undone_at is not None:
        return None
    copied = {name: value for name, value in following._mapping.items() if name != "row"}
    return {**copied, "fact_id": row.fact_id}


async def _is_current(tx: Transaction, scope: Scope, text: str) -> bool:
    is_same = facts.c.partition == scope.partition, facts.c.normal == normal_hash(text)
    return (await tx.execute(select(facts.c.id).where(*is_same, current_or_past()))).first() is not None


async def _rewrite(tx: Transaction, scope: Scope, fact_id: str, draft: Draft, state: Row[Any], now: datetime) -> None:
    """Change what is stored of a fact that stays the same statement."""
    text, details = draft.fact.text, {**DETAIL_DEFAULTS, **details_of(draft.fact)}
    values = {name: details[name] for name in DETAIL_DEFAULTS.keys() - _KEPT_TIMES}
    values |= {"text": text, "metadata": dict(draft.fact.metadata)}
    values |= {"traits": extract_fact_features(text, draft.fact.metadata), "form": TOKENIZER_VERSION}
    values |= {"version": state.revision}
    is_meant = facts.c.partition == scope.partition, facts.c.id == fact_id
    await tx.execute(update(facts).where(*is_meant).values(updated_at=to_epoch_seconds(now), **values))
    await scopes.mark_dirty(tx, [fact_id], state.revision)
    await log_changes(tx, scope.partition, "replaced", [fact_id])


async def _last_ending(tx: Transaction, scope: Scope, condition: Any) -> Row[Any] | None:
    in_scope = endings.c.partition == scope.partition, endings.c.undone_at.is_(None)
    statement = select(endings).where(*in_scope, condition).order_by(endings.c.noted_at.desc(), endings.c.row.desc())
    return (await tx.execute(statement.limit(1))).first()


async def _ending_of_past(tx: Transaction, scope: Scope, fact_id: str) -> Row[Any] | None:
    """Return the last noted ending that keeps a fact in history; one before its last saying ended an earlier period."""
    timeline = await load_timeline(tx, scope, [fact_id])
    last_said, standing = timeline.last_said_at(fact_id), timeline.standing(fact_id)
    keeping = [row for row in standing if last_said is None or row.ended_at >= last_said]
    return max(keeping or standing, key=lambda row: (row.noted_at, row.row), default=None)


async def _wording_of(tx: Transaction, scope: Scope, fact_id: str) -> str | None:
    is_meant = past_facts.c.partition == scope.partition, past_facts.c.id == fact_id
    return (await tx.execute(select(past_facts.c.wording_of).where(*is_meant))).scalar_one_or_none()


async def _was_current_before(tx: Transaction, scope: Scope, fact_id: str, ending: Row[Any]) -> bool:
    timeline = await load_timeline(tx, scope, [fact_id])
    earlier = [saying for saying in timeline.sayings.get(fact_id, ()) if (saying.said_at or 0.0) < ending.ended_at]
    return holds(earlier, timeline.ending_times(fact_id), at=ending.ended_at, known_at=nextafter(ending.noted_at, 0))
