"""`gaia init`: memory for a folder of ADK agents."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_memory.cli.engines import JsonOption
from gaia_memory.cli.ui.terminal import coloured, print_error, print_line, print_note

if TYPE_CHECKING:
    from gaia_memory.cli.ui.output_files import FileStep

EXAMPLES = """
Examples:

`gaia init` gives the agents in this folder a memory: it writes the files that ADK needs, and shows what to run next.

`gaia init my-agents --agent assistant` creates a folder with an agent that remembers.

`gaia init --json | jq -r '.commands["adk web"]'` prints ADK's own command.
"""

_OUTCOME_COLOURS = {"made": typer.colors.GREEN, "kept": typer.colors.WHITE, "wrong": typer.colors.RED}


def init(
    folder: Annotated[Path, typer.Argument(help="The folder of agents, or of one agent.")] = Path(),
    agent: Annotated[
        str | None, typer.Option("--agent", help="Create a small agent of this name, if it does not exist.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Give the ADK agents in a folder a memory: `gaia.yaml`, and what `adk web` and `adk run` need.

    Existing files are kept and checked. Exits with 1 if one has to be corrected by hand.
    """
    from gaia_memory.cli.setup.prepare import prepare
    from gaia_memory.errors import GaiaMemoryError

    steps: list[FileStep] = []
    try:
        report = prepare(_resolve_folder(folder, agent), agent, steps)
    except (GaiaMemoryError, OSError):
        for step in steps:
            print_note(f"{step.outcome}: {step.path}")
        raise
    if as_json:
        from gaia_memory.cli.ui.fact_output import print_json

        files = [{"path": str(step.path), "did": step.outcome, "says": step.message} for step in report.steps]
        print_json(
            {"files": files, "agents": [each.name for each in report.agents.members], "commands": report.commands}
        )
    else:
        for step in report.steps:
            detail = f": {step.message}" if step.message else ""
            print_line(f"{step.path}{detail}", prefix=coloured(f"{step.outcome:9}", _OUTCOME_COLOURS[step.outcome]))
        if report.commands:
            print_line(report.commands["gaia web"], prefix="\nNext: ")
    if invalid := [str(step.path) for step in report.steps if step.outcome == "wrong"]:
        print_error(f"correct these files by hand: {', '.join(invalid)}")
        raise typer.Exit(1)
    if not report.agents.members:
        command = shlex.join(["gaia", "init", str(folder), "--agent", "assistant"])
        print_note(f"there is no agent yet: `{command}` creates one")


def _resolve_folder(path: Path, agent: str | None) -> Path:
    from gaia_memory.cli.setup.agent_folders import is_agent_folder
    from gaia_memory.cli.setup.new_agent import agent_name_problem

    folder = path.expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise typer.BadParameter(f"{path} is a file: name a folder", param_hint="FOLDER")
    if agent is None:
        if not folder.exists():
            hint = "create it, or pass --agent NAME to create it with an agent"
            raise typer.BadParameter(f"there is no folder {path}: {hint}", param_hint="FOLDER")
        return folder
    if problem := agent_name_problem(agent, folder):
        raise typer.BadParameter(problem, param_hint="--agent")
    if is_agent_folder(folder):
        raise typer.BadParameter(f"{path} is an agent itself: name the folder above it", param_hint="FOLDER")
    return folder
