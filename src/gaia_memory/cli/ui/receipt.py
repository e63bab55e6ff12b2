"""The receipt of `gaia memory forget`: the deleted and the remaining data, without the forgotten text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gaia_memory.cli.ui.fact_output import to_json_text
from gaia_memory.cli.ui.output_files import describe_os_error, require_writable, write_file
from gaia_memory.errors import InvalidInputError
from gaia_memory.files.private_files import create_private_file

if TYPE_CHECKING:
    from gaia_memory.models import Receipt

FileStatus = Literal["rewritten", "pending", "on a server"]
"""Whether the files are free of forgotten text; servers clean their own files."""

EARLIER_FINISHED_NOTE = "an earlier forget, whose files were still to be rewritten, is finished"

_SERVER_NOTE = "rows are deleted from {}; the server cleans its own files, logs, backups and replicas"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """The result of one forget."""

    user: str
    app: str | None
    fact_id: str | None
    session: str | None
    forgotten_at: datetime
    receipt: Receipt
    waiting_conversations: int
    """Pending conversations, which are never learned."""

    remote_stores: tuple[str, ...] = ()
    """The stores whose files are on a server."""

    earlier_erasures: int = 0
    """Earlier forgets whose files were still to be rewritten."""

    is_erased: bool = False
    finished_by: str | None = None
    erasure_error: str | None = None
    """Why the files could not be rewritten."""

    @property
    def file_status(self) -> FileStatus:
        """The state of the files."""
        if self.receipt.pending and not self.is_erased:
            return "pending"
        return "on a server" if self.remote_stores else "rewritten"

    @property
    def finisher(self) -> str:
        """The process that finishes pending files."""
        return self.finished_by or "the next process that opens this memory rewrites them"

    @property
    def remarks(self) -> list[str]:
        """What stays and why, and what else was finished."""
        is_finished = self.earlier_erasures and self.file_status != "pending"
        return [*self.receipt.notes, *([EARLIER_FINISHED_NOTE] if is_finished else [])]

    @property
    def notes(self) -> list[str]:
        """The remarks, and the notes on servers and pending files."""
        finisher = [f"files are still to be rewritten: {self.finisher}"] if self.file_status == "pending" else []
        return [*self.remarks, *(_SERVER_NOTE.format(server) for server in self.remote_stores), *finisher]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as data for JSON."""
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
            "copies": self.receipt.copies,
            "notes": self.notes,
        }


@contextmanager
def receipt_file(file: Path | None, *, overwrite: bool) -> Iterator[Path | None]:
    """Create the file of a receipt before anything is forgotten, and delete it if it stays empty."""
    if file is None:
        yield None
        return
    path = file.expanduser()
    if path.is_dir():
        raise InvalidInputError(f"{file} is a folder: name a file in it for the receipt")
    require_writable(path, overwrite=overwrite)
    is_new = not path.exists()
    if is_new:
        create_private_file(path)
    try:
        yield path
    finally:
        if is_new and path.is_file() and not path.stat().st_size:
            path.unlink()


def save_report(report: ForgetReport, file: Path | None) -> str | None:
    """Write a report to its file, if there is one; return why that failed: the facts are deleted by then."""
    try:
        if file is not None:
            write_file(file, to_json_text(report.to_dict()) + "\n", mode=0o600)
    except OSError as error:
        return describe_os_error(error)
    return None
