"""`gaia chat`: talk to an agent that remembers, in the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ChannelOption, ConfigOption, SpeakerOption, load_config, run_async
from gaia_memory.cli.ui.read_input import is_interactive, iter_stdin_lines, require_stdin
from gaia_memory.cli.ui.terminal import print_line, print_note, print_text, progress_bar

if TYPE_CHECKING:
    from gaia_memory.adk.conversation import Conversation
    from gaia_memory.adk.gaia import Gaia
    from gaia_memory.config.sources.load import LoadedConfig

EXAMPLES = """
Examples:

`gaia chat` talks as the user of this machine.

`gaia chat --user itay --channel telegram` continues the conversation `itay:telegram`.

`echo "What do you know about me?" | gaia chat --user itay` asks one question.

In the conversation, `/help` lists the commands (Tab completes them) and Ctrl-D ends it.
"""

INSTRUCTION = "You are a helpful assistant who knows the person you talk to. Answer briefly and plainly."
GOODBYE_MESSAGE = "Bye. This conversation is kept"
_UNFINISHED_ERASURE_MESSAGE = "What was forgotten is still in files: whatever opens this memory next rewrites them."
VERTEX_VARIABLES = ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE")
"""Where one of these is set, Google Cloud's own credentials stand in for a key."""
LEARNED_LATER_SUFFIX = ", and learned from once it has been quiet for a while"


def chat(
    user: SpeakerOption = None,
    channel: ChannelOption = "cli",
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="The agent's model: `offline`, or a name that ADK knows.",
            autocompletion=lambda: ["auto", "offline"],
        ),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Talk to an agent that remembers you. Leaves with 1 when a piped message got no answer."""
    require_stdin()
    # A terminal sends one message at a time: there is no burst to wait for.
    loaded = load_config(config, model=model, settings={"sessions": {"coalesce_seconds": 0.0}})
    unanswered = 0
    try:
        unanswered = run_async(_chat(loaded, user or _login_name(), channel))
    except (KeyboardInterrupt, EOFError):
        print_line()
    is_learning = loaded.config.memory.enabled and loaded.config.memory.auto_ingest
    print_note(f"{GOODBYE_MESSAGE}{LEARNED_LATER_SUFFIX if is_learning else ''}.")
    if unanswered and not is_interactive():
        raise typer.Exit(1)


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # A container may run as a user id without a name.
        return "me"


async def _chat(config: LoadedConfig, user: str, channel: str) -> int:
    """Talk until there is nothing more to say; return how many messages got no answer."""
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
        await _finish_erasure(gaia, user)
        return unanswered


async def _finish_erasure(gaia: Gaia, user: str) -> None:
    """Let no forget leave its text in a file when the conversation ends; Ctrl-C leaves that to the next start."""
    from gaia_memory.cli.memory.erasure_progress import wait_for_erasure
    from gaia_memory.errors import MemoryUnavailable

    scope = gaia.scope(user)
    try:
        if not (await gaia.memory.status(scope)).erasures:
            return
        with progress_bar("Rewriting files") as advance:
            if other_owner := await wait_for_erasure(gaia._engine, scope, advance):
                print_note(f"What was forgotten is still in files: {other_owner}.")
    except asyncio.CancelledError:
        print_note(_UNFINISHED_ERASURE_MESSAGE)
        raise
    except MemoryUnavailable as error:
        print_note(f"{_UNFINISHED_ERASURE_MESSAGE} ({error.reason})")


def _require_key(gaia: Gaia) -> None:
    """Refuse to begin a conversation in which no message can be answered.

    Raises:
        ModelUnavailableError: the agent's model is Gemini, and there is no key.
    """
    from google.adk.models.google_llm import Gemini

    from gaia_memory.adk.models.model_factory import has_gemini_key
    from gaia_memory.errors import ModelUnavailableError

    uses_vertex = any(os.environ.get(name, "").lower() in {"1", "true"} for name in VERTEX_VARIABLES)
    if isinstance(gaia.model, Gemini) and not has_gemini_key() and not uses_vertex:
        raise ModelUnavailableError(
            f"{gaia.model.model} needs a key: set GEMINI_API_KEY, or talk to `--model offline`, which needs none"
        )


async def _answer(conversation: Conversation, line: str) -> bool:
    """Show the answer to a line; False where the model gave none."""
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
            # The loop may be closed by Ctrl-C while this waits for a line.
            for line in iter_stdin_lines():
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, None)

    # A daemon: a thread of the loop's pool would keep the process from ending before the next line.
    threading.Thread(target=read_lines, daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line
