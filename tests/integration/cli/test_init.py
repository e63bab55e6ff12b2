"""`gaia init` in folders of every kind."""

from __future__ import annotations

import errno
import os
import shlex
import stat
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from gaia_memory.cli.setup import prepare
from gaia_memory.cli.setup.services import OWN_ENTRY
from gaia_memory.config.sources.load import load
from support.cli.cli_runner import CommandResult, run_gaia

BARE = 'from google.adk.agents import LlmAgent\nroot_agent = LlmAgent(name="shop", model="gemini-3.5-flash")\n'
OTHER = {"scheme": "redis", "type": "session", "class": "shop.Sessions"}


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use no environment settings, as for a new user."""
    monkeypatch.delenv("GAIA_HOME")


def agent(folder: Path, program: str = BARE) -> Path:
    """Create an agent like ADK's own `adk create`."""
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("from . import agent\n", encoding="utf-8")
    (folder / "agent.py").write_text(program, encoding="utf-8")
    return folder


def did(done: CommandResult, folder: Path) -> dict[str, str]:
    """Return the outcome for each file, by its path in the folder."""
    return {os.path.relpath(each["path"], folder): each["did"] for each in done.json_output["files"]}


def services(folder: Path, name: str = "services.yaml") -> list[dict[str, str]]:
    """Return the services named in a folder's file."""
    return list(yaml.safe_load((folder / name).read_text(encoding="utf-8"))["services"])


