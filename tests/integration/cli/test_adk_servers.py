"""`gaia web`, `gaia api-server` and `gaia run`: what they make, what they pass to ADK, and what they refuse."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest
from google.adk.cli import cli_tools_click

from support.cli.cli_runner import CommandResult, run_gaia

BARE = 'from google.adk.agents import LlmAgent\nroot_agent = LlmAgent(name="shop", model="gemini-3.5-flash")\n'
PLUGIN_OPTIONS = ["--extra_plugins", "gaia_memory.SessionWindowPlugin", "--extra_plugins", "gaia_memory.MemoryPlugin"]


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with an agent that `gaia init` has not seen."""
    monkeypatch.delenv("GAIA_HOME")
    folder = tmp_path / "agents"
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "agent.py").write_text(BARE, encoding="utf-8")
    return folder


@pytest.fixture
def adk_arguments(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the arguments of each call of ADK's command line, which starts nothing here."""
    calls: list[list[str]] = []
    monkeypatch.setattr(cli_tools_click, "main", lambda args, prog_name: calls.append(args))
    return calls


def words(done: CommandResult) -> str:
    """Return the printed text without its frame and line breaks."""
    return " ".join((done.out + done.err).replace("│", " ").split())


@pytest.mark.parametrize(("command", "adk_command"), [("web", "web"), ("api-server", "api_server")])
def test_adk_gets_the_services_the_plugins_and_further_options(
    agents: Path, adk_arguments: list[list[str]], command: str, adk_command: str
) -> None:
    """The folder's own gaia.yaml is named by its absolute path."""
    assert run_gaia("init", str(agents)).code == 0
    done = run_gaia(command, str(agents), "--port", "9000", "--reload_agents")

    services = ["--memory_service_uri", f"mem0://?config={agents / 'gaia.yaml'}", "--session_service_uri"]
    [arguments] = adk_arguments
    assert done.code == 0
    assert arguments[:4] == [adk_command, *services]
    assert arguments[5:] == [*PLUGIN_OPTIONS, str(agents), "--port", "9000", "--reload_agents"]


def test_an_agent_with_its_own_plugins_gets_no_second_ones(agents: Path, adk_arguments: list[list[str]]) -> None:
    """They would do nothing, and say so in the log."""
    (agents / "shop" / "agent.py").write_text(f"{BARE}# MemoryPlugin\n", encoding="utf-8")
    run_gaia("init", str(agents))
    run_gaia("web", str(agents))

    assert "--extra_plugins" not in adk_arguments[0]


def test_another_configuration_can_be_named(agents: Path, adk_arguments: list[list[str]], tmp_path: Path) -> None:
    """`--config` is an option of ours."""
    run_gaia("init", str(agents))
    other = tmp_path / "other.yaml"
    other.write_text(f"home: {tmp_path / 'home'}\n", encoding="utf-8")
    run_gaia("web", str(agents), "--config", str(other))

    assert f"mem0://?config={other}" in adk_arguments[0]


def test_an_agent_runs_at_the_terminal_with_the_configuration_of_its_folder(
    agents: Path, adk_arguments: list[list[str]]
) -> None:
    """`adk run` takes plugins from the App alone, so one without them is refused."""
    run_gaia("init", str(agents))
    without_plugins = run_gaia("run", str(agents / "shop"))
    (agents / "shop" / "agent.py").write_text(f"{BARE}# MemoryPlugin\n", encoding="utf-8")
    no_agent = run_gaia("run", str(agents))
    done = run_gaia("run", str(agents / "shop"), "What do I like?")

    assert (without_plugins.code, "its App needs MemoryPlugin" in words(without_plugins)) == (1, True)
    assert (no_agent.code, "name the folder of one agent" in words(no_agent)) == (1, True)
    assert done.code == 0
    [arguments] = adk_arguments
    assert arguments[:3] == ["run", "--memory_service_uri", f"mem0://?config={agents / 'gaia.yaml'}"]
    assert arguments[5:] == [str(agents / "shop"), "What do I like?"]


@pytest.mark.parametrize("sessions", ["sqlite:///sessions.db", "sqlite:///{}/of/its/own/sessions.db"])
def test_the_folders_of_a_fresh_checkout_are_made(
    agents: Path, adk_arguments: list[list[str]], tmp_path: Path, sessions: str
) -> None:
    """The home is in no repository, and ADK would answer 500 without the folder of its sessions."""
    run_gaia("init", str(agents))
    config = agents / "gaia.yaml"
    config.write_text(config.read_text().replace("sqlite:///sessions.db", sessions.format(tmp_path)))
    shutil.rmtree(agents / ".gaia")
    done = run_gaia("web", str(agents))
    file = Path(adk_arguments[0][4].partition(":///")[2])

    assert done.code == 0, done.err
    assert {stat.S_IMODE(path.stat().st_mode) for path in (agents / ".gaia", file.parent)} == {0o700}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("command", ["web", "api-server"])
def test_a_folder_without_preparation_is_refused_with_the_command_that_prepares_it(
    agents: Path, adk_arguments: list[list[str]], command: str
) -> None:
    """Without these files ADK would start, and remember nothing."""
    without_config = run_gaia(command, str(agents))
    run_gaia("init", str(agents))
    (agents / "services.yaml").unlink()
    without_services = run_gaia(command, str(agents))
    (agents / "shop" / "agent.py").unlink()
    without_agent = run_gaia(command, str(agents))
    without_folder = run_gaia(command, "9000")

    for done in (without_config, without_services):
        assert (done.code, f"`gaia init {agents}`" in words(done)) == (1, True)
    assert "--agent assistant` creates one" in words(without_agent)
    assert (without_folder.code, "there is no folder 9000" in words(without_folder)) == (2, True)
    assert adk_arguments == []
