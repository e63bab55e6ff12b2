"""The guard at the door: nothing of mem0 or Chroma runs on a thread that has an event loop running."""

from __future__ import annotations

import asyncio


def assert_off_event_loop(operation: str) -> None:
    """Return only where blocking is allowed.

    mem0 and Chroma block in native code, where no tool that watches Python calls can see them, so each of our
    own calls asks here first.

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
