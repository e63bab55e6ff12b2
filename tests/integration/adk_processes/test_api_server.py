"""`adk api_server` with `services.yaml` and `--extra_plugins`, asked over HTTP as a front end would."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from support.adk_process import APP, Agents, Server, bare_agent, serving, wait_for
from support.mind_of_agents import LOOK_UP, Mind

IDLE = "sessions: {idle_consolidate_minutes: 0.01}\n"
OTHER = "librarian"


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Agents:
    """Give a folder of two agents: one knows nothing of memory, the other lists ADK's own tool."""
    folder = tmp_path_factory.mktemp("api") / "agents"
    return Agents(folder, IDLE, assistant=bare_agent(), librarian=bare_agent("load_memory"))


@pytest.fixture(scope="module")
def server(agents: Agents, mind: Mind) -> Iterator[Server]:
    """Run the server for the whole module, with its sessions in SQLAlchemy's SQLite."""
    sessions = f"sqlite+aiosqlite:///{agents.folder.with_name('sessions.db')}"
    with serving("api_server", agents, sessions=sessions, environ=mind.gemini.environment) as running:
        yield running


def learned(agents: Agents, fact: str, *, user: str, app: str = APP) -> None:
    wait_for(lambda: fact in agents.texts(user, app=app), told=lambda: str(agents.facts()))


def cleared(server: Server, *, user: str, times: int = 1) -> None:
    def rewinds() -> list[str]:
        events = server.session(user=user)["events"]
        return [event["id"] for event in events if "rewindBeforeInvocationId" in event["actions"]]

    wait_for(lambda: len(rewinds()) >= times, told=lambda: str(server.session(user=user)))


@pytest.mark.acceptance("G12")
def test_people_who_talk_at_once_are_learned_under_their_own_user_and_app(server: Server, agents: Agents) -> None:
    """The fact of a turn over REST belongs to the user and the app of its request."""
    people = [(APP, "uri"), (APP, "tal"), (OTHER, "uri"), (APP, "a:b"), (OTHER, "a%3Ab")]

    def talk(person: tuple[str, str]) -> list[str]:
        app, user = person
        server.begin(user=user, app=app)
        said = f"I am {user} of {app}"
        return [server.say(said, user=user, app=app), server.stream(f"{said}, yes", user=user, app=app)]

    with ThreadPoolExecutor(len(people)) as together:
        answers = list(together.map(talk, people))

    assert answers == [[f"re I am {user} of {app}", f"re I am {user} of {app}, yes"] for app, user in people]
    for app, user in people:
        learned(agents, f"I am {user} of {app}, yes", user=user, app=app)
    known = {person: texts for person, texts in agents.facts().items() if person in people}
    assert known == {(app, user): [f"I am {user} of {app}", f"I am {user} of {app}, yes"] for app, user in people}


def test_both_plugins_are_active_in_every_app(server: Server) -> None:
    """ADK only logs a plugin that it cannot load, and starts without it."""
    server.begin(user="eve")
    server.begin(user="eve", app=OTHER)

    assert server.say("/help", user="eve") == server.say("/help", user="eve", app=OTHER)
    assert "Failed to load plugin" not in server.log
    assert server.log.count("Plugin 'gaia_memory.MemoryPlugin' registered.") == 2
    assert server.log.count("Plugin 'gaia_memory.SessionWindowPlugin' registered.") == 2


def test_the_chat_goes_on_in_its_session_after_it_was_learned_and_cleared(server: Server, mind: Mind) -> None:
    """No 404: the same session answers, knows the person by the profile, and replays nothing of before."""
    server.begin(user="noa")
    server.say("My boat is called Argo", user="noa")
    cleared(server, user="noa")

    assert server.stream("And now?", user="noa") == "re And now?"
    [request] = mind.asked("And now?")
    assert "- My boat is called Argo" in request.system.partition("<USER_PROFILE>")[2]
    assert request.contents == "And now?"
    cleared(server, user="noa", times=2)
    assert server.say("Still there?", user="noa") == "re Still there?"
    assert mind.asked("Still there?")[0].contents == "Still there?"


def test_a_session_that_goes_on_replays_what_was_said(server: Server, mind: Mind) -> None:
    """The other side of the test before: only clearing takes talk out of a request."""
    with mind.held("extractor", "walnut"):
        server.begin(user="gil")
        server.say("I planted a walnut", user="gil")
        server.say("How tall will it be?", user="gil")

        [request] = mind.asked("How tall will it be?")
        assert request.contents == "I planted a walnut\nre I planted a walnut\nHow tall will it be?"


def test_commands_reach_neither_a_model_nor_a_later_request_nor_learning(
    server: Server, agents: Agents, mind: Mind
) -> None:
    """They are answered by memory alone, over /run and /run_sse."""
    server.begin(user="dan")
    before = len(mind.gemini.of("agent"))

    assert server.say("/remember I own a purple kayak", user="dan") == "I will remember: I own a purple kayak"
    assert server.stream("/memory", user="dan") == "I remember 1 fact about you:\n1. I own a purple kayak"
    assert "/remember" in server.say("/help", user="dan")
    assert "1 fact" in server.say("/forget", user="dan")
    assert agents.texts("dan") == ["I own a purple kayak"]
    assert "1 fact" in server.stream("/forget yes", user="dan")
    assert agents.texts("dan") == []
    assert "don't remember anything" in server.say("/memory", user="dan")
    server.say("/remember My canoe is green", user="dan")
    assert len(mind.gemini.of("agent")) == before

    server.say("What floats?", user="dan")
    [request] = mind.asked("What floats?")
    assert request.contents == "What floats?"
    assert "My canoe is green" in request.system
    learned(agents, "What floats?", user="dan")
    assert agents.texts("dan") == ["My canoe is green", "What floats?"]
    assert not [each for each in mind.gemini.of("extractor") if "kayak" in each.contents or "/forget" in each.contents]
    assert "purple kayak" not in str([each.body for each in mind.gemini.of("agent")])


