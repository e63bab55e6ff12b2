"""Installations whose processes are killed, on each kind of database."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.databases import memory_url
from support.kill.kill_harness import Installation, KillingGemini
from support.servers.chroma_server import chroma_server

OFFLINE = {"provider": "offline"}


@pytest.fixture
def site(tmp_path: Path, record_property: Callable[[str, object], None]) -> Iterator[Callable[..., Installation]]:
    """Return a function that creates an installation; its conversations are learned by a model that may kill."""
    sites: list[Installation] = []
    with ExitStack() as stack:

        def open_installation(
            *,
            kind: str = "sqlite",
            clear: str = "auto",
            window_turns: int = 30,
            embedder: dict[str, Any] | None = None,
            on_chroma_server: bool = False,
            seed: int = 1,
        ) -> Installation:
            folder = tmp_path / f"site{len(sites)}"
            sessions: dict[str, Any] = {"coalesce_seconds": 0, "clear": clear, "window_turns": window_turns}
            if kind == "postgresql":
                sessions["database_url"] = stack.enter_context(postgres_database(tmp_path))
            memory: dict[str, Any] = {"embedder": embedder or OFFLINE}
            if on_chroma_server:
                memory["vector_store"] = stack.enter_context(chroma_server(tmp_path / f"chroma{len(sites)}"))
            settings = {"memory": memory, "sessions": sessions}
            gemini = stack.enter_context(KillingGemini())
            sites.append(Installation(folder, gemini, settings, rng=random.Random(seed)))
            return sites[-1]

        yield open_installation
    record_property("kills", sum(each.kill_count for each in sites))
    record_property("turns", sum(len(each.sent) for each in sites))
    record_property("added", sum(len(each.added) for each in sites))


@contextmanager
def postgres_database(folder: Path) -> Iterator[str]:
    """Yield the address of an empty database on the PostgreSQL server."""
    with asyncio.Runner() as runner:
        context = memory_url("postgresql", folder)
        url = runner.run(context.__aenter__())
        try:
            yield url.render_as_string(hide_password=False)
        finally:
            runner.run(context.__aexit__(None, None, None))
