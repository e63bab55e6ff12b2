"""Removes the file paths and addresses of a machine from messages to users."""

from __future__ import annotations

import re

CONFIG_FILE_NAME = "gaia.yaml"

_LOCATION = re.compile(
    r"""
      (?<![\w+.-])\w[\w+.-]*://[^\s;,'"`)]+                        # an address with its scheme, credentials and all
    | (?<![\w.~/\\-])(?:~[\w.-]*|\.{1,2}|[A-Za-z]:)?[/\\]            # the beginning of a path, then up to ...
      (?:[^;:,'"`\n]*[/\\])?[^\s;:,'"`)]*                            # ... its last part: a folder may contain spaces
    | '(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*)'(?:,\ \d+)+  # an address as Python's errors show it
    | (?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\w.])            # an IPv4 address
    | \[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\](?::\d+)?                     # an IPv6 address
    | (?<![\w.-])(?:localhost|[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,})(?::\d{2,5})(?!\w)  # a host with its port
    | (?<![\w.-])localhost(?!\w)
    """,
    re.VERBOSE,
)


def redact_locations(text: str) -> str:
    """Return `text` with each file path and network address replaced by an ellipsis.

    The name `gaia.yaml` stays, because it says which file to correct. `gaia doctor` and the log show the admin
    the full locations.
    """
    return _LOCATION.sub(lambda found: _replacement(found[0]), text)


def _replacement(location: str) -> str:
    is_config_file = location.endswith((f"/{CONFIG_FILE_NAME}", f"\\{CONFIG_FILE_NAME}"))
    return CONFIG_FILE_NAME if is_config_file else "\N{HORIZONTAL ELLIPSIS}"
