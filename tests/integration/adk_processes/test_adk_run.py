"""`adk run` with typed input: it has no option for plugins, so they come from the App of the agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli.cli_runner import run_gaia
from support.hosts.adk_process import APP, MEMORY_URI, AgentsFolder, adk_run, agent_source
from support.servers.rule_based_gemini import RuleBasedGemini

SETTINGS = f"app: {APP}\nsessions: {{clear: rewind}}\n"


# google-genai subclasses aiohttp's session, which aiohttp discourages.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
def test_typed_input_is_kept_and_a_sweep_learns_it(
    tmp_path: Path, gemini_rules: RuleBasedGemini, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It belongs to the fixed user of `adk run`, whose `services.yaml` lies beside the agent."""
    agents = AgentsFolder(tmp_path / "agents", SETTINGS, assistant=agent_source(own_plugins=APP))
    (agents.folder / "services.yaml").unlink()
    agents.data.mkdir()
    services = ["--memory_service_uri", MEMORY_URI]
    services += ["--session_service_uri", f"sqlite+aiosqlite:///{agents.data / 'sessions.db'}"]
    monkeypatch.delenv("GAIA_HOME")
    for name, value in gemini_rules.gemini.environment.items():
        monkeypatch.setenv(name, value)

    typed = "/remember I like teal\nI moved to Rome\n/memory\nexit\n"
    told = adk_run(agents, *services, input_text=typed, environ=gemini_rules.gemini.environment)
    assert "[helper]: I will remember: I like teal" in told
    assert "[helper]: re I moved to Rome" in told
    assert "1. I like teal" in told
    [request] = gemini_rules.requests_ending_in("I moved to Rome")
    assert request.contents == "I moved to Rome"
    assert "- I like teal" in request.system.partition("<USER_PROFILE>")[2]
    assert agents.facts() == {(APP, "test_user"): ["I like teal"]}

    swept = run_gaia("sweep", "--force", "--config", str(agents.config))
    assert swept.out.startswith("1 conversation learned, 0 failed, 0 skipped\n"), swept.err
    assert agents.facts() == {(APP, "test_user"): ["I like teal", "I moved to Rome"]}
