"""The loggers of this package: ids, names and errors in a log line are escaped, so that they cannot forge one."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from gaia_memory.language.printable_text import escape_line, escape_lines


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
