"""The live configuration follows its file: each change is noticed, and an invalid one changes nothing."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from gaia_memory.config.describe import AFTER_RESTART, iter_settings, takes_effect
from gaia_memory.config.key_path import dotted_key
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources import live_config
from gaia_memory.config.sources.live_config import LiveConfig, load_newest
from gaia_memory.config.sources.load import LoadedConfig, load
from gaia_memory.config.sources.yaml_file import FileSnapshot, read_snapshot
from gaia_memory.errors import ConfigError

OFF = "memory: {enabled: false}\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A configuration file that sets one key."""
    path = tmp_path / "gaia.yaml"
    path.write_text("memory: {recall_limit: 3}\n", encoding="utf-8")
    return path


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Counts the YAML parses: one entry each."""
    counted: list[int] = []
    parse = yaml.load

    def counting(*arguments: Any, **keywords: Any) -> Any:
        counted.append(threading.get_ident())
        return parse(*arguments, **keywords)

    monkeypatch.setattr(yaml, "load", counting)
    return counted


async def loaded(source: Any, **arguments: Any) -> LoadedConfig:
    return await asyncio.to_thread(load, source, **{"environ": {}, **arguments})


async def live(path: Path, **arguments: Any) -> LiveConfig:
    return LiveConfig(await loaded(path), **arguments)


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def age(path: Path, seconds: float = 60.0) -> None:
    """Make a file look older, as `touch -d` does; its change time is not affected."""
    then = time.time() - seconds
    os.utime(path, (then, then))


async def limit(config: LiveConfig) -> int:
    await config.reload_if_changed()
    return config.config.memory.recall_limit


async def test_an_edit_takes_effect_at_the_next_reload(file: Path) -> None:
    """A reload returns the new configuration, or nothing if the file has not changed."""
    config = await live(file)

    assert await config.reload_if_changed() is None
    write(file, "memory: {recall_limit: 7}\n")
    fresh = await config.reload_if_changed()

    assert fresh is config.current
    assert config.config.memory.recall_limit == 7
    assert await config.reload_if_changed() is None


async def test_the_keys_that_changed_are_logged_without_their_values(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A value such as the instructions may be long or private."""
    config = await live(file)
    write(file, "memory: {recall_limit: 7, extraction_instructions: About cats}\nsessions: {window_turns: 9}\n")
    with caplog.at_level(logging.INFO):
        await config.reload_if_changed()

    [record] = caplog.records
    assert record.levelno == logging.INFO
    assert "memory.recall_limit, memory.extraction_instructions, sessions.window_turns" in record.message
    assert "cats" not in caplog.text


async def test_a_second_edit_with_the_same_size_and_time_is_noticed(file: Path) -> None:
    """The clock of a file system is coarser than two quick edits."""
    config = await live(file)
    stamp = file.stat()
    for wanted in (4, 5, 6, 7):
        write(file, f"memory: {{recall_limit: {wanted}}}\n")
        os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

        assert await limit(config) == wanted


async def test_an_edit_with_a_restored_modification_time_is_noticed(file: Path) -> None:
    """A tool may restore size and modification time, but not the change time."""
    age(file)
    config = await live(file)
    stamp = file.stat()
    write(file, "memory: {recall_limit: 8}\n")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    assert await limit(config) == 8


async def test_many_looks_parse_one_file_once(file: Path, parses: list[int]) -> None:
    """The configuration is looked at in each turn."""
    config = await live(file)
    for _ in range(10):
        await asyncio.gather(*(config.reload_if_changed() for _ in range(8)))

    assert len(parses) == 1
    write(file, "memory: {recall_limit: 9}\n")
    await asyncio.gather(*(config.reload_if_changed() for _ in range(80)))

    assert len(parses) == 2
    assert config.config.memory.recall_limit == 9


async def test_parts_do_not_share_mutable_settings(file: Path) -> None:
    """The parsed file is shared, so each part gets a deep copy."""
    write(file, "memory: {llm: {provider: openai, config: {stop: [a, {b: c}], ban: !!set {d: null}}}}\n")
    spoiled, other = (await loaded(file)).config.memory.llm.config, await loaded(file)
    spoiled["stop"][1]["b"] = "spoiled"
    spoiled["stop"].append("spoiled")
    spoiled["ban"].add("spoiled")

    for config in (other.config, (await loaded(file)).config):
        assert config.memory.llm.config == {"stop": ["a", {"b": "c"}], "ban": {"d"}}


