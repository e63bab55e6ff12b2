"""The reference pages that come from code: command line, slash commands, errors and public names.

`python -m gaia_memory.cli.render` writes them all when it is run in a checkout.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, get_type_hints

from typer import Typer
from typer.models import ArgumentInfo, OptionInfo, ParameterInfo

from gaia_memory.cli.public import render_public
from gaia_memory.config.render import write_rendered_files

COMMAND = "python -m gaia_memory.cli.render"

_CLI_HEAD = """\
# The command line

`gaia` is installed with the package. Each command shows this with `--help` (`-h`).

Exit codes: 0, it was done; 1, it was not, and one line on standard error says why; 2, the command was written wrongly.
Answers go to standard output, everything else (progress, warnings, questions) to standard error.

`gaia --install-completion` lets the Tab key complete commands and options in bash, zsh, fish and PowerShell, from the
next shell on; `gaia --show-completion` prints what it would install. Both take the shell they run in, or one that is
named: `gaia --show-completion zsh`.
"""

_COMMANDS_HEAD = """\
# Slash commands

A person writes them as a message of their own, on every channel. They are answered without the model, and neither the
command nor its answer is replayed to the model or learned. An unknown one gets a hint in a `Conversation`; in somebody
else's Runner it goes to the model.

| command | what it does | while memory is off |
|---|---|---|
"""

_REMEMBER_NOTE = """
`/remember` takes at most {longest:,} characters, as does the agent's tool `remember`; `gaia memory add` takes more:
see [how long a fact may be](../how-to/what-is-learned.md#how-long-a-fact-may-be).
"""

_COMMANDS_TAIL = """
## Rows and their numbers

`/memory` numbers what is remembered from 1, oldest first, over all its pages; `/memory nuts` shows what holds that
word, best first, each row under the number that it has there: the word itself or another form of it ("allergic",
"allergy"), of several words at least one. What only means about the same, or was said beside it, is left out: ask the
agent about that. What is learned later comes after the last number, so a number stays until a row before it is
forgotten. A number alone is a page.

`/forget 3`, `/forget 3 5`, `/forget 3-5` (3, 4 and 5) and `/forget nuts` show the rows that they would forget, and
`/forget 3 yes` then forgets exactly what was shown: rows by their numbers, or those that hold every one of the words,
whatever their case. Where the list has changed since, or the process that showed it is gone, it shows again and asks
again.

`/forget yes` alone forgets everything, also where nothing was shown before. But while a question about some rows is
open in the conversation, it forgets nothing and says how to go on: `/forget 3 yes` for those rows, `/forget` and then
`/forget yes` for everything. That such a question is open is known after a restart, too; what it was about then is not,
and everything is asked about instead.

A command begins its message. One on a later line, in a code block or behind a quotation mark is talk.

What is wrong with memory is said without file paths and addresses, which `gaia doctor` tells.

## What an admin may do

`/memory off` switches memory off for everybody, `/memory on` brings it back with all that it held; anybody else is
refused. An admin is whom `people.users` names one (`ada: {admin: true}`), and who talks in a `gaia.conversation` made
with `admin=True`; in somebody else's Runner only the first counts, by the user id of the session, so name admins
where the host makes sure of who is who: `adk web` lets everybody choose their id. gaia.yaml is replaced by one with
`memory.enabled` set, every other byte as it was, and is in force at the next message in each process that reads it.
Without a file the change holds until memory is opened anew, and only in the event loop that the command came through:
another loop of the process, or another process, is not told, and the answer says so. Where the file cannot be edited
or an environment variable decides, nothing is changed, and the answer says why.

`/memory embedder openai/text-embedding-3-small` names another embedder: provider and model, or the provider alone. It
says first what that means, and `yes` behind it then writes `memory.embedder` into gaia.yaml. It is in force when memory
is started again. Every fact keeps its text; what was remembered before is then found by its words alone, until
`gaia memory reindex` has embedded it anew or the embedder is changed back: see
[switching](../how-to/switch-providers.md). A provider that is unknown, or lacks its package or key, is refused, and so
is a memory without a file.
"""

_ERRORS_HEAD = """\
# Errors

All of them are in `gaia_memory.errors`; `ConfigError`, `GaiaMemoryError` and `MemoryUnavailable` are public names of
`gaia_memory`. Each message says what happened, the value in question, and what to do about it. A turn of a conversation
raises none of them unless `memory.on_unavailable` is `fail`.
"""


@dataclass(frozen=True, slots=True)
class _Command:
    """A command as it is typed, the function behind it, and its examples."""

    name: str
    callback: Callable[..., Any]
    epilog: str


def render_cli() -> str:
    """The page of `gaia` and its commands."""
    from gaia_memory.cli.app import app

    sections = [_CLI_HEAD]
    for command in _iter_commands(app, "gaia"):
        description = inspect.getdoc(command.callback) or ""
        usage = " ".join([command.name, *_usage_words(command.callback)])
        parts = [
            f"## `{command.name}`",
            description,
            f"```text\n{usage}\n```",
            _options(command.callback),
            command.epilog.strip(),
        ]
        sections.append("\n\n".join(part for part in parts if part) + "\n")
    return "\n".join(sections)


def render_commands() -> str:
    """The page of slash commands."""
    from gaia_memory.commands.dispatch import COMMANDS
    from gaia_memory.learn.screen import MAX_FACT_CHARACTERS

    remember_note = _REMEMBER_NOTE.format(longest=MAX_FACT_CHARACTERS)
    rows = [
        f"| `{command.usage}` | {command.summary} | {'says that it is off' if command.needs_memory else 'works'} |"
        for command in COMMANDS.values()
    ]
    return _COMMANDS_HEAD + "\n".join(rows) + "\n" + remember_note + _COMMANDS_TAIL


def render_errors() -> str:
    """The page of errors: the tree, and each one with what it carries."""
    from gaia_memory import errors

    tree = (inspect.getdoc(errors) or "").split("\n\n")[1]
    error_classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]
    rows = [
        f"| `{kind.__name__}` | `{kind.__bases__[0].__name__}` | {' '.join((inspect.getdoc(kind) or '').split())} |"
        for kind in sorted(error_classes, key=lambda kind: tree.index(kind.__name__))
    ]
    table = "| error | is a | meaning |\n|---|---|---|\n" + "\n".join(rows)
    return f"{_ERRORS_HEAD}\n```text\n{tree}\n```\n\n{table}\n"


def rendered_pages() -> dict[str, str]:
    """What is rendered, by its path in a checkout."""
    return {
        "docs/reference/cli.md": render_cli(),
        "docs/reference/commands.md": render_commands(),
        "docs/reference/errors.md": render_errors(),
        "docs/reference/public-api.md": render_public(),
    }


def main() -> int:
    """Write the rendered pages into the checkout that is the working directory."""
    return write_rendered_files(rendered_pages(), command=COMMAND)


def _iter_commands(app: Typer, name: str) -> Iterator[_Command]:
    """Yield a Typer app's own options and its commands, those of its groups after them."""
    callback = app.registered_callback
    if callback is not None and callback.callback is not None:
        yield _Command(name, callback.callback, str(callback.epilog or ""))
    for command in app.registered_commands:
        if command.callback is not None:
            yield _Command(
                f"{name} {command.name or command.callback.__name__}", command.callback, command.epilog or ""
            )
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from _iter_commands(group.typer_instance, f"{name} {group.name}")


def _parameters(callback: Callable[..., Any]) -> Iterator[tuple[inspect.Parameter, Any, ParameterInfo]]:
    """Yield the options and arguments of a command, each with its type."""
    hints = get_type_hints(callback, include_extras=True)
    for name, parameter in inspect.signature(callback).parameters.items():
        for info in getattr(hints[name], "__metadata__", ()):
            if isinstance(info, ParameterInfo):
                yield parameter, hints[name].__origin__, info


def _usage_words(callback: Callable[..., Any]) -> list[str]:
    words = ["[OPTIONS]"]
    for parameter, kind, info in _parameters(callback):
        if isinstance(info, ArgumentInfo):
            word = parameter.name.upper() + ("..." if "list" in str(kind) else "")
            words.append(word if parameter.default is parameter.empty else f"[{word}]")
    return words


def _options(callback: Callable[..., Any]) -> str:
    rows = [
        f"| {_option_spelling(parameter, kind, info)} | {_default(parameter)} | {info.help or ''} |"
        for parameter, kind, info in _parameters(callback)
    ]
    return "| option or argument | default | what it does |\n|---|---|---|\n" + "\n".join(rows) if rows else ""


def _option_spelling(parameter: inspect.Parameter, kind: Any, info: ParameterInfo) -> str:
    if not isinstance(info, OptionInfo):
        return f"`{parameter.name.upper()}`"
    # Inside `Annotated` Typer keeps the first spelling where otherwise the default stands.
    spellings = [info.default, *(info.param_decls or ())]
    names = [name for name in spellings if isinstance(name, str) and name.startswith("-")]
    value = "" if kind is bool else _value_placeholder(kind, info)
    return ", ".join(f"`{name}`" for name in names or [f"--{parameter.name}"]) + value


def _value_placeholder(kind: Any, info: ParameterInfo) -> str:
    placeholder = "PATH" if "Path" in str(kind) else "NUMBER" if "int" in str(kind) else "TEXT"
    bounds = f" ({info.min:g} to {info.max:g})" if info.min is not None and info.max is not None else ""
    return f" {placeholder}{bounds}"


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return "required"
    return "" if parameter.default in (None, False) else f"`{parameter.default}`"


if __name__ == "__main__":
    raise SystemExit(main())
