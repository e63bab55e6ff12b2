"""`adk api_server` with `services.yaml` and `--extra_plugins`, called over HTTP like from a front end."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from support.hosts.adk_process import APP, AgentsFolder, Server, adk_server, agent_source, wait_for
from support.servers.rule_based_gemini import LOOK_UP_PREFIX, RuleBasedGemini

IDLE = "sessions: {idle_consolidate_minutes: 0.01, clear: rewind}\n"
OTHER = "librarian"


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> AgentsFolder:
    """Return a folder of two agents: one without memory of its own, the other with ADK's own tool."""
    folder = tmp_path_factory.mktemp("api") / "agents"
    return AgentsFolder(folder, IDLE, assistant=agent_source(), librarian=agent_source("load_memory"))


@pytest.fixture(scope="module")
def server(agents: AgentsFolder, gemini_rules: RuleBasedGemini) -> Iterator[Server]:
    """Run the server for the whole module, with its sessions in SQLAlchemy's SQLite."""
    sessions = f"sqlite+aiosqlite:///{agents.folder.with_name('sessions.db')}"
    with adk_server("api_server", agents, sessions=sessions, environ=gemini_rules.gemini.environment) as running:
        yield running


def learned(agents: AgentsFolder, fact: str, *, user: str, app: str = APP) -> None:
    wait_for(lambda: fact in agents.fact_texts(user, app=app), describe=lambda: str(agents.facts()))


def cleared(server: Server, *, user: str, times: int = 1) -> None:
    def rewinds() -> list[str]:
        events = server.session(user=user)["events"]
        return [event["id"] for event in events if "rewindBeforeInvocationId" in event["actions"]]

    wait_for(lambda: len(rewinds()) >= times, describe=lambda: str(server.session(user=user)))


@pytest.mark.acceptance("G12")
def test_concurrent_users_are_learned_under_their_own_user_and_app(server: Server, agents: AgentsFolder) -> None:
    """The fact of a turn over REST belongs to the user and the app of its request."""
    people = [(APP, "uri"), (APP, "tal"), (OTHER, "uri"), (APP, "a:b"), (OTHER, "a%3Ab")]

    def talk(person: tuple[str, str]) -> list[str]:
        app, user = person
        server.create_session(user=user, app=app)
        said = f"I am {user} of {app}"
        return [server.send(said, user=user, app=app), server.stream(f"{said}, yes", user=user, app=app)]

    with ThreadPoolExecutor(len(people)) as together:
        answers = list(together.map(talk, people))

    assert answers == [[f"re I am {user} of {app}", f"re I am {user} of {app}, yes"] for app, user in people]
    for app, user in people:
        learned(agents, f"I am {user} of {app}, yes", user=user, app=app)
    known = {person: texts for person, texts in agents.facts().items() if person in people}
    assert known == {(app, user): [f"I am {user} of {app}", f"I am {user} of {app}, yes"] for app, user in people}


def test_both_plugins_are_active_in_every_app(server: Server) -> None:
    """ADK only logs a plugin that it cannot load, and starts without it."""
    server.create_session(user="eve")
    server.create_session(user="eve", app=OTHER)

    assert server.send("/help", user="eve") == server.send("/help", user="eve", app=OTHER)
    assert "Failed to load plugin" not in server.log
    assert server.log.count("Plugin 'gaia_memory.MemoryPlugin' registered.") == 2
    assert server.log.count("Plugin 'gaia_memory.SessionWindowPlugin' registered.") == 2


def test_a_chat_continues_in_its_session_after_being_learned_and_cleared(
    server: Server, gemini_rules: RuleBasedGemini
) -> None:
    """No 404: the same session answers, knows the user by the profile, and replays no earlier message."""
    server.create_session(user="noa")
    server.send("My boat is called Argo", user="noa")
    cleared(server, user="noa")

    assert server.stream("And a red one", user="noa") == "re And a red one"
    [request] = gemini_rules.requests_ending_in("And a red one")
    assert "- My boat is called Argo" in request.system.partition("<USER_PROFILE>")[2]
    assert request.contents == "And a red one"
    cleared(server, user="noa", times=2)
    assert server.send("Still there", user="noa") == "re Still there"
    assert gemini_rules.requests_ending_in("Still there")[0].contents == "Still there"


