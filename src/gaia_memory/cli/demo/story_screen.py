"""What `gaia demo` shows: a conversation, and what was observed about it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

MAX_COLUMNS = 80
SPEAKER_COLOURS = {"ada": "cyan", "eli": "magenta", "gaia": "green"}
_SPEAKER_COLUMNS = 6


class Screen:
    """Shows the story line by line, and counts what was not as it should be."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._columns = min(console.width, MAX_COLUMNS)
        self.failed_count = 0

    def show_line(self, text: str, style: str) -> None:
        """Show a line of its own."""
        from rich.text import Text

        self._console.print(Text(text, style), width=self._columns)

    def show_message(self, speaker: str, text: str) -> None:
        """Show what a person or the agent said."""
        self._show_row(speaker, SPEAKER_COLOURS[speaker], text)

    def observe(self, is_true: bool, claim: str, *, found: object) -> None:
        """Show a claim that was observed to be true; otherwise say in red what was found in its place."""
        if is_true:
            self._show_row("✓", "green", claim)
        else:
            self.failed_count += 1
            self._show_row("✗", "red", f"expected: {claim}; found: {found}")

    def show_wait(self, reason: str) -> AbstractContextManager[object]:
        """Show at a terminal that something goes on while the block runs."""
        # Elsewhere the line would stay in the output.
        return self._console.status(reason) if self._console.is_terminal else nullcontext()

    def _show_row(self, first: str, style: str, text: str) -> None:
        """Show a text next to a speaker or a mark; its further lines are indented."""
        from rich.table import Table
        from rich.text import Text

        row = Table.grid(padding=(0, 1, 0, 0))
        row.add_column(min_width=_SPEAKER_COLUMNS)
        row.add_column()
        row.add_row(Text(f"  {first}", style), Text(" ".join(text.split()), "red" if style == "red" else ""))
        self._console.print(row, width=self._columns)
