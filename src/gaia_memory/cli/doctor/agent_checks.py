"""The agents beside the configuration: does ADK learn what `mem0://` is?"""

from __future__ import annotations

import shlex

from gaia_memory.cli.doctor.checks import Finding, Patient, fail, ok, skipped, warn
from gaia_memory.cli.setup.agent_folders import find_agents
from gaia_memory.cli.setup.services import Judged, judge
from gaia_memory.errors import InvalidInputError


async def services(patient: Patient) -> list[Finding]:
    """Look at every `services.yaml` that `adk web` or `adk run` would read."""
    part = "agents"
    path = patient.loaded.path if patient.loaded is not None else None
    if path is None:
        return skipped(part, "without a gaia.yaml there is no folder to look in")
    folder = path.parent
    agents = find_agents(folder)
    try:
        judged = [judge(reader) for reader in dict.fromkeys([folder, *(agent.folder for agent in agents.found)])]
    except InvalidInputError as error:
        return fail(part, str(error), "let yourself read it")
    if not agents.found and judged[0].verdict == "missing":
        return skipped(part, f"there are none beside {path.name}")
    init = shlex.join(["gaia", "init", str(folder)])
    if findings := [finding for found in judged for finding in _told(part, found, init)]:
        return findings
    return ok(
        part,
        f"ADK learns what mem0:// is from {', '.join(found.path.name for found in judged[:1])} "
        f"for {', '.join(agent.name for agent in agents.found) or 'every agent'}",
    )


def _told(part: str, judged: Judged, init: str) -> list[Finding]:
    if judged.verdict == "wrong":
        return fail(part, f"{judged.path}: {judged.says}", f"correct it, or run `{init} --force`")
    if judged.verdict == "right":
        return []
    who = "`adk` refuses mem0:// as an unsupported URI"
    if judged.verdict == "missing":
        return warn(part, f"{judged.path} is missing, and where it is looked for {who}", f"run `{init}`")
    return warn(part, f"{judged.path} does not name our service, and {who}", f"run `{init}`")
