"""`gaia init`: memory for a folder of ADK agents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import JsonOption
from gaia_memory.cli.ui.terminal import coloured, print_error, print_line, print_note, print_text

if TYPE_CHECKING:
    from gaia_memory.cli.setup.prepare import InitReport
    from gaia_memory.cli.ui.output_files import FileStep

EXAMPLES = """
Examples:

`gaia init` gives the agents in this folder a memory: it writes the files that ADK needs, and shows what to run next.

`gaia init my-agents --agent assistant` creates a folder with an agent that remembers.

`gaia init --verbose` also shows ADK's own commands; `--json | jq -r '.commands["adk web"]'` prints one of them.
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
    verbose: Annotated[bool, typer.Option("--verbose", help="Also show ADK's own commands.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Give the ADK agents in a folder a memory: `gaia.yaml`, and what `adk web`, `adk run` and `adk deploy` need.

    Existing files are kept and checked. Exits with 1 if one has to be corrected by hand.
    """
    from gaia_memory.cli.setup.prepare import prepare
    from gaia_memory.errors import GaiaMemoryError

    steps: list[FileStep] = []
    try:
        report = prepare(_resolve_folder(folder, agent), agent, steps, force=force)
    except (GaiaMemoryError, OSError):
        for step in steps:
            print_note(f"{step.outcome}: {step.path}")
        raise
    if as_json:
        from gaia_memory.cli.ui.fact_output import print_json

        print_json(_report_to_dict(report))
    else:
        _print(report, verbose=verbose)
    if invalid := [str(step.path) for step in report.steps if step.outcome == "wrong"]:
        print_error(f"correct these files by hand: {', '.join(invalid)}")
        raise typer.Exit(1)


def _resolve_folder(path: Path, agent: str | None) -> Path:
    from gaia_memory.cli.setup.agent_folders import is_agent_folder
    from gaia_memory.cli.setup.new_agent import agent_name_problem
    from gaia_memory.cli.setup.own_files import folder_config

    folder = path.expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise typer.BadParameter(f"{path} is a file: name a folder", param_hint="FOLDER")
    if agent is None:
        if not folder.exists():
            hint = "create it, or pass --agent NAME to create it with an agent"
            raise typer.BadParameter(f"there is no folder {path}: {hint}", param_hint="FOLDER")
        return folder_config(folder).parent
    if problem := agent_name_problem(agent, folder):
        raise typer.BadParameter(problem, param_hint="--agent")
    if is_agent_folder(folder):
        raise typer.BadParameter(f"{path} is an agent itself: name the folder above it", param_hint="FOLDER")
    return folder


def _print(report: InitReport, *, verbose: bool) -> None:
    from gaia_memory.cli.setup.prepare import APP_SNIPPET

    for step in report.steps:
        detail = f": {step.message}" if step.message else ""
        print_line(f"{step.path}{detail}", prefix=coloured(f"{step.outcome:9}", _OUTCOME_COLOURS[step.outcome]))
    for line in report.notes:
        print_note(f"note: {line}")
    if not report.commands:
        return
    for agent in report.agents.without_plugins:
        print_line(f"Add to the end of {agent.folder / 'agent.py'}, for `adk run` and `adk deploy`:", prefix="\n")
        print_text("".join(f"\n  {line}".rstrip(" ") for line in APP_SNIPPET.format(name=agent.name).splitlines()))
    print_line(report.commands["gaia web"], prefix="\nNext: ")
    if verbose:
        _print_adk_commands(report)


def _print_adk_commands(report: InitReport) -> None:
    commands = report.commands
    print_text("\nADK's own commands, in a browser, as an API server, in the terminal:\n")
    for command in (commands["adk web"], commands["adk api_server"], *commands["adk run"].values()):
        print_line(command, prefix="  ")
    print_line(commands["gaia doctor"], prefix="\nTo check the installation:\n\n  ")


def _report_to_dict(report: InitReport) -> dict[str, Any]:
    from gaia_memory.cli.setup.prepare import APP_SNIPPET

    agents = report.agents
    return {
        "files": [{"path": str(step.path), "did": step.outcome, "says": step.message} for step in report.steps],
        "agents": [agent.name for agent in agents.members],
        "commands": report.commands,
        "for adk run": {agent.name: APP_SNIPPET.format(name=agent.name) for agent in agents.without_plugins},
        "notes": report.notes,
    }
