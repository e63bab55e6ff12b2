"""Patterns whose time is in proportion to the text, whatever the text is."""

from __future__ import annotations

from typing import Any

import re2

_OPTIONS = re2.Options()
# One byte is one character: a class of letters is a few states and not thousands.
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
# Room for the states of a hostile text: without it RE2 falls back to a search that is many times slower.
_OPTIONS.max_mem = 64 << 20
_OPTIONS.log_errors = False


def compile_linear(pattern: str) -> Any:
    """Return a pattern of RE2 over the UTF-8 bytes of a text, where a letter outside of ASCII is several bytes."""
    return re2.compile(pattern.encode(), _OPTIONS)
