"""`gaia doctor`: is everything in order, and what to do where it is not."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import ConfigOption, JsonOption, run
from gaia_memory.cli.ui.terminal import coloured, counted, say, unlogged

if TYPE_CHECKING:
    from gaia_memory.cli.doctor.checks import Finding, Patient

EXAMPLES = """
Examples:

`gaia doctor` looks at everything and asks each model for one word.

`gaia doctor --no-model` asks no model.

`gaia doctor --json | jq -r '.findings[] | select(.state == "fail") | .remedy'` prints what to do.
"""

_WORDS = {
    "ok": ("OK  ", typer.colors.GREEN),
    "warn": ("WARN", typer.colors.YELLOW),
    "fail": ("FAIL", typer.colors.RED),
    "skipped": ("SKIP", typer.colors.WHITE),
}
_WIDTH = 17
"""Of the column of parts."""


def doctor(
    no_model: Annotated[bool, typer.Option("--no-model", help="Ask no model; everything else is looked at.")] = False,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Look at every part, and say what to do about what is not in order. Nothing is changed, made or repaired.

    Leaves with 1 when something fails.
    """
    from gaia_memory.cli.doctor.checks import Patient

    with unlogged("gaia_memory.config"), tempfile.TemporaryDirectory(prefix="gaia-doctor-") as scratch:
        patient = Patient(config, not no_model, Path(scratch))
        findings = run(_examined(patient, (lambda _: None) if as_json else _show))
    counts = Counter(finding.state for finding in findings)
    if as_json:
        from gaia_memory.cli.ui.fact_output import print_json

        print_json({"ok": not counts["fail"], "findings": [_as_data(finding) for finding in findings]})
    else:
        warnings, failures = counted(counts["warn"], "warning"), counted(counts["fail"], "failure")
        say()
        say(f"{counts['ok']} in order, {warnings}, {failures}, {counts['skipped']} not looked at")
    if counts["fail"]:
        raise typer.Exit(1)


async def _examined(patient: Patient, show: Callable[[Finding], None]) -> list[Finding]:
    from gaia_memory.cli.doctor.run_checks import examine

    findings = []
    async for finding in examine(patient):
        findings.append(finding)
        show(finding)
    return findings


def _show(finding: Finding) -> None:
    word, colour = _WORDS[finding.state]
    say(finding.says, head=f"{coloured(word, colour)} {finding.part:{_WIDTH}} ")
    if finding.remedy:
        say(finding.remedy, head=f"     {'':{_WIDTH}} → ")


def _as_data(finding: Finding) -> dict[str, str]:
    return {"part": finding.part, "state": finding.state, "says": finding.says, "remedy": finding.remedy}
