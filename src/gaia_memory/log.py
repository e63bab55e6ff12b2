"""The loggers of this package: what an id, a name or an error holds is shown in a log line and can never make one."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from gaia_memory.language.printable_text import in_lines, on_one_line


class Lines(str):
    """Text of several lines by design; each but the first is logged indented, so that none looks like a record."""

    __slots__ = ()


def logger_for(module: str) -> logging.Logger:
    """Return the logger of a module, by its `__name__`.

    Whatever fills a line of it is made legible before any handler sees it: control, direction and invisible
    characters are escaped, and so are line breaks, but in `Lines` and in errors.
    """
    logger = logging.getLogger(module)
    logger.addFilter(_legible)
    return logger


def _legible(record: logging.LogRecord) -> bool:
    if isinstance(record.args, Mapping):
        record.args = {name: _shown(value) for name, value in record.args.items()}
    elif record.args:
        record.args = tuple(map(_shown, record.args))
    else:
        # Without arguments the whole may come from outside.
        record.msg = in_lines(str(record.msg))
    for name, value in list(vars(record).items()):
        if name.startswith("gaia_") and isinstance(value, str):
            setattr(record, name, on_one_line(value))
    if record.exc_info and record.exc_info[0] is not None:
        # A formatter takes this for the traceback, whose last lines are the error's own words.
        record.exc_text = in_lines(logging.Formatter().formatException(record.exc_info))
    return True


def _shown(value: object) -> object:
    text = str(value)
    shown = in_lines(text) if isinstance(value, Lines | BaseException) else on_one_line(text)
    # A number stays one: the line's own form may want it.
    return value if shown == text else shown
