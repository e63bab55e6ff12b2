"""A rejected configuration: what the user, the caller and the operator see, and how it is resolved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.hosts.adk_process import (
    OFFLINE_MODEL,
    SERVICES_YAML,
    AgentsFolder,
    Server,
    adk_server,
    agent_source,
    wait_for,
)

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF"
WRONG = {
    "a file that is not there": (None, "gaia.yaml", "no such file; check the path"),
    "no YAML": ("memory: [unclosed\n", "line 3", "correct the YAML there"),
    "a value out of range": ("memory: {recall_limit: 99}\n", "memory.recall_limit: 99", "1 to 50"),
    "a secret": (f"memory: {{llm: {{provider: openai, api_key: {SECRET}}}}}\n", "memory.llm.api_key", "OPENAI_API_KEY"),
    "an unknown provider": ("memory: {llm: {provider: opnai}}\n", "memory.llm.provider: 'opnai'", "openai"),
}


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> AgentsFolder:
    """Return an agent whose configuration each test rewrites."""
    return AgentsFolder(tmp_path_factory.mktemp("wrong") / "agents", assistant=agent_source(model=OFFLINE_MODEL))


@pytest.fixture(scope="module")
def server(agents: AgentsFolder) -> Iterator[Server]:
    """Run a server that starts with a missing file."""
    agents.config.unlink()
    with adk_server("api_server", agents) as running:
        yield running


@pytest.mark.parametrize(("settings", "names", "fix"), WRONG.values(), ids=list(WRONG))
def test_a_rejected_file_is_reported_and_the_chat_continues(
    server: Server, agents: AgentsFolder, settings: str | None, names: str, fix: str, request: pytest.FixtureRequest
) -> None:
    """Once in the log, in full; to a user who asks memory for something, with the reason."""
    user = request.node.callspec.id.replace(" ", "-")
    if settings is None:
        agents.config.unlink(missing_ok=True)
    else:
        agents.configure(settings)
    before = len(server.log)
    server.create_session(user=user)

    assert server.send("Hello", user=user) == "Noted."
    answer = server.send("/remember I like teal", user=user)
    assert names in answer, answer
    assert "I will remember" not in answer
    assert names in server.send("/memory", user=user)
    assert server.send("Who is my sister?", user=user) == "I cannot look that up: memory cannot answer now."

    told = server.log[before:]
    assert told.count("gaia.yaml is not usable") == 1, told
    assert names in told
    assert fix in told
    assert "Traceback" not in told
    # ADK tells a caller no more than that; its log ends in the reason.
    assert server.add_to_memory(user=user).status_code == 500
    wait_for(lambda: server.log[before:].count("gaia.yaml is not usable") == 2, describe=lambda: server.log)
    assert SECRET not in server.log + answer


@pytest.mark.slow
def test_a_fixed_file_is_applied_at_the_next_message(server: Server, agents: AgentsFolder) -> None:
    """Without a restart; messages sent meanwhile are in the session and are learned."""
    agents.configure("sessions: {idle_consolidate_minutes: 0.02}\n")

    server.create_session(user="patient")
    assert server.send("/remember I like teal", user="patient") == "I will remember: I like teal"
    assert server.add_to_memory(user="patient").status_code == 200


@pytest.mark.slow
def test_a_wrong_class_name_in_services_yaml_ends_the_server_with_its_name(tmp_path: Path) -> None:
    """The log names the class that cannot be imported; ADK then ends with an unsupported URI."""
    agents = AgentsFolder(tmp_path / "agents")
    (agents.folder / "services.yaml").write_text(
        SERVICES_YAML.replace("gaia_memory.", "gaia_memori."), encoding="utf-8"
    )

    with pytest.raises(AssertionError, match="it ended with 1") as ended, adk_server("api_server", agents):
        pass

    told = str(ended.value)
    assert "Could not import class gaia_memori.Mem0MemoryService" in told
    assert told.splitlines()[-1].startswith("Error: Unsupported memory service URI")
