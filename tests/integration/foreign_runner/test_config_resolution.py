"""The source of a part's configuration: argument, URI, the Runner's memory service, GAIA_CONFIG, home, defaults."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.plugins.base_plugin import BasePlugin

from gaia_memory import Mem0MemoryService, MemoryPlugin, SessionWindowPlugin, open_memory
from gaia_memory.config.schema import GaiaConfig
from support.hosts.plain_runner import build_runner, fact_texts_in, run_turn

SAID = "/remember I like teal"
KEPT = ["I like teal"]


@asynccontextmanager
async def talked(*plugins: BasePlugin, service: Mem0MemoryService | None = None) -> AsyncIterator[None]:
    """Send one message in a Runner with these parts, and close it."""
    async with build_runner(*plugins, service=service) as runner:
        assert await run_turn(runner, SAID) == "I will remember: I like teal"
        yield


def yaml_in(folder: Path, home: Path) -> Path:
    """Write a configuration with this home."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "gaia.yaml"
    file.write_text(f"home: {home}\n", encoding="utf-8")
    return file


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Name a different home in every possible way; the test checks which one is used."""
    homes = {name: tmp_path / name for name in ("argument", "uri", "GAIA_CONFIG", "GAIA_HOME")}
    # Set by the tests for every test, and stronger than the home in a file.
    monkeypatch.delenv("GAIA_HOME")
    monkeypatch.setenv("GAIA_CONFIG", str(yaml_in(tmp_path / "named", homes["GAIA_CONFIG"])))
    yaml_in(homes["GAIA_HOME"], homes["GAIA_HOME"])
    yaml_in(tmp_path / "agents", homes["uri"])
    return homes


def used(homes: dict[str, Path]) -> list[str]:
    """Return the homes that contain facts."""
    return [name for name, home in homes.items() if (home / "memory.db").exists() and fact_texts_in(home) == KEPT]


def service_of(tmp_path: Path) -> Mem0MemoryService:
    return Mem0MemoryService(uri="mem0://?config=gaia.yaml", agents_dir=str(tmp_path / "agents"))


@pytest.mark.parametrize("kind", ["mapping", "path", "text", "object"])
async def test_an_argument_takes_precedence_over_everything_else(
    tmp_path: Path, homes: dict[str, Path], kind: str
) -> None:
    """Including the Runner's service."""
    home = homes["argument"]
    file = yaml_in(tmp_path / "given", home)
    config: Any = {"mapping": {"home": str(home)}, "path": file, "text": str(file), "object": GaiaConfig(home=home)}[
        kind
    ]
    async with talked(MemoryPlugin(config=config), service=service_of(tmp_path)):
        pass

    assert used(homes) == ["argument"]


async def test_a_plugin_uses_the_configuration_of_its_runners_memory_service(
    tmp_path: Path, homes: dict[str, Path]
) -> None:
    """The `config=` of its URI, relative to the folder of the agents."""
    async with talked(MemoryPlugin(), service=service_of(tmp_path)):
        pass

    assert used(homes) == ["uri"]


async def test_a_window_plugin_uses_the_configuration_of_its_runners_memory_service(
    tmp_path: Path, homes: dict[str, Path]
) -> None:
    """If it is given no number."""
    file = tmp_path / "agents" / "gaia.yaml"
    file.write_text(file.read_text() + "sessions: {window_turns: 1}\n")
    runner = build_runner(SessionWindowPlugin(), service=service_of(tmp_path))
    async with runner:
        await run_turn(runner, "one")
        await run_turn(runner, "two")
        sent = runner.agent.model.requests[-1]  # type: ignore[union-attr]

    assert "one" not in str(sent.contents)


