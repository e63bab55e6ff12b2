"""What `gaia demo` shows: a conversation, and what was observed about it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

MAX_COLUMNS = 80
SPEAKER_COLOURS = {"ada": "cyan", "eli": "magenta", "gaia": "green"}
_SPEAKER_COLUMNS = 6
_PASSED, _FAILED = "✓", "✗"


class Screen:
    """Shows the story line by line, and counts what was observed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.observed_count = 0
        self.failed_count = 0

    def show_introduction(self, text: str) -> None:
        """Show what the reader is going to see."""
        self._print_line(text, "dim")

    def show_time(self, text: str) -> None:
        """Begin a part of the story."""
        self._print_line("")
        self._print_line(text, "bold")

    def show_message(self, speaker: str, text: str) -> None:
        """Show what a person or the agent said."""
        self._print_row(speaker, SPEAKER_COLOURS[speaker], " ".join(text.split()))

    def show_command(self, text: str, command: str) -> None:
        """Show what the reader can type next."""
        self._print_line("")
        self._print_line(f"{text} {command}", "bold")

    def observe(self, is_true: bool, claim: str, *, found: str) -> None:
        """Show a claim that was observed to be true; otherwise say in red what was expected and what was found."""
        if is_true:
            self._print_row(_PASSED, "green", claim)
        self.require(is_true, claim, found=found)

    def require(self, is_true: bool, claim: str, *, found: str) -> None:
        """Show nothing but a failure: the lines above already show what was observed."""
        self.observed_count += 1
        if not is_true:
            self.failed_count += 1
            self._print_row(_FAILED, "red", f"expected: {claim}; found: {found}", text_style="red")

    def show_wait(self, reason: str) -> AbstractContextManager[object]:
        """Show at a terminal that something goes on while the block runs."""
        # Elsewhere the line would stay in the output.
        return self._console.status(reason) if self._console.is_terminal else nullcontext()

    def _print_line(self, text: str, style: str = "") -> None:
        from rich.text import Text

        self._console.print(Text(text, style), width=self._columns)

    def _print_row(self, first: str, style: str, text: str, *, text_style: str = "") -> None:
        """Print a text next to a speaker or a mark; its further lines are indented."""
        from rich.table import Table
        from rich.text import Text

        row = Table.grid(padding=(0, 1, 0, 0))
        row.add_column(min_width=_SPEAKER_COLUMNS)
        row.add_column()
        row.add_row(Text(f"  {first}", style), Text(text, text_style))
        self._console.print(row, width=self._columns)

    @property
    def _columns(self) -> int:
        return min(self._console.width, MAX_COLUMNS)
