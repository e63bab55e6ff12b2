"""The file of a backup: a ZIP archive with the databases, `gaia.yaml` and a manifest."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gaia_memory.errors import InvalidInputError
from gaia_memory.files.private_files import create_private_file, sync_to_disk

FORMAT = "gaia-memory-backup"
FORMAT_VERSION = 1
MEMORY_DATABASE, SESSION_DATABASE, CONFIG_FILE = "memory.db", "sessions.db", "gaia.yaml"
MEMBERS = (MEMORY_DATABASE, SESSION_DATABASE, CONFIG_FILE)
"""The files that a backup may contain besides its manifest."""

_MANIFEST = "manifest.json"
_CHUNK_BYTES = 1 << 20

Progress = Callable[[int, int], None]
"""Called with the steps done and their total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup says about itself: who made it and when, the schema of its tables, and counts."""

    gaia_memory: str
    schema: str
    made_at: str
    facts: int
    people: int
    conversations: int


def write_archive(path: Path, manifest: Manifest, files: Mapping[str, Path]) -> None:
    """Write an archive that only its owner can read, complete on the disk when this returns."""
    create_private_file(path)
    with path.open("wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        about = {"format": FORMAT, "version": FORMAT_VERSION, **asdict(manifest)}
        archive.writestr(_MANIFEST, json.dumps(about, indent=2))
        for name, source in files.items():
            archive.write(source, name)
    sync_to_disk([path])


def read_manifest(path: Path) -> tuple[Manifest, list[str]]:
    """Return the manifest of a backup, and the names of its other files.

    Raises:
        InvalidInputError: the file is no backup, or one of a newer format.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            about: dict[str, Any] = json.loads(archive.read(_MANIFEST))
            names = set(archive.namelist())
        if about.pop("format") != FORMAT or MEMORY_DATABASE not in names:
            raise ValueError
        if (version := about.pop("version")) != FORMAT_VERSION:
            message = f"{path} has version {version!r} of the backup format, and this version reads {FORMAT_VERSION}"
            raise InvalidInputError(f"{message}: install the version of gaia-memory that wrote it, or a newer one")
        manifest = Manifest(**{name: about[name] for name in Manifest.__dataclass_fields__})
        return manifest, [name for name in MEMBERS if name in names]
    except InvalidInputError:
        raise
    except FileNotFoundError as error:
        raise InvalidInputError(f"{path} does not exist: name a file that `gaia backup` has written") from error
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, OSError) as error:
        raise InvalidInputError(f"{path} is no backup: name a file that `gaia backup` has written") from error


def extract_file(path: Path, name: str, target: Path, progress: Progress) -> None:
    """Copy one file of a backup to `target`, a new file that only its owner can read.

    Raises:
        InvalidInputError: the archive is damaged.
    """
    create_private_file(target)
    with zipfile.ZipFile(path) as archive, target.open("wb") as file:
        total, done = archive.getinfo(name).file_size, 0
        try:
            with archive.open(name) as member:
                # Reading to the end checks the archive's sums.
                while chunk := member.read(_CHUNK_BYTES):
                    file.write(chunk)
                    done += len(chunk)
                    progress(done, total)
        except (zipfile.BadZipFile, EOFError, zipfile.zlib.error) as error:  # type: ignore[attr-defined]
            raise InvalidInputError(f"{path} is damaged ({error}): use another backup") from error
