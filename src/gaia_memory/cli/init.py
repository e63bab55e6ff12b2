"""`gaia init`: memory for a folder of ADK agents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import JsonOption
from gaia_memory.cli.ui.terminal import coloured, print_error, print_line, print_note, print_text

if TYPE_CHECKING:
    from gaia_memory.cli.setup.hosts import RunCommands
    from gaia_memory.cli.setup.prepare import InitReport
    from gaia_memory.cli.ui.output_files import FileStep

EXAMPLES = """
Examples:

`gaia init` gives the agents in this folder a memory: it writes the files that ADK needs and shows the commands to run.

`gaia init my-agents --agent assistant` creates a folder with an agent that remembers.

`gaia init --json | jq -r '.commands["adk web"]'` prints only the command for a browser.
"""

_OUTCOME_COLOURS = {
    "made": typer.colors.GREEN,
    "added": typer.colors.GREEN,
    "kept": typer.colors.WHITE,
    "replaced": typer.colors.YELLOW,
    "wrong": typer.colors.RED,
}


def init(
    folder: Annotated[Path, typer.Argument(help="The folder of agents, or of one agent.")] = Path(),
    agent: Annotated[
        str | None, typer.Option("--agent", help="Create a small agent of this name, if it does not exist.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Rewrite existing files and keep backups; never an agent.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Give the ADK agents in a folder a memory: `gaia.yaml`, and the `services.yaml` that `adk web` and `adk run` read.

    Existing files are kept and checked. Exits with 1 if one has to be corrected by hand.
    """
    from gaia_memory.cli.setup.prepare import prepare
    from gaia_memory.errors import GaiaMemoryError

    steps: list[FileStep] = []
    try:
        report = prepare(_resolve_folder(folder, agent), agent, steps, force=force)
    except GaiaMemoryError:
        for step in steps:
            print_note(f"{step.outcome}: {step.path}")
        raise
    if as_json:
        from gaia_memory.cli.ui.fact_output import print_json

        print_json(_report_to_dict(report))
    else:
        _print(report)
    if report.invalid_files:
        print_error(f"correct by hand: {', '.join(str(step.path) for step in report.invalid_files)}")
        raise typer.Exit(1)


def _resolve_folder(path: Path, agent: str | None) -> Path:
    from gaia_memory.cli.setup.agent_folders import is_agent_folder
    from gaia_memory.cli.setup.new_agent import agent_name_problem

    folder = path.expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise typer.BadParameter(f"{path} is a file: name a folder", param_hint="FOLDER")
    if agent is None:
        if not folder.exists():
            hint = "create it, or pass --agent to create it with an agent"
            raise typer.BadParameter(f"there is no folder {path}: {hint}", param_hint="FOLDER")
        return folder
    if problem := agent_name_problem(agent, folder):
        raise typer.BadParameter(problem, param_hint="--agent")
    if is_agent_folder(folder):
        raise typer.BadParameter(f"{path} is an agent itself: name the folder above it", param_hint="FOLDER")
    return folder


def _print(report: InitReport) -> None:
    for step in report.steps:
        detail = f": {step.message}" if step.message else ""
        print_line(f"{step.path}{detail}", prefix=coloured(f"{step.outcome:9}", _OUTCOME_COLOURS[step.outcome]))
    for line in report.notes:
        print_note(f"note: {line}")
    if report.commands is not None and report.agents.members:
        _print_commands(report.commands)


def _print_commands(commands: RunCommands) -> None:
    from gaia_memory.cli.setup.hosts import app_snippet

    print_text("\nIn a browser, for programs, at the terminal:\n")
    for command in (commands.web, commands.api_server, *(commands.run(agent) for agent in commands.agents.members)):
        print_line(command, prefix="  ")
    for agent in commands.agents.without_plugins:
        print_line(f"At the end of {agent.folder / 'agent.py'}, for `adk run`:", prefix="\n")
        print_line()
        for line in app_snippet(agent).splitlines():
            print_text(f"  {line}".rstrip())
    print_line(commands.doctor, prefix="\nIs everything in order?\n\n  ")


def _report_to_dict(report: InitReport) -> dict[str, Any]:
    from gaia_memory.cli.setup.hosts import app_snippet

    agents, run_commands = report.agents, report.commands
    commands: dict[str, Any] = {}
    if run_commands is not None and agents.members:
        commands = {
            "adk web": run_commands.web,
            "adk api_server": run_commands.api_server,
            "adk run": {agent.name: run_commands.run(agent) for agent in agents.members},
            "gaia doctor": run_commands.doctor,
        }
    return {
        "files": [{"path": str(step.path), "did": step.outcome, "says": step.message} for step in report.steps],
        "agents": [agent.name for agent in agents.members],
        "commands": commands,
        "for adk run": {agent.name: app_snippet(agent) for agent in agents.without_plugins},
        "notes": report.notes,
    }
