"""The part of `Memory` that looks after its files."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_memory.backup.write_backup import BackupReport, write_backup
from gaia_memory.config.sources.live_config import LiveConfig
from gaia_memory.database.os_errors import translate_os_errors
from gaia_memory.forget.delete import finish_erasures
from gaia_memory.health import storage_problem
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.backend.mem0_store.follower import StoreFollower
    from gaia_memory.ledger.memory_stores import MemoryStores


@translate_os_errors
class MemoryFilesMixin:
    """Erases, checks and backs up the files of memory."""

    live: LiveConfig
    stores: MemoryStores
    follower: StoreFollower

    async def storage_problem(self) -> str:
        """Return what is wrong with the files, such as a lost database, with the remedy; empty if nothing is."""
        return await storage_problem(self.stores, self.follower)

    async def require_intact(self) -> None:
        """Check that the database is there and not known to be damaged: a process may still hold pages of one that is.

        Raises:
            MemoryUnavailable: its file was deleted, moved or replaced, or damage was found in it.
        """
        database = self.stores.database
        if not database.is_read_only and (problem := await database.find_problem()) is not None:
            raise problem

    async def backup(
        self,
        path: str | PathLike[str],
        *,
        overwrite: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> BackupReport:
        """Write one consistent copy of everybody's memory and sessions to `path`, readable by its owner alone.

        It is complete when it appears, and `gaia_memory.restore` puts it back. Every process may go on meanwhile.
        The copy has no keys, and no mem0 store, which is rebuilt. `progress` is called in a worker thread.

        Raises:
            InvalidInputError: `path` exists and `overwrite` is false, or its folder does not exist.
            MemoryUnavailable: memory is on a server (the message names `pg_dump`), damaged, or the disk is full.
        """
        self.stores.database.require_open()
        loaded = self.live.current
        return await run_in_thread(write_backup, loaded, Path(path), overwrite=overwrite, progress=progress)

    async def pending_erasures(self) -> int:
        """Count the forgets of any person whose text may still be in a file."""
        async with self.stores.database.read_transaction() as tx:
            return len(await self.stores.outbox.pending_erasures(tx))

    async def finish_erasures(self, progress: Callable[[int, int], None]) -> str | None:
        """Wait until no file contains forgotten text; returns None, or which other process will see to it.

        Raises:
            StoreStalledError: there was no progress for a minute.
        """
        self.stores.database.require_open()
        return await finish_erasures(self.stores, self.follower, progress)
