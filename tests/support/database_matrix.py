"""The system under test with sessions and memory on each kind of database."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.databases import empty_postgres_url
from support.harness import Sut

Make = Callable[..., Awaitable[Sut]]


@pytest.fixture(params=["sqlite", "postgresql"])
async def make(request: pytest.FixtureRequest, tmp_path: Path, make: Make) -> Make:
    """Return a function that opens a system on files in the test's folder, or on a server's database."""
    if request.param == "sqlite":
        return make
    address = (await empty_postgres_url(request.config, tmp_path)).render_as_string(hide_password=False)

    async def open_sut(yaml_text: str = "", **arguments: Any) -> Sut:
        settings = yaml.safe_load(yaml_text) or {}
        settings["sessions"] = {"database_url": address, **settings.get("sessions", {})}
        return await make(yaml.safe_dump(settings), **arguments)

    return open_sut
