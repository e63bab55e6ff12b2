"""What was used in turns: names, outcomes and times. No argument, no value and no word of anybody is stored."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Insert, bindparam, delete, exists, select

from gaia_memory.database.id_encoding import decode_id, encode_id
from gaia_memory.facts.tables import scopes, usage
from gaia_memory.models import Scope, SessionKey, TurnUsage

if TYPE_CHECKING:
    from gaia_memory.ports import Transaction

MAX_USED_BYTES = 2_000
MAX_NAME_CHARACTERS = 64
_MAX_TOOLS = MAX_USED_BYTES // len('["",""], ')
_COLUMNS = ("partition", "app", "session_id", "began_at", "ended_at", "used")


def usage_parameters(used: TurnUsage, *, now: float) -> dict[str, Any]:
    """Return the parameters of `note_usage`; tools that do not fit into 2 kB are left out."""
    noted: dict[str, Any] = {"channel": _short(used.channel)} if used.channel else {}
    noted |= {"command": used.command} if used.command else {}
    tools = [[_short(name), _short(outcome)] for name, outcome in used.tools[:_MAX_TOOLS]]
    while len(json.dumps(noted | {"tools": tools})) > MAX_USED_BYTES:
        tools.pop()
    place = (used.scope.partition, encode_id(used.key.app), encode_id(used.key.session))
    values = (*place, used.began_at, now, noted | ({"tools": tools} if tools else {}))
    return dict(zip((f"used_{name}" for name in _COLUMNS), values, strict=True))


def _short(name: str) -> str:
    return name[:MAX_NAME_CHARACTERS]


@cache
def note_usage() -> Insert:
    """Return the statement that notes a turn, unless the person was forgotten since it began."""
    values = {name: bindparam(f"used_{name}", type_=usage.c[name].type) for name in _COLUMNS}
    is_forgotten = exists().where(
        scopes.c.partition == values["partition"], scopes.c.forgotten_at >= values["began_at"]
    )
    return usage.insert().from_select(list(_COLUMNS), select(*values.values()).where(~is_forgotten))


async def load_usage(tx: Transaction, scope: Scope, *, since: float) -> list[TurnUsage]:
    """Return what a person used in turns that ended at `since` or later, oldest first."""
    of_scope = usage.c.partition == scope.partition, usage.c.ended_at >= since
    rows = await tx.execute(select(usage).where(*of_scope).order_by(usage.c.ended_at, usage.c.row))
    return [
        TurnUsage(
            scope=scope,
            key=SessionKey(decode_id(row.app), scope.user, decode_id(row.session_id)),
            began_at=row.began_at,
            ended_at=row.ended_at,
            channel=row.used.get("channel"),
            command=row.used.get("command"),
            tools=tuple((name, outcome) for name, outcome in row.used.get("tools", ())),
        )
        for row in rows
    ]


async def has_usage(tx: Transaction, scope: Scope) -> bool:
    """Return whether it is known what a person used in any turn."""
    statement = select(usage.c.row).where(usage.c.partition == scope.partition).limit(1)
    return (await tx.execute(statement)).first() is not None


async def partitions_with_usage(tx: Transaction, *, since: float) -> set[str]:
    """Return the partitions of everybody who has had a turn since a time."""
    statement = select(usage.c.partition).where(usage.c.ended_at >= since).distinct()
    return set((await tx.execute(statement)).scalars())


async def forget_usage(tx: Transaction, scope: Scope, session_id: str | None = None) -> dict[str, int]:
    """Delete what was used in one conversation, or in all; return how many turns that were, as `usage`, if any.

    After the conversations are marked as forgotten: a turn that ends meanwhile has noted what it used, or will not.
    """
    is_meant = usage.c.partition == scope.partition
    if session_id is not None:
        is_meant &= usage.c.session_id == encode_id(session_id)
    count = (await tx.execute(delete(usage).where(is_meant))).rowcount
    return {"usage": count} if count else {}


async def drop_old_usage(tx: Transaction, *, before: float) -> None:
    """Delete what ended before a time."""
    await tx.execute(delete(usage).where(usage.c.ended_at < before))
