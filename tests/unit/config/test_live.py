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
from gaia_memory.config.sources.live_config import LiveConfig, load_newest
from gaia_memory.config.sources.load import LoadedConfig, load
from gaia_memory.config.sources.yaml_file import FileSnapshot, YamlFile
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
    """How often YAML was parsed: one entry a time."""
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
    """Let a file have been written a while ago, as `touch -d` does; its change time stays."""
    then = time.time() - seconds
    os.utime(path, (then, then))


async def limit(config: LiveConfig) -> int:
    await config.reload_if_changed()
    return config.config.memory.recall_limit


async def test_an_edit_is_in_force_after_the_next_look(file: Path) -> None:
    """A look returns what changed, and nothing where nothing did."""
    config = await live(file)

    assert await config.reload_if_changed() is None
    write(file, "memory: {recall_limit: 7}\n")
    fresh = await config.reload_if_changed()

    assert fresh is config.current
    assert config.config.memory.recall_limit == 7
    assert await config.reload_if_changed() is None


async def test_what_is_in_force_is_told_by_the_names_of_its_keys(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without their values: instructions may say a lot."""
    config = await live(file)
    write(file, "memory: {recall_limit: 7, extraction_instructions: About cats}\nsessions: {window_turns: 9}\n")
    with caplog.at_level(logging.INFO):
        await config.reload_if_changed()

    [record] = caplog.records
    assert record.levelno == logging.INFO
    assert "memory.recall_limit, memory.extraction_instructions, sessions.window_turns" in record.message
    assert "cats" not in caplog.text


async def test_a_second_edit_of_the_same_size_at_the_same_time_is_seen(file: Path) -> None:
    """The clock of a file system is coarser than two quick edits."""
    config = await live(file)
    stamp = file.stat()
    for wanted in (4, 5, 6, 7):
        write(file, f"memory: {{recall_limit: {wanted}}}\n")
        os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

        assert await limit(config) == wanted


async def test_an_edit_whose_times_were_put_back_is_seen(file: Path) -> None:
    """A tool may keep size and modification time; the time of the change it cannot."""
    age(file)
    config = await live(file)
    stamp = file.stat()
    write(file, "memory: {recall_limit: 8}\n")
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    assert await limit(config) == 8


async def test_many_parts_and_looks_parse_one_file_once(file: Path, parses: list[int]) -> None:
    """The service, two plugins and open_memory load it, in whatever thread, and each looks at each turn."""
    loads = await asyncio.gather(*(loaded(file) for _ in range(8)))
    parts = [LiveConfig(one) for one in loads]
    for _ in range(10):
        await asyncio.gather(*(part.reload_if_changed() for part in parts))

    assert len(parses) == 1
    write(file, "memory: {recall_limit: 9}\n")
    await asyncio.gather(*(part.reload_if_changed() for part in parts * 10))

    assert len(parses) == 2
    assert {part.config.memory.recall_limit for part in parts} == {9}


async def test_nobody_changes_what_others_read(file: Path) -> None:
    """The parsed file is shared; each part gets a copy, down to the last set."""
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
async def test_a_bad_version_changes_nothing_and_is_told_once(
    file: Path, text: str, caplog: pytest.LogCaptureFixture, parses: list[int]
) -> None:
    """Memory that was switched off must not come back on by a slip."""
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


async def test_at_first_an_empty_file_means_the_defaults_and_later_a_written_out_one_does(file: Path) -> None:
    """`{}` is written on purpose."""
    write(file, "")
    config = await live(file)
    write(file, "memory: {recall_limit: 9}\n")
    await config.reload_if_changed()
    write(file, "{}\n")
    await config.reload_if_changed()

    assert config.config.memory == GaiaConfig().memory
    assert config.problem is None


async def test_a_bad_version_that_goes_back_to_the_good_one_is_no_trouble(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing changed in the end, so nobody is told of a change."""
    good = file.read_text(encoding="utf-8")
    changes: list[GaiaConfig] = []
    config = await live(file, apply=changes.append)
    write(file, "- oops\n")
    await config.reload_if_changed()
    write(file, good)

    assert await config.reload_if_changed() is None
    assert config.problem is None
    assert changes == []
    write(file, "- oops\n")
    await config.reload_if_changed()
    assert len(caplog.records) == 2


async def test_a_file_that_is_replaced_by_another_is_read(file: Path) -> None:
    """Editors write beside and rename."""
    config = await live(file)
    for wanted in (4, 5):
        beside = file.with_suffix(".new")
        write(beside, f"memory: {{recall_limit: {wanted}}}\n")
        beside.replace(file)

        assert await limit(config) == wanted


async def test_a_file_that_goes_and_comes_back_is_taken_up(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Between the two steps of an editor there is none."""
    config = await live(file)
    file.unlink()
    for _ in range(3):
        assert await limit(config) == 3
    assert ["no such file" in record.message for record in caplog.records] == [True]
    write(file, "memory: {recall_limit: 4}\n")

    assert await limit(config) == 4
    assert config.problem is None


async def test_a_switched_link_is_followed_and_stays_the_same_memory(tmp_path: Path) -> None:
    """A mounted ConfigMap changes by one rename of a link between the file and its folder."""
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


async def test_a_file_that_may_not_be_read_any_more_changes_nothing(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is read again when it may be."""
    config = await live(file)
    write(file, "memory: {recall_limit: 4}\n")
    with unreadable(file):
        assert await limit(config) == 3

    assert ["cannot be read (Permission denied)" in record.message for record in caplog.records] == [True]
    assert await limit(config) == 4


@contextmanager
def unreadable(path: Path) -> Iterator[None]:
    """Take the right to read a file away, from root too."""
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


async def test_a_folder_in_its_place_changes_nothing(file: Path) -> None:
    """Whatever stands there: a look never raises."""
    config = await live(file)
    file.unlink()
    file.mkdir()

    assert await limit(config) == 3
    assert config.problem is not None
    assert "cannot be read (Is a directory)" in config.problem.reason


async def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """`gaia chat --config <(…)` gives its text once; reading again would wait for ever."""
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
}


def test_the_keys_that_take_effect_after_a_restart_are_these() -> None:
    """Everything else is taken up while memory is open."""
    fixed = {dotted_key(path) for path, field in iter_settings(GaiaConfig) if takes_effect(field) == AFTER_RESTART}

    assert fixed == {key for _, key in FIXED.values()}


@pytest.mark.parametrize(("text", "key"), FIXED.values(), ids=FIXED.keys())
async def test_a_key_that_needs_a_restart_keeps_its_value_and_the_rest_is_taken(
    tmp_path: Path, text: str, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told once, by its name, and again to whoever asks for the status."""
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


async def test_a_key_that_waits_for_a_restart_is_no_trouble_once_it_is_undone(file: Path) -> None:
    """The file says what is in force again."""
    config = await live(file)
    write(file, "app: other\nmemory: {recall_limit: 3}\n")
    await config.reload_if_changed()
    write(file, "memory: {recall_limit: 3}\n")
    await config.reload_if_changed()

    assert config.problem is None


async def accepted(_: GaiaConfig) -> None:
    """Find nothing wrong."""


async def test_whoever_opens_memory_anew_gets_the_whole_file_as_it_is_then(file: Path) -> None:
    """Also the keys that waited for it, and also from a configuration that was loaded long ago."""
    stale = await loaded(file)
    config = LiveConfig(stale)
    write(file, "app: other\nmemory: {recall_limit: 4}\n")
    await config.reload_if_changed()

    for kept in (stale, config.current):
        fresh = await load_newest(kept, check=accepted)
        assert (fresh.config.app, fresh.config.memory.recall_limit) == ("other", 4)
        assert await load_newest(fresh, check=accepted) is fresh


@pytest.mark.parametrize("text", ["", "- list\n", "app: no-good app\n"])
async def test_whoever_opens_memory_anew_over_a_bad_file_gets_the_last_good_version(file: Path, text: str) -> None:
    """As a running engine does."""
    stale = await loaded(file)
    write(file, text)

    assert await load_newest(stale, check=accepted) is stale


async def refusing(config: GaiaConfig) -> None:
    """Know no provider but the usual ones."""
    if config.memory.llm.provider == "opnai":
        raise ConfigError(["memory.llm.provider: 'opnai' is not a provider"])


async def test_a_version_that_fails_the_check_changes_nothing(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What mem0 does not know is refused before anything is exchanged."""
    stale = await loaded(file)
    config = LiveConfig(stale, check=refusing)
    write(file, "memory: {llm: {provider: opnai}, recall_limit: 4}\n")
    for _ in range(3):
        assert await limit(config) == 3

    assert ["'opnai' is not a provider" in record.message for record in caplog.records] == [True]
    assert str(file) in caplog.text
    assert config.problem is not None
    assert await load_newest(stale, check=refusing) is stale


async def test_a_change_is_applied_in_one_step(file: Path) -> None:
    """Between the check and the last effect nothing else runs, so nobody sees half of it."""
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


async def test_many_tasks_that_look_at_once_parse_once_and_warn_once(
    file: Path, parses: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """A hundred messages at the same moment parse one new version."""
    config = await live(file)
    parsed = len(parses)
    write(file, "- oops\n")
    await asyncio.gather(*(config.reload_if_changed() for _ in range(100)))

    assert len(parses) - parsed == 1
    assert len(caplog.records) == 1


async def test_a_look_that_began_before_the_edit_does_not_stand_for_one_after_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message was sent after the file was saved."""
    config = await live(file)
    has_read, go_on = threading.Event(), threading.Event()
    original = YamlFile.snapshot

    def slow(self: YamlFile) -> FileSnapshot:
        found = original(self)
        has_read.set()
        go_on.wait(60)
        return found

    monkeypatch.setattr(YamlFile, "snapshot", slow)
    early = asyncio.create_task(config.reload_if_changed())
    await asyncio.to_thread(has_read.wait, 60)
    write(file, "memory: {recall_limit: 4}\n")
    late = asyncio.create_task(limit(config))
    await asyncio.sleep(0)
    go_on.set()

    assert await late == 4
    assert await early is None


async def test_two_loops_warn_once_of_one_bad_version(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """ADK's `Runner.run` makes a new event loop for each call."""
    stale = await loaded(file)
    write(file, "- oops\n")

    def turn() -> LoadedConfig | None:
        return asyncio.run(LiveConfig(stale).reload_if_changed())

    for _ in range(3):
        assert await asyncio.to_thread(turn) is None

    assert len(caplog.records) == 1


async def test_the_environment_is_read_with_each_version(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies over the file as at the start; alone it changes nothing."""
    config = LiveConfig(await loaded(file, environ=None))
    monkeypatch.setenv("GAIA_SESSIONS__WINDOW_TURNS", "7")
    assert await config.reload_if_changed() is None
    assert config.config.sessions.window_turns == 30
    write(file, "sessions: {window_turns: 9}\n")
    await config.reload_if_changed()

    assert config.config.sessions.window_turns == 7


async def test_arguments_stay_over_every_version(file: Path, tmp_path: Path) -> None:
    """What the program said wins over the file, whenever that is saved."""
    config = LiveConfig(await loaded(file, home=tmp_path / "mine", model="offline"))
    write(file, "home: /elsewhere\nmodel: other\nmemory: {recall_limit: 4}\n")
    await config.reload_if_changed()

    assert (config.config.home, config.config.model) == (tmp_path / "mine", "offline")
    assert config.config.memory.recall_limit == 4
    assert config.problem is None


async def test_settings_of_the_program_stay_over_every_version_key_by_key(file: Path) -> None:
    """`gaia chat` waits for no burst, whatever the file says; its other settings count."""
    config = LiveConfig(await loaded(file, settings={"sessions": {"coalesce_seconds": 0.0}}))
    write(file, "sessions: {coalesce_seconds: 9, window_turns: 7}\n")
    await config.reload_if_changed()

    assert (config.config.sessions.coalesce_seconds, config.config.sessions.window_turns) == (0.0, 7)
    finished = await loaded(config.config, settings={"sessions": {"window_turns": 8}})
    assert (finished.config.sessions.coalesce_seconds, finished.config.sessions.window_turns) == (0.0, 8)


@pytest.mark.parametrize("source", [None, {"memory": {"recall_limit": 3}}, GaiaConfig()])
async def test_without_a_file_there_is_nothing_to_look_at(source: Any) -> None:
    """A program's own configuration stays as it is."""
    config = LiveConfig(await loaded(source))

    assert not config.can_change
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
async def test_the_fingerprint_is_that_of_the_settings(
    file: Path, text: str, is_same: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Comments, order and defaults that are written out change nothing."""
    config = await live(file)
    before = config.fingerprint
    write(file, text)
    with caplog.at_level(logging.INFO):
        fresh = await config.reload_if_changed()

    assert (config.fingerprint == before) is is_same
    assert (fresh is None) is is_same
    assert (caplog.records == []) is is_same


TAGGED: list[Callable[[str], str]] = [str, "a: {}".format, "memory: {{llm: {{model: {}}}}}".format]


@pytest.mark.parametrize("form", TAGGED, ids=["alone", "value", "deep"])
@pytest.mark.parametrize("text", ["!!int ''", "!!bool foo", "!!timestamp foo", "!!float _", "!!set [a]"])
def test_a_value_that_is_not_what_its_tag_says_is_refused(file: Path, text: str, form: Callable[[str], str]) -> None:
    """PyYAML fails in four ways of its own there."""
    write(file, form(text))

    with pytest.raises(ConfigError, match="its tag"):
        load(file, environ={})


@pytest.mark.parametrize("home", ['"a\\0b"', '"\\ud800"'])
def test_a_home_that_no_file_system_takes_is_refused(file: Path, home: str) -> None:
    """Later it would be a traceback, at each look."""
    write(file, f"home: {home}\n")

    with pytest.raises(ConfigError, match="contains a character that no path may contain"):
        load(file, environ={})


def test_a_home_of_links_in_a_ring_is_loaded(file: Path, tmp_path: Path) -> None:
    """It cannot be opened, which is told by whoever opens it."""
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    write(file, f"home: {tmp_path / 'one'}\n")

    assert load(file, environ={}).config.home == tmp_path / "one"


@pytest.mark.parametrize("path", ["~nobody-of-that-name/gaia.yaml", "a\0b"])
def test_a_path_that_cannot_be_is_refused(path: str) -> None:
    """By name, and with what to write instead."""
    with pytest.raises(ConfigError, match=r"write the whole path|check the path"):
        load(path, environ={})


async def test_a_change_is_in_the_file_and_in_force_at_once(file: Path) -> None:
    """And told to whoever has to know, as an edit of the file by hand is."""
    applied: list[bool] = []
    live = LiveConfig(
        await asyncio.to_thread(load, file, environ={}), apply=lambda config: applied.append(config.memory.enabled)
    )

    in_file = await live.change(("memory", "enabled"), False)

    assert in_file
    assert file.read_text(encoding="utf-8") == "memory: {enabled: false, recall_limit: 3}\n"
    assert (live.config.memory.enabled, live.config.memory.recall_limit, live.problem) == (False, 3, None)
    assert applied == [False]


async def test_a_change_without_a_file_is_in_force_and_nowhere_else() -> None:
    """The memory is known as the one it was: parts that come later share it."""
    applied: list[bool] = []
    loaded = load({"memory": {"recall_limit": 3}}, environ={})
    live = LiveConfig(loaded, apply=lambda config: applied.append(config.memory.enabled))
    before = live.fingerprint

    in_file = await live.change(("memory", "enabled"), False)

    assert not in_file
    assert (live.config.memory.enabled, live.config.memory.recall_limit) == (False, 3)
    assert live.current.identity == loaded.identity
    assert live.fingerprint != before
    assert applied == [False]
    assert loaded.config.memory.enabled


async def test_a_change_that_cannot_be_used_changes_nothing(file: Path) -> None:
    """The file was broken since: it is left to whoever edits it, and the last good version stays in force."""
    live = LiveConfig(await asyncio.to_thread(load, file, environ={}))
    file.write_text("memory: {recall_limit: many}\n", encoding="utf-8")

    with pytest.raises(ConfigError, match="recall_limit"):
        await live.change(("memory", "enabled"), False)

    assert live.config.memory.enabled
    assert file.read_text(encoding="utf-8") == "memory: {recall_limit: many}\n"


@pytest.mark.parametrize("has_file", [True, False])
async def test_a_change_to_what_cannot_work_is_not_put_in_force(file: Path, has_file: bool) -> None:
    """Memory would need a provider that is not there; in a file it stands all the same, and that is said."""

    async def refuse(_: GaiaConfig) -> None:
        raise ConfigError(["memory.llm.provider: nobody knows it"], source="x")

    loaded = await asyncio.to_thread(load, file if has_file else {}, environ={})
    live = LiveConfig(loaded, check=refuse)

    with pytest.raises(ConfigError, match="nobody knows it") as refused:
        await live.change(("memory", "enabled"), False)

    assert live.config.memory.enabled
    assert ("was written, but is not in force" in str(refused.value)) == has_file


async def test_two_changes_at_once_are_both_kept(file: Path) -> None:
    """Neither is written over the other."""
    live = LiveConfig(await asyncio.to_thread(load, file, environ={}))

    await asyncio.gather(live.change(("memory", "enabled"), False), live.change(("memory", "preload"), False))

    assert not live.config.memory.enabled
    assert not live.config.memory.preload


OFFLINE = (("memory", "embedder"), {"provider": "offline"})


@pytest.mark.acceptance("C18")
async def test_a_change_that_waits_for_a_restart_is_written_and_not_in_force(file: Path) -> None:
    """Nothing but the file knows of it yet, and undoing it leaves no trouble."""
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
async def test_a_change_at_restart_that_could_not_work_is_not_written(file: Path) -> None:
    """Memory would not open again; without a file there is nowhere to keep it."""

    async def refuse(config: GaiaConfig) -> None:
        raise ConfigError([f"{config.memory.embedder.provider} lacks its key"], source="x")

    before = file.read_bytes()
    live = LiveConfig(await asyncio.to_thread(load, file, environ={}), check=refuse)
    with pytest.raises(ConfigError, match="offline lacks its key"):
        await live.change_at_restart(*OFFLINE)
    with pytest.raises(ConfigError, match=r"no gaia\.yaml to write it to"):
        await LiveConfig(load({}, environ={})).validate_change(*OFFLINE)

    assert file.read_bytes() == before