def test_a_continued_session_replays_earlier_messages(server: Server, gemini_rules: RuleBasedGemini) -> None:
    """The counterpart of the previous test: only clearing removes messages from a request."""
    with gemini_rules.paused("extractor", "walnut"):
        server.create_session(user="gil")
        server.send("I planted a walnut", user="gil")
        server.send("How tall will it be?", user="gil")

        [request] = gemini_rules.requests_ending_in("How tall will it be?")
        assert request.contents == "I planted a walnut\nre I planted a walnut\nHow tall will it be?"


def test_commands_reach_no_model_no_later_request_and_no_extractor(
    server: Server, agents: AgentsFolder, gemini_rules: RuleBasedGemini
) -> None:
    """They are answered by memory alone, over /run and /run_sse."""
    server.create_session(user="dan")
    before = len(gemini_rules.gemini.requests_of("agent"))

    assert server.send("/remember I own a purple kayak", user="dan") == "I will remember: I own a purple kayak"
    assert server.stream("/memory", user="dan") == "I remember 1 fact about you:\n1. I own a purple kayak"
    assert "/remember" in server.send("/help", user="dan")
    assert "1 fact" in server.send("/forget", user="dan")
    assert agents.fact_texts("dan") == ["I own a purple kayak"]
    assert "1 fact" in server.stream("/forget yes", user="dan")
    assert agents.fact_texts("dan") == []
    assert "Nothing is stored" in server.send("/memory", user="dan")
    server.send("/remember My canoe is green", user="dan")
    assert len(gemini_rules.gemini.requests_of("agent")) == before

    server.send("It floats", user="dan")
    [request] = gemini_rules.requests_ending_in("It floats")
    assert request.contents == "It floats"
    assert "My canoe is green" in request.system
    learned(agents, "It floats", user="dan")
    assert agents.fact_texts("dan") == ["My canoe is green", "It floats"]
    assert not [
        each
        for each in gemini_rules.gemini.requests_of("extractor")
        if "kayak" in each.contents or "/forget" in each.contents
    ]
    assert "purple kayak" not in str([each.body for each in gemini_rules.gemini.requests_of("agent")])


@pytest.mark.acceptance("I21")
def test_private_messages_are_answered_and_never_extracted(
    server: Server, agents: AgentsFolder, gemini_rules: RuleBasedGemini
) -> None:
    """A single private message and a private section, over /run and /run_sse."""
    server.create_session(user="pia")

    assert server.send("/private I am Zorro", user="pia") == "re I am Zorro"
    assert "I learn nothing from it" in server.stream("/private on", user="pia")
    assert server.stream("The cave is mine", user="pia") == "re The cave is mine"
    assert "no longer private" in server.send("/private off", user="pia")

    server.send("I like owls", user="pia")
    learned(agents, "I like owls", user="pia")
    asked = [each.contents for each in gemini_rules.gemini.requests_of("extractor") if "owls" in each.contents]
    assert len(asked) == 1
    assert not [
        each
        for each in gemini_rules.gemini.requests_of("extractor")
        if "Zorro" in each.contents or "cave" in each.contents
    ]
    assert agents.fact_texts("pia") == ["I like owls"]


def test_replies_to_commands_do_not_clutter_the_log(server: Server) -> None:
    """ADK logs a warning at each later turn for an event whose author is no agent of the app."""
    server.create_session(user="ron")
    server.send("/remember I run", user="ron")
    server.send("Hello", user="ron")

    answer = server.session(user="ron")["events"][1]
    assert (answer["author"], answer["content"]["parts"]) == ("helper", [{"text": "I will remember: I run"}])
    assert "Event from an unknown agent" not in server.log


def test_periodic_sweeps_are_not_in_the_log(server: Server, agents: AgentsFolder) -> None:
    """ADK's servers log at INFO: a line per minute would bury everything else."""
    server.create_session(user="ori")
    server.send("I swim", user="ori")
    learned(agents, "I swim", user="ori")

    assert "Running job" not in server.log
    assert "Scheduler" not in server.log


