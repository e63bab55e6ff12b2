"""The page about the keys of Vertex AI Memory Bank, rendered from the code."""

from __future__ import annotations

from gaia_memory.adk.memory_bank import MEMORY_BANK_KEYS, BankKey

_HEAD = """\
# Coming from Vertex AI Memory Bank

## Save in a callback or a tool

The callback of ADK's documentation works as it is:

```python
import asyncio
import tempfile

from google.adk.agents import LlmAgent
from google.genai import types

from gaia_memory import open_memory


async def save(callback_context) -> None:
    await callback_context.add_session_to_memory()


async def main() -> None:
    async with open_memory(home=tempfile.mkdtemp(), model="offline") as gaia:
        agent = LlmAgent(name="assistant", model=gaia.model, after_agent_callback=save)
        message = types.UserContent("I live in Haifa.")
        turn = gaia.runner(agent).run_async(user_id="ada", session_id="one", new_message=message)
        async for event in turn:
            pass
        while not (facts := await gaia.memory.facts(gaia.scope("ada"))):
            await asyncio.sleep(0.1)  # learned in the background, after the turn
        assert [fact.text for fact in facts] == ["I live in Haifa."]

asyncio.run(main())
```

So do `tool_context.add_session_to_memory()` and `add_events_to_memory(events=…)`. With `MemoryPlugin` in the App they
ask no model during the turn. What they give is stored by the write that ends the turn, credentials masked, and
learned right after it, or by the next sweep of any process: events whatever becomes of their session, a session if
that process can read it. A mistake in the arguments is logged with its fix.
Without such a callback, `MemoryPlugin` learns each conversation once it is quiet. Without the plugin, both methods
learn at once.

## Keys of `custom_metadata`

An agent that was written for ADK's `VertexAiMemoryBankService` passes `custom_metadata` to `add_memory` and
`add_events_to_memory`. `Mem0MemoryService` gives each key that the service knows its effect. One that has none here
gets one warning, which says what to do, and is left out. A malformed value raises an `InvalidInputError`, which is a
`ValueError`; then nothing is stored. A key with the value None counts as left out. Any other name is metadata of the
facts, to [filter](../how-to/filter-and-browse.md) by; values are text, numbers, true or false, times, or one of these
in Memory Bank's form (`{"string_value": "x"}`).

In `add_memory`, an entry's `custom_metadata` override those of the call, and each fact gets an id of its own,
whatever the `id` of the entry. `add_session_to_memory` takes no metadata in ADK, and so it does here.

| key | `add_memory` | `add_events_to_memory` |
|---|---|---|
"""


def render_memory_bank() -> str:
    """Return the page: what each key does in each method."""
    stored, learned = MEMORY_BANK_KEYS["add_memory"], MEMORY_BANK_KEYS["add_events_to_memory"]
    rows = [f"| `{name}` | {_cell(stored[name])} | {_cell(learned[name])} |" for name in stored]
    return _HEAD + "\n".join(rows) + "\n"


def _cell(key: BankKey) -> str:
    return "; ".join(
        part for part in (key.effect, f"no effect, with a warning: {key.ignored}" if key.ignored else "") if part
    )
