"""Removes file paths and network addresses from messages to users."""

from __future__ import annotations

import re

from gaia_memory.config.sources.load import FILE_NAME

_LOCATION = re.compile(
    r"""
      \w[\w+.-]*://[^\s;,'"`)]+                                    # a URL, including credentials
    | (?<![\w.~/\\-])(?:~[\w.-]*|\.{1,2}|[A-Za-z]:)?[/\\]            # the start of a path, then up to ...
      (?:[^;:,'"`\n]*[/\\])?[^\s;:,'"`)]*                            # ... its last part: a folder may contain spaces
    | (?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\w.])            # an IPv4 address
    | \[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\](?::\d+)?                     # an IPv6 address
    | (?<![\w.-])(?:localhost|[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,})(?::\d{2,5})(?!\w)  # a host with its port
    | (?<![\w.-])localhost(?!\w)
    """,
    re.VERBOSE,
)


def redact_locations(text: str) -> str:
    """Return a text with each file path and network address replaced by an ellipsis.

    A path to gaia.yaml keeps the file's name, because the user has to edit that file. `gaia doctor` and the log show
    the full paths to the operator.
    """
    return _LOCATION.sub(lambda found: FILE_NAME if _is_config_file(found[0]) else "\N{HORIZONTAL ELLIPSIS}", text)


def _is_config_file(location: str) -> bool:
    return location.endswith((f"/{FILE_NAME}", f"\\{FILE_NAME}"))
