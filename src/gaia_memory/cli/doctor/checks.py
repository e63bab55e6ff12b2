"""What a check found out, and what a check is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig
    from gaia_memory.config.sources.load import LoadedConfig
    from gaia_memory.models import PendingConversation, StoreState

FindingState = Literal["ok", "warn", "fail", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about one part and, unless all is well, what to do about it."""

    part: str
    state: FindingState
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class DatabaseSummary:
    """What the memory database says of itself: most vectors' embedder, the store that follows, what waits.

    `outdated` counts facts in the keyword index as another version has taken them in, `without_traits` those whose text
    a search has to read.
    """

    embedder: str | None
    outdated: int
    without_traits: int
    store: StoreState
    pending: Sequence[PendingConversation]


@dataclass(slots=True)
class CheckContext:
    """What is looked at: how it was named, and what earlier checks found.

    `scratch` is a folder to work in, `unread_reason` why nothing of the memory database is known.
    """

    config_path: Path | None
    asks_models: bool
    scratch: Path
    loaded: LoadedConfig | None = None
    summary: DatabaseSummary | None = None
    unread_reason: str = "the memory database could not be read"
    model_findings: dict[str, Finding] = field(default_factory=dict)

    @property
    def config(self) -> GaiaConfig:
        """The configuration, which the first check has read."""
        assert self.loaded is not None
        return self.loaded.config

    def to_home_path(self, folder: Path) -> Path:
        """Return a folder of an engine that only looks, whose home is `scratch`, where it really is."""
        if self.scratch in folder.parents:
            return self.config.home / folder.relative_to(self.scratch)
        return folder


@dataclass(frozen=True, slots=True)
class Check:
    """A part and the function that looks at it; most need a configuration."""

    part: str
    run: Callable[[CheckContext], Awaitable[list[Finding]]]
    needs_config: bool = True


def ok(part: str, message: str) -> list[Finding]:
    """Return that a part is as it should be."""
    return [Finding(part, "ok", message)]


def warn(part: str, message: str, remedy: str) -> list[Finding]:
    """Return that a part works, and not as one would wish."""
    return [Finding(part, "warn", message, remedy)]


def fail(part: str, message: str, remedy: str) -> list[Finding]:
    """Return that a part does not work."""
    return [Finding(part, "fail", message, remedy)]


def skip(part: str, message: str) -> list[Finding]:
    """Return that a part was not looked at, and why."""
    return [Finding(part, "skipped", message)]
