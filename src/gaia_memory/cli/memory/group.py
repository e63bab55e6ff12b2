"""`gaia memory`: the group of commands for one person's memory."""

from __future__ import annotations

import typer

from gaia_memory.cli.memory import add, forget, list, profile, reindex, search, transfer

app = typer.Typer(no_args_is_help=True, help="List, add, search, forget and move the facts about a user.")

app.command("list", epilog=list.EXAMPLES)(list.list_facts)
app.command("add", epilog=add.EXAMPLES)(add.add)
app.command("search", epilog=search.EXAMPLES)(search.search)
app.command("profile", epilog=profile.EXAMPLES)(profile.profile)
app.command("forget", epilog=forget.EXAMPLES)(forget.forget)
app.command("reindex", epilog=reindex.EXAMPLES)(reindex.reindex)
app.command("export", epilog=transfer.EXPORT_EXAMPLES)(transfer.export)
app.command("import", epilog=transfer.IMPORT_EXAMPLES)(transfer.import_)