async def test_without_a_folder_of_agents_a_uri_is_relative_to_the_working_directory(
    tmp_path: Path, homes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """This is the case in a script."""
    monkeypatch.chdir(tmp_path / "agents")
    async with talked(MemoryPlugin(), service=Mem0MemoryService(uri="mem0://?config=gaia.yaml")):
        pass

    assert used(homes) == ["uri"]


async def test_an_absolute_path_in_a_uri_is_used_unchanged(tmp_path: Path, homes: dict[str, Path]) -> None:
    """Whatever the folder of the agents."""
    uri = f"mem0://?config={tmp_path / 'agents' / 'gaia.yaml'}"
    async with talked(MemoryPlugin(), service=Mem0MemoryService(uri=uri, agents_dir="/nowhere")):
        pass

    assert used(homes) == ["uri"]


async def test_a_services_argument_takes_precedence_over_its_uri(tmp_path: Path, homes: dict[str, Path]) -> None:
    """The plugin uses it too."""
    config = {"home": str(homes["argument"])}
    service = Mem0MemoryService(uri="mem0://?config=gaia.yaml", agents_dir=str(tmp_path / "agents"), config=config)
    async with talked(MemoryPlugin(), service=service):
        pass

    assert used(homes) == ["argument"]


@pytest.mark.parametrize("service", [None, "mem0://"])
async def test_otherwise_the_file_named_by_GAIA_CONFIG_is_used(homes: dict[str, Path], service: str | None) -> None:
    """If neither part names one."""
    async with talked(MemoryPlugin(), service=Mem0MemoryService(uri=service) if service else None):
        pass

    assert used(homes) == ["GAIA_CONFIG"]


async def test_otherwise_the_file_in_GAIA_HOME_is_used(homes: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the home to use."""
    monkeypatch.delenv("GAIA_CONFIG")
    monkeypatch.setenv("GAIA_HOME", str(homes["GAIA_HOME"]))
    (homes["GAIA_HOME"] / "gaia.yaml").write_text("app: shop\n")
    async with talked(MemoryPlugin()):
        pass

    assert used(homes) == ["GAIA_HOME"]


async def test_otherwise_the_defaults_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the home of the operating system's user."""
    monkeypatch.delenv("GAIA_HOME")
    async with talked(MemoryPlugin()):
        pass

    assert fact_texts_in(tmp_path / "user" / ".gaia") == KEPT


async def test_open_memory_without_arguments_resolves_like_a_part(homes: dict[str, Path]) -> None:
    """GAIA_CONFIG comes before the home."""
    async with open_memory() as gaia:
        await gaia.memory.remember(gaia.scope("ada"), "I like teal")

    assert used(homes) == ["GAIA_CONFIG"]


async def test_the_environment_is_read_when_a_part_is_first_used(
    homes: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts are often created at import, before a program has read its settings."""
    monkeypatch.delenv("GAIA_CONFIG")
    plugin = MemoryPlugin()
    monkeypatch.setenv("GAIA_HOME", str(homes["GAIA_HOME"]))
    async with talked(plugin):
        pass

    assert used(homes) == ["GAIA_HOME"]


async def test_one_plugin_in_two_runners_with_equal_configuration_serves_both(tmp_path: Path) -> None:
    """Closing one Runner leaves the other its memory."""
    config = {"home": str(tmp_path / "home")}
    plugin, service = MemoryPlugin(), Mem0MemoryService(config=config)
    async with build_runner(plugin, service=service, app="first") as first:
        async with build_runner(plugin, service=Mem0MemoryService(config=config), app="second") as second:
            await run_turn(first, "/remember I like figs")
            await run_turn(second, "/remember I like plums")
        texts = [await run_turn(first, "/memory"), await run_turn(first, "hi")]
    async with build_runner(plugin, service=service, app="second") as again:
        texts.append(await run_turn(again, "/memory"))

    assert "I like figs" in texts[0]
    assert "plums" not in texts[0]
    assert texts[1] == "ok"
    assert "I like plums" in texts[2]


async def test_one_plugin_in_two_runners_with_different_configurations_serves_the_first(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Messages in the second must not reach the memory of the first."""
    homes = [tmp_path / "one", tmp_path / "two"]
    plugin = MemoryPlugin()
    first, second = (
        build_runner(plugin, service=Mem0MemoryService(config={"home": str(home)}), app=home.name) for home in homes
    )
    async with first, second:
        await run_turn(first, "/remember I like figs")
        answers = [await run_turn(second, text) for text in ("hi", "/remember I like plums", "hi")]

    assert answers[0] == answers[2] == "ok"
    assert "create a plugin for each Runner" in answers[1]
    assert fact_texts_in(homes[0]) == ["I like figs"]
    assert not await asyncio.to_thread(homes[1].exists)
    assert len([record for record in caplog.records if "different configurations" in record.getMessage()]) == 1
