"""`gaia backup` and `gaia restore`: a home as one file, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, load_config
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.terminal import pluralize, print_line, print_note, progress_bar
from gaia_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from gaia_memory.backup.restore import RestoreReport
    from gaia_memory.backup.write_backup import BackupReport

BACKUP_EXAMPLES = """
Examples:

`gaia backup ~/backups/gaia-$(date +%F).zip` writes a file that only you can read, while agents run.

`gaia backup gaia.zip --force --json | jq .facts` replaces an earlier one and prints how many facts it has.
"""
RESTORE_EXAMPLES = """
Examples:

`gaia restore gaia.zip --home ~/restored` puts it into a new home.

`gaia restore gaia.zip --force` replaces the home in use; stop every process first.
"""


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write, readable only by you.", show_default=False)],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Write everybody's memory, the conversations and gaia.yaml to one file.

    The count of facts includes those that have expired or not begun to hold, which no list shows.

    Memory may be used meanwhile. The mem0 store is left out, because it is rebuilt from the facts; so are keys, which
    are in the environment.
    """
    from gaia_memory.backup.write_backup import write_backup

    loaded = load_config(config)
    with progress_bar("Copying the databases") as advance, _options_named():
        report = write_backup(loaded, file, overwrite=force, progress=advance)
    for note in report.notes:
        print_note(note)
    if as_json:
        print_json(_to_dict(report))
        return
    print_line(f"{file}: {_counts(report)}; {report.bytes / 1e6:.1f} MB ({', '.join(report.files)}).")


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `gaia backup` has written.", show_default=False)],
    home: Annotated[
        Path | None, typer.Option("--home", help="The home to restore. Default: the configured one.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the data of the home.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Put a backup back into a home.

    No process may use that home. The old files stay until the new ones are complete. What was forgotten since the
    backup stays forgotten, if the old home still knows it.
    """
    from gaia_memory.backup.restore import restore as restore_backup

    with progress_bar("Restoring") as advance, _options_named():
        report = restore_backup(file, home=home, config=config, force=force, progress=advance)
    for note in report.notes:
        print_note(f"warning: {note}")
    if as_json:
        print_json(_to_dict(report))
        return
    print_line(f"{report.home}: {_counts(report)}, as of {report.made_at[:16].replace('T', ' ')} UTC.")
    if report.forgotten:
        print_line(f"Forgotten since, and still forgotten: {pluralize(report.forgotten, 'fact')}.")
    if report.dropped:
        print_line(f"Added since, and not in the backup, so gone: {pluralize(report.dropped, 'fact')}.")


@contextmanager
def _options_named() -> Iterator[None]:
    """Name the option of the command in an error that names the argument of a function."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(re.sub(r"(?:overwrite|force)=True", "--force", str(error))) from error


def _counts(report: BackupReport | RestoreReport) -> str:
    people = "1 person" if report.people == 1 else f"{report.people} people"
    return f"{pluralize(report.facts, 'fact')} about {people}, {pluralize(report.conversations, 'conversation')}"


def _to_dict(report: BackupReport | RestoreReport) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, Path) else value for name, value in asdict(report).items()}
