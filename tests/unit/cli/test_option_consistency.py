"""Commands about a user share their options."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli.cli_runner import run_gaia, write_offline_config


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