def words(text: str) -> str:
    """Return the printed text without its frame and line breaks."""
    return " ".join(text.replace("│", " ").split())


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_agents_get_the_files_that_adk_web_and_adk_run_look_for(tmp_path: Path) -> None:
    """`services.yaml` is where either command looks for it; other packages are left alone."""
    agent(tmp_path / "shop")
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "root_agent.yaml").write_text("name: desk\n", encoding="utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    agent(tmp_path / ".hidden")
    done = run_gaia("init", str(tmp_path), "--json")

    assert done.code == 0, done.err
    assert done.json_output["agents"] == ["desk", "shop"]
    assert did(done, tmp_path) == {
        "gaia.yaml": "made",
        "services.yaml": "made",
        "desk/services.yaml": "made",
        "shop/services.yaml": "made",
        ".gaia": "made",
    }
    assert services(tmp_path) == services(tmp_path / "shop") == services(tmp_path / "desk") == [OWN_ENTRY]
    assert not (tmp_path / "tests" / "services.yaml").exists()


def test_the_written_configuration_is_valid_and_named_by_the_printed_commands(tmp_path: Path) -> None:
    """No key is unknown, the first agent is the app, and the host's session database is ours."""
    folder = tmp_path / "ag ents & more#1"
    agent(folder / "shop")
    done = run_gaia("init", str(folder), "--json")
    words = shlex.split(done.json_output["commands"]["adk web"])
    options = dict(zip(words[2:-1:2], words[3:-1:2], strict=True))
    named = parse_qs(urlsplit(options["--memory_service_uri"]).query)["config"]
    loaded = load(folder / "gaia.yaml")

    assert loaded.warnings == ()
    assert (loaded.config.app, loaded.config.home) == ("shop", folder / ".gaia")
    assert loaded.config.sessions.clear == "auto"
    assert named == [str(folder / "gaia.yaml")]
    assert options["--session_service_uri"] == loaded.config.sessions_url
    assert words[-1] == str(folder)
    assert shlex.split(done.json_output["commands"]["adk run"]["shop"])[-1] == str(folder / "shop")
    assert loaded.config.sessions_url.endswith("/.gaia/sessions.db")


def test_a_folder_that_is_an_agent_gets_each_file_once(tmp_path: Path) -> None:
    """ADK treats it as the agent, in `adk web` too."""
    folder = agent(tmp_path / "shop")
    done = run_gaia("init", str(folder), "--json")

    written = ["gaia.yaml", "services.yaml", ".gaia"]
    assert did(done, folder) == dict.fromkeys(written, "made")
    assert done.json_output["commands"]["adk web"].endswith(f" {folder}")
    assert done.json_output["commands"]["adk run"]["shop"].endswith(f" {folder}")
    assert load(folder / "gaia.yaml").config.app == "shop"


def test_the_session_database_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    """ADK would create it readable by everyone."""
    agent(tmp_path / "shop")
    run_gaia("init", str(tmp_path))
    home = tmp_path / ".gaia"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (home, *home.iterdir())}

    assert modes == {".gaia": 0o700, "sessions.db": 0o600, ".gitignore": 0o600}
    assert (home / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    """Every file is reported as fine."""
    agent(tmp_path / "shop")
    first = run_gaia("init", str(tmp_path))
    before = contents(tmp_path)
    second = run_gaia("init", str(tmp_path), "--json")

    assert (first.code, second.code) == (0, 0)
    assert set(did(second, tmp_path).values()) == {"kept"}
    assert contents(tmp_path) == before


def test_wrong_existing_files_are_reported_and_unchanged(tmp_path: Path) -> None:
    """The exit code is 1, each fix is named, and the other files are written."""
    agent(tmp_path / "shop")
    (tmp_path / "gaia.yaml").write_text("memory: {recall_limit: 500}\nsesions: {}\n", encoding="utf-8")
    (tmp_path / "services.yaml").write_text("services: [\n", encoding="utf-8")
    before = contents(tmp_path)
    done = run_gaia("init", str(tmp_path), "--json")

    assert done.code == 1
    assert did(done, tmp_path) == {"gaia.yaml": "wrong", "services.yaml": "wrong", "shop/services.yaml": "made"}
    assert "memory.recall_limit: 500" in done.json_output["files"][0]["says"]
    assert "did you mean `sessions`" in done.json_output["files"][0]["says"]
    assert "no list of services" in done.json_output["files"][1]["says"]
    assert done.json_output["commands"] == {}
    assert str(tmp_path / "services.yaml") in done.err
    assert {name: text for name, text in contents(tmp_path).items() if name in before} == before


def test_both_spellings_of_the_file_count(tmp_path: Path) -> None:
    """ADK reads `services.yaml`, then `services.yml`."""
    entry = yaml.safe_dump({"services": [OWN_ENTRY]})
    (tmp_path / "services.yml").write_text(entry, encoding="utf-8")
    right = run_gaia("init", str(tmp_path), "--json")
    (tmp_path / "services.yaml").write_text("services:\n  - {scheme: mem0, type: memory, class: a.B}\n")
    wrong = run_gaia("init", str(tmp_path), "--json")

    assert did(right, tmp_path)["services.yml"] == "kept"
    assert did(wrong, tmp_path)["services.yml"] == "wrong"


def test_an_agent_is_created_if_there_is_none_and_never_overwritten(tmp_path: Path) -> None:
    """Its folder, its App and its plugins carry the name; the file is valid Python."""
    folder = tmp_path / "new" / "agents"
    done = run_gaia("init", str(folder), "--agent", "assistant", "--json")
    program = (folder / "assistant" / "agent.py").read_text(encoding="utf-8")
    (folder / "assistant" / "agent.py").write_text(program + "# mine\n", encoding="utf-8")
    again = run_gaia("init", str(folder), "--agent", "assistant", "--json")
    compile(program, "agent.py", "exec")

    assert done.code == again.code == 0
    assert done.json_output["agents"] == ["assistant"]
    assert 'name="assistant"' in program
    assert "--extra_plugins" not in done.json_output["commands"]["adk web"]
    assert load(folder / "gaia.yaml").config.app == "assistant"
    assert did(again, folder)["assistant"] == "kept"
    assert (folder / "assistant" / "agent.py").read_text(encoding="utf-8").endswith("# mine\n")


@pytest.mark.parametrize("name", ["a b", "1st", "user", "services", "my-agent", "json", "yaml", "", "../x", "class"])
def test_a_name_that_adk_could_not_load_is_rejected(tmp_path: Path, name: str) -> None:
    """Before anything is written; the message describes valid names."""
    done = run_gaia("init", str(tmp_path), "--agent", name)

    assert done.code == 2
    assert "--agent" in done.err
    assert list(tmp_path.rglob("services.yaml")) == []


def test_a_folder_of_that_name_elsewhere_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the working directory nor in the parent of the agents."""
    (tmp_path / "assistant").mkdir()
    (tmp_path / "assistant" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")

    assert run_gaia("init", "agents", "--agent", "assistant").code == 0
    assert run_gaia("init", ".", "--agent", "assistant").code == 0


def test_unusable_folders_are_rejected(tmp_path: Path) -> None:
    """Each is named, and nothing is written."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    one = agent(tmp_path / "one")
    missing = run_gaia("init", str(tmp_path / "nowhere"))
    file = run_gaia("init", str(tmp_path / "file"))
    inside = run_gaia("init", str(one), "--agent", "assistant")
    under = run_gaia("init", str(tmp_path / "file" / "below"), "--agent", "assistant")

    assert [done.code for done in (missing, file, inside, under)] == [2, 2, 2, 1]
    assert "there is no folder" in words(missing.err)
    assert "is a file: name a folder" in words(file.err)
    assert "is an agent itself" in words(inside.err)
    assert "Traceback" not in under.err
    assert f"{tmp_path / 'file' / 'below'} cannot be used" in under.err
    assert list(tmp_path.rglob("gaia.yaml")) == []


def test_one_short_line_says_what_to_run_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ADK's own commands are long, and in JSON alone."""
    monkeypatch.chdir(tmp_path)
    agent(tmp_path / "my agents" / "shop")
    done = run_gaia("init", "my agents")

    assert done.out.splitlines()[-2:] == ["", "Next: gaia web 'my agents'"]
    assert "adk web" not in done.out


def test_a_folder_without_agents_gets_a_hint_how_to_create_one_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to run yet. The command names the folder, which need not be the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my agents").mkdir()
    done = run_gaia("init", "my agents")

    assert done.code == 0
    assert "`gaia init 'my agents' --agent assistant` creates one" in words(done.err)
    assert "adk web" not in done.out

    run_gaia(*shlex.split("init 'my agents' --agent assistant"))
    assert (tmp_path / "my agents" / "assistant" / "agent.py").is_file()


def test_files_written_before_a_failure_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk can become full halfway."""

    def full(path: Path, **_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(prepare, "write_services", full)
    done = run_gaia("init", str(tmp_path))

    assert done.code == 1
    assert f"made: {tmp_path / 'gaia.yaml'}" in done.err
    assert "(No space left on device)" in done.err
