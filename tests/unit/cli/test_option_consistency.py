"""Commands about a user share their options."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer.main

from gaia_memory.cli.app import app as gaia_app
from gaia_memory.cli.memory.group import app
from support.cli.cli_runner import run_gaia, write_offline_config

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
CHAT = typer.main.get_command(gaia_app).commands["chat"]  # type: ignore[attr-defined]
EVERYBODYS = ("reindex",)
"""Commands that are about the memory of all at once."""


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in EVERYBODYS])
def test_every_command_about_a_users_memory_has_the_user_option(name: str) -> None:
    """It is called `--user` or `-u`, and is never positional."""
    options = {parameter.name: parameter.opts for parameter in COMMANDS[name].params}

    assert options["user"] == ["--user", "-u"]
    assert options["app_name"] == ["--app"]
    assert options["config"] == ["--config", "-c"]


@pytest.mark.heavy
def test_without_a_user_every_command_means_the_login_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `gaia chat` remembers is listed without another option, and the output says whose memory it is."""
    monkeypatch.setenv("LOGNAME", "grace")
    config = str(write_offline_config(tmp_path))
    added = run_gaia("memory", "add", "-c", config, "Likes tea", "Likes figs")
    listed = run_gaia("memory", "list", "-c", config)
    found = run_gaia("memory", "search", "-c", config, "tea", "-n", "1")
    chatted = run_gaia("chat", "-c", config, stdin="/memory\n")
    asked = run_gaia("memory", "forget", "-c", config, stdin="")
    left = run_gaia("memory", "list", "-c", config, "-u", "grace", "--json").json_output

    assert added.out.endswith("; 2 facts about grace now.\n")
    assert listed.out.endswith("grace: 2 facts.\n")
    assert found.out.endswith("grace: 1 fact.\n")
    assert "Likes figs" in chatted.out
    assert (asked.code, "Forget 2 facts about grace?" in asked.err) == (1, True)
    assert left["total"] == 2


@pytest.mark.parametrize("command", [CHAT, *(COMMANDS[name] for name in COMMANDS if name not in EVERYBODYS)])
def test_the_user_option_has_one_default(command: typer.core.TyperCommand) -> None:
    """The help of each command names it."""
    [option] = [parameter for parameter in command.params if parameter.name == "user"]

    assert (option.required, getattr(option, "show_default", None)) == (False, "your login name")
