"""`gaia chat`: talk to an agent that remembers, in the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.opening import ConfigOption, load_config, run
from gaia_memory.cli.terminal import note

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from gaia_memory.adk.conversation import Conversation
    from gaia_memory.config.load import LoadedConfig
    from gaia_memory.config.schema import GaiaConfig

EXAMPLES = """
Examples:

`gaia chat` talks as the user of this machine.

`gaia chat --user itay --channel telegram` continues the conversation `itay:telegram`.

`echo "What do you know about me?" | gaia chat --user itay` asks one question.

In the conversation, `/help` lists the commands (Tab completes them) and Ctrl-D ends it.
"""

INSTRUCTION = "You are a helpful assistant who knows the person you talk to. Answer briefly and plainly."
GOODBYE = "Bye. This conversation is kept"
LEARNED_LATER = ", and learned from once it has been quiet for a while"


def chat(
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Who is talking: the user id; else your login name.")
    ] = None,
    channel: Annotated[
        str, typer.Option("--channel", help="Where; a conversation is one user on one channel.")
    ] = "cli",
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="The agent's model: `offline`, or a name that ADK knows.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Talk to an agent that remembers you."""
    loaded = load_config(config, model=model)
    try:
        run(_chat(_without_waiting(loaded), user or _login(), channel))
    except (KeyboardInterrupt, EOFError):
        typer.echo()
    learns = loaded.config.memory.enabled and loaded.config.memory.auto_ingest
    note(f"{GOODBYE}{LEARNED_LATER if learns else ''}.")


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # A container may run as a user id without a name.
        return "me"


def _without_waiting(loaded: LoadedConfig) -> GaiaConfig:
    """Return the configuration without the wait for further messages: a terminal sends one at a time."""
    sessions = loaded.config.sessions.model_copy(update={"coalesce_seconds": 0.0})
    return loaded.config.model_copy(update={"sessions": sessions})


async def _chat(config: GaiaConfig, user: str, channel: str) -> None:
    from google.adk.agents.llm_agent import LlmAgent

    from gaia_memory.runtime import open_memory

    async with open_memory(config) as gaia:
        agent = LlmAgent(name="gaia", model=gaia.model, instruction=INSTRUCTION)
        typer.echo(f"{gaia.describe()}; user {user}, channel {channel}")
        talk = gaia.conversation(agent, user_id=user, channel=channel)
        at_terminal = sys.stdin.isatty()
        with _output_above_prompt() if at_terminal else contextlib.nullcontext():
            async for line in _typed() if at_terminal else _piped():
                await _answer(talk, line)


async def _answer(talk: Conversation, line: str) -> None:
    if not line.strip():
        return
    async for piece in talk.stream(line):
        typer.echo(piece, nl=False)
        sys.stdout.flush()
    typer.echo()


async def _piped() -> AsyncIterator[str]:
    """Yield the lines of standard input."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        with contextlib.suppress(RuntimeError):
            # The loop may be closed by Ctrl-C while this waits for a line.
            for line in sys.stdin:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, None)

    # A daemon: a thread of the loop's pool would keep the process from ending before the next line.
    threading.Thread(target=read, daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line.rstrip("\n")


async def _typed() -> AsyncIterator[str]:
    """Yield what is typed, until Ctrl-D or Ctrl-C at the prompt."""
    prompt = _prompt()
    while True:
        try:
            yield await prompt.prompt_async("> ")
        except (EOFError, KeyboardInterrupt):
            return


def _prompt() -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import InMemoryHistory

    from gaia_memory.commands.registry import COMMANDS

    names = {f"/{command.name}": command.summary for command in COMMANDS.values()}
    completer = WordCompleter(list(names), meta_dict=names, sentence=True)
    return PromptSession(completer=completer, complete_while_typing=True, history=InMemoryHistory())


@contextlib.contextmanager
def _output_above_prompt() -> Iterator[None]:
    from prompt_toolkit.patch_stdout import patch_stdout

    with patch_stdout(raw=True):
        yield
