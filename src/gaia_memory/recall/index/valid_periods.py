"""When the facts of an index hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def open_times(times: Sequence[float | None], default: float) -> NDArray[np.float64]:
    """Return times in seconds since the epoch, with `default` for None."""
    return np.array([default if time is None else time for time in times], dtype=np.float64)


def find_valid(starts: NDArray[np.float64], ends: NDArray[np.float64], now: float) -> NDArray[np.bool_] | None:
    """Return which facts hold at `now`, from their start until before their end; None if all do."""
    is_valid = (starts <= now) & (now < ends)
    return None if is_valid.all() else is_valid


def unchanged_period(starts: NDArray[np.float64], ends: NDArray[np.float64], now: float) -> tuple[float, float]:
    """Return the period around `now` in which no fact begins or ceases to hold: from, and until before."""
    times = np.concatenate([starts, ends])
    is_past = times <= now
    return float(times[is_past].max(initial=-np.inf)), float(times[~is_past].min(initial=np.inf))
