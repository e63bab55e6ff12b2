"""Keeps calls to mem0 and Chroma off threads with a running event loop."""

from __future__ import annotations

import asyncio


def assert_off_event_loop(operation: str) -> None:
    """Return if blocking is allowed on this thread.

    mem0 and Chroma block in native code, which tools that watch Python calls cannot see. Each of our calls to them
    checks here first.

    Raises:
        RuntimeError: an event loop runs on this thread; `operation` names the call.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        f"{operation} blocks and was called on the event loop's thread: run it in a pool of backend.pools"
    )
