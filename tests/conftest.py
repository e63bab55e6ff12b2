"""Fixtures of every test: its own home, no keys, no network beyond loopback, no blocking call on the event loop.

Nothing here imports ADK, mem0 or Chroma: `pytest -m fast` pays for every import once per worker.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import sys
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
from hypothesis import settings  # noqa: E402

if TYPE_CHECKING:
    from support.harness import Sut
    from support.servers.fake_gemini import FakeGemini

LOOPBACK = ("127.0.0.1", "::1", "localhost")
CLEARED_PREFIXES = ("GAIA_", "GOOGLE_", "GEMINI_", "OPENAI_", "OPENROUTER_", "ANTHROPIC_", "OLLAMA_")
KEPT_VARIABLES = (
    "GAIA_REQUIRE_CHROMIUM",
    "GAIA_REQUIRE_POSTGRES",
    "GAIA_TEST_POSTGRES_URL",
    "GAIA_UPDATE_SCREENSHOTS",
)
NON_BLOCKING_FUNCTIONS = ("os.getcwd", "os.path.abspath")
"""BlockBuster counts these as blocking, but they access no disk: SQLAlchemy resolves database paths with them."""
ALLOWED_BLOCKING_CALLS = {
    "<frozen importlib._bootstrap>": {"_find_and_load", "_lock_unlock_module"},
    # Reading /proc never waits for a disk.
    "psutil/_common.py": {"cat", "bcat", "open_binary"},
    # The command line owns its loop.
    "gaia_memory/cli/ui/output_files.py": {"write_file"},
    "gaia_memory/ledger/process_identity.py": {"_system_id"},
    # The PostgreSQL driver reads its password and certificate files on every connection.
    "asyncpg/connect_utils.py": {"_parse_connect_dsn_and_args"},
    # For Vertex AI, Google's client looks for a client certificate, first when ADK builds it.
    "google/genai/_api_client.py": {"__init__", "_use_google_auth_async"},
    # The session service of `adk web` checks for the app's folder on every request for a session.
    "cli/utils/local_storage.py": {"_get_service"},
}

TESTS = Path(__file__).parent
FAST_FOLDER = TESTS / "unit"
FAST_PROFILE = "fast"
FAST_EXAMPLES = 25
WHOLE_SYSTEM_FOLDERS = ("acceptance", "integration")
ONE_CASE_FOLDERS = (*WHOLE_SYSTEM_FOLDERS, "contract")
"""Where the normal tier runs one case of a test with parameters: each opens a database or a whole system."""

_getaddrinfo = socket.getaddrinfo


def is_fast_run(config: pytest.Config) -> bool:
    """Return whether the run was asked for the fast tier alone."""
    return bool(config.getoption("markexpr") == "fast")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let pytest-socket refuse every connection that leaves this machine, and choose the number of generated cases."""
    config.option.allow_hosts = ",".join(LOOPBACK)
    config.option.allow_unix_socket = True
    if config.getoption("dist", default="no") == "load":
        # The default of `-n` leaves a worker alone with the last long tests for a minute.
        config.option.dist = "worksteal"
    # A case has no time limit: how long it takes depends on how busy the machine is.
    settings.register_profile(FAST_PROFILE, max_examples=FAST_EXAMPLES, deadline=None)
    settings.register_profile("full", deadline=None)
    settings.load_profile(FAST_PROFILE if is_fast_run(config) else "full")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell that runs the tests in its background ignores Ctrl-C, and so would every process they start.
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Start three workers on two cores: a third of the time of a test is a wait for a process or a timer."""
    return max(1, (os.cpu_count() or 1) * 3 // 2)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Keep the fast tier from importing test files of other tiers: they load ADK, mem0 and Chroma."""
    if not is_fast_run(config):
        return None
    if collection_path.is_dir():
        return not (FAST_FOLDER.is_relative_to(collection_path) or collection_path.is_relative_to(FAST_FOLDER)) or None
    is_heavy = "\npytestmark = pytest.mark.heavy\n" in collection_path.read_text(encoding="utf-8")
    return is_heavy or not collection_path.is_relative_to(FAST_FOLDER) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let `real` tests reach the network, and mark tests `fast` or `slow` by their place."""
    _mark_further_cases(items)
    for item in items:
        if item.get_closest_marker("real") is not None:
            item.add_marker(pytest.mark.enable_socket)
        elif item.path.is_relative_to(FAST_FOLDER) and not any(
            item.get_closest_marker(name) for name in ("heavy", "slow")
        ):
            item.add_marker(pytest.mark.fast)


def _mark_further_cases(items: list[pytest.Item]) -> None:
    """Mark `slow` the cases of a test after the first, unless they hold other acceptance checks.

    A contract has a first case on each kind of database.
    """
    first_cases: set[tuple[str, ...]] = set()
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        if folder not in ONE_CASE_FOLDERS:
            continue
        name, _, case_id = item.nodeid.partition("[")
        kind = "" if folder in WHOLE_SYSTEM_FOLDERS or "postgresql" not in case_id else "postgresql"
        case = name, kind, *(id_ for marker in item.iter_markers("acceptance") for id_ in marker.args)
        if case in first_cases:
            item.add_marker(pytest.mark.slow)
        elif item.get_closest_marker("slow") is None:
            first_cases.add(case)


@pytest.fixture(autouse=True)
def isolated(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the test its own home folder, an environment without keys and settings, and no name resolution."""
    home = tmp_path / "user"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    if request.node.get_closest_marker("real") is None:
        for name in list(os.environ):
            if name not in KEPT_VARIABLES and (name.startswith(CLEARED_PREFIXES) or name.endswith("_API_KEY")):
                monkeypatch.delenv(name)
        monkeypatch.setattr(socket, "getaddrinfo", _resolve_loopback)
    monkeypatch.setenv("GAIA_HOME", str(tmp_path / "gaia"))


def _resolve_loopback(host: Any, *args: Any, **kwargs: Any) -> Any:
    name = host.decode() if isinstance(host, bytes) else host
    if name not in (None, "", "0.0.0.0", "::", *LOOPBACK):
        raise socket.gaierror(socket.EAI_NONAME, f"tests may only resolve loopback names, not {name!r}")
    return _getaddrinfo(host, *args, **kwargs)


@pytest.fixture(autouse=True)
def reset_adk_clock() -> Iterator[None]:
    """Fail a test that leaves ADK a clock of its own: every later test of this process would run on that clock."""
    yield
    adk_time = sys.modules.get("google.adk.platform.time")
    if adk_time is not None:
        gap = adk_time.get_time() - time.time()
        adk_time.reset_time_provider()
        assert abs(gap) < 30


@pytest.fixture(autouse=True)
def blockbuster() -> Iterator[BlockBuster]:
    """Fail a test in which code of the package blocks the event loop.

    Imports are allowed, because libraries import lazily. The command line is left out, because it owns its loop. So are
    loops in other threads, which were started there in order to block.
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
    """Run a fake Gemini server on loopback and point the real client at it through the environment."""
    from support.servers.fake_gemini import FakeGemini

    with FakeGemini() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[Sut]]]:
    """Return a function that opens a system under test, by default in the test's own folder."""
    from support import harness

    opened: list[Sut] = []

    async def open_sut(yaml_text: str = "", *, home: Path | None = None, **scripts: Any) -> Sut:
        sut = await harness.make(home or tmp_path / "sut", yaml_text, **scripts)
        opened.append(sut)
        return sut

    yield open_sut
    for sut in reversed(opened):
        await sut.close()
