"""The list of all checks, in the order in which one builds on another, and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from gaia_memory.cli.doctor.database_checks import check_memory_database, check_session_database
from gaia_memory.cli.doctor.findings import CheckContext, Finding, fail, skip
from gaia_memory.cli.doctor.home_checks import check_home
from gaia_memory.cli.doctor.model_checks import check_agent_model, check_memory_models
from gaia_memory.cli.doctor.setup_checks import check_agents, check_config, check_environment, check_versions
from gaia_memory.cli.doctor.summary_checks import check_conversations, check_store, check_tokens
from gaia_memory.cli.ui.terminal import progress_bar
from gaia_memory.log import logger_for

logger = logger_for(__name__)

CHECKS: dict[str, Callable[[CheckContext], list[Finding]]] = {
    "config": check_config,
    "environment": check_environment,
    "versions": check_versions,
    "agents": check_agents,
    "home": check_home,
    "memory database": check_memory_database,
    "session database": check_session_database,
    "store": check_store,
    "conversations": check_conversations,
    "tokens": check_tokens,
    "memory's model": check_memory_models,
    "agents' model": check_agent_model,
}
"""The checks by the part that they are about."""

_WITHOUT_CONFIG = (check_config, check_environment, check_versions)


def run_checks(context: CheckContext) -> Iterator[Finding]:
    """Yield findings as they are made; a check that breaks does not end the others."""
    for part, check in CHECKS.items():
        for finding in _run_check(part, check, context):
            yield finding if finding.part else replace(finding, part=part)


def _run_check(part: str, check: Callable[[CheckContext], list[Finding]], context: CheckContext) -> list[Finding]:
    if context.loaded is None and check not in _WITHOUT_CONFIG:
        return skip("there is no configuration")
    try:
        with progress_bar(f"Checking: {part}"):
            return check(context)
    except Exception as error:
        # Anything that a broken installation raises is a finding: the other parts are still checked.
        logger.debug("the check of %s failed", part, exc_info=error)
        return fail(f"the check failed ({type(error).__name__})", "`gaia --debug doctor` shows why")
