"""Shell completion: the scripts for each shell, and the words they get."""

from __future__ import annotations

import pytest

from support.cli.cli_runner import run_gaia_process

pytestmark = pytest.mark.heavy


def complete(*words: str) -> list[str]:
    """Return the completions of the last of these words, as the script of bash requests them."""
    asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = run_gaia_process(environment={"_GAIA_COMPLETE": "complete_bash", **asked})

    assert (done.code, done.err) == (0, "")
    return done.out.split()


def test_commands_options_and_values_are_completed() -> None:
    """This works for every word of a command line."""
    commands = {"chat", "config", "demo", "doctor", "help", "init", "learn", "memory", "people", "sweep"}
    assert commands | {"web", "api-server", "run", "backup", "restore", "serve", "due"} == set(complete("gaia", ""))
    assert complete("gaia", "memory", "ex") == ["export"]
    assert complete("gaia", "config", "s") == ["show", "schema"]
    assert complete("gaia", "doctor", "--no") == ["--no-model"]
    assert complete("gaia", "chat", "--model", "off") == ["offline"]


@pytest.mark.parametrize(
    ("shell", "sign"), [("bash", "COMPREPLY"), ("zsh", "#compdef gaia"), ("fish", "complete --command gaia")]
)
def test_the_script_of_a_named_shell_is_shown(shell: str, sign: str) -> None:
    """The shell in use makes no difference."""
    done = run_gaia_process("--show-completion", shell)

    assert done.code == 0
    assert sign in done.out
    assert "_GAIA_COMPLETE" in done.out


def test_an_unknown_shell_is_refused() -> None:
    """The message lists the known ones."""
    done = run_gaia_process("--show-completion", "nosuch")

    assert (done.code, done.out) == (2, "")
    assert all(f"'{shell}'" in done.err for shell in ("bash", "zsh", "fish"))
