"""An engine that is put together and not opened, for commands that only look."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig
    from gaia_memory.engine import Engine

_LOCAL_PROVIDER = "local"
"""The provider whose model is a folder."""


async def unopened_engine(config: GaiaConfig, scratch: Path, *, stored_embedder: str | None = None) -> Engine:
    """Return the parts that `config` names, with an empty folder for a home and a database that is never made.

    mem0 writes into its home when it is imported: here that is `scratch`. Close its `backend`, and nothing else.
    """
    from gaia_memory.config.database_urls import sqlite_url
    from gaia_memory.config.sources.load import load
    from gaia_memory.database.read_only import open_read_only
    from gaia_memory.database.sql_engine import SqlDatabase
    from gaia_memory.engine import Engine, SystemClock

    return Engine(
        await asyncio.to_thread(lambda: load(_with_absolute_model_paths(config), home=scratch)),
        SqlDatabase(open_read_only(sqlite_url(scratch / "none.db"))),
        clock=SystemClock(),
        projects=None,
        stored_embedder=stored_embedder,
    )


def _with_absolute_model_paths(config: GaiaConfig) -> GaiaConfig:
    """Return the configuration with relative folders of local models taken from its own home, not from another one."""
    changed = {}
    for section in ("embedder", "reranker"):
        provider = getattr(config.memory, section)
        if provider.provider == _LOCAL_PROVIDER and provider.config.get("model"):
            model = str(config.home / os.path.expanduser(str(provider.config["model"])))
            changed[section] = provider.model_copy(update={"config": {**provider.config, "model": model}})
    return config.model_copy(update={"memory": config.memory.model_copy(update=changed)})
