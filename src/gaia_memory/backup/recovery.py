"""Rebuilds a lost or damaged memory database from the copy of its facts in the mem0 store."""

from __future__ import annotations

import shutil
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.mem0_store.chroma.read_folder import StoreRow, read_folder
from gaia_memory.backend.mem0_store.vector_stores import resolve_location
from gaia_memory.backup.archive import Progress
from gaia_memory.backup.forgets import Forgets, apply_forgets, read_forgets
from gaia_memory.backup.restore import run_to_end
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.load import LoadedConfig
from gaia_memory.database.files.exclusive_access import exclusive_access
from gaia_memory.database.files.file_swap import LOG_SUFFIXES, StagedFiles, finish_swap
from gaia_memory.database.files.snapshot import FileConnection, find_damage, read_rows, without_log
from gaia_memory.database.read_only import database_path
from gaia_memory.database.sql_engine import open_database
from gaia_memory.errors import InvalidInputError, MemoryUnavailable
from gaia_memory.facts import SqlFacts, SqlOutbox
from gaia_memory.facts.current import current_or_past_sql
from gaia_memory.ledger import SqlLedger
from gaia_memory.models import LABELS, Scope
from gaia_memory.ports import MemoryStores, SystemClock
from gaia_memory.transfer.export_format import EXPORT_FORMAT, EXPORT_VERSION, ImportedFact, parse_export
from gaia_memory.transfer.transfer import Transfer

_FACT_KEYS = {"source", "said_at", "session_id", "seq", "created_at", "updated_at", "sensitive", *LABELS}
_APP_WIDE_USER = ":app"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryReport:
    """What a recovery found and did.

    `found` facts were in the copies, `recovered` of them are new in the database; `refused` were forgotten, or are not
    valid. `lost` facts of the damaged file are in no copy, as far as it could be read; None if it is missing.
    `set_aside` is the damaged file.
    """

    found: int
    recovered: int
    refused: int
    lost: int | None = None
    set_aside: Path | None = None
    knows_forgets: bool = False


def recover(loaded: LoadedConfig, *, progress: Progress | None = None) -> RecoveryReport:
    """Fill the memory database with the facts in mem0 stores that no longer have one. Blocking.

    A damaged database is replaced by a new one and set aside; its forgets are kept as far as they can be read. The
    copies are deleted afterwards, because no forget reaches them. Facts get the source `import`.

    Raises:
        MemoryUnavailable: there is nothing to recover, a process uses the damaged file, or a copy cannot be read.
    """
    config, report = loaded.config, progress or (lambda done, total: None)
    location, _ = resolve_location(Backend(config), config.home)
    if not location.is_embedded:
        remedy = "add its facts with `gaia memory add --file`, which reads mem0's get_all"
        raise MemoryUnavailable("the mem0 store is on a server, which is not read", remedy=remedy)
    finish_swap(config.home)
    file = database_path(config.memory_url)
    if file is not None and _is_damaged(file):
        with exclusive_access([file]) as connections:
            folders = location.foreign_stores("")
            rows = _read_copies(folders, f"; or move {file} away to start with an empty memory")
            found = _replace(file, config, rows, connections.get(file), report)
    else:
        folders = location.foreign_stores(run_to_end(_load_store_id(config)))
        rows = _read_copies(folders)
        recovered, refused = run_to_end(_add_facts(config.memory_url, config, rows, Forgets(), report))
        found = RecoveryReport(found=len(rows), recovered=recovered, refused=refused)
    for folder in folders:
        shutil.rmtree(folder)
    return found


async def _load_store_id(config: GaiaConfig) -> str:
    database = await open_database(config.memory_url, home=config.home)
    try:
        async with database.read_transaction() as tx:
            return (await SqlOutbox().store(tx)).store_id
    finally:
        await database.close()


