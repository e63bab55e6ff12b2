"""`gaia memory`: the group of commands for one person's memory."""

from __future__ import annotations

from gaia_memory.cli.engines import command
from gaia_memory.cli.memory import add, due, forget, history, list, profile, reindex, search, transfer, why
from gaia_memory.cli.ui.command_app import CommandApp

app = CommandApp(no_args_is_help=True, help="List, add, search, explain, edit, forget and move the facts about a user.")

app.command("list", epilog=list.EXAMPLES)(command(list.list_facts))
app.command("add", epilog=add.EXAMPLES)(command(add.add))
app.command("search", epilog=search.EXAMPLES)(command(search.search))
app.command("due", epilog=due.EXAMPLES)(command(due.list_due))
app.command("why", epilog=why.EXAMPLES)(command(why.why))
app.command("history", epilog=history.HISTORY_EXAMPLES)(command(history.history))
app.command("edit", epilog=history.EDIT_EXAMPLES)(command(history.edit))
app.command("undo", epilog=history.UNDO_EXAMPLES)(command(history.undo))
app.command("profile", epilog=profile.EXAMPLES)(command(profile.profile))
app.command("forget", epilog=forget.EXAMPLES)(command(forget.forget))
app.command("reindex", epilog=reindex.EXAMPLES)(command(reindex.reindex))
app.command("export", epilog=transfer.EXPORT_EXAMPLES)(command(transfer.export))
app.command("import", epilog=transfer.IMPORT_EXAMPLES)(command(transfer.import_))
