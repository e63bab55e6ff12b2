"""Commands about a user share their options."""

from __future__ import annotations

import pytest
import typer.main

from gaia_memory.cli.memory.group import app

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
EVERYBODYS = ("reindex",)
"""Commands that are about the memory of all at once."""


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in EVERYBODYS])
def test_every_command_about_a_users_memory_has_the_user_option(name: str) -> None:
    """It is called `--user` or `-u`, and is never positional."""
    options = {parameter.name: parameter.opts for parameter in COMMANDS[name].params}

    assert options["user"] == ["--user", "-u"]
    assert options["app_name"] == ["--app"]
    assert options["config"] == ["--config", "-c"]
