"""The interface of a mem0 store, which is used in worker threads and never on the event loop."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gaia_memory.backend.providers.resolve_provider import Provider
from gaia_memory.errors import ConfigError, UnusableStoreError
from gaia_memory.models import StoredFact, is_same_embedder
from gaia_memory.redaction.credentials import mask_credentials

EMBEDDER_KEY = "gaia_embedder"
FORMAT_KEY, FORMAT = "gaia_format", 2
"""The form of a store's rows: 2 has the `user_id` of a mem0 program; a store of an earlier form is filled anew."""

_FOREIGN_REMEDY = (
    "name another collection, or empty this one after `gaia memory import --from-mem0`, which takes its facts over"
)
_DENIED_REMEDY = "give this user the right to write a folder there, or name another place"
_PLACES = ("path", "url", "host", "connection_string")

_REFUSAL_STATUSES = (400, 413, 422)
_DENIALS = (PermissionError, FileExistsError, NotADirectoryError, IsADirectoryError)
_DENIAL_CLASSES = ("28", "3D", "42")
"""Of SQL's states: wrong role, no such database, no rights."""

_STORE_ID = re.compile(r"[0-9a-f]{32}")
SHARED_CHARACTERS = 16
"""Length of the prefix that all stores of a database share, which tells whose a store is."""


def foreign_error(collection: object, finding: str = "it contains facts that this memory has not written") -> Exception:
    """Return the error about a collection that is not ours to replace."""
    reason = f"memory.vector_store.collection_name is {str(collection)!r}: {finding}"
    return UnusableStoreError(reason, remedy=_FOREIGN_REMEDY)


@contextmanager
def named_refusals(provider: Provider, folder: Path) -> Iterator[None]:
    """Name key, value and fix where a folder or a role without rights refuses; `folder` is the default place."""
    try:
        yield
    except ConfigError as error:
        raise UnusableStoreError("; ".join(error.problems)) from error
    except Exception as error:  # Each engine has errors of its own.
        is_denied = isinstance(error, _DENIALS) or (isinstance(error, OSError) and error.errno == errno.EROFS)
        if not is_denied and str(getattr(error, "sqlstate", ""))[:2] not in _DENIAL_CLASSES:
            raise
        reason = f"{name_place(provider, folder)}: {mask_credentials(str(error)).strip()}"
        raise UnusableStoreError(reason, remedy=_DENIED_REMEDY) from error


def name_place(provider: Provider, folder: Path) -> str:
    """Return the key that says where a store is, and its value; `folder` is the default place."""
    key = next((key for key in _PLACES if provider.config.get(key)), "path")
    return f"memory.vector_store.{key} is {mask_credentials(str(provider.config.get(key) or folder))!r}"


@dataclass(frozen=True, slots=True)
class StoreLabel:
    """The id of a store and the embedder of its vectors."""

    store_id: str
    embedder: str

    @property
    def dimensions(self) -> int:
        """Length of the store's vectors: the last part of the embedder's identity."""
        last = self.embedder.rpartition("/")[2]
        return int(last) if last.isdigit() else 1


@dataclass(frozen=True, slots=True)
class StoreRow:
    """A row of a store, whoever wrote it."""

    id: str
    payload: Mapping[str, Any]

    @property
    def text(self) -> str:
        """What mem0 shows as the memory."""
        return str(self.payload.get("data", ""))


class Mem0Builder(Protocol):
    """Builds mem0's parts from the configuration."""

    embedder: Any
    store_provider: Provider

    @property
    def embeds_sensitive(self) -> bool:
        """Whether sensitive facts get vectors; without them they are not in the store."""
        ...

    def store_config(self, folder: Path) -> Any:
        """Import mem0 safely and return the configuration of its store, which is in `folder` if it is embedded."""
        ...

    def require_store_package(self) -> None:
        """Return if the package of the store is installed.

        Raises:
            MemoryUnavailable: it is not.
        """
        ...

    def create_vector_store(self, config: Any) -> Any:
        """Return mem0's adapter of the store with this configuration."""
        ...


class Mem0Store(Protocol):
    """One open store. Every method blocks."""

    label: StoreLabel

    erased: Collection[int]
    """The erasures noted before this store was created: it never contained their text."""

    def write(self, facts: Sequence[StoredFact], removed_ids: Collection[str]) -> list[str]:
        """Write `facts` and remove `removed_ids`; return the ids of facts that the store refuses.

        Raises:
            Exception: the store is not writable; writing again later is harmless.
        """
        ...

    def rows(self) -> list[StoreRow]:
        """Return every row but the label.

        Raises:
            Exception: the server does not answer.
        """
        return []

    def still_exists(self) -> bool:
        """Return whether the store is still where it was opened.

        Raises:
            Exception: the server does not answer.
        """
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...


