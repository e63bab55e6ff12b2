"""Shell completion: the scripts for each shell, and the words they get."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.cli.cli_runner import GAIA_COMMAND, run_gaia_process

pytestmark = pytest.mark.heavy


def complete(*words: str, shell: str = "bash") -> list[str]:
    """Return the completions of the last of these words, as the script of a shell requests them."""
    line = " ".join(words)
    asked = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    done = run_gaia_process(environment={"_GAIA_COMPLETE": f"complete_{shell}", **asked})

    assert (done.code, done.err) == (0, "")
    return done.out.split() if shell == "bash" else done.out.splitlines()


def test_commands_options_and_values_are_completed() -> None:
    """This works for every word of a command line."""
    commands = {"chat", "config", "demo", "doctor", "help", "init", "learn", "memory", "people", "sweep"}
    assert commands | {"web", "api-server", "run", "backup", "restore", "serve", "due"} == set(complete("gaia", ""))
    assert complete("gaia", "memory", "ex") == ["export"]
    assert complete("gaia", "config", "s") == ["show", "schema"]
    assert complete("gaia", "doctor", "--no") == ["--no-model"]
    assert complete("gaia", "chat", "--model", "off") == ["offline"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_the_same_words(shell: str) -> None:
    """They also get a description of each command."""
    offered = "\n".join(complete("gaia", "memory", "ex", shell=shell))

    assert "export" in offered
    assert "import" not in offered


def test_completion_works_with_an_invalid_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The file is not read, nothing is created, and nothing is printed."""
    (tmp_path / "gaia.yaml").write_text("memory: [", encoding="utf-8")
    monkeypatch.setenv("GAIA_CONFIG", str(tmp_path / "gaia.yaml"))

    assert complete("gaia", "memory", "list", "--us") == ["--user"]
    assert not (tmp_path / "gaia").exists()


@pytest.mark.parametrize(
    ("shell", "sign"), [("bash", "COMPREPLY"), ("zsh", "#compdef gaia"), ("fish", "complete --command gaia")]
)
def test_the_script_of_a_named_shell_is_shown(shell: str, sign: str) -> None:
    """The shell in use makes no difference."""
    done = run_gaia_process("--show-completion", shell)

    assert done.code == 0
    assert sign in done.out
    assert "_GAIA_COMPLETE" in done.out


def test_the_script_is_installed_for_the_named_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is written to the user's home, and the next shell loads it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    done = run_gaia_process("--install-completion", "bash")

    assert done.code == 0
    assert "COMPREPLY" in (tmp_path / ".bash_completions" / "gaia.sh").read_text(encoding="utf-8")
    assert "gaia.sh" in (tmp_path / ".bashrc").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    """The script is loaded and called as bash does when a user presses Tab."""
    command = tmp_path / "gaia"
    command.write_text(f'#!/bin/sh\nexec {" ".join(GAIA_COMMAND)} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    program = """
eval "$(gaia --show-completion bash)"
COMP_WORDS=(gaia memory "") COMP_CWORD=2
_gaia_completion gaia
printf '%s\\n' "${COMPREPLY[@]}"
"""
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", program], env=environment, capture_output=True, text=True, check=True)

    assert (
        " ".join(done.stdout.split())
        == "list add search due why history edit undo profile forget reindex export import"
    )


def test_an_unknown_shell_is_refused() -> None:
    """The message lists the known ones."""
    done = run_gaia_process("--show-completion", "nosuch")

    assert (done.code, done.out) == (2, "")
    assert all(f"'{shell}'" in done.err for shell in ("bash", "zsh", "fish"))
