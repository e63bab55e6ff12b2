"""An edited gaia.yaml if every turn has its own event loop, and therefore its own engine."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from gaia_memory import MemoryPlugin, SessionWindowPlugin
from gaia_memory.testing import ScriptedLlm
from support.hosts.plain_runner import build_runner, count_open_engines, run_turn_sync, wait_until_sync
from support.plugin_host import contents_text, offered_tools


def write(path: Path, text: str) -> None:
    path.write_text(f"home: {path.parent / 'home'}\n{text}\n", encoding="utf-8")


@pytest.mark.acceptance("S14", "G02")
def test_each_turn_uses_the_current_file_and_a_bad_one_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last good version outlives the engine for which it was loaded."""
    monkeypatch.delenv("GAIA_HOME")
    path = tmp_path / "gaia.yaml"
    write(path, "sessions: {window_turns: 5}")
    model = ScriptedLlm(default="ok")
    runner = build_runner(SessionWindowPlugin(config=path), MemoryPlugin(config=path), model=model)
    for number in range(3):
        run_turn_sync(runner, f"t{number}")
    write(path, "sessions: {window_turns: 1}\nmemory: {enabled: false}")
    run_turn_sync(runner, "t3")
    edited = model.requests[-1]
    path.write_text("- oops\n", encoding="utf-8")
    for number in (4, 5, 6):
        run_turn_sync(runner, f"t{number}")
    told = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    told = [line for line in told if "last good version" in line]
    broken = model.requests[-1]
    write(path, "sessions: {window_turns: 9}")
    run_turn_sync(runner, "t7")
    wait_until_sync(lambda: not count_open_engines())

    assert (contents_text(edited), offered_tools(edited)) == ("t3", [])
    assert (contents_text(broken), offered_tools(broken)) == ("t6", [])
    assert len(told) == 1
    assert contents_text(model.requests[-1]).split() == [word for at in range(8) for word in (f"t{at}", "ok")][:-1]
    assert "load_memory" in offered_tools(model.requests[-1])
