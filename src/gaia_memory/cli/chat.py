"""`gaia chat`: talk to an agent that remembers, in the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import NEXT_OPENER, ChannelOption, ConfigOption, UserOption, finish_erasures, load_config
from gaia_memory.cli.ui.prompt import is_goodbye
from gaia_memory.cli.ui.read_input import is_interactive, iter_stdin_lines, require_stdin
from gaia_memory.cli.ui.terminal import coloured, print_line, print_note, print_speaker, print_text
from gaia_memory.commands.undo import describe_changes
from gaia_memory.errors import GaiaMemoryError
from gaia_memory.language.printable_text import replies_are_plain_text

if TYPE_CHECKING:
    from gaia_memory.adk.conversation import Conversation
    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.config.sources.load import LoadedConfig

EXAMPLES = """
Examples:

`gaia chat` uses your login name as the user id.

`gaia chat --user ada --channel telegram` continues the conversation `ada:telegram`.

`echo "Where do I live?" | gaia chat --user ada` sends one message.

In the conversation, `/help` lists the commands (Tab completes them). Ctrl-D, `quit` or `exit` leaves it.
"""

INSTRUCTION = "You are a helpful assistant who knows the person you talk to. Answer briefly and plainly."
_AGENT_NAME, _AGENT_COLOUR, _USER_COLOUR, _PRIVATE_COLOUR = "gaia", "green", "cyan", "magenta"
_HINT = "/help lists the commands; Ctrl-D or quit leaves."
_IS_PRIVATE = "This conversation is private: nothing you say is learned. /private off ends that."
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
    chat_end = _ChatEnd()
    try:
        asyncio.run(_chat(loaded, user, channel, chat_end))
    except (KeyboardInterrupt, EOFError):
        print_line()
    print_note(chat_end.goodbye)
    if chat_end.unanswered and not is_interactive():
        raise typer.Exit(1)


@dataclass(slots=True)
class _ChatEnd:
    """How a chat ended: what to say at its end, and how many messages got no answer."""

    goodbye: str = "Bye. This conversation is saved."
    unanswered: int = 0


async def _chat(config: LoadedConfig, user: str, channel: str, chat_end: _ChatEnd) -> None:
    """Answer messages until the input ends."""
    from google.adk.agents.llm_agent import LlmAgent

    from gaia_memory.runtime import open_memory

    replies_are_plain_text.set(True)
    async with open_memory(config) as gaia:
        _require_key(gaia)
        agent = LlmAgent(name=_AGENT_NAME, model=gaia.model, instruction=INSTRUCTION)
        print_line(f"{gaia.describe()} · user {user}, channel {channel}")
        conversation = gaia.conversation(agent, user_id=user, channel=channel)
        is_dialogue = is_interactive() and sys.stdout.isatty()
        if is_dialogue:
            print_line(_HINT)
        if await conversation.is_private():
            print_line(_IS_PRIVATE)
        if is_dialogue:
            print_line()
        answer = partial(_answer, conversation, is_dialogue=is_dialogue)
        try:
            if is_interactive():
                from gaia_memory.cli.ui.prompt import converse

                chat_end.unanswered = await converse(partial(_prompt_text, conversation), answer)
            else:
                async for line in _piped_lines():
                    chat_end.unanswered += not await answer(line)
        finally:
            with contextlib.suppress(GaiaMemoryError):
                chat_end.goodbye = await _describe_end(gaia, conversation)
        try:
            remaining = await finish_erasures(gaia.memory)
        except asyncio.CancelledError:
            print_note(f"{_FORGOTTEN_TEXT_MESSAGE}: {NEXT_OPENER}.")
            raise
        if remaining:
            print_note(f"{_FORGOTTEN_TEXT_MESSAGE}: {remaining}.")


async def _describe_end(gaia: Gaia, conversation: Conversation) -> str:
    """Return what happens to this conversation once the chat is over."""
    settings = gaia.config.memory
    if not (settings.enabled and settings.auto_ingest) or await conversation.is_private():
        return "Bye. Nothing of this conversation is learned."
    pending = await gaia.memory.pending(gaia.scope(conversation.key.user))
    if not any(each.messages for each in pending if each.key == conversation.key):
        return "Bye. Nothing of this conversation waits to be learned."
    now = "/reset in the next chat" if settings.llm.is_of_agent else "`gaia sweep --force`"
    return (
        f"Bye. This conversation waits to be learned: {now} does it now, else it is learned after "
        f"{gaia.config.sessions.idle_consolidate_minutes:g} quiet minutes."
    )


async def _prompt_text(conversation: Conversation) -> str:
    """Return the words in front of the user's line; they say whether the conversation is private."""
    is_private = False
    with contextlib.suppress(GaiaMemoryError):
        is_private = await conversation.is_private()
    return coloured("you (private)> ", _PRIVATE_COLOUR) if is_private else coloured("you> ", _USER_COLOUR)


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


async def _answer(conversation: Conversation, line: str, *, is_dialogue: bool) -> bool:
    """Show the answer to a line, in a dialogue behind the agent's name; False if the model gave none."""
    if not line.strip():
        return True
    if is_dialogue:
        print_speaker(f"{_AGENT_NAME}> ", _AGENT_COLOUR)
    try:
        async with aclosing(conversation.stream(line)) as pieces:
            async for piece in pieces:
                print_text(piece, end="")
                sys.stdout.flush()
    finally:
        print_line()
    if conversation.changes:
        print_line(f"Memory: {describe_changes(conversation.changes)} (/undo)")
    if is_dialogue:
        print_line()
    return not conversation.has_failed


async def _piped_lines() -> AsyncIterator[str]:
    """Yield the lines of standard input, up to one that says goodbye."""
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
    while (line := await lines.get()) is not None and not is_goodbye(line):
        yield line
