"""Finds and runs slash commands: each module of this folder that defines `COMMAND` is one."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
import time
from collections.abc import Mapping
from dataclasses import replace

from gaia_memory import commands
from gaia_memory.commands.command import MEMORY_OFF, Call, Command, Reply
from gaia_memory.commands.forget import COMMAND as _FORGET_COMMAND
from gaia_memory.commands.forget import answer_to_question
from gaia_memory.errors import InvalidInputError, MemoryDisabledError, MemoryUnavailable
from gaia_memory.language.printable_text import is_blank, remove_hidden
from gaia_memory.redaction.redact_locations import redact_locations

FORGET = _FORGET_COMMAND.name
_COMMAND_PATTERN = re.compile(r"[/\uff0f](?P<name>[A-Za-z][\w-]*)(?:@\w+)?:?(?:\s+(?P<argument>.*))?", re.DOTALL)


def _discover() -> dict[str, Command]:
    names = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))
    modules = [importlib.import_module(f"{commands.__name__}.{name}") for name in names if name != "dispatch"]
    found = [module.COMMAND for module in modules if hasattr(module, "COMMAND")]
    return {command.name: command for command in found}


COMMANDS: Mapping[str, Command] = _discover()


def parse(text: str, *, has_open_question: bool = False) -> tuple[str, str] | None:
    """Return the name and argument of a slash command, known or not; None for any other message.

    While /forget waits for an answer (`has_open_question`), a bare no or yes is the command that answers it.

    A slash inside a sentence, a path and a slash alone are not commands. A bot's name after the command
    (`/memory@gaia_bot`), as group chats send it, is dropped. The full-width slash of East Asian keyboards counts, and
    so does a slash after invisible characters: otherwise a private message would be sent to the model.
    """
    start = next((index for index, char in enumerate(text) if not is_blank(char)), len(text))
    match = _COMMAND_PATTERN.fullmatch(text[start:].rstrip())
    if match is None:
        answer = answer_to_question(text) if has_open_question else None
        return None if answer is None else (FORGET, answer)
    return match["name"].lower(), (match["argument"] or "").strip()


async def run(name: str, call: Call) -> Reply:
    """Run one command and return its reply; unknown commands and memory errors become a reply, too.

    A reply has no control, direction or invisible characters, whatever the facts in it are.
    """
    began_at, reply = time.time(), await _run(name, call)
    # `/private` begins or ends what is not counted.
    if reply.command not in (None, "private") and call.is_memory_enabled and call.memory.config.memory.usage_days:
        await call.flags.note_command(call.scope, call.key, name, began_at=began_at)
    return replace(reply, text=remove_hidden(reply.text))


async def _run(name: str, call: Call) -> Reply:
    if name != FORGET:
        call.pending_confirmations.close_question(call.key)
    command = COMMANDS.get(name)
    if command is None:
        return Reply(_hint(name))
    if not call.is_memory_enabled and command.needs_memory_for(call.argument):
        return Reply(MEMORY_OFF, command=name)
    try:
        return Reply(await command.run(call), command=name)
    except MemoryDisabledError:
        return Reply(MEMORY_OFF, command=name)
    except MemoryUnavailable as error:
        return Reply(f"Memory is not available right now: {redact_locations(str(error))}", command=name)
    except InvalidInputError as error:
        return Reply(f"Nothing was changed: {error}", command=name)


def _hint(name: str) -> str:
    matches = difflib.get_close_matches(name, COMMANDS, n=1)
    suggestion = f" Did you mean /{matches[0]}?" if matches else ""
    return f"There is no command /{name}.{suggestion} Use /help to list all commands."
