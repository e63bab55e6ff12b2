"""Files as the commands write them: whole or not at all, and nothing that is there is lost."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gaia_memory.errors import InvalidInputError

Did = Literal["made", "kept", "added", "replaced", "wrong"]
"""A file was written where there was none; is right as it is; got what it lacked; was written anew, with the old
one beside it; or is not right, and left alone."""


@dataclass(frozen=True, slots=True)
class Step:
    """What became of one file; `says` what is to be known of it, or to be done."""

    path: Path
    did: Did
    says: str = ""


def write(path: Path, text: str, *, mode: int | None = None) -> None:
    """Write a file in one step, so that nobody ever finds half of it; a link keeps pointing where it does.

    It gets the rights `mode`; without, those of the file it replaces, or what the process gives its files.

    Raises:
        InvalidInputError: it cannot be written; the message says why.
    """
    target = path.resolve()
    draft = ""
    try:
        if mode is None:
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_mask()
        descriptor, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).chmod(mode)
        Path(draft).replace(target)
    except OSError as error:
        if draft:
            Path(draft).unlink(missing_ok=True)
        raise unusable(path, error) from error


def make_empty(path: Path, *, mode: int) -> None:
    """Make an empty file if there is none.

    Raises:
        InvalidInputError: it cannot be made; the message says why.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    except FileExistsError:
        return
    except OSError as error:
        raise unusable(path, error) from error


def set_aside(path: Path) -> Path:
    """Keep a copy of a file under the next free name, `NAME.bak`, `NAME.bak1`, … and return it.

    Raises:
        InvalidInputError: it cannot be copied; the message says why.
    """
    number = 0
    while True:
        copy = path.with_name(f"{path.name}.bak{number or ''}")
        try:
            content = path.read_bytes()
            descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, path.stat().st_mode & 0o777)
        except FileExistsError:
            number += 1
            continue
        except OSError as error:
            raise unusable(copy, error) from error
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        return copy


def make_folder(path: Path, *, mode: int = 0o777) -> None:
    """Make a folder and those above it, if they are not there.

    Raises:
        InvalidInputError: it cannot be made; the message says why.
    """
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise unusable(path, error) from error


def unusable(path: Path, error: OSError) -> InvalidInputError:
    """Return the error of a place that cannot be read or written."""
    reason = error.strerror or type(error).__name__
    return InvalidInputError(f"{path} cannot be used ({reason}): name a folder in which you may read and write")


def _mask() -> int:
    # The only way to read the mask is to set it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
