"""The receipt of `gaia memory forget`: what was removed where, and what stays, as data without a forgotten word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gaia_memory.cli.rendering import as_json_text
from gaia_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from gaia_memory.models import Receipt

Files = Literal["rewritten", "pending", "on a server"]
"""Whether the files that hold facts are free of what was forgotten; those of a server are the server's to clean."""

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

    is_done: bool = False
    finished_by: str | None = None

    @property
    def files(self) -> Files:
        """What is true of the files."""
        if self.receipt.pending and not self.is_done:
            return "pending"
        return "on a server" if self.servers else "rewritten"

    @property
    def notes(self) -> list[str]:
        """What stays and why, and who finishes what is pending."""
        finisher = [self.finished_by or "the next start of anything that opens this memory rewrites the files"]
        servers = [_ON_SERVER.format(server) for server in self.servers]
        return [*self.receipt.notes, *servers, *(finisher if self.files == "pending" else [])]

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
    from gaia_memory.cli.files import make_empty, require_no_database

    place = file.expanduser()
    if place.exists():
        if not replace:
            raise InvalidInputError(f"{file} is there already: name another file, or pass --force to replace it")
        require_no_database(place)
        yield place
        return
    make_empty(place, mode=0o600)
    try:
        yield place
    finally:
        if place.is_file() and not place.stat().st_size:
            place.unlink()


def keep(told: Told, file: Path | None) -> None:
    """Write a receipt into its file, in one step and for its owner only."""
    if file is not None:
        from gaia_memory.cli.files import write

        write(file, as_json_text(told.data()) + "\n", mode=0o600)
