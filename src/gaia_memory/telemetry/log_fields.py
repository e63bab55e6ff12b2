"""Fields of log lines: ids and numbers, and errors without their messages."""

from __future__ import annotations

import hashlib
import traceback

from gaia_memory.log import MultiLine
from gaia_memory.models import Scope, SessionKey
from gaia_memory.outage import exception_chain

FieldValue = str | int | float | bool | None

_STORE_ID_LENGTH = 16


def store_id(scope: Scope) -> str:
    """Return a stable id of a scope for logs and spans that does not reveal the user id.

    It is the start of the SHA-256 of `scope.partition`, so it can be computed from app and user.
    """
    return hashlib.sha256(scope.partition.encode()).hexdigest()[:_STORE_ID_LENGTH]


def log_fields(event: str, subject: SessionKey | Scope | None = None, /, **fields: FieldValue) -> dict[str, FieldValue]:
    """Return the `extra` of a log line: `gaia_event`, and each field as `gaia_NAME`.

    A conversation becomes `gaia_app` and `gaia_session`, a scope `gaia_store`. Pass ids, counts, seconds and names
    defined by this package, never what a user said.
    """
    extra: dict[str, FieldValue] = {"gaia_event": event}
    if isinstance(subject, SessionKey):
        extra |= {"gaia_app": subject.app, "gaia_session": subject.session}
    elif subject is not None:
        extra["gaia_store"] = store_id(subject)
    return extra | {f"gaia_{name}": value for name, value in fields.items()}


def error_frames(error: BaseException) -> MultiLine:
    """Return the types and traceback frames of an error and its causes, outermost first.

    Messages are left out: they may contain what a user said, for example in SQL or in a model's answer.
    """
    lines = []
    for cause in exception_chain(error):
        lines += [f"{type(cause).__name__}\n", *traceback.format_tb(cause.__traceback__)]
    return MultiLine("".join(lines).rstrip())
