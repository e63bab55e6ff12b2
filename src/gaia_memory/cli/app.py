"""The commands of `gaia`. Nothing heavy is imported before a command runs."""

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
from gaia_memory.cli.ui.terminal import configure_logging, print_error, print_line
from gaia_memory.errors import GaiaMemoryError
from gaia_memory.language.printable_text import escape_lines


class ErrorReportingGroup(TyperGroup):
    """A group of commands that turns an error of this package into one message and exit code 1."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = escape_lines(error.message)
            raise
        except GaiaMemoryError as error:
            if ctx.params.get("debug"):
                raise
            print_error(str(error))
            raise typer.Exit(1) from error


app = typer.Typer(
    cls=ErrorReportingGroup,
    name="gaia",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print_line(f"gaia-memory {version('gaia-memory')}")
        raise typer.Exit


@app.callback(
    epilog="Start with `gaia demo`, then `gaia chat`. Each command has examples: `gaia memory list --help`.",
)
def gaia(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show log lines and tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Long-term memory for Google ADK agents."""
    context.call_on_close(configure_logging(debug=debug))


app.command("demo", epilog=DEMO_EXAMPLES)(demo)
app.command("init", epilog=INIT_EXAMPLES)(init)
app.command("doctor", epilog=DOCTOR_EXAMPLES)(doctor)
app.command("chat", epilog=CHAT_EXAMPLES)(chat)
app.command("sweep", epilog=SWEEP_EXAMPLES)(sweep)
app.add_typer(memory, name="memory")
app.add_typer(people, name="people")
app.add_typer(configuration, name="config")
