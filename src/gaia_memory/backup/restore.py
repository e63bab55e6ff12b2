"""Puts a backup back into a home."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from gaia_memory.backend.mem0_store.store import next_store_id
from gaia_memory.backup.archive import (
    CONFIG_FILE,
    MEMORY_DATABASE,
    SESSION_DATABASE,
    Manifest,
    Progress,
    extract_file,
    read_manifest,
)
from gaia_memory.backup.forgets import Forgets, apply_forgets, read_forgets
from gaia_memory.backup.write_backup import count_contents
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.load import load, locate
from gaia_memory.config.sources.yaml_edit import edit_content
from gaia_memory.config.sources.yaml_file import FileSnapshot
from gaia_memory.database.files.exclusive_access import exclusive_access
from gaia_memory.database.files.file_swap import LOG_SUFFIXES, StagedFiles, finish_swap
from gaia_memory.database.files.snapshot import FileConnection, find_damage, read_column, read_rows, without_log
from gaia_memory.database.migrate import require_known_schema
from gaia_memory.database.read_only import database_path
from gaia_memory.database.sql_engine import open_database, truncate_wal
from gaia_memory.errors import ConfigError, InvalidInputError, MemoryUnavailable
from gaia_memory.facts import Outbox
from gaia_memory.facts.current import current_or_past_sql
from gaia_memory.threads import run_in_thread

_Result = TypeVar("_Result")
_FACT_IDS = f"SELECT id FROM gaia_facts AS f WHERE {current_or_past_sql('f')}"
_WITHDRAWN = "SELECT fact_id FROM gaia_tool_changes WHERE erase_at IS NOT NULL"
_INITIAL_TABLES = frozenset(("gaia_alembic_version", "gaia_store"))
_UNKNOWN_FORGETS_NOTE = "what was forgotten after this backup is not known here, and may be back: forget it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """What was restored: the home, the names of the files, counts, and remarks.

    The counts are those of the restored home. `forgotten` counts the facts of the backup that were forgotten after it
    was made, and stay forgotten; `dropped` the facts of the replaced database that the backup does not have.
    """

    home: Path
    files: tuple[str, ...]
    made_at: str
    facts: int
    people: int
    conversations: int
    forgotten: int
    dropped: int = 0
    notes: tuple[str, ...] = ()


def restore(
    path: str | os.PathLike[str],
    *,
    home: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> RestoreReport:
    """Put a backup of `memory.backup` into `home`. Blocking; memory must be closed.

    Without `home` it is the one that `config` names, a `gaia.yaml`, by default that of `open_memory`.

    With `force` it replaces the databases and `gaia.yaml` of the home; databases in which nothing was ever stored are
    replaced in any case. For a `home` that is named nothing outside of it is replaced. Until the new files are complete
    the old ones stay in place, and what was forgotten since the backup stays forgotten. A restored `gaia.yaml` names
    the home in which it lies, whatever it named before. The next start rebuilds the mem0 store.
    `progress` is called with the bytes done and their total, for each file.

    Raises:
        ConfigError: `config` cannot be used.
        InvalidInputError: `path` is no backup, the home has files to be replaced and `force` is false, both `home` and
            `config` are given, or the configuration in the backup names a database that exists outside of a named
            `home`.
        MemoryUnavailable: a process uses the home, a newer version wrote the backup, or the disk is full.
    """
    if home is not None and config is not None:
        raise InvalidInputError("home and config both say which home to restore: pass one of them")
    archive = Path(path).expanduser().absolute()
    manifest, names = read_manifest(archive)
    require_known_schema(str(archive), manifest.schema)
    configured = locate() if config is None else config
    folder = load(configured).config.home if home is None else Path(home).expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        finish_swap(folder)
        return _restore(
            archive,
            manifest,
            names,
            folder,
            force=force,
            is_home_named=home is not None,
            progress=progress or (lambda *_: None),
        )
    except OSError as error:
        where = error.filename or folder
        raise MemoryUnavailable(
            f"{where} cannot be used ({error.strerror}), and nothing was restored", remedy="check the disk and the home"
        ) from error


def _restore(
    archive: Path,
    manifest: Manifest,
    names: list[str],
    home: Path,
    *,
    force: bool,
    is_home_named: bool,
    progress: Progress,
) -> RestoreReport:
    staged, settings = StagedFiles(), home / CONFIG_FILE
    notes: list[str] = []
    try:
        if CONFIG_FILE in names:
            extract_file(archive, CONFIG_FILE, staged.add(settings), progress)
            notes += _name_home(staged.paths[settings], settings)
        targets = _find_targets(names, home, staged.paths.get(settings))
        databases = {name: target for name, target in targets.items() if name != CONFIG_FILE}
        if is_home_named:
            _require_inside(home, databases)
        with exclusive_access(list(databases.values())) as connections:
            unused = [target for target, connection in connections.items() if _is_unused(connection)]
            existing = [target for target in targets.values() if target.exists() and target not in unused]
            if existing and not force:
                message = f"{home} has data: {', '.join(map(str, existing))}"
                raise InvalidInputError(f"{message}. To replace it, pass force=True, or name another home")
            for name, target in databases.items():
                _stage_database(archive, name, staged.add(target), progress)
            memory = targets[MEMORY_DATABASE]
            forgets = read_forgets(connections.get(memory))
            notes += _final_forgets_note(connections.get(memory))
            replaced_ids = {fact_id for (fact_id,) in read_rows(connections.get(memory), _FACT_IDS)[0]}
            dropped = len(replaced_ids.difference(read_column(staged.paths[memory], _FACT_IDS)))
            forgotten = run_to_end(_prepare(staged.paths[memory], home, forgets))
            counts = count_contents({name: staged.paths[target] for name, target in databases.items()})
            for target in set(databases.values()) - connections.keys():
                # The log of a damaged file must not be applied to the new one.
                for suffix in LOG_SUFFIXES:
                    Path(f"{target}{suffix}").unlink(missing_ok=True)
            staged.swap(home)
    finally:
        staged.discard()
    return RestoreReport(
        home=home,
        files=tuple(names),
        made_at=manifest.made_at,
        forgotten=forgotten,
        dropped=dropped,
        **counts,
        notes=(*notes, *(() if forgets.is_complete else (_UNKNOWN_FORGETS_NOTE,))),
    )


def _name_home(settings: Path, target: Path) -> list[str]:
    """Let restored settings name the folder of `target` as the home; return what to do if they cannot be edited.

    They would lead to the home of the installation from which the backup comes, or to a folder that does not exist.
    """
    content = settings.read_bytes()
    try:
        home = FileSnapshot(target, content).settings().get("home", GaiaConfig.model_fields["home"].default)
        if os.path.expanduser(str(home)) != str(target.parent):
            settings.write_bytes(edit_content(content, ("home",), ".", source=str(target)))
    except ConfigError as error:
        return [str(error)]
    return []


def _require_inside(home: Path, databases: Mapping[str, Path]) -> None:
    """Refuse a file outside of the home: it may be that of the installation from which the backup comes, and in use."""
    for name, target in databases.items():
        if target.exists() and not target.resolve().is_relative_to(home.resolve()):
            variable = f"GAIA_{'MEMORY' if name == MEMORY_DATABASE else 'SESSIONS'}__DATABASE_URL"
            raise InvalidInputError(
                f"{target} exists, and the configuration in the backup names it, outside of the home {home}: set "
                f"{variable}=sqlite:///{name} for a copy inside of {home}, or name no home to restore the original"
            )


def _is_unused(connection: FileConnection) -> bool:
    """Return whether a database has only what its creation writes, as after `gaia memory list` in a new home."""
    tables, is_whole = read_rows(connection, "SELECT name FROM sqlite_master WHERE type = 'table'")
    names = [name for (name,) in tables if name not in _INITIAL_TABLES]
    rows = [read_rows(connection, f'SELECT 1 FROM "{name}" LIMIT 1') for name in names]
    return is_whole and all(found == ([], True) for found in rows)


def _final_forgets_note(connection: FileConnection | None) -> list[str]:
    """Return a note if tools have forgotten facts that could still be taken back."""
    rows, _ = read_rows(connection, _WITHDRAWN)
    if not rows:
        return []
    count = "1 fact" if len(rows) == 1 else f"{len(rows)} facts"
    remedy = "a restore into another home still has what the backup holds of that"
    return [f"{count} that a tool forgot can no longer be taken back with /undo: {remedy}"]


def _find_targets(names: list[str], home: Path, settings: Path | None) -> dict[str, Path]:
    """Return where each file belongs, by the configuration in the backup and the environment."""
    config = load(settings, home=home).config
    places = {MEMORY_DATABASE: config.memory_url, SESSION_DATABASE: config.sessions_url}
    targets: dict[str, Path] = {}
    for name in names:
        target = home / CONFIG_FILE if name == CONFIG_FILE else database_path(places[name])
        if target is None:
            raise MemoryUnavailable(
                f"{name} of the backup is a file, and the configuration names a server",
                remedy="set the database_url to a file, or restore a dump with `pg_restore`",
            )
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        targets[name] = target
    return targets


def _stage_database(archive: Path, name: str, target: Path, progress: Progress) -> None:
    extract_file(archive, name, target, progress)
    if damage := find_damage(target):
        raise InvalidInputError(f"{archive} is damaged ({name}: {damage}): use another backup")


async def _prepare(path: Path, home: Path, forgets: Forgets) -> int:
    """Migrate a restored database, carry the forgets over, and give it a new mem0 store; return the facts removed."""
    database, outbox = await open_database(f"sqlite:///{path}", home=home), Outbox()
    try:
        removed = await apply_forgets(database, outbox, forgets)
        async with database.transaction() as tx:
            # The store may contain what was added or forgotten since the backup.
            await outbox.reset_store(tx, next_store_id((await outbox.store(tx)).store_id))
        await truncate_wal(database.engine)
    finally:
        await database.close()
    await run_in_thread(without_log, path)
    return removed


def run_to_end(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine to its end, also if an event loop is running in this thread."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, coroutine).result()
