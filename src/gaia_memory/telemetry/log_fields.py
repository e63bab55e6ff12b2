"""The fields of log lines: what happened, by ids and numbers; and errors without their words."""

from __future__ import annotations

import traceback

from gaia_memory.log import Lines
from gaia_memory.models import Scope, SessionKey
from gaia_memory.outage import chain
from gaia_memory.telemetry.store_id import store_id

Value = str | int | float | bool | None


def about(event: str, whose: SessionKey | Scope | None = None, /, **fields: Value) -> dict[str, Value]:
    """Return the `extra` of a log line: `gaia_event` and each field under `gaia_…`, for any formatter.

    A conversation is named by `gaia_app` and `gaia_session`, a person's memory by `gaia_store`. Fields hold ids,
    counts, seconds and names of ours, never what a person said.
    """
    extra: dict[str, Value] = {"gaia_event": event}
    if isinstance(whose, SessionKey):
        extra |= {"gaia_app": whose.app, "gaia_session": whose.session}
    elif whose is not None:
        extra["gaia_store"] = store_id(whose)
    return extra | {f"gaia_{name}": value for name, value in fields.items()}


def frames_of(error: BaseException) -> Lines:
    """Return where an error came from, and those that it was raised from, outermost first.

    Kinds and places alone: a message, a line of SQL or an answer in it may hold what a person said.
    """
    told = []
    for found in chain(error):
        told += [f"{type(found).__name__}\n", *traceback.format_tb(found.__traceback__)]
    return Lines("".join(told).rstrip())
