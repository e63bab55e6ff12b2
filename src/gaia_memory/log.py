"""The loggers of this package: what an id, a name or an error holds is shown in a log line and can never make one."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from gaia_memory.language.printable_text import escape_line, escape_lines


class MultiLine(str):
    """Text of several lines by design; each but the first is logged indented, so that none looks like a record."""

    __slots__ = ()


def logger_for(module: str) -> logging.Logger:
    """Return the logger of a module, by its `__name__`.

    Whatever fills a line of it is made legible before any handler sees it: control, direction and invisible
    characters are escaped, and so are line breaks, but in `MultiLine` and in errors.
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
        # Without arguments the whole may come from outside.
        record.msg = escape_lines(str(record.msg))
    for name, value in list(vars(record).items()):
        if name.startswith("gaia_") and isinstance(value, str):
            setattr(record, name, escape_line(value))
    if record.exc_info and record.exc_info[0] is not None:
        # A formatter takes this for the traceback, whose last lines are the error's own words.
        record.exc_text = escape_lines(logging.Formatter().formatException(record.exc_info))
    return True


def _escape_value(value: object) -> object:
    text = str(value)
    escaped = escape_lines(text) if isinstance(value, MultiLine | BaseException) else escape_line(text)
    # A number stays one: the line's own form may want it.
    return value if escaped == text else escaped