@pytest.mark.acceptance("I21")
def test_private_talk_is_answered_and_in_no_question(server: Server, agents: Agents, mind: Mind) -> None:
    """One message of it, and what is said until it ends, over /run and /run_sse."""
    server.begin(user="pia")

    assert server.say("/private I am Zorro", user="pia") == "re I am Zorro"
    assert "nothing that is said" in server.stream("/private on", user="pia")
    assert server.stream("The cave is mine", user="pia") == "re The cave is mine"
    assert "no longer private" in server.say("/private off", user="pia")

    server.say("I like owls", user="pia")
    learned(agents, "I like owls", user="pia")
    asked = [each.contents for each in mind.gemini.of("extractor") if "owls" in each.contents]
    assert len(asked) == 1
    assert not [each for each in mind.gemini.of("extractor") if "Zorro" in each.contents or "cave" in each.contents]
    assert agents.texts("pia") == ["I like owls"]


def test_the_answers_of_commands_do_not_clutter_the_log(server: Server) -> None:
    """ADK warns at each later turn of an event whose author is no agent of the app."""
    server.begin(user="ron")
    server.say("/remember I run", user="ron")
    server.say("Hello", user="ron")

    answer = server.session(user="ron")["events"][1]
    assert (answer["author"], answer["content"]["parts"]) == ("helper", [{"text": "I will remember: I run"}])
    assert "Event from an unknown agent" not in server.log


def test_the_beat_of_the_sweep_is_not_in_the_log(server: Server, agents: Agents) -> None:
    """ADK's servers log INFO: a line each minute would bury everything else."""
    server.begin(user="ori")
    server.say("I swim", user="ori")
    learned(agents, "I swim", user="ori")

    assert "Running job" not in server.log
    assert "Scheduler" not in server.log


def test_an_unknown_command_is_talk(server: Server, mind: Mind) -> None:
    """It may be the host's own."""
    server.begin(user="avi")

    assert server.say("/weather Berlin", user="avi") == "re /weather Berlin"


def test_reset_learns_and_clears_while_the_session_lives_on(server: Server, agents: Agents, mind: Mind) -> None:
    """What was said is known at once and no longer replayed."""
    server.begin(user="rut")
    server.say("My cat is called Mitzi", user="rut")
    answer = server.say("/reset", user="rut")

    assert "My cat is called Mitzi" in agents.texts("rut"), answer
    server.say("Who is it?", user="rut")
    [request] = mind.asked("Who is it?")
    assert request.contents == "Who is it?"
    assert "My cat is called Mitzi" in request.system


def test_load_memory_of_adk_finds_the_facts_of_its_user_only(server: Server, mind: Mind) -> None:
    """An agent that lists ADK's tool keeps it; it goes through our service."""
    for user in ("zoe", "max"):
        server.begin(user=user, app=OTHER)
        server.say(f"/remember {user} has a red bicycle", user=user, app=OTHER)

    answer = server.say(f"{LOOK_UP}red bicycle", user="zoe", app=OTHER)

    assert answer.startswith("found ")
    assert "zoe has a red bicycle" in answer
    assert "max" not in answer
    request, _ = mind.asked(f"{LOOK_UP}red bicycle")
    assert sorted(request.tools) == ["load_memory", "remember"]


def test_a_session_handed_over_is_learned_now_and_once(server: Server, agents: Agents, mind: Mind) -> None:
    """PATCH …/memory, which never clears."""
    server.begin(user="ido")
    server.say("I collect blue stamps", user="ido")

    assert server.add_to_memory(user="ido").status_code == 200
    assert agents.texts("ido") == ["I collect blue stamps"]
    assert server.add_to_memory(user="ido").status_code == 200
    asked = [each for each in mind.gemini.of("extractor") if "blue stamps" in each.contents]
    assert len(asked) == 1
    assert server.add_to_memory("nowhere", user="ido").status_code == 404


def test_a_turn_that_comes_while_its_conversation_is_learned_is_answered_and_learned_later(
    server: Server, agents: Agents, mind: Mind
) -> None:
    """Nobody waits for the extractor, and what is said meanwhile is neither cleared nor lost."""
    server.begin(user="lea")
    with mind.held("extractor", "cello") as learning:
        server.say("I play the cello", user="lea")
        assert learning.wait(60)
        assert server.say("And the harp", user="lea") == "re And the harp"
        assert mind.asked("And the harp")[0].contents.startswith("I play the cello")

    learned(agents, "And the harp", user="lea")
    assert agents.texts("lea") == ["I play the cello", "And the harp"]
    cleared(server, user="lea")
    # What was answered just before is shown again, as context.
    talks = [each.contents.partition("## New Messages")[2] for each in mind.gemini.of("extractor")]
    assert len([talk for talk in talks if "cello" in talk]) == 1
    server.say("What do I play?", user="lea")
    assert mind.asked("What do I play?")[0].contents == "What do I play?"


def test_a_client_that_hangs_up_leaves_a_session_that_goes_on(server: Server, agents: Agents, mind: Mind) -> None:
    """ADK cancels the turn, and no hook tells of its end."""
    server.begin(user="yael")
    with mind.held("agent", "patience"):
        with pytest.raises(httpx.ReadTimeout):
            server.post("Have patience", user="yael", seconds=1.0)
        # ADK seals the turn it aborted with an event of its own.
        wait_for(lambda: len(server.session(user="yael")["events"]) > 1, told=lambda: str(server.session(user="yael")))
        assert server.say("Here again", user="yael") == "re Here again"
    learned(agents, "Here again", user="yael")
