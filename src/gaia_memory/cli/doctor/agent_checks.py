"""The agents next to the configuration: does ADK know `mem0://`?"""

from __future__ import annotations

import shlex

from gaia_memory.cli.doctor.checks import CheckContext, Finding, fail, ok, skip, warn
from gaia_memory.cli.setup.agent_folders import find_agents
from gaia_memory.cli.setup.services import ServicesInspection, inspect_services
from gaia_memory.errors import InvalidInputError


async def check_agents(context: CheckContext) -> list[Finding]:
    """Check every `services.yaml` that `adk web` or `adk run` would read."""
    part = "agents"
    path = context.loaded.path if context.loaded is not None else None
    if path is None:
        return skip(part, "without a gaia.yaml there is no folder to search")
    folder = path.parent
    agents = find_agents(folder)
    try:
        inspections = [
            inspect_services(reader) for reader in dict.fromkeys([folder, *(agent.folder for agent in agents.members)])
        ]
    except InvalidInputError as error:
        return fail(part, str(error), "make it readable for this user")
    if not agents.members and inspections[0].verdict == "missing":
        return skip(part, f"there are none next to {path.name}")
    init = shlex.join(["gaia", "init", str(folder)])
    if findings := [finding for found in inspections for finding in _services_findings(part, found, init)]:
        return findings
    return ok(
        part,
        f"ADK reads the service for mem0:// from {', '.join(found.path.name for found in inspections[:1])} "
        f"for {', '.join(agent.name for agent in agents.members) or 'every agent'}",
    )


def _services_findings(part: str, inspection: ServicesInspection, init: str) -> list[Finding]:
    if inspection.verdict == "wrong":
        return fail(part, f"{inspection.path}: {inspection.message}", f"correct it, or run `{init} --force`")
    if inspection.verdict == "right":
        return []
    consequence = "`adk` refuses mem0:// as an unsupported URI"
    if inspection.verdict == "missing":
        return warn(part, f"{inspection.path} is missing, so {consequence}", f"run `{init}`")
    return warn(part, f"{inspection.path} does not name the service, so {consequence}", f"run `{init}`")
