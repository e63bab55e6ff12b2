"""The receipt of `gaia memory forget`: what was removed where, and what stays, as data without a forgotten word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gaia_memory.cli.ui.fact_output import as_json_text
from gaia_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from gaia_memory.models import Receipt

Files = Literal["rewritten", "pending", "on a server"]
"""Whether the files that hold facts are free of what was forgotten; those of a server are the server's to clean."""

EARLIER_FINISHED = "an earlier forget, whose files were still to be rewritten, is finished now"

_ON_SERVER = "rows are gone from {}; its files, logs, backups and replicas are the server's to clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What became of one forget."""

    user: str
    app: str | None
    fact_id: str | None
    session: str | None
    at: datetime
    receipt: Receipt
    waiting: int
    """Conversations whose talk was not learned yet, and now never is."""

    servers: tuple[str, ...] = ()
    """Engines whose files are not ours."""

    earlier: int = 0
    """Erasures of earlier forgets that were still to be finished."""

    is_done: bool = False
    finished_by: str | None = None
    trouble: str | None = None
    """Why the files could not be rewritten."""

    unkept: str | None = None
    """Why the file of the receipt does not say all of this."""

    @property
    def files(self) -> Files:
        """What is true of the files."""
        if self.receipt.pending and not self.is_done:
            return "pending"
        return "on a server" if self.servers else "rewritten"

    @property
    def finisher(self) -> str:
        """Who finishes what is pending."""
        return self.finished_by or "the next start of anything that opens this memory goes on with them"

    @property
    def remarks(self) -> list[str]:
        """What stays and why, and what was finished besides."""
        is_finished = self.earlier and self.files != "pending"
        return [*self.receipt.notes, *([EARLIER_FINISHED] if is_finished else [])]

    @property
    def notes(self) -> list[str]:
        """What stays and why, what was finished besides, and who finishes what is pending."""
        finisher = [f"files are still to be rewritten: {self.finisher}"] if self.files == "pending" else []
        return [*self.remarks, *(_ON_SERVER.format(server) for server in self.servers), *finisher]

    def data(self) -> dict[str, Any]:
        """Return it for JSON."""
        kind = "fact" if self.fact_id else "conversation" if self.session else "everything"
        return {
            "user": self.user,
            "app": self.app,
            "forgotten": kind,
            "id": self.fact_id,
            "session": self.session,
            "at": self.at.isoformat(),
            "count": self.receipt.count,
            "removed": {"facts": self.receipt.count, **self.receipt.removed},
            "waiting_conversations": self.waiting,
            "earlier_erasures": self.earlier,
            "pending": self.files == "pending",
            "files": self.files,
            "notes": self.notes,
        }


@contextmanager
def kept_in(file: Path | None, *, replace: bool) -> Iterator[Path | None]:
    """Make sure of a file for a receipt before anything is forgotten; it is gone again where nothing was.

    Raises:
        InvalidInputError: it is there and not to be replaced, or cannot be written.
    """
    if file is None:
        yield None
        return
    from gaia_memory.cli.ui.output_files import make_empty, require_no_database

    place = file.expanduser()
    if place.is_dir():
        raise InvalidInputError(f"{file} is a folder: name a file in it for the receipt")
    if not place.is_file() or replace:
        require_no_database(place)
    if place.exists():
        # A pipe or a device is written into, and nothing in it is lost.
        if place.is_file() and not replace:
            raise InvalidInputError(f"{file} is there already: name another file, or pass --force to replace it")
        yield place
        return
    make_empty(place, mode=0o600)
    try:
        yield place
    finally:
        if place.is_file() and not place.stat().st_size:
            place.unlink()


def keep(told: Told, file: Path | None) -> Told:
    """Write a receipt into its file, in one step and for its owner only.

    Returns it with the reason where that failed: what was forgotten is gone, and must be said to be.
    """
    if file is None:
        return told
    from gaia_memory.cli.ui.output_files import write

    told = replace(told, unkept=None)
    try:
        write(file, as_json_text(told.data()) + "\n", mode=0o600)
    except (InvalidInputError, OSError) as error:
        return replace(told, unkept=str(error))
    return told
