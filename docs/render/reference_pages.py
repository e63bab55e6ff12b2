"""The reference pages of the command line, slash commands, errors and public names, rendered from the code."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

from docs.render.cost_page import render_costs
from docs.render.http_page import render_http
from docs.render.mem0_calls_page import render_mem0_calls
from docs.render.public_names import render_public
from typer import Typer
from typer.models import ArgumentInfo, OptionInfo, ParameterInfo

_CLI_HEAD = """\
# The command line

The package installs `gaia`. `--help` (`-h`) shows the same text as this page.

Exit codes: 0, success; 1, failure, with one line on standard error that says why; 2, a wrong command line. Answers go
to standard output; progress, warnings and questions go to standard error.

`gaia --install-completion` enables the Tab key in bash, zsh, fish and PowerShell from the next shell on;
`gaia --show-completion` prints the script.
"""

MIN_SHARING_COMMANDS = 4
"""Options of at least this many commands are described once, at the top of the page."""

_SHARED_HEAD = """
## Common options

"""

_COMMANDS_HEAD = """\
# Slash commands

A user sends a command as a message of its own, on any channel. The model never sees a command or its answer, and
neither is learned. A `Conversation` answers an unknown command with a hint; another Runner passes it to the model.

| command | what it does | while memory is off |
|---|---|---|
"""

_REMEMBER_NOTE = """
`/remember` and the agent's tool `remember` take at most {longest:,} characters; `gaia memory add` takes more:
see [how long a fact may be](../how-to/what-is-learned.md#how-long-a-fact-may-be).
"""

_COMMANDS_TAIL = """
## Rows and their numbers

`/memory` numbers the facts from 1, oldest first, over all pages. A number alone is a page. `/memory nuts` shows the
facts that contain the word or another form of it ("allergic", "allergy"), best first, with their numbers; of several
words at least one must match. It does not search by meaning: ask the agent for that. New facts get higher numbers, so a
number changes only if an earlier fact is forgotten or replaced. `/memory history 3` tells when the fact in row 3 was
true and what it replaced.

`/forget 3`, `/forget 3 5`, `/forget 3-5` and `/forget nuts` show the facts that they would forget. `/forget nuts`
selects the facts that contain all given words, or else forms of those that matter: `/forget everything about my mum`.
The same command with `yes` (`/forget 3 yes`) forgets exactly the facts that were shown, and so does a plain yes, y, ja,
oui or sí as the next message. If the list has changed or the process was restarted, the question is asked again. The
beginning of an id selects its fact, too. If the fact has replaced another one, `/forget 3 back` goes back to that, and
nothing is forgotten.

`/forget all` is the same as `/forget`. `/forget yes` forgets everything, even if nothing was shown. While a question
about some facts is open in the conversation it forgets nothing and explains the choice: `/forget 3 yes` for those
facts, or `/forget` and then `/forget yes` for everything.

Facts are stored word for word. In a reply, a space or a backslash keeps their signs from being Markdown or HTML, such
as `< b>`, because hosts render replies; `gaia chat` shows them as they are.

A command starts its message. Text on a later line, in a code block or in a quotation is not a command.

Errors of memory are reported without file paths and addresses; `gaia doctor` shows those.

## What an admin may do

`/memory off` switches memory off for everyone; `/memory on` brings it back with all facts. An admin is a user that
`people.users` marks (`ada: {admin: true}`), or a `gaia.conversation` with `admin=True`. In another Runner only
`people.users` counts, by the user id of the session, so name admins only where the host verifies user ids: `adk web`
does not. The command sets `memory.enabled` in gaia.yaml and keeps its comments and order; each process that reads it
follows at its next message. Without a file the change lasts until memory is opened again, and only in one event loop;
the answer says so. If the file cannot be edited or an environment variable overrides it, nothing changes and the answer
says why.

`/memory embedder openai/text-embedding-3-small` names another embedder: provider and model, or the provider alone. It
explains the consequences first; with `yes` it writes `memory.embedder` into gaia.yaml, which takes effect after a
restart. Until `gaia memory reindex` has embedded them again, older facts are found by their words only: see
[switching](../how-to/switch-providers.md). It is refused without a file, for an unknown provider, and if a package or
key is missing.
"""

_ERRORS_HEAD = """\
# Errors

All errors are in `gaia_memory.errors`; `gaia_memory` exports `ConfigError`, `GaiaMemoryError` and `MemoryUnavailable`.
Each message names the value in question and the fix. A turn raises none of them unless `memory.on_unavailable` is
`fail`: then `gaia.conversation` raises it as it is, and in your own Runner ADK raises a `RuntimeError("Error in plugin
'gaia_memory' …")` with it as `__cause__`.
"""


@dataclass(frozen=True, slots=True)
class _Command:
    """A command, the function that runs it, and its examples."""

    name: str
    callback: Callable[..., Any]
    epilog: str


def render_cli() -> str:
    """Return the page of `gaia` and its commands."""
    from gaia_memory.cli.app import app

    commands = list(_iter_commands(app, "gaia"))
    counts = Counter(row for command in commands for row in _option_rows(command.callback).values())
    shared = [row for row, count in counts.items() if count >= MIN_SHARING_COMMANDS]
    sections = [f"{_CLI_HEAD}{_SHARED_HEAD}{_option_table(shared)}\n"]
    for command in commands:
        description = inspect.getdoc(command.callback) or ""
        usage = " ".join([command.name, *_usage_words(command.callback)])
        parts = [
            f"## `{command.name}`",
            description,
            f"```text\n{usage}\n```",
            _options(command.callback, shared),
            command.epilog.strip(),
        ]
        sections.append("\n\n".join(part for part in parts if part) + "\n")
    return "\n".join(sections)


def render_commands() -> str:
    """Return the page of slash commands."""
    from gaia_memory.commands.dispatch import COMMANDS
    from gaia_memory.drafts.screen import MAX_FACT_CHARACTERS

    remember_note = _REMEMBER_NOTE.format(longest=MAX_FACT_CHARACTERS)
    rows = [
        f"| `{command.usage}` | {command.summary} | {'says that it is off' if command.needs_memory else 'works'} |"
        for command in COMMANDS.values()
    ]
    return _COMMANDS_HEAD + "\n".join(rows) + "\n" + remember_note + _COMMANDS_TAIL


def render_errors() -> str:
    """Return the page of errors: the tree, and a description of each error."""
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
    """Return the content of each page by its path in the checkout."""
    return {
        "docs/reference/cli.md": render_cli(),
        "docs/reference/commands.md": render_commands(),
        "docs/reference/costs.md": render_costs(),
        "docs/reference/mem0-calls.md": render_mem0_calls(),
        "docs/reference/errors.md": render_errors(),
        "docs/reference/http.md": render_http(),
        "docs/reference/public-api.md": render_public(),
    }


def _iter_commands(app: Typer, name: str) -> Iterator[_Command]:
    """Yield the options and commands of a Typer app, then those of its groups."""
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
    """Yield the options and arguments of a command with their types."""
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


def _option_rows(callback: Callable[..., Any]) -> dict[str, str]:
    """Return the table row of each option and argument by its name."""
    return {
        spelling.partition(",")[0].partition(" ")[
            0
        ]: f"| {spelling} | {_default(parameter, info)} | {info.help or ''} |"
        for parameter, kind, info in _parameters(callback)
        for spelling in [_option_spelling(parameter, kind, info)]
    }


def _options(callback: Callable[..., Any], shared: Collection[str]) -> str:
    """Return the table of the options that only this command has, and the names of those it shares."""
    rows = _option_rows(callback)
    own = [row for row in rows.values() if row not in shared]
    names = ", ".join(name for name, row in rows.items() if row in shared)
    note = f"{'Also' if own else 'Options'}: {names}." if names else ""
    return "\n\n".join(part for part in (_option_table(own) if own else "", note) if part)


def _option_table(rows: Sequence[str]) -> str:
    return "| option or argument | default | what it does |\n|---|---|---|\n" + "\n".join(rows)


def _option_spelling(parameter: inspect.Parameter, kind: Any, info: ParameterInfo) -> str:
    if not isinstance(info, OptionInfo):
        return f"`{parameter.name.upper()}`"
    # Inside `Annotated`, Typer stores the first spelling as the default.
    spellings = [info.default, *(info.param_decls or ())]
    names = [name for name in spellings if isinstance(name, str) and name.startswith("-")]
    value = "" if kind is bool else _value_placeholder(kind, info)
    return ", ".join(f"`{name}`" for name in names or [f"--{parameter.name}"]) + value


def _value_placeholder(kind: Any, info: ParameterInfo) -> str:
    placeholder = "PATH" if "Path" in str(kind) else "NUMBER" if "int" in str(kind) else "TEXT"
    bounds = f" ({info.min:g} to {info.max:g})" if info.min is not None and info.max is not None else ""
    return f" {placeholder}{bounds}"


def _default(parameter: inspect.Parameter, info: ParameterInfo) -> str:
    if parameter.default is parameter.empty:
        return str(info.show_default) if info.default_factory is not None else "required"
    return "" if parameter.default in (None, False) else f"`{parameter.default}`"
