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

EARLIER_FINISHED_NOTE = "an earlier forget, whose files were still to be rewritten, is finished"
NEXT_OPENER = "the next process that opens this memory rewrites them"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """The result of one forget."""

    user: str
    app: str | None
    fact_id: str | None
    session: str | None
    forgotten_at: datetime
    receipt: Receipt
    waiting_conversations: int = 0
    """Pending conversations, which are never learned."""

    remote_stores: tuple[str, ...] = ()
    """The stores whose files are on a server, which cleans its own."""

    earlier_erasures: int = 0
    """Earlier forgets whose files were still to be rewritten."""

    finisher: str | None = None
    """What rewrites the files that may contain forgotten text; None if there are none any more."""

    @property
    def files(self) -> Literal["rewritten", "pending", "on a server"]:
        """The state of the files."""
        return "pending" if self.finisher else "on a server" if self.remote_stores else "rewritten"

    @property
    def notes(self) -> list[str]:
        """What stays and why, and what else was finished."""
        server = "rows are deleted from {}; the server cleans its own files, logs, backups and replicas"
        notes = [*self.receipt.notes, *map(server.format, self.remote_stores)]
        if self.finisher:
            notes.append(f"files are still to be rewritten: {self.finisher}")
        elif self.earlier_erasures:
            notes.append(EARLIER_FINISHED_NOTE)
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return the report as data for JSON."""
        return {
            "user": self.user,
            "app": self.app,
            "forgotten": "fact" if self.fact_id else "conversation" if self.session else "everything",
            "id": self.fact_id,
            "session": self.session,
            "at": self.forgotten_at.isoformat(),
            "count": self.receipt.count,
            "removed": {"facts": self.receipt.count, **self.receipt.removed},
            "waiting_conversations": self.waiting_conversations,
            "earlier_erasures": self.earlier_erasures,
            "pending": self.files == "pending",
            "files": self.files,
            "copies": self.receipt.copies,
            "notes": self.notes,
        }

    def save(self, file: Path | None) -> str | None:
        """Write the receipt to its file, if there is one; return why that failed: the facts are deleted by then."""
        try:
            if file is not None:
                write_file(file, to_json_text(self.to_dict()) + "\n", mode=0o600)
        except OSError as error:
            return describe_os_error(error)
        return None


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
