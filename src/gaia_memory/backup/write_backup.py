"""Makes a backup: one consistent file of a home, while processes use it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from gaia_memory.backup.archive import CONFIG_FILE, MEMORY_DATABASE, SESSION_DATABASE, Manifest, Progress, write_archive
from gaia_memory.config.sources.load import LoadedConfig
from gaia_memory.database.files.file_swap import finish_swap
from gaia_memory.database.files.snapshot import copy_databases, delete_rows, read_column, read_value
from gaia_memory.database.id_encoding import decode_id
from gaia_memory.database.migrate import VERSION_TABLE
from gaia_memory.database.read_only import database_path
from gaia_memory.errors import InvalidInputError, MemoryUnavailable
from gaia_memory.facts.current import current_or_past_sql
from gaia_memory.files.private_files import sync_to_disk
from gaia_memory.redaction.mask import mask_secrets

_WORK_PREFIX, _LOCK_NAME = ".gaia-backup-", "lock"
_STORED_FACTS = f"gaia_facts AS f WHERE {current_or_past_sql('f')}"
_COUNTS = {
    "facts": (MEMORY_DATABASE, f"SELECT count(*) FROM {_STORED_FACTS}"),
    "people": (
        MEMORY_DATABASE,
        # The facts of a whole app belong to nobody.
        f"SELECT count(DISTINCT partition) FROM {_STORED_FACTS}"
        " AND partition IN (SELECT partition FROM gaia_scopes WHERE user_id <> '')",
    ),
    "conversations": (SESSION_DATABASE, "SELECT count(*) FROM sessions"),
}
_WAITING = (
    "SELECT json_array(app, user_id, session_id) FROM gaia_conversations "
    "WHERE turn_no > done_turn_no AND turn_no > learned_turn_no"
)
_STORED_SESSIONS = "SELECT json_array(app_name, user_id, id) FROM sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """What a backup contains: its file and size in bytes, the names of the files in it, counts, and remarks."""

    path: Path
    bytes: int
    files: tuple[str, ...]
    facts: int
    people: int
    conversations: int
    notes: tuple[str, ...] = ()


def write_backup(
    loaded: LoadedConfig, path: Path, *, overwrite: bool = False, progress: Progress | None = None
) -> BackupReport:
    """Copy the databases of a configuration and its file to `path`, readable by the owner alone. Blocking.

    Processes that use the home go on meanwhile. `path` appears when the backup is complete. The mem0 store is left
    out, because it is rebuilt from the facts; keys are, because they are in the environment alone.

    Raises:
        InvalidInputError: `path` exists and `overwrite` is false, or its folder does not exist.
        MemoryUnavailable: memory is on a server, has no database yet or a damaged one, or the disk is full.
    """
    path = path.expanduser().absolute()
    if path.is_dir() or (path.exists() and not overwrite):
        raise InvalidInputError(f"{path} exists: name another file, or pass overwrite=True")
    if not path.parent.is_dir():
        raise InvalidInputError(f"{path.parent} is no folder: name a file in an existing one")
    sources, notes = _find_databases(loaded)
    try:
        finish_swap(loaded.config.home)
        with _work_folder(path.parent) as folder:
            files = {name: folder / name for name in sources}
            # The sessions first: a conversation that is learned in between is in both copies.
            copy_databases({sources[name]: files[name] for name in sources}, progress or (lambda done, total: None))
            delete_rows(files[MEMORY_DATABASE], "gaia_tool_changes")
            if loaded.path is not None:
                files[CONFIG_FILE] = folder / CONFIG_FILE
                shutil.copyfile(loaded.path, files[CONFIG_FILE])
            counts, notes = count_contents(files), notes or _missing_sessions_notes(files)
            write_archive(folder / "archive.part", _build_manifest(files, counts), files)
            (folder / "archive.part").replace(path)
            sync_to_disk([path.parent])
    except OSError as error:
        raise MemoryUnavailable(
            f"the backup cannot be written to {path} ({error.strerror})", remedy="check the disk and its permissions"
        ) from error
    return BackupReport(path=path, bytes=path.stat().st_size, files=tuple(files), **counts, notes=notes)


@contextmanager
def _work_folder(parent: Path) -> Iterator[Path]:
    """Make a folder for the block, which is locked, and delete what killed backups left of theirs."""
    from filelock import FileLock

    for leftover in parent.glob(f"{_WORK_PREFIX}*"):
        with suppress(OSError), FileLock(leftover / _LOCK_NAME, mode=0o600, timeout=0):
            shutil.rmtree(leftover)
    folder = Path(tempfile.mkdtemp(dir=parent, prefix=_WORK_PREFIX))
    try:
        with FileLock(folder / _LOCK_NAME, mode=0o600):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _find_databases(loaded: LoadedConfig) -> tuple[dict[str, Path], tuple[str, ...]]:
    """Return the files to copy, the sessions first, and remarks about what is not copied."""
    memory, sessions = database_path(loaded.config.memory_url), database_path(loaded.config.sessions_url)
    if memory is None:
        raise MemoryUnavailable(
            "the memory database is on a server, which makes its own backups",
            remedy=f"run `{_dump_command(loaded.config.memory_url)}`",
        )
    if not memory.exists():
        raise MemoryUnavailable(f"there is no {memory}, so nothing to back up", remedy="check `home` and GAIA_HOME")
    if sessions is None:
        note = f"the sessions are on a server: back them up with `{_dump_command(loaded.config.sessions_url)}`"
        return {MEMORY_DATABASE: memory}, (note,)
    if sessions == memory or not sessions.exists():
        return {MEMORY_DATABASE: memory}, ()
    return {SESSION_DATABASE: sessions, MEMORY_DATABASE: memory}, ()


def _missing_sessions_notes(files: Mapping[str, Path]) -> tuple[str, ...]:
    """Return a remark if conversations wait to be learned whose messages are not in the backup."""
    memory = files[MEMORY_DATABASE]
    waiting = {tuple(map(decode_id, json.loads(row))) for row in read_column(memory, _WAITING)}
    stored = read_column(files.get(SESSION_DATABASE, memory), _STORED_SESSIONS)
    count = len(waiting.difference(tuple(json.loads(row)) for row in stored))
    if not count:
        return ()
    wait = "1 conversation waits" if count == 1 else f"{count} conversations wait"
    return (
        f"{wait} to be learned in a session database that the backup does not contain: back that one up, too, or set "
        "`sessions.database_url` to its absolute URL",
    )


def _dump_command(url: str) -> str:
    address = mask_secrets(url).replace("postgresql+asyncpg:", "postgresql:")
    return f"pg_dump --format=custom --file=gaia.dump {address}"


def _build_manifest(files: Mapping[str, Path], counts: Mapping[str, int]) -> Manifest:
    schema = read_value(files[MEMORY_DATABASE], f"SELECT version_num FROM {VERSION_TABLE}")
    if schema is None:
        raise MemoryUnavailable("the memory database has no tables yet, so there is nothing to back up")
    return Manifest(gaia_memory=version("gaia-memory"), schema=schema, made_at=datetime.now(UTC).isoformat(), **counts)


def count_contents(files: Mapping[str, Path]) -> dict[str, int]:
    """Return the counts of facts, people and conversations in the databases of a backup, by the names of its files."""
    memory = files[MEMORY_DATABASE]
    return {name: read_value(files.get(file, memory), query) or 0 for name, (file, query) in _COUNTS.items()}
