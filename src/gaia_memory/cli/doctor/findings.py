"""The findings of checks, and the context that checks get."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.engine_probe import DatabaseSummary

FindingState = Literal["ok", "warn", "fail", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence and, if something is wrong, the remedy; `part` is empty for the part of its check."""

    state: FindingState
    message: str
    remedy: str = ""
    part: str = ""


@dataclass(slots=True)
class CheckContext:
    """The input of a check, with the results of earlier ones.

    `scratch` is a folder to work in, `unread_reason` says why the memory database could not be read.
    """

    config_path: Path | None
    asks_models: bool
    scratch: Path
    loaded: LoadedConfig | None = None
    summary: DatabaseSummary | None = None
    unread_reason: str = "the memory database could not be read"

    @property
    def config(self) -> GaiaConfig:
        """The configuration that the first check has loaded."""
        assert self.loaded is not None
        return self.loaded.config


def ok(message: str) -> list[Finding]:
    """Return the finding of a part that is in order."""
    return [Finding("ok", message)]


def warn(message: str, remedy: str) -> list[Finding]:
    """Return the finding of a part that works, but not as it should."""
    return [Finding("warn", message, remedy)]


def fail(message: str, remedy: str) -> list[Finding]:
    """Return the finding of a part that does not work."""
    return [Finding("fail", message, remedy)]


def skip(message: str) -> list[Finding]:
    """Return the finding of a part that was not checked, and why."""
    return [Finding("skipped", message)]
