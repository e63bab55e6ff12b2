"""One engine for the parts of a process that share a configuration: what keeps it open, and what closes it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import Mem0MemoryService, MemoryPlugin, SessionWindowPlugin, engine_registry, open_memory
from gaia_memory.engine import Engine
from gaia_memory.ledger import is_owner_dead
from gaia_memory.models import SessionKey
from gaia_memory.testing import ScriptedExtractor, ScriptedLlm
from support.hosts.plain_runner import (
    APP,
    USER,
    build_runner,
    count_open_engines,
    fact_texts_in,
    gaia_threads,
    is_store_unowned,
    run_turn,
    wait_until_sync,
)
from support.plugin_host import begin_turn, set_extractor

Registry = engine_registry._Registry


def yaml_in(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "gaia.yaml"
    file.write_text("home: data\n", encoding="utf-8")
    return file


async def engine_of(plugin: MemoryPlugin | SessionWindowPlugin) -> Engine:
    return await plugin._source.engine()


def close_over(engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
    """Close a loop with the tasks of its engine unfinished, while none of them executes a statement.

    Where one is, SQLAlchemy cannot give its connection back and says so in whatever test collects it.
    """
    while engine.database.engine.pool.checkedout():
        loop.run_until_complete(asyncio.sleep(0.001))
    loop.close()


async def test_however_a_file_is_named_its_parts_share_one_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Absolute, relative, through a URI; and in open_memory."""
    monkeypatch.delenv("GAIA_HOME")
    file = yaml_in(tmp_path / "agents")
    monkeypatch.chdir(tmp_path)
    service = Mem0MemoryService(uri="mem0://?config=gaia.yaml", agents_dir=str(file.parent))
    plugins = [MemoryPlugin("one", config=file), MemoryPlugin("two", config="agents/gaia.yaml")]
    windows = [SessionWindowPlugin("three"), SessionWindowPlugin("four", config=str(file))]
    async with build_runner(plugins[0], *windows, service=service) as one, build_runner(plugins[1], app="other") as two:
        await run_turn(one, "hi")
        await run_turn(two, "hi")
        async with open_memory(file) as gaia:
            found = {id(await engine_of(part)) for part in (*plugins, *windows)}
            found |= {id(await service.source.engine()), id(gaia._engine)}
            entries = list(engine_registry._registry.entries)

    assert len(found) == 1, entries


