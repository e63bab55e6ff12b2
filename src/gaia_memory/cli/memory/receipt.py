"""The receipt of `gaia memory forget`: what was removed where, and what stays, as data without a forgotten word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gaia_memory.cli.ui.fact_output import to_json_text
from gaia_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from gaia_memory.models import Receipt

FileStatus = Literal["rewritten", "pending", "on a server"]
"""Whether the files that hold facts are free of what was forgotten; those of a server are the server's to clean."""

EARLIER_FINISHED_NOTE = "an earlier forget, whose files were still to be rewritten, is finished now"

_SERVER_NOTE = "rows are gone from {}; its files, logs, backups and replicas are the server's to clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """What became of one forget."""

    user: str
    app: str | None
    fact_id: str | None
    session: str | None
    forgotten_at: datetime
    receipt: Receipt
    waiting_conversations: int
    """Conversations whose talk was not learned yet, and now never is."""

    server_parts: tuple[str, ...] = ()
    """Engines whose files are not ours."""

    earlier_erasures: int = 0
    """Erasures of earlier forgets that were still to be finished."""

    is_erased: bool = False
    finished_by: str | None = None
    erasure_error: str | None = None
    """Why the files could not be rewritten."""

    receipt_error: str | None = None
    """Why the file of the receipt does not say all of this."""

    @property
    def file_status(self) -> FileStatus:
        """What is true of the files."""
        if self.receipt.pending and not self.is_erased:
            return "pending"
        return "on a server" if self.server_parts else "rewritten"

    @property
    def finisher(self) -> str:
        """Who finishes what is pending."""
        return self.finished_by or "the next start of anything that opens this memory goes on with them"

    @property
    def remarks(self) -> list[str]:
        """What stays and why, and what was finished besides."""
        is_finished = self.earlier_erasures and self.file_status != "pending"
        return [*self.receipt.notes, *([EARLIER_FINISHED_NOTE] if is_finished else [])]

    @property
    def notes(self) -> list[str]:
        """What stays and why, what was finished besides, and who finishes what is pending."""
        finisher = [f"files are still to be rewritten: {self.finisher}"] if self.file_status == "pending" else []
        return [*self.remarks, *(_SERVER_NOTE.format(server) for server in self.server_parts), *finisher]

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        kind = "fact" if self.fact_id else "conversation" if self.session else "everything"
        return {
            "user": self.user,
            "app": self.app,
            "forgotten": kind,
            "id": self.fact_id,
            "session": self.session,
            "at": self.forgotten_at.isoformat(),
            "count": self.receipt.count,
            "removed": {"facts": self.receipt.count, **self.receipt.removed},
            "waiting_conversations": self.waiting_conversations,
            "earlier_erasures": self.earlier_erasures,
            "pending": self.file_status == "pending",
            "files": self.file_status,
            "notes": self.notes,
        }


@contextmanager
def receipt_file(file: Path | None, *, overwrite: bool) -> Iterator[Path | None]:
    """Make sure of a file for a receipt before anything is forgotten; it is gone again where nothing was.

    Raises:
        InvalidInputError: it is there and not to be replaced, or cannot be written.
    """
    if file is None:
        yield None
        return
    from gaia_memory.cli.ui.output_files import create_empty_file, require_no_database

    path = file.expanduser()
    if path.is_dir():
        raise InvalidInputError(f"{file} is a folder: name a file in it for the receipt")
    if not path.is_file() or overwrite:
        require_no_database(path)
    if path.exists():
        # A pipe or a device is written into, and nothing in it is lost.
        if path.is_file() and not overwrite:
            raise InvalidInputError(f"{file} is there already: name another file, or pass --force to replace it")
        yield path
        return
    create_empty_file(path, mode=0o600)
    try:
        yield path
    finally:
        if path.is_file() and not path.stat().st_size:
            path.unlink()


def save_report(report: ForgetReport, file: Path | None) -> ForgetReport:
    """Write a receipt into its file, in one step and for its owner only.

    Returns it with the reason where that failed: what was forgotten is gone, and must be said to be.
    """
    if file is None:
        return report
    from gaia_memory.cli.ui.output_files import write_file

    report = replace(report, receipt_error=None)
    try:
        write_file(file, to_json_text(report.to_dict()) + "\n", mode=0o600)
    except (InvalidInputError, OSError) as error:
        return replace(report, receipt_error=str(error))
    return report