def _replace(
    file: Path, config: GaiaConfig, rows: list[StoreRow], connection: FileConnection | None, progress: Progress
) -> RecoveryReport:
    """Build a new database beside a damaged one, and put it in its place."""
    forgets = read_forgets(connection)
    known = (
        []
        if connection is None
        else read_rows(connection, f"SELECT id FROM gaia_facts AS f WHERE {current_or_past_sql('f')}")[0]
    )
    staged = StagedFiles()
    path = staged.add(file)
    try:
        recovered, refused = run_to_end(_add_facts(f"sqlite:///{path}", config, rows, forgets, progress))
        without_log(path)
        set_aside = file.with_name(f"{file.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}")
        # Until the new file is in its place, the damaged one has both names.
        set_aside.hardlink_to(file)
        for suffix in LOG_SUFFIXES:
            with suppress(FileNotFoundError):
                Path(f"{file}{suffix}").rename(f"{set_aside}{suffix}")
        staged.swap(config.home)
    finally:
        staged.discard()
    return RecoveryReport(
        found=len(rows),
        recovered=recovered,
        refused=refused,
        lost=len({fact_id for (fact_id,) in known} - {row[0] for row in rows}),
        set_aside=set_aside,
        knows_forgets=forgets.is_complete,
    )


def _is_damaged(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0 and bool(find_damage(file))


def _read_copies(folders: list[str], other_remedy: str = "") -> list[StoreRow]:
    if not folders:
        raise MemoryUnavailable(
            "there is nothing to recover: no mem0 store has facts of a lost database. Processes that keep memory open "
            "for some seconds fill it, such as an agent or a long `gaia chat`, and short commands do not",
            remedy=f"restore a backup with `gaia restore`{other_remedy}",
        )
    return [row for folder in folders for row in read_folder(Path(folder))]


async def _add_facts(
    url: str, config: GaiaConfig, rows: list[StoreRow], forgets: Forgets, progress: Progress
) -> tuple[int, int]:
    """Store the facts of the copies in a database; return how many are new, and how many were refused."""
    by_scope: dict[Scope, list[ImportedFact]] = defaultdict(list)
    refused = 0
    for row in rows:
        scope = _scope_of(str(row[1]["user_id"]))
        try:
            by_scope[scope].append(_parse(scope, row))
        except InvalidInputError:
            refused += 1
    facts, backend, recovered, done = SqlFacts(), Backend(config), 0, 0
    database = await open_database(url, home=config.home)
    try:
        await apply_forgets(database, SqlOutbox(), forgets)
        stores = MemoryStores(database, facts, SqlLedger(), SqlOutbox())
        transfer = Transfer(
            stores,
            backend.embedder,
            SystemClock(),
            allow_numbers=True,
            embeds_sensitive=config.memory.embed_sensitive,
        )
        for scope, imported in by_scope.items():
            async with database.read_transaction() as tx:
                before = await facts.count(tx, scope, all_stored=True)
            stored = await transfer.import_parsed(scope, imported)
            async with database.read_transaction() as tx:
                recovered += await facts.count(tx, scope, all_stored=True) - before
            refused, done = refused + len(imported) - stored, done + len(imported)
            progress(done, len(rows))
    finally:
        await database.close()
        await backend.close()
    return recovered, refused


def _scope_of(partition: str) -> Scope:
    app, _, user = partition.partition(":")
    return Scope.app_wide(unquote(app)) if user == _APP_WIDE_USER else Scope(unquote(app) or None, unquote(user))


def _parse(scope: Scope, row: StoreRow) -> ImportedFact:
    """Return a fact of a store as if it came from an export."""
    fact_id, payload, vector, embedder = row
    known = {name: payload.pop(name) for name in _FACT_KEYS if name in payload}
    text = payload.pop("data")
    for name in ("hash", "user_id", "text_lemmatized"):
        payload.pop(name, None)
    fact = {**known, "id": fact_id, "text": text, "metadata": payload}
    scope_data = {"app": scope.app, "user": scope.user}
    document = {"format": EXPORT_FORMAT, "version": EXPORT_VERSION, "scope": scope_data, "facts": [fact]}
    # These facts were kept once: a later, stricter setting must not lose them.
    [parsed] = parse_export(document, allow_numbers=True)
    draft = replace(parsed.drafts[0], vector=vector, embedder=embedder)
    return replace(parsed, drafts=(draft, *parsed.drafts[1:]))
