"""The page about the keys of Vertex AI Memory Bank, rendered from the code."""

from __future__ import annotations

from gaia_memory.adk.memory_bank import MEMORY_BANK_KEYS, BankKey

_HEAD = """\
# Keys of Vertex AI Memory Bank

An agent that was written for ADK's `VertexAiMemoryBankService` passes `custom_metadata` to `add_memory` and
`add_events_to_memory`. `Mem0MemoryService` gives each key that the service knows its effect, or refuses it with an
`InvalidInputError`, which is a `ValueError` and says what to do. Then nothing is stored. A key with the value None
counts as left out. Any other name is metadata of the facts, to [filter](../how-to/filter-and-browse.md) by; values are
text, numbers, true or false, times, or one of these in Memory Bank's form (`{"string_value": "x"}`).

In `add_memory`, an entry's `custom_metadata` override those of the call, and each fact gets an id of its own, whatever
the `id` of the entry. `add_session_to_memory` takes no metadata in
ADK, and so it does here.

| key | `add_memory` | `add_events_to_memory` |
|---|---|---|
"""


def render_memory_bank() -> str:
    """Return the page: what each key does in each method."""
    stored, learned = MEMORY_BANK_KEYS["add_memory"], MEMORY_BANK_KEYS["add_events_to_memory"]
    rows = [f"| `{name}` | {_cell(stored[name])} | {_cell(learned[name])} |" for name in stored]
    return _HEAD + "\n".join(rows) + "\n"


def _cell(key: BankKey) -> str:
    return "; ".join(part for part in (key.effect, f"refused: {key.refused}" if key.refused else "") if part)
