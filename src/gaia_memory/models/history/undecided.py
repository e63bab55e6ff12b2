"""Facts that wait to be compared with the others of their scope."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedFact:
    """A stored fact that waits to be compared with similar ones, or only with the fact `other_id`.

    `app` is the app whose model is asked. `attempts` counts the questions without a usable answer, and before
    `retry_at` (seconds since the epoch) it is not asked about again. `row` is its place in the queue.
    """

    fact_id: str
    other_id: str | None = None
    app: str | None = None
    attempts: int = 0
    retry_at: float | None = None
    row: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingState:
    """How far the current facts of a scope were compared in pairs: when last, and up to which version of a fact."""

    paired_at: float | None = None
    paired_revision: int = 0