class StoreLocation(Protocol):
    """One way to keep a store. Every method blocks, but `folder` and `address`."""

    is_embedded: bool = False
    """Whether the store is a folder of this process, which is repaired by recreating it."""

    retains_deleted: bool
    """Whether deleted text stays in its log, as in Chroma's, so that erasing means recreating."""

    def reopen(self, label: StoreLabel) -> Mem0Store | None:
        """Open the store with `label`; None when it is missing, has another label or may be damaged."""
        ...

    def create(self, label: StoreLabel, erasures: Collection[int]) -> Mem0Store:
        """Return an empty store with `label`, and remove earlier ones of this database.

        The text of `erasures` is already gone from the database.

        Raises:
            UnusableStoreError: another database or program has filled the store.
        """
        ...

    def require_usable(self, store_id: str) -> None:
        """Return if the database whose store is `store_id` may use what is there now. Nothing is created or changed.

        Raises:
            UnusableStoreError: another database or program has filled it, or this user has no right to write it.
            Exception: the server does not answer.
        """
        return

    def folder(self, store_id: str) -> Path | None:
        """Return where the files of a store are; None when another program keeps them."""
        return None

    @property
    def address(self) -> Path:
        """The path at which plain mem0 opens the store, where it is in a folder. It never changes."""
        return Path()

    def mark_closed(self, label: StoreLabel) -> None:
        """Record that the store was closed cleanly."""
        return

    def foreign_stores(self, store_id: str) -> list[str]:
        """Return the folders that another database than that of `store_id` has filled."""
        return []


def require_writable(folder: Path) -> None:
    """Return if `folder`, or the nearest that exists above it, is one that this user may write.

    Raises:
        OSError: it is not.
    """
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if not nearest.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(nearest))
    if not os.access(nearest, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(nearest))


def next_store_id(current: str) -> str:
    """Return the id of a new store of the database whose store is `current`; that is blank before the first."""
    prefix = current[:SHARED_CHARACTERS] if _STORE_ID.fullmatch(current) else secrets.token_hex(SHARED_CHARACTERS // 2)
    return prefix + secrets.token_hex(SHARED_CHARACTERS // 2)


def is_same_database(found: object, own_id: str) -> bool:
    """Return whether the store `found` belongs to the database whose store is `own_id`, which can then refill it."""
    return isinstance(found, str) and found[:SHARED_CHARACTERS] == own_id[:SHARED_CHARACTERS]


def insert_all(
    insert: Callable[[Sequence[StoredFact]], None], facts: Sequence[StoredFact], *, check_alive: Callable[[], object]
) -> list[str]:
    """Insert `facts` at once or, when one is refused, one by one; return the ids of the refused.

    `check_alive` is called after a refusal and raises when the whole store is down.
    """
    if not facts:
        return []
    try:
        insert(facts)
    except Exception as error:
        # Every store has its own errors.
        if not _is_refusal(error):
            raise
        check_alive()
        if len(facts) == 1:
            return [facts[0].fact.id]
        return [fact_id for stored in facts for fact_id in insert_all(insert, [stored], check_alive=check_alive)]
    return []


def _is_refusal(error: Exception) -> bool:
    """Return whether a store rejects the data, rather than being unable to write."""
    return (
        isinstance(error, ValueError | TypeError | OverflowError)
        or type(error).__name__ == "InvalidArgumentError"
        or getattr(error, "status_code", None) in _REFUSAL_STATUSES
    )


def require_label(label: StoreLabel, found: Mapping[str, object], *, id_key: str) -> None:
    """Return if `found`, what is noted in a store, is `label` in today's form; `id_key` has the store's id.

    Raises:
        LookupError: it has another label, another form, or none.
    """
    store_id, embedder = found.get(id_key), found.get(EMBEDDER_KEY)
    if found.get(FORMAT_KEY) != FORMAT:
        raise LookupError(f"the store {store_id!r} has an earlier form")
    if store_id != label.store_id or not is_same_embedder(label.embedder, str(embedder)):
        raise LookupError(f"the store is {store_id!r} of {embedder!r}, not {label.store_id!r} of {label.embedder!r}")
