"""An engine that is put together and not opened, for commands that only look."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig
    from gaia_memory.engine import Engine

_LOCAL = "local"
"""The provider whose model is a folder."""


async def unopened_engine(config: GaiaConfig, scratch: Path, *, stored_embedder: str | None = None) -> Engine:
    """Return the parts that `config` names, with an empty folder for a home and a database that is never made.

    mem0 writes into its home when it is imported: here that is `scratch`. Close its `backend`, and nothing else.
    """
    from gaia_memory.config.database_urls import sqlite_url
    from gaia_memory.config.sources.load import load
    from gaia_memory.database.read_only import open_unchanged
    from gaia_memory.database.sql_engine import SqlDatabase
    from gaia_memory.engine import Engine, SystemClock

    return Engine(
        await asyncio.to_thread(lambda: load(_with_models_of_its_home(config), home=scratch)),
        SqlDatabase(open_unchanged(sqlite_url(scratch / "none.db"))),
        clock=SystemClock(),
        projects=None,
        stored_embedder=stored_embedder,
    )


def _with_models_of_its_home(config: GaiaConfig) -> GaiaConfig:
    """Return the configuration with relative folders of local models taken from its own home, not from another one."""
    changed = {}
    for part in ("embedder", "reranker"):
        given = getattr(config.memory, part)
        if given.provider == _LOCAL and given.config.get("model"):
            model = str(config.home / os.path.expanduser(str(given.config["model"])))
            changed[part] = given.model_copy(update={"config": {**given.config, "model": model}})
    return config.model_copy(update={"memory": config.memory.model_copy(update=changed)})
