"""`gaia memory recover`: the facts of a lost or damaged database, from the copy in the mem0 store."""

from __future__ import annotations

from dataclasses import asdict

from gaia_memory.cli.engines import ConfigOption, JsonOption, load_config
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.terminal import pluralize, print_line, print_note, progress_bar

EXAMPLES = """
Examples:

`gaia memory recover` after memory.db was lost or damaged, if there is no backup for `gaia restore`.

`gaia memory recover --json | jq '{found, recovered, lost}'` prints only the counts.
"""


def recover(as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """Rebuild facts from the mem0 store's copy after memory.db was lost or damaged.

    Stop every process first. A damaged file is set aside, and its forgets are kept as far as they can be read. The copy
    knows texts, times, metadata and vectors, but not where each fact came from. Processes that keep memory open write
    it; it lacks what only short commands have stored since.
    """
    from gaia_memory.backup.recovery import recover as recover_facts

    loaded = load_config(config)
    with progress_bar("Recovering facts") as advance:
        report = recover_facts(loaded, progress=advance)
    if report.set_aside is not None:
        print_note(f"the damaged file is now {report.set_aside}: delete it when you no longer need it")
    if not report.knows_forgets:
        print_note("warning: earlier forgets are not known, and may be back: review the facts, and forget them again")
    if as_json:
        print_json({**asdict(report), "set_aside": None if report.set_aside is None else str(report.set_aside)})
        return
    refused = f", {report.refused} left out (forgotten or not valid)" if report.refused else ""
    lost = "" if report.lost is None else f"; {pluralize(report.lost, 'fact')} of the damaged file are in no copy"
    print_line(f"{report.recovered} of {pluralize(report.found, 'fact')} recovered{refused}{lost}.")
