"""The commands of `gaia` and what they have in common. Nothing heavy is imported before a command runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gaia_memory.cli.chat import EXAMPLES as CHAT_EXAMPLES
from gaia_memory.cli.chat import chat
from gaia_memory.cli.config import app as configuration
from gaia_memory.cli.demo.demo import EXAMPLES as DEMO_EXAMPLES
from gaia_memory.cli.demo.demo import demo
from gaia_memory.cli.doctor.doctor import EXAMPLES as DOCTOR_EXAMPLES
from gaia_memory.cli.doctor.doctor import doctor
from gaia_memory.cli.init import EXAMPLES as INIT_EXAMPLES
from gaia_memory.cli.init import init
from gaia_memory.cli.memory.group import app as memory
from gaia_memory.cli.people import app as people
from gaia_memory.cli.sweep import EXAMPLES as SWEEP_EXAMPLES
from gaia_memory.cli.sweep import sweep
from gaia_memory.cli.ui.terminal import complain, reporting, say
from gaia_memory.errors import GaiaMemoryError
from gaia_memory.language.printable_text import in_lines


class Group(TyperGroup):
    """A group of commands in which an error of this package ends in one clear message and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = in_lines(error.message)
            raise
        except GaiaMemoryError as error:
            if ctx.params.get("debug"):
                raise
            complain(str(error))
            raise typer.Exit(1) from error


app = typer.Typer(
    cls=Group,
    name="gaia",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        say(f"gaia-memory {version('gaia-memory')}")
        raise typer.Exit


@app.callback(
    epilog="Begin with `gaia demo`, then `gaia chat`. Each command has examples: `gaia memory list --help`.",
)
def gaia(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show log lines and tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Long-term memory for Google ADK agents."""
    context.call_on_close(reporting(debug=debug))


app.command("demo", epilog=DEMO_EXAMPLES)(demo)
app.command("init", epilog=INIT_EXAMPLES)(init)
app.command("doctor", epilog=DOCTOR_EXAMPLES)(doctor)
app.command("chat", epilog=CHAT_EXAMPLES)(chat)
app.command("sweep", epilog=SWEEP_EXAMPLES)(sweep)
app.add_typer(memory, name="memory")
app.add_typer(people, name="people")
app.add_typer(configuration, name="config")
