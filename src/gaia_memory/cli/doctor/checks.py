"""The list of all checks, in the order in which one builds on another, and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gaia_memory.cli.doctor.conversation_checks import check_conversations
from gaia_memory.cli.doctor.database_checks import check_memory_database, check_session_database
from gaia_memory.cli.doctor.findings import CheckContext, Finding, fail, skip
from gaia_memory.cli.doctor.home_checks import check_disk, check_home, check_permissions
from gaia_memory.cli.doctor.model_checks import check_agent_model, check_memory_models, check_tokens
from gaia_memory.cli.doctor.setup_checks import check_agents, check_config, check_environment, check_versions
from gaia_memory.cli.doctor.store_checks import check_store
from gaia_memory.cli.ui.terminal import progress_bar
from gaia_memory.log import logger_for

logger = logger_for(__name__)


@dataclass(frozen=True, slots=True)
class Check:
    """A part and the function that checks it; most need a configuration."""

    part: str
    run: Callable[[CheckContext], list[Finding]]
    needs_config: bool = True


CHECKS = (
    Check("config", check_config, needs_config=False),
    Check("environment", check_environment, needs_config=False),
    Check("versions", check_versions, needs_config=False),
    Check("agents", check_agents),
    Check("home", check_home),
    Check("disk", check_disk),
    Check("rights", check_permissions),
    Check("memory database", check_memory_database),
    Check("session database", check_session_database),
    Check("store", check_store),
    Check("conversations", check_conversations),
    Check("tokens", check_tokens),
    Check("memory's model", check_memory_models),
    Check("agents' model", check_agent_model),
)


def run_checks(context: CheckContext) -> Iterator[Finding]:
    """Yield findings as they are made; a check that breaks does not end the others."""
    for check in CHECKS:
        for finding in _run_check(check, context):
            yield finding if finding.part else replace(finding, part=check.part)


def _run_check(check: Check, context: CheckContext) -> list[Finding]:
    if check.needs_config and context.loaded is None:
        return skip("there is no configuration")
    try:
        with progress_bar(f"Checking: {check.part}"):
            return check.run(context)
    except Exception as error:
        # Anything that a broken installation raises is a finding: the other parts are still checked.
        logger.debug("the check of %s failed", check.part, exc_info=error)
        return fail(f"the check failed ({type(error).__name__})", "`gaia --debug doctor` shows why")
