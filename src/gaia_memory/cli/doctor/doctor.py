"""`gaia doctor`: checks every part and says how to repair it."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption
from gaia_memory.cli.ui.fact_output import print_json
from gaia_memory.cli.ui.terminal import coloured, pluralize, print_line, silence_logger

if TYPE_CHECKING:
    from gaia_memory.cli.doctor.findings import Finding

EXAMPLES = """
Examples:

`gaia doctor` checks everything and asks each model one small question.

`gaia doctor --no-model` asks no model.

`gaia doctor --json | jq -r '.findings[] | select(.state == "fail") | .remedy'` prints the remedies.
"""

_STATE_LABELS = {
    "ok": ("OK  ", typer.colors.GREEN),
    "warn": ("WARN", typer.colors.YELLOW),
    "fail": ("FAIL", typer.colors.RED),
    "skipped": ("SKIP", typer.colors.WHITE),
}
_PART_COLUMN_CHARACTERS = 17
"""Width of the column of parts."""


def doctor(
    no_model: Annotated[bool, typer.Option("--no-model", help="Ask no model; check everything else.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Check every part and name a remedy for each problem. Nothing is changed or repaired.

    Exits with 1 if a check fails.
    """
    from gaia_memory.cli.doctor.checks import run_checks
    from gaia_memory.cli.doctor.findings import CheckContext

    findings = []
    with silence_logger("gaia_memory.config"), tempfile.TemporaryDirectory(prefix="gaia-doctor-") as scratch:
        for finding in run_checks(CheckContext(config, not no_model, Path(scratch))):
            findings.append(finding)
            if not as_json:
                _print_finding(finding)
    counts = Counter(finding.state for finding in findings)
    if as_json:
        rows = [
            {"part": each.part, "state": each.state, "says": each.message, "remedy": each.remedy} for each in findings
        ]
        print_json({"ok": not counts["fail"], "findings": rows})
    else:
        warnings, failures = pluralize(counts["warn"], "warning"), pluralize(counts["fail"], "failure")
        print_line()
        print_line(f"{counts['ok']} passed, {warnings}, {failures}, {counts['skipped']} skipped")
    if counts["fail"]:
        raise typer.Exit(1)


def _print_finding(finding: Finding) -> None:
    word, colour = _STATE_LABELS[finding.state]
    print_line(finding.message, prefix=f"{coloured(word, colour)} {finding.part:{_PART_COLUMN_CHARACTERS}} ")
    if finding.remedy:
        print_line(finding.remedy, prefix=f"     {'':{_PART_COLUMN_CHARACTERS}} → ")
