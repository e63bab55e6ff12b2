"""Keeps quoted speech apart: "I" in a quotation is not the user."""

from __future__ import annotations

import re

from gaia_memory.backend.offline.grammar.rules import load_tables

_P = load_tables("messages").patterns
_FIRST_PLACEHOLDER = 0xE000
_MAX_QUOTATIONS = 0x1800
_PLACEHOLDER = re.compile("[\ue000-\uf7ff]")
_END = re.compile(r"[.!…,]+(?=\W?\Z)")


class Quotations:
    """The quotations of a message, each replaced by a character of the private use area."""

    def __init__(self, message: str) -> None:
        """Take the quotations out of `message`, unless it is nothing but one."""
        self._quoted: list[str] = []
        self.text = _PLACEHOLDER.sub("", message)
        unquoted = _P["quotation"].sub(lambda found: self._hide(found[0]), self.text)
        if any(map(str.isalnum, unquoted)):
            self.text = _P["announced_speech"].sub(lambda found: found[1] + self._hide(found[2]), unquoted)

    def restore(self, fact: str) -> str:
        """Return a fact with its quotations, word for word."""
        return _PLACEHOLDER.sub(lambda found: self._quoted[ord(found[0]) - _FIRST_PLACEHOLDER], fact)

    def _hide(self, speech: str) -> str:
        """Return a placeholder, and after it the full stop of the quotation, which may end the sentence."""
        if len(self._quoted) == _MAX_QUOTATIONS:
            return speech
        end = _END.search(speech)
        self._quoted.append(f"{speech[: end.start()]}{speech[end.end() :]}" if end else speech)
        return chr(_FIRST_PLACEHOLDER + len(self._quoted) - 1) + (end[0] if end else "")
