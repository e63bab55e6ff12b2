"""Patterns whose time is in proportion to the text, whatever the text is."""

from __future__ import annotations

from typing import Any

import re2

_OPTIONS = re2.Options()
# A class of bytes is a few states, one of letters thousands.
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_OPTIONS.max_mem = 64 << 20


def compile_linear(pattern: str) -> Any:
    """Return a pattern of RE2 over the UTF-8 bytes of a text, where a letter outside of ASCII is several bytes."""
    return re2.compile(pattern.encode(), _OPTIONS)
