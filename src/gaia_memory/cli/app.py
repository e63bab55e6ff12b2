"""The commands of `gaia`. Nothing heavy is imported before a command runs."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gaia_memory.cli import backup, chat, config, init, learn, people, serve, sweep
from gaia_memory.cli.demo import demo
from gaia_memory.cli.doctor import doctor
from gaia_memory.cli.engines import command
from gaia_memory.cli.evaluate import evaluate
from gaia_memory.cli.grow import grow
from gaia_memory.cli.memory import add, due, forget, history, mem0, profile, reindex, search, transfer
from gaia_memory.cli.memory import list as facts_list
from gaia_memory.cli.setup import adk_servers
from gaia_memory.cli.ui.output_files import describe_os_error
from gaia_memory.cli.ui.terminal import configure_logging, print_error, print_line, print_text
from gaia_memory.errors import GaiaMemoryError
from gaia_memory.language.printable_text import escape_lines


class ErrorReportingGroup(TyperGroup):
    """A group of commands that turns an error of this package or of a file into one message and exit code 1."""

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
        except OSError as error:
            if ctx.params.get("debug") or not error.filename:
                raise
            print_error(describe_os_error(error))
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
        bool, typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Long-term memory for Google ADK agents."""
    context.call_on_close(configure_logging(debug=debug))


@app.command("help", epilog="Example: `gaia help memory add` shows what `gaia memory add --help` shows.")
def show_help(
    context: typer.Context,
    command: Annotated[list[str] | None, typer.Argument(help="A command.", show_default=False)] = None,
) -> None:
    """Show the help of a command, or of `gaia` itself."""
    shown: Any = context.find_root()
    for name in command or []:
        group = shown.command
        if name not in getattr(group, "commands", {}):
            raise typer.BadParameter(f"{shown.command_path} has no command {name!r}", param_hint="COMMAND")
        shown = type(context)(group.commands[name], info_name=name, parent=shown)
    print_text(shown.get_help(), end="")


app.command("demo", epilog=demo.EXAMPLES)(demo.demo)
app.command("init", epilog=init.EXAMPLES)(init.init)
app.command("web", epilog=adk_servers.WEB_EXAMPLES, context_settings=adk_servers.PASSED_OPTIONS)(adk_servers.web)
app.command("api-server", epilog=adk_servers.API_SERVER_EXAMPLES, context_settings=adk_servers.PASSED_OPTIONS)(
    adk_servers.api_server
)
app.command("run", epilog=adk_servers.RUN_EXAMPLES, context_settings=adk_servers.PASSED_OPTIONS)(adk_servers.run)
app.command("doctor", epilog=doctor.EXAMPLES)(doctor.doctor)
app.command("chat", epilog=chat.EXAMPLES)(chat.chat)
app.command("sweep", epilog=sweep.EXAMPLES)(command(sweep.sweep))
app.command("due", epilog=due.ANNOUNCE_EXAMPLES)(command(due.announce))
app.command("learn", epilog=learn.EXAMPLES)(learn.learn)
app.command("eval", epilog=evaluate.EXAMPLES)(command(evaluate.evaluate_file))
app.command("backup", epilog=backup.BACKUP_EXAMPLES)(backup.backup)
app.command("restore", epilog=backup.RESTORE_EXAMPLES)(backup.restore)
memory = typer.Typer(
    no_args_is_help=True, help="List, add, search, explain, edit, forget and move the facts about a user."
)
memory.command("list", epilog=facts_list.EXAMPLES)(command(facts_list.list_facts))
memory.command("add", epilog=add.EXAMPLES)(command(add.add))
memory.command("search", epilog=search.EXAMPLES)(command(search.search))
memory.command("due", epilog=due.EXAMPLES)(command(due.list_due))
memory.command("why", epilog=history.WHY_EXAMPLES)(command(history.why))
memory.command("history", epilog=history.HISTORY_EXAMPLES)(command(history.history))
memory.command("edit", epilog=history.EDIT_EXAMPLES)(command(history.edit))
memory.command("retire", epilog=history.RETIRE_EXAMPLES)(command(history.retire))
memory.command("undo", epilog=history.UNDO_EXAMPLES)(command(history.undo))
memory.command("profile", epilog=profile.EXAMPLES)(command(profile.profile))
memory.command("forget", epilog=forget.EXAMPLES)(command(forget.forget))
memory.command("reindex", epilog=reindex.EXAMPLES)(command(reindex.reindex))
memory.command("export", epilog=transfer.EXPORT_EXAMPLES)(command(transfer.export))
memory.command("import", epilog=transfer.IMPORT_EXAMPLES)(command(transfer.import_))
memory.command("mem0-config", epilog=mem0.CONFIG_EXAMPLES)(command(mem0.mem0_config))
memory.command("sync", epilog=mem0.SYNC_EXAMPLES)(command(mem0.sync))
app.add_typer(memory, name="memory")
app.add_typer(serve.app, name="serve")
app.add_typer(people.app, name="people")
app.add_typer(config.app, name="config")
app.add_typer(grow.app, name="grow")
