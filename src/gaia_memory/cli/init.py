"""`gaia init`: memory for a folder of ADK agents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import JsonOption
from gaia_memory.cli.ui.terminal import coloured, complain, note, say, say_lines

if TYPE_CHECKING:
    from gaia_memory.cli.setup.hosts import Hosts
    from gaia_memory.cli.setup.prepare import Report
    from gaia_memory.cli.ui.output_files import Step

EXAMPLES = """
Examples:

`gaia init` gives the agents in this folder a memory: it writes what ADK needs and shows the commands that use it.

`gaia init my-agents --agent assistant` makes a folder with an agent that remembers, from nothing.

`gaia init --json | jq -r '.commands["adk web"]'` prints the command for a browser alone.
"""

_COLOURS = {
    "made": typer.colors.GREEN,
    "added": typer.colors.GREEN,
    "kept": typer.colors.WHITE,
    "replaced": typer.colors.YELLOW,
    "wrong": typer.colors.RED,
}


def init(
    folder: Annotated[Path, typer.Argument(help="The folder of agents, or of one agent.")] = Path(),
    agent: Annotated[
        str | None, typer.Option("--agent", help="Make a small agent of this name that remembers, if it is not there.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write anew what is there and keep the old files beside it; never an agent.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Give the ADK agents in a folder a memory: `gaia.yaml`, and the `services.yaml` that `adk web` and `adk run` read.

    What is there already is kept, and said to be right or not. Leaves with 1 when something is to be put right by hand.
    """
    from gaia_memory.cli.setup.prepare import prepare
    from gaia_memory.errors import GaiaMemoryError

    steps: list[Step] = []
    try:
        report = prepare(_folder(folder, agent), agent, steps, force=force)
    except GaiaMemoryError:
        for step in steps:
            note(f"{step.did}: {step.path}")
        raise
    if as_json:
        from gaia_memory.cli.ui.fact_output import print_json

        print_json(_as_data(report))
    else:
        _print(report)
    if report.wrong:
        complain(f"put right by hand: {', '.join(str(step.path) for step in report.wrong)}")
        raise typer.Exit(1)


def _folder(given: Path, agent: str | None) -> Path:
    from gaia_memory.cli.setup.agent_folders import is_one_agent
    from gaia_memory.cli.setup.new_agent import problem_with

    folder = given.expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise typer.BadParameter(f"{given} is a file: name a folder", param_hint="FOLDER")
    if agent is None:
        if not folder.exists():
            how = "make it, or let --agent make it with an agent"
            raise typer.BadParameter(f"there is no folder {given}: {how}", param_hint="FOLDER")
        return folder
    if problem := problem_with(agent, folder):
        raise typer.BadParameter(problem, param_hint="--agent")
    if is_one_agent(folder):
        raise typer.BadParameter(f"{given} is an agent itself: name the folder above it", param_hint="FOLDER")
    return folder


def _print(report: Report) -> None:
    for step in report.steps:
        says = f": {step.says}" if step.says else ""
        say(f"{step.path}{says}", head=coloured(f"{step.did:9}", _COLOURS[step.did]))
    for line in report.notes:
        note(f"note: {line}")
    if report.hosts is not None and report.agents.found:
        _print_commands(report.hosts)


def _print_commands(hosts: Hosts) -> None:
    from gaia_memory.cli.setup.hosts import program

    say_lines("\nIn a browser, for programs, at the terminal:\n")
    for command in (hosts.web, hosts.api_server, *(hosts.run(agent) for agent in hosts.agents.found)):
        say(command, head="  ")
    for agent in hosts.agents.without_plugins:
        say(f"At the end of {agent.folder / 'agent.py'}, for `adk run`:", head="\n")
        say()
        for line in program(agent).splitlines():
            say_lines(f"  {line}".rstrip())
    say(hosts.doctor, head="\nIs everything in order?\n\n  ")


def _as_data(report: Report) -> dict[str, Any]:
    from gaia_memory.cli.setup.hosts import program

    agents, hosts = report.agents, report.hosts
    commands: dict[str, Any] = {}
    if hosts is not None and agents.found:
        commands = {
            "adk web": hosts.web,
            "adk api_server": hosts.api_server,
            "adk run": {agent.name: hosts.run(agent) for agent in agents.found},
            "gaia doctor": hosts.doctor,
        }
    return {
        "files": [{"path": str(step.path), "did": step.did, "says": step.says} for step in report.steps],
        "agents": [agent.name for agent in agents.found],
        "commands": commands,
        "for adk run": {agent.name: program(agent) for agent in agents.without_plugins},
        "notes": report.notes,
    }
