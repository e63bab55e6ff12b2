"""The fields of log lines: what happened, by ids and numbers; and errors without their words."""

from __future__ import annotations

import traceback

from gaia_memory.log import MultiLine
from gaia_memory.models import Scope, SessionKey
from gaia_memory.outage import exception_chain
from gaia_memory.telemetry.store_id import store_id

FieldValue = str | int | float | bool | None


def log_fields(event: str, subject: SessionKey | Scope | None = None, /, **fields: FieldValue) -> dict[str, FieldValue]:
    """Return the `extra` of a log line: `gaia_event` and each field under `gaia_…`, for any formatter.

    A conversation is named by `gaia_app` and `gaia_session`, a person's memory by `gaia_store`. Fields hold ids,
    counts, seconds and names of ours, never what a person said.
    """
    extra: dict[str, FieldValue] = {"gaia_event": event}
    if isinstance(subject, SessionKey):
        extra |= {"gaia_app": subject.app, "gaia_session": subject.session}
    elif subject is not None:
        extra["gaia_store"] = store_id(subject)
    return extra | {f"gaia_{name}": value for name, value in fields.items()}


def error_frames(error: BaseException) -> MultiLine:
    """Return where an error came from, and those that it was raised from, outermost first.

    Kinds and places alone: a message, a line of SQL or an answer in it may hold what a person said.
    """
    lines = []
    for cause in exception_chain(error):
        lines += [f"{type(cause).__name__}\n", *traceback.format_tb(cause.__traceback__)]
    return MultiLine("".join(lines).rstrip())
