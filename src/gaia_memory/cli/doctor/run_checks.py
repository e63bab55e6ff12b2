"""All checks, in the order in which one builds on another."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gaia_memory.cli.doctor.agent_checks import services
from gaia_memory.cli.doctor.checks import Check, Finding, Patient, fail, skipped
from gaia_memory.cli.doctor.config_checks import configuration, environment, versions
from gaia_memory.cli.doctor.database_checks import memory_database, session_database
from gaia_memory.cli.doctor.home_checks import rights, space, usable
from gaia_memory.cli.doctor.model_checks import AGENT, MEMORY, agents_model, memory_models
from gaia_memory.cli.doctor.pending_checks import conversations
from gaia_memory.cli.doctor.store_checks import store
from gaia_memory.cli.ui.terminal import bar
from gaia_memory.log import logger_for

logger = logger_for(__name__)

CHECKS = (
    Check("config", configuration, needs_config=False),
    Check("environment", environment, needs_config=False),
    Check("versions", versions, needs_config=False),
    Check("agents", services),
    Check("home", usable),
    Check("disk", space),
    Check("rights", rights),
    Check("memory database", memory_database),
    Check("session database", session_database),
    Check("store", store),
    Check("conversations", conversations),
    Check(MEMORY, memory_models),
    Check(AGENT, agents_model),
)


async def examine(patient: Patient) -> AsyncIterator[Finding]:
    """Yield what is found as it is found; nothing that is broken ends it early."""
    for check in CHECKS:
        for finding in await _looked(check, patient):
            yield finding


async def _looked(check: Check, patient: Patient) -> list[Finding]:
    if check.needs_config and patient.loaded is None:
        return skipped(check.part, "without a configuration there is nothing to look at")
    try:
        with bar(f"Looking at: {check.part}"):
            return await check.look(patient)
    except Exception as error:
        # Whatever a broken installation raises is a finding: the other parts are still to be looked at.
        logger.debug("the check of %s failed", check.part, exc_info=error)
        says = f"it could not be looked at ({type(error).__name__})"
        return fail(check.part, says, "`gaia --debug doctor` shows why")
