"""Breaks streamed text at spaces, at the width of the terminal."""

from __future__ import annotations

import re
import shutil
import sys
from typing import TextIO

_TOKEN = re.compile(r"\n|[^\S\n]+|\S+")
_LIST_MARK = re.compile(r"(?:-|\d+\.)$")
_COLUMN_GAP = 2
"""Spaces from which on a gap separates two columns: the second one is continued below itself."""

_MIN_COLUMN_CHARACTERS = 20
"""A second column narrower than this is continued at the margin."""


def terminal_width(stream: TextIO | None = None) -> int | None:
    """Return the columns of the terminal that a stream, by default standard output, is; None if it is none."""
    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else None


def wrap_words(text: str, width: int | None) -> str:
    """Return a whole text, wrapped like a streamed one."""
    wrapper = WordWrapper(width)
    return wrapper.add(text) + wrapper.finish()


class WordWrapper:
    """Wraps text that arrives in pieces; a word is held back until the next space or `finish`.

    List items and second columns are continued below their text. A word that is longer than a line is not broken.
    """

    def __init__(self, width: int | None, *, column: int = 0) -> None:
        """Wrap at `width` columns, the first line from `column` on; without a width, text passes unchanged.

        `is_empty` tells whether nothing has arrived yet.
        """
        self._width = width
        self._column = column
        self._indent = 0
        self._gap = ""
        self._word = ""
        self._is_line_start = True
        self.is_empty = True

    def add(self, piece: str) -> str:
        """Return what may be shown now that a further piece has arrived."""
        self.is_empty = self.is_empty and not piece
        if self._width is None:
            return piece
        return "".join(map(self._add_token, _TOKEN.findall(piece)))

    def finish(self) -> str:
        """Return the rest of the text."""
        return self._place_word()

    def _add_token(self, token: str) -> str:
        if not token.isspace():
            self._word += token
            return ""
        shown = self._place_word()
        if token != "\n":
            self._gap += token
            return shown
        self._column, self._indent, self._gap, self._is_line_start = 0, 0, "", True
        return f"{shown}\n"

    def _place_word(self) -> str:
        """Return the held word behind its gap, or on a new line where it does not fit."""
        from rich.cells import cell_len

        word, gap = self._word, self._gap
        if not word:
            return ""
        self._word, self._gap = "", ""
        width, size = self._width or 0, cell_len(word)
        is_first = self._is_line_start
        self._is_line_start = False
        if len(gap) >= _COLUMN_GAP and self._column + len(gap) <= width - _MIN_COLUMN_CHARACTERS:
            self._indent = self._column + len(gap)
        if self._column + len(gap) + size > width and not is_first:
            self._column = self._indent + size
            return f"\n{' ' * self._indent}{word}"
        self._column += len(gap) + size
        if is_first and _LIST_MARK.fullmatch(word):
            self._indent = self._column + 1
        return f"{gap}{word}"
