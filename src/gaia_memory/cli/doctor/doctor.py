"""`gaia doctor`: checks every part and says how to repair it."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, run_async
from gaia_memory.cli.ui.terminal import coloured, pluralize, print_line, silence_logger

if TYPE_CHECKING:
    from gaia_memory.cli.doctor.checks import CheckContext, Finding

EXAMPLES = """
Examples:

`gaia doctor` checks everything and asks each model for one word.

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
    from gaia_memory.cli.doctor.checks import CheckContext

    with silence_logger("gaia_memory.config"), tempfile.TemporaryDirectory(prefix="gaia-doctor-") as scratch:
        context = CheckContext(config, not no_model, Path(scratch))
        findings = run_async(_collect_findings(context, (lambda _: None) if as_json else _print_finding))
    counts = Counter(finding.state for finding in findings)
    if as_json:
        from gaia_memory.cli.ui.fact_output import print_json

        print_json({"ok": not counts["fail"], "findings": [_finding_to_dict(finding) for finding in findings]})
    else:
        warnings, failures = pluralize(counts["warn"], "warning"), pluralize(counts["fail"], "failure")
        print_line()
        print_line(f"{counts['ok']} in order, {warnings}, {failures}, {counts['skipped']} skipped")
    if counts["fail"]:
        raise typer.Exit(1)


async def _collect_findings(context: CheckContext, show: Callable[[Finding], None]) -> list[Finding]:
    from gaia_memory.cli.doctor.run_checks import run_checks

    findings = []
    async for finding in run_checks(context):
        findings.append(finding)
        show(finding)
    return findings


def _print_finding(finding: Finding) -> None:
    word, colour = _STATE_LABELS[finding.state]
    print_line(finding.message, prefix=f"{coloured(word, colour)} {finding.part:{_PART_COLUMN_CHARACTERS}} ")
    if finding.remedy:
        print_line(finding.remedy, prefix=f"     {'':{_PART_COLUMN_CHARACTERS}} → ")


def _finding_to_dict(finding: Finding) -> dict[str, str]:
    return {"part": finding.part, "state": finding.state, "says": finding.message, "remedy": finding.remedy}
