"""The settings of the demo's home, and the environment of the processes that share it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

OFFLINE = {"provider": "offline"}

PATIENCE_SECONDS = 900.0
"""How long the demo waits for a condition: far longer than a machine with a tenth of a core needs."""


def demo_settings(folder: Path, llm: Mapping[str, str]) -> dict[str, object]:
    """Return the settings of a home in `folder` whose memory learns with `llm`."""
    return {
        "home": str(folder / "home"),
        "model": "offline",
        "memory": {"llm": dict(llm), "embedder": dict(OFFLINE)},
        "sessions": {"coalesce_seconds": 0, "background_sweep": False},
    }


def neutral_environment() -> dict[str, str]:
    """Return this environment without what would give a child another home, model or proxy."""
    prefixes = ("GAIA_", "GOOGLE_", "GEMINI_")
    return {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith(prefixes) and not name.upper().endswith("_PROXY")
    }
