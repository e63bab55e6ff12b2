"""`gaia memory`: the group of commands for one person's memory."""

from __future__ import annotations

from gaia_memory.cli.engines import sync_command
from gaia_memory.cli.memory import add, due, forget, history, list, profile, reindex, search, why
from gaia_memory.cli.memory.files import transfer
from gaia_memory.cli.ui.command_app import CommandApp

app = CommandApp(no_args_is_help=True, help="List, add, search, explain, edit, forget and move the facts about a user.")

app.command("list", epilog=list.EXAMPLES)(sync_command(list.list_facts))
app.command("add", epilog=add.EXAMPLES)(sync_command(add.add))
app.command("search", epilog=search.EXAMPLES)(sync_command(search.search))
app.command("due", epilog=due.EXAMPLES)(sync_command(due.list_due))
app.command("why", epilog=why.EXAMPLES)(sync_command(why.why))
app.command("history", epilog=history.HISTORY_EXAMPLES)(sync_command(history.history))
app.command("edit", epilog=history.EDIT_EXAMPLES)(sync_command(history.edit))
app.command("undo", epilog=history.UNDO_EXAMPLES)(sync_command(history.undo))
app.command("profile", epilog=profile.EXAMPLES)(sync_command(profile.profile))
app.command("forget", epilog=forget.EXAMPLES)(sync_command(forget.forget))
app.command("reindex", epilog=reindex.EXAMPLES)(sync_command(reindex.reindex))
app.command("export", epilog=transfer.EXPORT_EXAMPLES)(sync_command(transfer.export))
app.command("import", epilog=transfer.IMPORT_EXAMPLES)(sync_command(transfer.import_))
