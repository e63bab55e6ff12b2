"""The loggers of this package, whose lines nothing logged can forge, and fields without what people said."""

from __future__ import annotations

import hashlib
import logging
import traceback
from collections.abc import Mapping

from gaia_memory.language.printable_text import escape_line, escape_lines
from gaia_memory.models import Scope, SessionKey
from gaia_memory.outage import exception_chain

FieldValue = str | int | float | bool | None

_STORE_ID_LENGTH = 16


class MultiLine(str):
    """Text that may span several lines; all but the first are indented, so that none looks like a record."""

    __slots__ = ()


def logger_for(module: str) -> logging.Logger:
    """Return the logger of a module, by its `__name__`.

    Control, bidirectional and invisible characters in its arguments are escaped before any handler sees them. So are
    line breaks, except in `MultiLine` and in errors.
    """
    logger = logging.getLogger(module)
    logger.addFilter(_escape_record)
    return logger


def _escape_record(record: logging.LogRecord) -> bool:
    if isinstance(record.args, Mapping):
        record.args = {name: _escape_value(value) for name, value in record.args.items()}
    elif record.args:
        record.args = tuple(map(_escape_value, record.args))
    else:
        # Without arguments, the whole message may be untrusted.
        record.msg = escape_lines(str(record.msg))
    for name, value in list(vars(record).items()):
        if name.startswith("gaia_") and isinstance(value, str):
            setattr(record, name, escape_line(value))
    if record.exc_info and record.exc_info[0] is not None:
        # Formatters print `exc_text` as the traceback; its last lines are the error's message.
        record.exc_text = escape_lines(logging.Formatter().formatException(record.exc_info))
    return True


def _escape_value(value: object) -> object:
    text = str(value)
    escaped = escape_lines(text) if isinstance(value, MultiLine | BaseException) else escape_line(text)
    # Keep numbers as they are: the format string may need them.
    return value if escaped == text else escaped


def limit_to_warnings(library: str) -> None:
    """Let a library log warnings and errors only, unless the host has set a level for it."""
    logger = logging.getLogger(library)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


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
