"""Every test ends with no engine open and leaves none of its threads behind.

Which rule for parts in somebody's Runner is held where:

| rule | tests |
|---|---|
| argument, URI, the Runner's memory service, GAIA_CONFIG, the home, defaults | test_which_config |
| one plugin object in two Runners | test_which_config (last two) |
| same file or content, and home: one engine a process and loop | test_references (however, other content, two homes) |
| constructors do no I/O and need no loop | test_references (making the parts) |
| mem0 and Chroma are imported in a worker thread | test_references (off the event loop) |
| who holds, who borrows, the last one closes, the next use opens | test_references (closes last, no hook, borrows) |
| a call under way, ADK's five seconds, a cancelled close | test_references (under way, too long, cancels, cancelled) |
| loops that end, loops closed over an engine, the end of the process | test_references, test_sync_run |
| a second MemoryPlugin is inert and says so once | adk_plugin/test_turns |
| `Runner.run` | test_sync_run |
| `--reload_agents` | test_reload |
| two engines on one home | test_two_engines, follower/test_processes |
| `adk eval`, `adk test` | test_trials |
| memory that cannot be opened | test_unavailable |
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gaia_memory import engine_registry
from support.hosts.plain_runner import gaia_threads, wait_until_sync


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[engine_registry._Registry]:
    """Keep what another test left open out of this one, and see that this one leaves nothing."""
    before = gaia_threads()
    fresh = engine_registry._Registry(is_atexit_registered=True)
    monkeypatch.setattr(engine_registry, "_registry", fresh)
    yield fresh
    open_entries = list(fresh.entries)
    fresh.abandon_all()
    assert not open_entries, f"left open: {open_entries}"
    wait_until_sync(lambda: gaia_threads() <= before, seconds=30)
