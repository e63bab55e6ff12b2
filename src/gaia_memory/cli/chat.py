"""`gaia chat`: talk to an agent that remembers, in the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ChannelOption, ConfigOption, UserOption, finish_erasures, load_config
from gaia_memory.cli.ui.read_input import is_interactive, iter_stdin_lines, require_stdin
from gaia_memory.cli.ui.terminal import print_line, print_note, print_text

if TYPE_CHECKING:
    from gaia_memory.adk.conversation import Conversation
    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.config.sources.load import LoadedConfig

EXAMPLES = """
Examples:

`gaia chat` uses your login name as the user id.

`gaia chat --user itay --channel telegram` continues the conversation `itay:telegram`.

`echo "What do you know about me?" | gaia chat --user itay` sends one message.

In the conversation, `/help` lists the commands (Tab completes them) and Ctrl-D ends it.
"""

INSTRUCTION = "You are a helpful assistant who knows the person you talk to. Answer briefly and plainly."
GOODBYE_MESSAGE = "Bye. This conversation is saved."
_FORGOTTEN_TEXT_MESSAGE = "Files still contain forgotten text"


def chat(
    user: UserOption,
    channel: ChannelOption = "cli",
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="The agent's model: `offline`, or a model name of ADK.",
            autocompletion=lambda: ["auto", "offline"],
        ),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Talk to an agent that remembers you.

    Exits with 1 if a piped message got no answer.
    """
    require_stdin()
    # A terminal sends one message at a time, so there is no burst to merge.
    loaded = load_config(config, model=model, settings={"sessions": {"coalesce_seconds": 0.0}})
    unanswered = 0
    try:
        unanswered = asyncio.run(_chat(loaded, user, channel))
    except (KeyboardInterrupt, EOFError):
        print_line()
    print_note(GOODBYE_MESSAGE)
    if unanswered and not is_interactive():
        raise typer.Exit(1)


async def _chat(config: LoadedConfig, user: str, channel: str) -> int:
    """Answer messages until the input ends; return how many got no answer."""
    from google.adk.agents.llm_agent import LlmAgent

    from gaia_memory.runtime import open_memory

    async with open_memory(config) as gaia:
        _require_key(gaia)
        agent = LlmAgent(name="gaia", model=gaia.model, instruction=INSTRUCTION)
        print_line(f"{gaia.describe()} · user {user}, channel {channel}")
        conversation = gaia.conversation(agent, user_id=user, channel=channel)
        if is_interactive():
            from gaia_memory.cli.ui.prompt import converse

            unanswered = await converse(lambda line: _answer(conversation, line))
        else:
            unanswered = sum([not await _answer(conversation, line) async for line in _piped_lines()])
        await _finish_erasures(gaia)
        return unanswered


async def _finish_erasures(gaia: Gaia) -> None:
    """Wait for erasures when the conversation ends; after Ctrl-C the next process finishes them."""
    try:
        remaining = await finish_erasures(gaia.memory)
    except asyncio.CancelledError:
        print_note(f"{_FORGOTTEN_TEXT_MESSAGE}: the next process that opens this memory rewrites them.")
        raise
    if remaining:
        print_note(f"{_FORGOTTEN_TEXT_MESSAGE}: {remaining}.")


def _require_key(gaia: Gaia) -> None:
    """Refuse to start a conversation if the agent's model is Gemini and there is no key."""
    from google.adk.models.google_llm import Gemini

    from gaia_memory.config.api_keys import gemini_api_key, uses_vertex
    from gaia_memory.errors import ModelUnavailableError

    has_access = gemini_api_key(os.environ) or uses_vertex(os.environ)
    if isinstance(gaia.model, Gemini) and not has_access:
        raise ModelUnavailableError(
            f"{gaia.model.model} needs a key: set GEMINI_API_KEY, or pass `--model offline`, which needs none"
        )


async def _answer(conversation: Conversation, line: str) -> bool:
    """Show the answer to a line; False if the model gave none."""
    if not line.strip():
        return True
    async with aclosing(conversation.stream(line)) as pieces:
        async for piece in pieces:
            print_text(piece, end="")
            sys.stdout.flush()
    print_line()
    return not conversation.has_failed


async def _piped_lines() -> AsyncIterator[str]:
    """Yield the lines of standard input."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def read_lines() -> None:
        with contextlib.suppress(RuntimeError):
            # Ctrl-C may close the loop while this thread waits for a line.
            for line in iter_stdin_lines():
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, None)

    # A daemon, because a pool thread that waits for a line would keep the process from ending.
    threading.Thread(target=read_lines, daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line