@pytest.mark.parametrize("other", [{"home": "elsewhere"}, {"home": "data", "memory": {"recall_limit": 7}}])
async def test_different_content_or_a_different_home_is_a_different_engine(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    """Mappings are identified by their content."""
    homes = {"data": str(tmp_path / "data"), "elsewhere": str(tmp_path / "elsewhere")}
    configs = [{"home": homes["data"]}, {"home": homes["data"]}, {**other, "home": homes[other["home"]]}]
    runners = [build_runner(MemoryPlugin(config=config), app=f"app{at}") for at, config in enumerate(configs)]
    for runner in runners:
        await run_turn(runner, "hi")
    engines = [await engine_of(runner.plugin_manager.plugins[0]) for runner in runners]  # type: ignore[arg-type]
    for runner in runners:
        await runner.close()

    assert engines[0] is engines[1]
    assert engines[2] is not engines[0]


async def test_one_file_with_two_homes_is_two_engines(tmp_path: Path) -> None:
    """The home can be given separately from the file, by an argument or the environment."""
    file = await asyncio.to_thread(yaml_in, tmp_path)
    async with open_memory(file, home=tmp_path / "one") as one, open_memory(file, home=tmp_path / "two") as two:
        await one.memory.remember(one.scope(USER), "I like figs")
        assert await two.memory.facts(two.scope(USER)) == []


async def test_the_last_part_to_close_closes_the_engine_and_the_next_use_reopens_it(tmp_path: Path) -> None:
    """Two apps with a plugin each, and open_memory; the store's lock is free afterwards."""
    home = tmp_path / "data"
    config = {"home": str(home)}
    one, two = build_runner(MemoryPlugin(config=config)), build_runner(MemoryPlugin(config=config), app="two")
    async with open_memory(config) as gaia:
        await run_turn(one, "hi")
        await run_turn(two, "/remember I like figs")
        await gaia.memory.settled()
        engine = await engine_of(one.plugin_manager.plugins[0])  # type: ignore[arg-type]
    assert (await run_turn(one, "/memory")).startswith("Nothing is stored about you yet.")
    await one.close()
    assert "I like figs" in await run_turn(two, "/memory")
    assert not await asyncio.to_thread(is_store_unowned, home)
    await two.close()
    assert await asyncio.to_thread(is_store_unowned, home)
    assert count_open_engines() == 0

    assert "I like figs" in await run_turn(two, "/memory")
    again = await engine_of(two.plugin_manager.plugins[0])  # type: ignore[arg-type]
    await two.close()

    assert again is not engine


async def test_deferred_background_work_starts_when_a_program_opens_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its loop will last, so the store and the sweep are needed now."""
    monkeypatch.setattr(engine_registry, "BACKGROUND_START_DELAY_SECONDS", 600.0)
    config = {"home": str(tmp_path / "data"), "sessions": {"idle_consolidate_minutes": 0.001}}
    async with build_runner(MemoryPlugin(config=config)) as runner:
        await run_turn(runner, "I live in Berlin.")
        async with open_memory(config) as gaia, asyncio.timeout(60):
            while not (gaia._engine.follower.is_owner and fact_texts_in(tmp_path / "data")):
                await asyncio.sleep(0.02)


async def test_a_plugin_that_ran_no_hook_holds_no_engine(tmp_path: Path) -> None:
    """It was created and closed."""
    async with build_runner(MemoryPlugin(config={"home": str(tmp_path / "data")})):
        pass

    assert count_open_engines() == 0
    assert not await asyncio.to_thread((tmp_path / "data").exists)


async def test_a_service_does_not_keep_the_engine_open(tmp_path: Path) -> None:
    """It opens the engine at its first call, does not prevent others from closing it, and reopens it."""
    config = {"home": str(tmp_path / "data")}
    service = Mem0MemoryService(config=config)
    who = {"app_name": APP, "user_id": USER}
    await service.list_memories(**who)
    assert count_open_engines() == 1
    async with open_memory(config) as gaia:
        await gaia.memory.remember(gaia._engine.scope(APP, USER), "I like figs")
        assert len(await service.list_memories(**who)) == 1
        assert count_open_engines() == 1
    assert count_open_engines() == 0

    assert len(await service.list_memories(**who)) == 1
    async with open_memory(config):
        pass
    assert count_open_engines() == 0


async def test_a_call_in_progress_is_not_interrupted_by_the_last_part_to_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adding a session asks a model for seconds; the next caller does not wait for it."""
    monkeypatch.setattr(engine_registry, "ACTIVE_CALLS_TIMEOUT_SECONDS", 60.0)
    config = {"home": str(tmp_path / "data")}
    service = Mem0MemoryService(config=config)
    extractor = ScriptedExtractor(default=["lives in Berlin"])
    extractor.gate.shut()
    runner = build_runner(MemoryPlugin(config=config))
    await run_turn(runner, "I live in Berlin")
    engine = await service.source.engine()
    set_extractor(engine, extractor)
    session = await runner.session_service.get_session(app_name=APP, user_id=USER, session_id="s1")
    assert session is not None
    adding = asyncio.create_task(service.add_session_to_memory(session))
    await extractor.gate.wait_for_waiter()
    closing = asyncio.create_task(runner.close())
    async with asyncio.timeout(60):
        while count_open_engines():
            await asyncio.sleep(0.01)
        assert await service.list_memories(app_name=APP, user_id=USER) == []
    extractor.gate.open()
    await adding
    await closing
    async with open_memory(config):
        pass

    assert fact_texts_in(tmp_path / "data") == ["lives in Berlin"]


async def test_a_close_that_takes_too_long_for_adk_continues_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """ADK gives a plugin 5 s; Runner.close raises if it needs more, and another process waits for the lock."""
    monkeypatch.setattr(engine_registry, "RELEASE_TIMEOUT_SECONDS", 0.05)
    runner = build_runner(MemoryPlugin(config={"home": str(tmp_path / "data")}))
    await run_turn(runner, "hi")
    engine = await engine_of(runner.plugin_manager.plugins[0])  # type: ignore[arg-type]
    closed, go_on, close = asyncio.Event(), asyncio.Event(), engine.backend.close

    async def slowly() -> None:
        await go_on.wait()
        await close()
        closed.set()

    monkeypatch.setattr(engine.backend, "close", slowly)
    await runner.close()
    assert not closed.is_set()
    go_on.set()
    await asyncio.wait_for(closed.wait(), 60)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_close_that_the_host_cancels_continues_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example, a web server that is told to stop twice."""
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def host() -> Engine:
        async with open_memory({}, home=tmp_path / "data") as gaia:
            close = gaia._engine.backend.close

            async def slowly() -> None:
                entered.set()
                await go_on.wait()
                await close()

            monkeypatch.setattr(gaia._engine.backend, "close", slowly)
            opened.append(gaia._engine)
        return gaia._engine

    opened: list[Engine] = []
    running = asyncio.create_task(host())
    await entered.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    go_on.set()
    async with asyncio.timeout(60):
        while not opened[0].database._is_closed:
            await asyncio.sleep(0.01)


async def test_a_close_that_adk_cancels_continues_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if a host gives its Runner an unexpectedly short timeout."""
    runner = build_runner(MemoryPlugin(config={"home": str(tmp_path / "data")}))
    runner.plugin_manager._close_timeout = 0.05
    await run_turn(runner, "hi")
    engine = await engine_of(runner.plugin_manager.plugins[0])  # type: ignore[arg-type]
    go_on, close = asyncio.Event(), engine.backend.close

    async def slowly() -> None:
        await go_on.wait()
        await close()

    monkeypatch.setattr(engine.backend, "close", slowly)
    with pytest.raises(RuntimeError, match="gaia_memory"):
        await runner.close()
    go_on.set()
    async with asyncio.timeout(60):
        while not engine.database._is_closed:
            await asyncio.sleep(0.01)

    assert count_open_engines() == 0


def test_a_loop_that_ends_while_an_engine_closes_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script closes its Runner and ends, while the store is still being opened or closed."""
    monkeypatch.setattr(engine_registry, "RELEASE_TIMEOUT_SECONDS", 0.01)
    home = tmp_path / "data"
    plugin = MemoryPlugin(config={"home": str(home)})
    runner = build_runner(plugin)
    before = gaia_threads()

    async def script() -> None:
        await run_turn(runner, "/remember I like figs")
        engine = await engine_of(plugin)
        await engine.memory.settled()
        stopped = engine.follower._backfill.stop

        async def slowly() -> None:
            await asyncio.sleep(30)
            await stopped()

        monkeypatch.setattr(engine.follower._backfill, "stop", slowly)
        await runner.close()

    asyncio.run(asyncio.wait_for(script(), 60))

    assert is_store_unowned(home)
    wait_until_sync(lambda: gaia_threads() <= before)


async def test_shared_background_work_inherits_no_context_of_the_first_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first turn's trace, and the rest of its context, must not stick to all later background work."""
    whose: ContextVar[str] = ContextVar("whose", default="nobody's")
    seen: list[str] = []
    start = Engine.start

    def started(self: Engine, **arguments: Any) -> None:
        seen.append(whose.get())
        start(self, **arguments)

    monkeypatch.setattr(Engine, "start", started)
    async with build_runner(MemoryPlugin(config={"home": str(tmp_path / "data")})) as runner:
        whose.set("the first one's")
        await run_turn(runner, "hi")

    assert seen == ["nobody's"]


def in_a_process(code: str, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a child process, with warnings shown and a home that must stay empty."""
    home.mkdir(exist_ok=True)
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "always", "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, cwd=home, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
def test_creating_the_parts_reads_nothing_and_needs_no_loop(tmp_path: Path) -> None:
    """A server creates them at its start, outside any loop: any file or socket access would be noticed."""
    code = """
        import sys
        import gaia_memory.adk.memory_service
        import gaia_memory.adk.plugins.memory_plugin
        import gaia_memory.adk.plugins.window_plugin
        from gaia_memory import Mem0MemoryService, MemoryPlugin, SessionWindowPlugin
        seen = []
        watched = ("open", "os.", "socket.", "sqlite3.", "subprocess.", "import")
        def hear(event, arguments):
            if event.startswith(watched):
                seen.append((event, arguments))

        sys.addaudithook(hear)
        service = Mem0MemoryService(uri="mem0://?config=missing.yaml", agents_dir="/nowhere")
        parts = [MemoryPlugin(), MemoryPlugin(config="missing.yaml"), SessionWindowPlugin(), service]
        found = list(seen)
        assert not found, found
        assert "mem0" not in sys.modules and "chromadb" not in sys.modules
    """
    in_a_process(code, home=tmp_path / "home")

    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.slow
def test_mem0_and_chroma_are_imported_off_the_event_loop(tmp_path: Path) -> None:
    """The import takes seconds; a host's other requests must not wait for it."""
    code = """
        import asyncio, sys, threading

        class Watch:
            def find_spec(self, name, path=None, target=None):
                if name in ("mem0", "chromadb"):
                    places[name] = threading.current_thread() is threading.main_thread()

        places = {}
        sys.meta_path.insert(0, Watch())
        from gaia_memory import MemoryPlugin
        from support.hosts.plain_runner import build_runner, run_turn

        async def main():
            async with build_runner(MemoryPlugin(config={"home": sys.argv[1]})) as runner:
                await run_turn(runner, "/remember I like figs")
                engine = await runner.plugin_manager.plugins[0]._source.engine()
                await engine.memory.settled()

        asyncio.run(main())
        assert places == {"mem0": False, "chromadb": False}, places
    """
    in_a_process(code, str(tmp_path / "data"), home=tmp_path / "home")


@pytest.mark.slow
@pytest.mark.parametrize("ended", ["closed", pytest.param("left", marks=pytest.mark.slow)])
def test_engines_still_open_at_process_exit_are_closed(tmp_path: Path, ended: str) -> None:
    """A loop closed before its engine leaves no lock, no damaged store, no thread that keeps the process alive."""
    code = """
        import asyncio, sys
        from gaia_memory import MemoryPlugin
        from support.hosts.plain_runner import build_runner, run_turn

        async def main():
            await run_turn(runner, "/remember I like figs")
            engine = await runner.plugin_manager.plugins[0]._source.engine()
            await engine.memory.settled()

        runner = build_runner(MemoryPlugin(config={"home": sys.argv[1]}))
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        if sys.argv[2] == "closed":
            loop.close()
    """
    home = tmp_path / "data"
    done = in_a_process(code, str(home), ended, home=tmp_path / "home")

    assert fact_texts_in(home) == ["I like figs"]
    assert is_store_unowned(home)
    assert len(list((home / "store").glob("*.closed"))) == 1
    said = [line for line in done.stderr.splitlines() if "Error" in line or "Traceback" in line]
    assert not said, done.stderr


def test_a_loop_closed_before_its_engine_delays_nothing(tmp_path: Path, alone: Registry) -> None:
    """The next loop has memory at once, gets the store soon, and the threads of the old one end."""
    runner = build_runner(MemoryPlugin(config={"home": str(tmp_path / "data")}))
    dead = asyncio.new_event_loop()
    dead.run_until_complete(run_turn(runner, "/remember I like figs"))
    engine = dead.run_until_complete(engine_of(runner.plugin_manager.plugins[0]))  # type: ignore[arg-type]
    dead.run_until_complete(engine.memory.settled())
    close_over(engine, dead)
    stuck, go_on = threading.Event(), threading.Event()
    abandon = engine.follower.close_without_loop

    def slowly() -> None:
        stuck.set()
        go_on.wait(60)
        abandon()

    engine.follower.close_without_loop = slowly  # type: ignore[method-assign]

    async def next_one() -> str:
        answer = await run_turn(runner, "/memory")
        assert await asyncio.to_thread(stuck.wait, 60)
        go_on.set()
        now = await engine_of(runner.plugin_manager.plugins[0])  # type: ignore[arg-type]
        assert now is not engine
        while not now.follower.is_owner:
            await asyncio.sleep(0.01)
        await runner.close()
        return answer

    assert "I like figs" in asyncio.run(asyncio.wait_for(next_one(), 60))
    assert alone.entries == {}


def test_turns_and_leases_of_a_closed_loop_block_no_later_loop(tmp_path: Path) -> None:
    """Its marks count as ended once another loop of the process opens memory, not when they expire."""
    runner = build_runner(MemoryPlugin(config={"home": str(tmp_path / "data")}))
    talked_in, at_work = (SessionKey(APP, USER, session) for session in ("talked in", "at work"))

    async def leave() -> Engine:
        await run_turn(runner, "hi")
        engine = await engine_of(runner.plugin_manager.plugins[0])  # type: ignore[arg-type]
        now = engine.clock.now().timestamp()
        for key in (talked_in, at_work):
            hold = await begin_turn(engine, key)
        await engine.turns.release(hold)
        async with engine.database.transaction() as tx:
            assert await engine.ledger.claim(tx, at_work, engine.owner, now=now, lease_seconds=30)
        return engine

    dead = asyncio.new_event_loop()
    left = dead.run_until_complete(leave())
    close_over(left, dead)

    async def next_one() -> set[SessionKey]:
        await run_turn(runner, "hi")
        engine = await engine_of(runner.plugin_manager.plugins[0])  # type: ignore[arg-type]
        await asyncio.to_thread(wait_until_sync, lambda: is_owner_dead(left.owner))
        now = engine.clock.now().timestamp()
        async with engine.database.transaction() as tx:
            await engine.ledger.expire(tx, now=now)
            due = await engine.ledger.due(tx, quiet_since=None, limit=9, apps=[APP])
        await runner.close()
        return {one.key for one in due}

    assert {talked_in, at_work} <= asyncio.run(asyncio.wait_for(next_one(), 60))


def test_a_service_created_outside_any_loop_works_in_one_loop_after_another(tmp_path: Path) -> None:
    """ADK creates it like this, and never closes it: `asyncio.run` closes the engine it used."""
    service = Mem0MemoryService(config={"home": str(tmp_path / "data")})
    runner = build_runner(service=service, model=ScriptedLlm(default="ok"))

    async def once() -> int:
        await run_turn(runner, "hi")
        found = await service.list_memories(app_name=APP, user_id=USER)
        return len(found)

    assert [asyncio.run(once()) for _ in range(3)] == [0, 0, 0]
    assert count_open_engines() == 0
    assert is_store_unowned(tmp_path / "data")
