"""`gaia demo`: the main job on real parts, without a key and without a network."""

from __future__ import annotations

EXAMPLES = """
Example:

`gaia demo` takes a few seconds, needs no key and no network, and leaves nothing behind.
"""


def demo() -> None:
    """Show what memory does, on real parts in a temporary home."""
