"""`gaia memory mem0-config` and `sync`: the same facts in plain mem0."""

from __future__ import annotations

from pathlib import Path

import yaml

from gaia_memory.cli.engines import ConfigOption, JsonOption, open_engine
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.terminal import print_line, print_note, print_text, progress_bar
from gaia_memory.threads import run_in_thread

CONFIG_EXAMPLES = """
Examples:

`gaia memory mem0-config > mem0.yaml` writes what `mem0.Memory.from_config` takes.

`gaia memory mem0-config --json | jq .vector_store` shows where the store is.
"""
SYNC_EXAMPLES = """
Examples:

`gaia memory sync` brings what `gaia memory add` has just stored into the mem0 store.

`gaia memory sync && python reader.py` runs a plain mem0 program on the facts of this moment.
"""
_OFFLINE_HINT = "a program that uses it imports gaia_memory.mem0_providers first, which registers the embedder"


async def mem0_config(as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """Print the configuration with which plain mem0 opens the facts: to read, where the store is a folder.

    It has no keys and passwords: they come from the same environment variables.
    """
    from gaia_memory.config.secrets import drop_secrets
    from gaia_memory.errors import MemoryUnavailable

    async with open_engine(config, allow_disabled=True) as engine:
        options, secrets = drop_secrets(engine.mem0_config())
    store = options["vector_store"]
    path = store["config"].get("path") if store["provider"] == "chroma" else None
    if path is not None and not await run_in_thread(Path(path).exists):
        raise MemoryUnavailable(f"there is no {path} yet", remedy="run `gaia memory sync` first")
    for path, _ in secrets:
        print_note(f"{'.'.join(path)} is left out, because it has a secret: add it where the program runs")
    if as_json:
        print_json(options)
    else:
        print_text(yaml.safe_dump(options, sort_keys=False), end="")
    if options["embedder"]["provider"] == "offline":
        print_note(_OFFLINE_HINT)


async def sync(as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """Wait until the mem0 store has exactly the current facts, and bring it there if no other process does."""
    async with open_engine(config) as engine:
        engine.follow()
        with progress_bar("Writing the mem0 store") as advance:
            await engine.memory.settled(advance)
    if as_json:
        print_json({"synced": True})
    else:
        print_line("The mem0 store has exactly the current facts.")