BAD = {
    "broken": "memory: {recall_limit: [\n",
    "empty": "",
    "comments": "# memory:\n#   enabled: false\n",
    "document": "---\n",
    "list": "- memory\n",
    "value": "memory: {enabled: true, recall_limit: 99}\n",
    "secret": "memory: {enabled: true, llm: {api_key: sk-0123456789}}\n",
    "twice": "memory: {enabled: true}\nmemory: {}\n",
    "bytes": "app: \udcff\n",
}


@pytest.mark.acceptance("G02", "G03")
@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
async def test_an_invalid_version_changes_nothing_and_is_reported_once(
    file: Path, text: str, caplog: pytest.LogCaptureFixture, parses: list[int]
) -> None:
    """A mistake must not switch a disabled memory on."""
    write(file, OFF)
    config = await live(file)
    before, parsed = config.current, len(parses)
    file.write_bytes(text.encode(errors="surrogateescape"))
    for _ in range(5):
        assert await config.reload_if_changed() is None

    assert config.current is before
    assert config.config.memory.enabled is False
    [warning] = caplog.records
    assert warning.levelno == logging.WARNING
    assert str(file) in warning.message
    assert "last good version stays in force" in warning.message
    assert "sk-0123456789" not in caplog.text
    assert config.problem is not None
    assert str(file) in config.problem.reason
    assert "correct the file" in config.problem.remedy
    assert len(parses) <= parsed + 1

    write(file, "memory: {enabled: true}\n")
    assert await config.reload_if_changed() is not None
    assert config.config.memory.enabled is True
    assert config.problem is None
    assert len(caplog.records) == 1


async def test_an_empty_file_or_an_explicit_empty_mapping_means_the_defaults(file: Path) -> None:
    """The file is empty at the start; later, `{}` is written on purpose."""
    write(file, "")
    config = await live(file)
    write(file, "memory: {recall_limit: 9}\n")
    await config.reload_if_changed()
    write(file, "{}\n")
    await config.reload_if_changed()

    assert config.config.memory == GaiaConfig().memory
    assert config.problem is None


