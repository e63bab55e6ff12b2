"""What is wrong, in words for a person: without the places of the machine that it happened on."""

from __future__ import annotations

import re

from gaia_memory.config.sources.load import FILE_NAME

_LOCATION = re.compile(
    r"""
      \w[\w+.-]*://[^\s;,'"`)]+                                    # an address with its scheme, credentials and all
    | (?<![\w.~/\\-])(?:~[\w.-]*|\.{1,2}|[A-Za-z]:)?[/\\]            # the beginning of a path, then up to ...
      (?:[^;:,'"`\n]*[/\\])?[^\s;:,'"`)]*                            # ... its last part: a folder may hold spaces
    | (?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\w.])            # an IPv4 address
    | \[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\](?::\d+)?                     # an IPv6 address
    | (?<![\w.-])(?:localhost|[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,})(?::\d{2,5})(?!\w)  # a host with its port
    | (?<![\w.-])localhost(?!\w)
    """,
    re.VERBOSE,
)


def redact_locations(text: str) -> str:
    """Return a reason or a remedy with each file path and network address replaced by an ellipsis.

    Of a path to gaia.yaml the name stays: it says what to put right. Where things are is for whoever runs the
    machine, whom `gaia doctor` and the log tell.
    """
    return _LOCATION.sub(lambda place: FILE_NAME if _is_config_file(place[0]) else "\N{HORIZONTAL ELLIPSIS}", text)


def _is_config_file(location: str) -> bool:
    return location.endswith((f"/{FILE_NAME}", f"\\{FILE_NAME}"))
