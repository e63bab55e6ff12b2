"""What every test gets: a home of its own, no keys, no network beyond loopback, no blocking call on the loop."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

# mem0 reads these, and creates its folder, when it is imported.
_RUN_HOME = tempfile.mkdtemp(prefix="gaia-tests-")
atexit.register(shutil.rmtree, _RUN_HOME, ignore_errors=True)
os.environ.update(
    HOME=_RUN_HOME,
    MEM0_DIR=str(Path(_RUN_HOME) / "mem0"),
    MEM0_TELEMETRY="False",
    ANONYMIZED_TELEMETRY="False",
)

import pytest  # noqa: E402
from blockbuster import BlockBuster  # noqa: E402
from google.adk.platform import time as platform_time  # noqa: E402

if TYPE_CHECKING:
    from support.harness import Sut
    from support.servers.fake_gemini import FakeGemini

LOOPBACK = ("127.0.0.1", "::1", "localhost")
CLEARED_PREFIXES = ("GAIA_", "GOOGLE_", "GEMINI_", "OPENAI_", "OPENROUTER_", "ANTHROPIC_", "OLLAMA_")
KEPT_VARIABLES = ("GAIA_REQUIRE_POSTGRES", "GAIA_TEST_POSTGRES_URL")
NON_BLOCKING_FUNCTIONS = ("os.getcwd", "os.path.abspath")
"""Counted as blocking by BlockBuster, but they ask no disk: SQLAlchemy completes the path of a database with them."""
ALLOWED_BLOCKING_CALLS = {
    "<frozen importlib._bootstrap>": {"_find_and_load", "_lock_unlock_module"},
    # What the kernel knows of a process is no file.
    "psutil/_common.py": {"cat", "bcat", "open_binary"},
    "gaia_memory/ledger/process_identity.py": {"_read_proc", "_system_id"},
    # The PostgreSQL driver looks for its password and certificate files whenever it connects.
    "asyncpg/connect_utils.py": {"_parse_connect_dsn_and_args"},
    # The session service of `adk web` looks for an app's folder whenever it is asked for one of its sessions.
    "cli/utils/local_storage.py": {"_get_service"},
}

RERUN_FOLDERS = ("adk_processes", "benchmarks", "cli", "docs", "foreign_runner", "gemini", "model_servers", "telemetry")
"""Folders of tests that drive processes and servers from outside: what fails there is run once more, and told (R).

A machine that pauses for seconds makes a time-out of theirs strike. Tests of what may be lost, doubled or mixed up are
nowhere in here: those hold every time or are broken.
"""

_getaddrinfo = socket.getaddrinfo


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let pytest-socket refuse every connection that leaves this machine."""
    config.option.allow_hosts = ",".join(LOOPBACK)
    config.option.allow_unix_socket = True
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell that runs the tests in its background ignores Ctrl-C, and so would every process they start.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests that are marked `live` reach the network, and give some a second try."""
    for item in items:
        if item.get_closest_marker("live") is not None:
            item.add_marker(pytest.mark.enable_socket)
        if item.path.parent.name in RERUN_FOLDERS:
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(autouse=True)
def isolated(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the test a home folder of its own, an environment without keys and settings, and no name service."""
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    if request.node.get_closest_marker("live") is None:
        for name in list(os.environ):
            if name not in KEPT_VARIABLES and (name.startswith(CLEARED_PREFIXES) or name.endswith("_API_KEY")):
                monkeypatch.delenv(name)
        monkeypatch.setattr(socket, "getaddrinfo", _resolve_loopback)
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "gaia"))


def _resolve_loopback(host: Any, *args: Any, **kwargs: Any) -> Any:
    name = host.decode() if isinstance(host, bytes) else host
    if name not in (None, "", "0.0.0.0", "::", *LOOPBACK):
        raise socket.gaierror(socket.EAI_NONAME, f"tests stay on this machine, and asked for {name!r}")
    return _getaddrinfo(host, *args, **kwargs)


@pytest.fixture(autouse=True)
def reset_adk_clock() -> Iterator[None]:
    """Fail the test that leaves ADK a clock of its own: every later test of this process would talk in its time."""
    yield
    gap = platform_time.get_time() - time.time()
    platform_time.reset_time_provider()
    assert abs(gap) < 30


@pytest.fixture(autouse=True)
def blockbuster() -> Iterator[BlockBuster]:
    """Fail the test where code of ours blocks the event loop.

    Importing is allowed: libraries import lazily. The command line is left out: the loop is its own. So are
    loops in other threads: they were started there in order to block.
    """
    guard = BlockBuster("gaia_memory", excluded_modules=["gaia_memory.cli"])
    for name in NON_BLOCKING_FUNCTIONS:
        del guard.functions[name]
    for function in guard.functions.values():
        function.can_block_predicate = _allow_outside_main_thread(function.can_block_predicate)
        for file, functions in ALLOWED_BLOCKING_CALLS.items():
            function.can_block_in(file, functions)
    guard.activate()
    yield guard
    guard.deactivate()


def _allow_outside_main_thread(allowed: Callable[..., bool]) -> Callable[..., bool]:
    def may_block(*args: Any, **kwargs: Any) -> bool:
        return threading.current_thread() is not threading.main_thread() or allowed(*args, **kwargs)

    return may_block


@pytest.fixture
def gemini(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGemini]:
    """Run a fake Gemini server on loopback, with the environment that leads the real client to it."""
    from support.servers.fake_gemini import FakeGemini

    with FakeGemini() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[Sut]]]:
    """Return a function that opens a system under test, in the test's own folder unless it names another."""
    from support import harness

    opened: list[Sut] = []

    async def open_sut(yaml_text: str = "", *, home: Path | None = None, **scripts: Any) -> Sut:
        sut = await harness.make(home or tmp_path / "sut", yaml_text, **scripts)
        opened.append(sut)
        return sut

    yield open_sut
    for sut in reversed(opened):
        await sut.close()