async def test_an_invalid_version_that_is_reverted_leaves_no_problem(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing has changed in the end, so no change is applied."""
    good = file.read_text(encoding="utf-8")
    changes: list[GaiaConfig] = []
    config = await live(file, apply=changes.append)
    write(file, "- oops\n")
    await config.reload_if_changed()
    write(file, good)

    assert await config.reload_if_changed() is None
    assert config.problem is None
    assert changes == []
    assert len(caplog.records) == 1


async def test_a_replaced_file_is_read(file: Path) -> None:
    """Editors write a new file and rename it."""
    config = await live(file)
    for wanted in (4, 5):
        beside = file.with_suffix(".new")
        write(beside, f"memory: {{recall_limit: {wanted}}}\n")
        beside.replace(file)

        assert await limit(config) == wanted


async def test_a_file_that_disappears_and_returns_is_read(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Some editors delete the file before they write it."""
    config = await live(file)
    file.unlink()
    for _ in range(3):
        assert await limit(config) == 3
    assert ["no such file" in record.message for record in caplog.records] == [True]
    write(file, "memory: {recall_limit: 4}\n")

    assert await limit(config) == 4
    assert config.problem is None


async def test_a_switched_symlink_is_followed_and_keeps_the_identity(tmp_path: Path) -> None:
    """A mounted ConfigMap changes by renaming a link between the file and its folder."""
    for version, wanted in (("v1", 4), ("v2", 5)):
        (tmp_path / version).mkdir()
        write(tmp_path / version / "gaia.yaml", f"home: /h\nmemory: {{recall_limit: {wanted}}}\n")
        age(tmp_path / version / "gaia.yaml")
    (tmp_path / "data").symlink_to("v1")
    path = tmp_path / "gaia.yaml"
    path.symlink_to("data/gaia.yaml")
    config = await live(path)
    assert await limit(config) == 4
    (tmp_path / "next").symlink_to("v2")
    (tmp_path / "next").replace(tmp_path / "data")

    assert await limit(config) == 5
    assert (await loaded(path)).identity == config.current.identity


async def test_a_file_that_becomes_unreadable_changes_nothing(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is read again once it is readable."""
    config = await live(file)
    write(file, "memory: {recall_limit: 4}\n")
    with unreadable(file):
        assert await limit(config) == 3

    assert ["cannot be read (Permission denied)" in record.message for record in caplog.records] == [True]
    assert await limit(config) == 4


@contextmanager
def unreadable(path: Path) -> Iterator[None]:
    """Make a file unreadable, even for root."""
    path.chmod(0)
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        if mine == 0:
            os.seteuid(mine)
        path.chmod(0o600)


async def test_a_folder_in_place_of_the_file_changes_nothing(file: Path) -> None:
    """A reload never raises an error."""
    config = await live(file)
    file.unlink()
    file.mkdir()

    assert await limit(config) == 3
    assert config.problem is not None
    assert "cannot be read (Is a directory)" in config.problem.reason


async def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """`gaia chat --config <(…)` provides its text once; a second read would block for ever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("memory: {recall_limit: 4}\n",), daemon=True)
    writer.start()
    config = LiveConfig(await loaded(pipe))
    async with asyncio.timeout(60):
        assert await limit(config) == 4


FIXED = {
    "app": ("app: other", "app"),
    "home": ("home: /elsewhere", "home"),
    "model": ("model: offline", "model"),
    "scope": ("memory: {scope: user}", "memory.scope"),
    "database": ("memory: {database_url: sqlite:////x.db}", "memory.database_url"),
    "embedder": ("memory: {embedder: {provider: openai}}", "memory.embedder"),
    "vector_store": ("memory: {vector_store: {provider: qdrant}}", "memory.vector_store"),
    "sessions": ("sessions: {database_url: sqlite:////y.db}", "sessions.database_url"),
    "connections": ("sessions: {server_connections: 30}", "sessions.server_connections"),
    "wait": ("sessions: {server_wait_seconds: 60}", "sessions.server_wait_seconds"),
}


def test_the_keys_that_take_effect_after_a_restart_are_pinned() -> None:
    """All others take effect while memory is open."""
    fixed = {dotted_key(path) for path, field in iter_settings(GaiaConfig) if takes_effect(field) == AFTER_RESTART}

    assert fixed == {key for _, key in FIXED.values()}


@pytest.mark.parametrize(("text", "key"), FIXED.values(), ids=FIXED.keys())
async def test_a_key_that_needs_a_restart_keeps_its_value_and_others_take_effect(
    tmp_path: Path, text: str, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The key is logged once and shown in the status."""
    path = tmp_path / "gaia.yaml"
    write(path, "{}\n")
    config = await live(path)
    before, identity = config.config, config.current.identity
    edited = {**yaml.safe_load(text), "people": {"unknown": "allow"}}
    write(path, yaml.safe_dump(edited))
    for _ in range(3):
        await config.reload_if_changed()

    assert config.config == before.model_copy(update={"people": config.config.people})
    assert config.config.people.unknown == "allow"
    assert config.current.identity == identity
    [warning] = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert f"until then the old value stays in force: {key}" in warning.message
    assert config.problem is not None
    assert key in config.problem.reason
    assert "restart" in config.problem.remedy


async def test_reverting_a_key_that_needs_a_restart_leaves_no_problem(file: Path) -> None:
    """The file then agrees with the configuration in force."""
    config = await live(file)
    write(file, "app: other\nmemory: {recall_limit: 3}\n")
    await config.reload_if_changed()
    write(file, "memory: {recall_limit: 3}\n")
    await config.reload_if_changed()

    assert config.problem is None


async def accepted(_: GaiaConfig) -> None:
    """Accept every configuration."""


async def test_reopening_memory_loads_the_whole_current_file(file: Path) -> None:
    """This includes keys that need a restart, and configurations that were loaded long ago."""
    stale = await loaded(file)
    config = LiveConfig(stale)
    write(file, "app: other\nmemory: {recall_limit: 4}\n")
    await config.reload_if_changed()

    for kept in (stale, config.current):
        fresh = await load_newest(kept, check=accepted)
        assert (fresh.config.app, fresh.config.memory.recall_limit) == ("other", 4)
        assert await load_newest(fresh, check=accepted) is fresh


@pytest.mark.parametrize("text", ["", "- list\n", "app: no-good app\n"])
async def test_reopening_memory_with_an_invalid_file_uses_the_last_good_version(file: Path, text: str) -> None:
    """A running engine does the same."""
    stale = await loaded(file)
    write(file, text)

    assert await load_newest(stale, check=accepted) is stale


async def refusing(config: GaiaConfig) -> None:
    """Refuse one misspelt provider."""
    if config.memory.llm.provider == "opnai":
        raise ConfigError(["memory.llm.provider: 'opnai' is not a provider"])


async def test_a_version_that_fails_the_check_changes_nothing(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A provider unknown to mem0 is refused before anything is swapped."""
    stale = await loaded(file)
    config = LiveConfig(stale, check=refusing)
    write(file, "memory: {llm: {provider: opnai}, recall_limit: 4}\n")
    for _ in range(3):
        assert await limit(config) == 3

    assert ["'opnai' is not a provider" in record.message for record in caplog.records] == [True]
    assert str(file) in caplog.text
    assert config.problem is not None
    assert await load_newest(stale, check=refusing) is stale


async def test_a_change_is_applied_atomically(file: Path) -> None:
    """No other task runs between the check and the last effect."""
    ticks = 0
    seen: list[tuple[int, int]] = []

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            seen.append((config.config.memory.recall_limit, applied))
            await asyncio.sleep(0)

    applied = 3

    def apply(fresh: GaiaConfig) -> None:
        nonlocal applied
        applied = fresh.memory.recall_limit

    config = await live(file, check=accepted, apply=apply)
    ticking = asyncio.create_task(tick())
    write(file, "memory: {recall_limit: 4}\n")
    await config.reload_if_changed()
    await asyncio.sleep(0)
    ticking.cancel()

    assert {(limit, at) for limit, at in seen} == {(3, 3), (4, 4)}


async def test_concurrent_reloads_parse_once_and_warn_once(
    file: Path, parses: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """A hundred simultaneous messages parse a new version once."""
    config = await live(file)
    parsed = len(parses)
    write(file, "- oops\n")
    await asyncio.gather(*(config.reload_if_changed() for _ in range(100)))

    assert len(parses) - parsed == 1
    assert len(caplog.records) == 1


async def test_a_reload_that_started_before_an_edit_does_not_hide_it_from_a_later_one(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later message was sent after the file was saved."""
    config = await live(file)
    has_read, go_on = threading.Event(), threading.Event()

    def slow(path: Path, previous: FileSnapshot | None = None) -> FileSnapshot:
        found = read_snapshot(path, previous)
        has_read.set()
        go_on.wait(60)
        return found

    monkeypatch.setattr(live_config, "read_snapshot", slow)
    early = asyncio.create_task(config.reload_if_changed())
    await asyncio.to_thread(has_read.wait, 60)
    write(file, "memory: {recall_limit: 4}\n")
    late = asyncio.create_task(limit(config))
    await asyncio.sleep(0)
    go_on.set()

    assert await late == 4
    assert await early is None


async def test_two_event_loops_report_an_invalid_version_once(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """ADK's `Runner.run` makes a new event loop for each call."""
    stale = await loaded(file)
    write(file, "- oops\n")

    def turn() -> LoadedConfig | None:
        return asyncio.run(LiveConfig(stale).reload_if_changed())

    for _ in range(3):
        assert await asyncio.to_thread(turn) is None

    assert len(caplog.records) == 1


async def test_the_environment_is_read_with_each_new_version_of_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It overrides the file as at the start; a changed variable alone has no effect."""
    config = LiveConfig(await loaded(file, environ=None))
    monkeypatch.setenv("GAIA_SESSIONS__WINDOW_TURNS", "7")
    assert await config.reload_if_changed() is None
    assert config.config.sessions.window_turns == 30
    write(file, "sessions: {window_turns: 9}\n")
    await config.reload_if_changed()

    assert config.config.sessions.window_turns == 7


async def test_arguments_override_every_version_of_the_file(file: Path, tmp_path: Path) -> None:
    """The time of the edit makes no difference."""
    config = LiveConfig(await loaded(file, home=tmp_path / "mine", model="offline"))
    write(file, "home: /elsewhere\nmodel: other\nmemory: {recall_limit: 4}\n")
    await config.reload_if_changed()

    assert (config.config.home, config.config.model) == (tmp_path / "mine", "offline")
    assert config.config.memory.recall_limit == 4
    assert config.problem is None


async def test_settings_of_the_program_override_every_version_key_by_key(file: Path) -> None:
    """`gaia chat` never waits for a burst; all other settings come from the file."""
    config = LiveConfig(await loaded(file, settings={"sessions": {"coalesce_seconds": 0.0}}))
    write(file, "sessions: {coalesce_seconds: 9, window_turns: 7}\n")
    await config.reload_if_changed()

    assert (config.config.sessions.coalesce_seconds, config.config.sessions.window_turns) == (0.0, 7)
    finished = await loaded(config.config, settings={"sessions": {"window_turns": 8}})
    assert (finished.config.sessions.coalesce_seconds, finished.config.sessions.window_turns) == (0.0, 8)


@pytest.mark.parametrize("source", [None, {"memory": {"recall_limit": 3}}, GaiaConfig()])
async def test_without_a_file_there_is_nothing_to_reload(source: Any) -> None:
    """A program's own configuration does not change."""
    config = LiveConfig(await loaded(source))

    assert config.current.origin is None
    assert await config.reload_if_changed() is None


@pytest.mark.parametrize(
    ("text", "is_same"),
    [
        ("# why three\nmemory:\n  recall_limit: 3   # that is why\n", True),
        ("memory: {recall_limit: 3}\nsessions: {window_turns: 30}\n", True),
        ("memory: {recall_limit: 4}\n", False),
        ("memory: {recall_limit: 3}\npeople: {unknown: allow}\n", False),
    ],
)
async def test_the_fingerprint_depends_on_the_settings_only(
    file: Path, text: str, is_same: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Comments, order and explicit defaults make no difference."""
    config = await live(file)
    before = config.profile_fingerprint
    write(file, text)
    with caplog.at_level(logging.INFO):
        fresh = await config.reload_if_changed()

    assert (config.profile_fingerprint == before) is is_same
    assert (fresh is None) is is_same
    assert (caplog.records == []) is is_same


TAGGED: list[Callable[[str], str]] = [str, "a: {}".format, "memory: {{llm: {{model: {}}}}}".format]


@pytest.mark.parametrize("form", TAGGED, ids=["alone", "value", "deep"])
@pytest.mark.parametrize("text", ["!!int ''", "!!bool foo", "!!timestamp foo", "!!float _", "!!set [a]"])
def test_a_value_that_does_not_match_its_yaml_tag_is_refused(file: Path, text: str, form: Callable[[str], str]) -> None:
    """PyYAML itself raises several different errors here."""
    write(file, form(text))

    with pytest.raises(ConfigError, match="no valid form"):
        load(file, environ={})


@pytest.mark.parametrize("home", ['"a\\0b"', '"\\ud800"'])
def test_a_home_that_is_not_a_valid_path_is_refused(file: Path, home: str) -> None:
    """Otherwise every reload would fail with a traceback."""
    write(file, f"home: {home}\n")

    with pytest.raises(ConfigError, match="contains a character that no path may contain"):
        load(file, environ={})


def test_a_home_in_a_symlink_loop_is_loaded(file: Path, tmp_path: Path) -> None:
    """Opening memory reports the error."""
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    write(file, f"home: {tmp_path / 'one'}\n")

    assert load(file, environ={}).config.home == tmp_path / "one"


@pytest.mark.parametrize("path", ["~nobody-of-that-name/gaia.yaml", "a\0b"])
def test_an_invalid_path_is_refused(path: str) -> None:
    """The message says what to write instead."""
    with pytest.raises(ConfigError, match=r"write the whole path|check the path"):
        load(path, environ={})


async def test_a_change_is_written_to_the_file_and_takes_effect_at_once(file: Path) -> None:
    """It is applied like an edit by hand."""
    applied: list[bool] = []
    live = LiveConfig(
        await asyncio.to_thread(load, file, environ={}), apply=lambda config: applied.append(config.memory.enabled)
    )

    in_file = await live.change(("memory", "enabled"), False)

    assert in_file
    assert file.read_text(encoding="utf-8") == "memory: {enabled: false, recall_limit: 3}\n"
    assert (live.config.memory.enabled, live.config.memory.recall_limit, live.problem) == (False, 3, None)
    assert applied == [False]


@pytest.mark.parametrize(
    ("settings", "is_same"),
    [
        ({"sessions": {"coalesce_seconds": 0}}, True),
        ({"sessions": {"window_turns": 3}}, False),
        ({"memory": {"preload_limit": 3}}, False),
    ],
)
def test_the_profile_fingerprint_ignores_the_debounce_alone(settings: dict[str, object], is_same: bool) -> None:
    """A terminal, which merges no messages, must not outdate the profiles of a server."""
    plain, changed = LiveConfig(load({}, environ={})), LiveConfig(load(settings, environ={}))

    assert (plain.profile_fingerprint == changed.profile_fingerprint) is is_same


async def test_a_change_without_a_file_takes_effect_in_memory_only() -> None:
    """The identity stays the same, so parts that are created later share the engine."""
    applied: list[bool] = []
    loaded = load({"memory": {"recall_limit": 3}}, environ={})
    live = LiveConfig(loaded, apply=lambda config: applied.append(config.memory.enabled))
    before = live.profile_fingerprint

    in_file = await live.change(("memory", "enabled"), False)

    assert not in_file
    assert (live.config.memory.enabled, live.config.memory.recall_limit) == (False, 3)
    assert live.current.identity == loaded.identity
    assert live.profile_fingerprint != before
    assert applied == [False]
    assert loaded.config.memory.enabled


async def test_a_change_to_an_invalid_file_changes_nothing(file: Path) -> None:
    """The file is left as it is, and the last good version stays in force."""
    live = LiveConfig(await asyncio.to_thread(load, file, environ={}))
    file.write_text("memory: {recall_limit: many}\n", encoding="utf-8")

    with pytest.raises(ConfigError, match="recall_limit"):
        await live.change(("memory", "enabled"), False)

    assert live.config.memory.enabled
    assert file.read_text(encoding="utf-8") == "memory: {recall_limit: many}\n"


@pytest.mark.parametrize("has_file", [True, False])
async def test_a_change_that_fails_the_check_does_not_take_effect(file: Path, has_file: bool) -> None:
    """If there is a file, it is written anyway, and the error says so."""

    async def refuse(_: GaiaConfig) -> None:
        raise ConfigError(["memory.llm.provider: nobody knows it"], source="x")

    loaded = await asyncio.to_thread(load, file if has_file else {}, environ={})
    live = LiveConfig(loaded, check=refuse)

    with pytest.raises(ConfigError, match="nobody knows it") as refused:
        await live.change(("memory", "enabled"), False)

    assert live.config.memory.enabled
    assert ("was written, but is not in force" in str(refused.value)) == has_file


async def test_two_concurrent_changes_are_both_kept(file: Path) -> None:
    """Neither overwrites the other."""
    live = LiveConfig(await asyncio.to_thread(load, file, environ={}))

    await asyncio.gather(live.change(("memory", "enabled"), False), live.change(("memory", "preload"), False))

    assert not live.config.memory.enabled
    assert not live.config.memory.preload


OFFLINE = (("memory", "embedder"), {"provider": "offline"})


@pytest.mark.acceptance("C18")
async def test_a_change_that_needs_a_restart_is_written_but_not_in_force(file: Path) -> None:
    """Only the file contains it, and reverting it leaves no problem."""
    live = LiveConfig(await asyncio.to_thread(load, file, environ={}))

    waits = await live.change_at_restart(*OFFLINE)
    fresh = await asyncio.to_thread(load, file, environ={})

    assert waits
    assert live.config.memory.embedder.provider == "auto"
    assert live.problem is not None
    assert fresh.config.memory.embedder.provider == "offline"
    assert not await live.change_at_restart(OFFLINE[0], {"provider": "auto"})
    assert live.problem is None


@pytest.mark.acceptance("C18")
async def test_a_change_for_the_next_restart_that_fails_the_check_is_not_written(file: Path) -> None:
    """Memory could not be opened again; without a file there is no place to write it."""

    async def refuse(config: GaiaConfig) -> None:
        raise ConfigError([f"{config.memory.embedder.provider} lacks its key"], source="x")

    before = file.read_bytes()
    live = LiveConfig(await asyncio.to_thread(load, file, environ={}), check=refuse)
    with pytest.raises(ConfigError, match="offline lacks its key"):
        await live.change_at_restart(*OFFLINE)
    with pytest.raises(ConfigError, match=r"no gaia\.yaml to write it to"):
        await LiveConfig(load({}, environ={})).validate_change(*OFFLINE)

    assert file.read_bytes() == before