def test_an_unknown_command_is_sent_to_the_model(server: Server, gemini_rules: RuleBasedGemini) -> None:
    """It may be the host's own."""
    server.create_session(user="avi")

    assert server.send("/weather Berlin", user="avi") == "re /weather Berlin"


def test_reset_learns_and_clears_while_the_session_lives_on(
    server: Server, agents: AgentsFolder, gemini_rules: RuleBasedGemini
) -> None:
    """The facts are known at once, and the messages are no longer replayed."""
    server.create_session(user="rut")
    server.send("My cat is called Mitzi", user="rut")
    answer = server.send("/reset", user="rut")

    assert "My cat is called Mitzi" in agents.fact_texts("rut"), answer
    server.send("Who is it?", user="rut")
    [request] = gemini_rules.requests_ending_in("Who is it?")
    assert request.contents == "Who is it?"
    assert "My cat is called Mitzi" in request.system


def test_adks_load_memory_finds_only_the_facts_of_its_user(server: Server, gemini_rules: RuleBasedGemini) -> None:
    """An agent that lists ADK's tool keeps it; it goes through our service."""
    for user in ("zoe", "max"):
        server.create_session(user=user, app=OTHER)
        server.send(f"/remember {user} has a red bicycle", user=user, app=OTHER)

    answer = server.send(f"{LOOK_UP_PREFIX}red bicycle", user="zoe", app=OTHER)

    assert answer.startswith("found ")
    assert "zoe has a red bicycle" in answer
    assert "max" not in answer
    request, _ = gemini_rules.requests_ending_in(f"{LOOK_UP_PREFIX}red bicycle")
    assert sorted(request.tools) == [
        "forget_memory",
        "load_memory",
        "recall",
        "remember",
        "switch_context",
        "update_memory",
    ]


def test_a_session_added_to_memory_is_learned_immediately_and_once(
    server: Server, agents: AgentsFolder, gemini_rules: RuleBasedGemini
) -> None:
    """PATCH …/memory, which never clears."""
    server.create_session(user="ido")
    server.send("I collect blue stamps", user="ido")

    assert server.add_to_memory(user="ido").status_code == 200
    assert agents.fact_texts("ido") == ["I collect blue stamps"]
    assert server.add_to_memory(user="ido").status_code == 200
    asked = [each for each in gemini_rules.gemini.requests_of("extractor") if "blue stamps" in each.contents]
    assert len(asked) == 1
    assert server.add_to_memory("nowhere", user="ido").status_code == 404


def test_a_turn_during_learning_is_answered_and_learned_later(
    server: Server, agents: AgentsFolder, gemini_rules: RuleBasedGemini
) -> None:
    """It does not wait for the extractor, and its messages are neither cleared nor lost."""
    server.create_session(user="lea")
    with gemini_rules.paused("extractor", "cello") as learning:
        server.send("I play the cello", user="lea")
        assert learning.wait(60)
        assert server.send("And the harp", user="lea") == "re And the harp"
        assert gemini_rules.requests_ending_in("And the harp")[0].contents.startswith("I play the cello")

    learned(agents, "And the harp", user="lea")
    assert agents.fact_texts("lea") == ["I play the cello", "And the harp"]
    cleared(server, user="lea")
    # What was answered just before is shown again, as context.
    talks = [each.contents.partition("## New Messages")[2] for each in gemini_rules.gemini.requests_of("extractor")]
    assert len([talk for talk in talks if "cello" in talk]) == 1
    server.send("What do I play?", user="lea")
    assert gemini_rules.requests_ending_in("What do I play?")[0].contents == "What do I play?"


def test_a_session_continues_after_its_client_disconnects(
    server: Server, agents: AgentsFolder, gemini_rules: RuleBasedGemini
) -> None:
    """ADK cancels the turn and calls no hook at its end."""
    server.create_session(user="yael")
    with gemini_rules.paused("agent", "patience"):
        with pytest.raises(httpx.ReadTimeout):
            server.post("Have patience", user="yael", seconds=5.0)
        # ADK seals the turn it aborted with an event of its own.
        wait_for(
            lambda: len(server.session(user="yael")["events"]) > 1, describe=lambda: str(server.session(user="yael"))
        )
        assert server.send("Here again", user="yael") == "re Here again"
    learned(agents, "Here again", user="yael")
