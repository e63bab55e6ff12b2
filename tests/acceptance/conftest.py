"""Fixtures of what a user sees on each kind of database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from support.databases import memory_url
from support.harness import Sut

Make = Callable[..., Awaitable[Sut]]
OpenSut = Callable[..., Awaitable[Sut]]


@pytest.fixture(params=["sqlite", "postgresql"])
async def opened(request: pytest.FixtureRequest, make: Make, tmp_path: Path) -> AsyncIterator[OpenSut]:
    """Yield a function that opens a system whose memory is in a database of each kind."""
    if request.param == "sqlite":
        yield make
        return
    async with memory_url("postgresql", tmp_path) as url:
        address = url.render_as_string(hide_password=False)
        yield partial(make, f"memory: {{database_url: '{address}'}}")
