"""Every extractor fulfils the port: the person's sentences, a host's own model, and Gemini."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gaia_memory import model_calls
from gaia_memory.backend.builder import Backend
from gaia_memory.backend.extraction_question import (
    MAX_MEM0_CONTEXT_CHARACTERS,
    format_observation_date,
    to_prompt_messages,
)
from gaia_memory.backend.language_model import Mem0LanguageModel
from gaia_memory.errors import BadAnswerError, ModelUnavailableError
from gaia_memory.models import Chunk, EventPosition, Turn, load_time_zone
from support.servers.call_limits import change_limits, remove_retry_pauses
from support.servers.fake_gemini import (
    Blocked,
    Drop,
    Failure,
    FakeGemini,
    Hang,
    facts,
    in_parts,
    truncated,
    with_thoughts,
)
from support.storage.scripted_backend import (
    ProviderScript,
    backend_config,
    get_script,
    keep_all,
    make_chunk,
    make_message,
    register_scripted_providers,
    scripted_backend,
)

STATEMENT = "I am allergic to nuts."
NOTHING = "Hello! How are you today?"


@dataclass
class Case:
    """A backend with functions that script its model's answers and return its requests."""

    backend: Backend
    script: Callable[..., None] = lambda *answers: None
    asked: Callable[[], list[str]] = field(default=list)
    learned: str = "User is allergic to nuts."
    """What it makes of `STATEMENT`."""

    async def extract(self, what: Chunk, instructions: str = "durable facts") -> list[str]:
        return [
            fact.text for fact in await self.backend.extractor.extract(what, instructions=instructions, check=keep_all)
        ]


def _of_script(script: ProviderScript, backend: Backend) -> Case:
    asked = lambda: ["\n".join(each["content"] for each in prompt) for prompt in script.prompts]  # noqa: E731
    return Case(backend, lambda *answers: script.answers.extend(answers), asked)


def _of_gemini(server: FakeGemini, backend: Backend) -> Case:
    asked = lambda: [f"{each.system}\n{each.contents}" for each in server.requests_of("extractor")]  # noqa: E731
    return Case(backend, lambda *answers: server.add("extractor", *answers), asked)


@asynccontextmanager
async def _closed(case: Case) -> AsyncIterator[Case]:
    yield case
    await case.backend.close()


@pytest.fixture(params=["offline", "scripted", "gemini"])
async def case(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Case]:
    """Return each extractor; a scripted model answers with the statement."""
    if request.param == "offline":
        made = Case(Backend(backend_config(tmp_path)), learned=STATEMENT)
    elif request.param == "scripted":
        made = _of_script(register_scripted_providers(monkeypatch, "case"), scripted_backend(tmp_path, "case"))
    else:
        server = request.getfixturevalue("gemini")
        made = _of_gemini(server, Backend(backend_config(tmp_path)))
    async with _closed(made):
        yield made


@pytest.fixture
async def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Case]:
    """Return the extractor over a model that is registered in mem0's factories."""
    async with _closed(
        _of_script(register_scripted_providers(monkeypatch, "host"), scripted_backend(tmp_path, "host"))
    ) as made:
        yield made


@pytest.fixture
async def google(gemini: FakeGemini, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Case]:
    """Return the extractor over Gemini, without pauses between retries."""
    remove_retry_pauses(monkeypatch)
    async with _closed(_of_gemini(gemini, Backend(backend_config(tmp_path)))) as made:
        yield made


async def test_a_statement_becomes_a_fact_and_small_talk_becomes_an_empty_list(case: Case) -> None:
    """A fact has text; "nothing to learn" is an empty list and not an error."""
    case.script(facts("User is allergic to nuts."), facts())
    found = await case.extract(make_chunk(STATEMENT))
    nothing = await case.extract(make_chunk(NOTHING))

    assert found == [case.learned]
    assert nothing == []


async def test_a_fact_stated_twice_is_returned_once(case: Case) -> None:
    """Case and white space make no difference."""
    case.script(facts("User is allergic to nuts.", "user is  allergic to nuts."))

    assert await case.extract(make_chunk(STATEMENT, STATEMENT)) == [case.learned]


@pytest.mark.acceptance("I10")
async def test_only_a_well_formed_empty_list_means_nothing_to_learn(host: Case) -> None:
    """`{"memory": []}` is a valid answer and is not asked for again."""
    host.script('{"memory": []}')

    assert await host.extract(make_chunk(STATEMENT)) == []
    assert len(host.asked()) == 1


BAD = {
    "prose": "this is not json",
    "blank": "",
    "nothing": None,
    "cut": '{"memory": [{"id": "0", "text": "User li',
    "a list": '["User likes tea"]',
    "a list of texts": '{"memory": ["User likes tea"]}',
    "another key": '{"facts": [{"text": "User likes tea"}]}',
    "no text": '{"memory": [{"content": "User likes tea"}]}',
    "a number": '{"memory": [{"text": 7}]}',
    "a number that Python does not read": f'{{"memory": {"9" * 6000}}}',
    "a nested text": '{"memory": [{"text": {"en": "tea"}}]}',
    "one bad among good": '{"memory": [{"text": "User likes tea"}, {"text": null}]}',
    "two answers": '{"memory": []} {"memory": []}',
    "thoughts without an end": f"<think>I could say {facts('User likes tea')}",
    "sentences around it": f"Here it is: {facts('User likes tea')} Enjoy!",
    "two code blocks": f"```json\n{facts()}\n```\nor\n```json\n{facts('User likes tea')}\n```",
}


@pytest.mark.acceptance("I09")
@pytest.mark.parametrize("answer", BAD.values(), ids=BAD)
async def test_a_malformed_answer_is_retried_and_then_an_error(host: Case, answer: Any) -> None:
    """Three bad answers in a row are an error, never "nothing to learn"."""
    host.script(answer, answer, answer)
    with pytest.raises(BadAnswerError):
        await host.extract(make_chunk(STATEMENT))

    assert len(host.asked()) == 3


async def test_a_bad_answer_followed_by_a_good_one_succeeds(host: Case) -> None:
    """The second request says what was wrong without quoting the answer."""
    host.script("sorry, secret words", facts("User likes tea"))

    assert await host.extract(make_chunk(STATEMENT)) == ["User likes tea"]
    assert "could not be used" in host.asked()[1]
    assert "secret words" not in host.asked()[1]
    assert "could not be used" not in host.asked()[0]


GOOD = {
    "a code block": f"```json\n{facts('User likes tea')}\n```",
    "thoughts first": f"<think>hm {'{'}</think>\n{facts('User likes tea')}",
    "thoughts whose first tag is in the prompt": f"Hm, tea.\n{{}}?\n</think>\n\n{facts('User likes tea')}",
    "sentences around a code block": f"Here it is:\n\n```json\n{facts('User likes tea')}\n```\n\nI hope this helps!",
    "more keys": '{"memory": [{"id": 3, "text": "User likes tea", "attributed_to": {"x": 1}}], "note": 1}',
    "a line break in a text": '{"memory": [{"text": "User likes\n tea"}]}',
}


@pytest.mark.parametrize("answer", GOOD.values(), ids=GOOD)
async def test_harmless_wrappings_of_an_answer_are_accepted(host: Case, answer: str) -> None:
    """Examples are a code block, thoughts before the answer and additional keys."""
    host.script(answer)

    assert [" ".join(text.split()) for text in await host.extract(make_chunk(STATEMENT))] == ["User likes tea"]


class StatusError(Exception):
    """An SDK's error for an HTTP status, with the status in its own attribute."""

    def __init__(self, message: str = "overloaded", **attributes: Any) -> None:
        super().__init__(message)
        vars(self).update(attributes)


UNREACHABLE = {
    "429 as google says it": StatusError(code=429),
    "503 as openai says it": StatusError(status_code=503),
    "a wrong key": StatusError("API key not valid", code=400),
    "no permission": StatusError(status_code=403),
    "a time-out": TimeoutError("read timed out"),
    "no connection": ConnectionRefusedError(111, "Connection refused"),
    "a package that is missing": ImportError("pip install ollama"),
    "an exit": SystemExit(1),
}


@pytest.mark.acceptance("I08")
@pytest.mark.parametrize("error", UNREACHABLE.values(), ids=UNREACHABLE)
async def test_a_model_that_cannot_be_reached_is_unavailable_and_asked_once(host: Case, error: BaseException) -> None:
    """This is not a bad answer, so the conversation is never parked for it."""
    host.script(error, facts("User likes tea"))
    with pytest.raises(ModelUnavailableError):
        await host.extract(make_chunk(STATEMENT))
    answered = await host.extract(make_chunk(STATEMENT))

    assert answered == ["User likes tea"]


async def test_a_request_refused_for_its_content_is_a_bad_answer(host: Case) -> None:
    """Repeating it cannot help: status 400 that does not mention a key."""
    host.script(*[StatusError("prompt is too long", code=400)] * 3)
    with pytest.raises(BadAnswerError, match="too long"):
        await host.extract(make_chunk(STATEMENT))


@pytest.mark.parametrize(
    "answer",
    [truncated(facts("User likes tea")), Blocked(), "", with_thoughts("", thought="Let me think."), truncated("")],
    ids=["cut", "blocked", "blank", "only thoughts", "tokens spent on thoughts"],
)
async def test_blocked_truncated_or_blank_gemini_answers_are_errors(
    google: Case, gemini: FakeGemini, answer: Any
) -> None:
    """None means "nothing to learn", not even a truncated answer that happens to parse."""
    gemini.set_default("extractor", answer)
    with pytest.raises(BadAnswerError):
        await google.extract(make_chunk(STATEMENT))


async def test_a_truncated_gemini_answer_names_the_token_limit_setting(google: Case, gemini: FakeGemini) -> None:
    """The reader of the status can then change it."""
    gemini.set_default("extractor", truncated('{"memory": ['))
    with pytest.raises(BadAnswerError, match=r"memory\.llm\.max_tokens"):
        await google.extract(make_chunk(STATEMENT))


async def test_gemini_answers_in_parts_or_after_thoughts_are_read_completely(google: Case) -> None:
    """All text parts are joined; thoughts are left out."""
    google.script(in_parts(facts("User likes tea"), 3), with_thoughts(facts("User likes nuts")))

    assert await google.extract(make_chunk(STATEMENT)) == ["User likes tea"]
    assert await google.extract(make_chunk(STATEMENT)) == ["User likes nuts"]


@pytest.mark.parametrize("failure", [Failure(429), Failure(503)], ids=["429", "503"])
async def test_gemini_is_retried_before_it_counts_as_unavailable(
    google: Case, gemini: FakeGemini, failure: Any
) -> None:
    """The caller does not see one failure; repeated failures raise `ModelUnavailableError`."""
    google.script(failure, facts("User likes tea"))
    first = await google.extract(make_chunk(STATEMENT))
    gemini.set_default("extractor", failure)
    with pytest.raises(ModelUnavailableError) as raised:
        await google.extract(make_chunk(STATEMENT))

    assert first == ["User likes tea"]
    assert len(gemini.requests_of("extractor")) == 2 + model_calls.LEARNING.max_attempts
    assert "no-real-key" not in str(raised.value)


async def test_a_hanging_gemini_request_is_not_retried(
    google: Case, gemini: FakeGemini, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One time-out is enough: the conversation is learned later."""
    change_limits(monkeypatch, "LEARNING", timeout_seconds=2.0)
    gemini.set_default("extractor", Hang())
    with pytest.raises(ModelUnavailableError, match="in time"):
        await google.extract(make_chunk(STATEMENT))

    assert len(gemini.requests_of("extractor")) == 1


async def test_a_hanging_model_without_its_own_timeout_is_stopped_by_our_deadline(host: Case) -> None:
    """The deadline holds for every provider."""
    backend = host.backend
    await backend.pools.model.run(backend.llm.instance)
    get_script("host").llm_gate.clear()
    host.script(facts())
    hasty = Mem0LanguageModel(backend.llm, backend.pools.model, deadline=0.05)
    with pytest.raises(ModelUnavailableError, match=r"within 0\.05 s"):
        await hasty.complete("hi", system="hi")
    get_script("host").llm_gate.set()


async def test_a_dropped_gemini_connection_is_retried_and_then_unavailable(google: Case) -> None:
    """It does not count as a bad answer."""
    google.script(Drop(), Drop("body"), facts("User likes tea"))
    assert await google.extract(make_chunk(STATEMENT)) == ["User likes tea"]

    google.script(*[Drop()] * model_calls.LEARNING.max_attempts)
    with pytest.raises(ModelUnavailableError, match="broke off"):
        await google.extract(make_chunk(STATEMENT))


@pytest.mark.parametrize("case", ["scripted", "gemini"], indirect=True)
async def test_the_prompt_has_the_instructions_the_date_and_what_was_said_before(case: Case) -> None:
    """The date is that of the messages."""
    case.script(facts())
    long_ago = datetime(2020, 1, 2, 12, tzinfo=UTC)
    await case.extract(make_chunk("Tomorrow I fly to Rome", said_at=long_ago, before=["the talk before"]), "ONLY-CATS")
    (asked,) = case.asked()

    assert "## Observation Date\n2020-01-02" in asked
    assert "ONLY-CATS" in asked
    assert '## Earlier Messages\n[{"role": "user", "content": "the talk before"}]' in asked
    assert "Memory Extractor" in asked


@pytest.mark.acceptance("L08")
async def test_messages_reach_the_model_in_order_with_their_roles(host: Case) -> None:
    """Texts are unchanged; the role is `user` for the user and `assistant` for the agent."""
    host.script(facts())
    messages = (
        make_message("user", "I'm “vegan”\nreally"),
        make_message("assistant", "Noted.", speaker="root_agent"),
        make_message("user", "א"),
    )
    turn = Turn(seq=1, messages=messages, end=EventPosition(1.0, "e"))
    await host.extract(Chunk(key=make_chunk("x").key, turns=(turn,)))
    section = host.asked()[0].split("## New Messages\n")[-1].split("\n\n## Observation Date")[0]

    assert json.loads(section) == [
        {"role": "user", "content": "I'm “vegan”\nreally"},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "א"},
    ]


def test_a_speaker_with_a_name_is_named_in_the_prompt() -> None:
    """Imported conversations of two people keep both speakers apart."""
    assert to_prompt_messages([make_message("user", "hi", speaker="Noa")]) == [
        {"role": "user", "content": "hi", "name": "Noa"}
    ]


@pytest.mark.acceptance("I15")
@pytest.mark.parametrize(
    ("said_at", "zone", "words"),
    [
        ("2026-11-20T23:30+00:00", "Asia/Tokyo", "2026-11-21 (Saturday), time zone Asia/Tokyo (UTC+09:00)"),
        ("2026-11-20T23:30+00:00", "America/Lima", "2026-11-20 (Friday), time zone America/Lima (UTC-05:00)"),
        ("2026-03-29T01:30+00:00", "Europe/Berlin", "2026-03-29 (Sunday), time zone Europe/Berlin (UTC+02:00)"),
        ("2026-11-20T23:30-05:00", "Asia/Tokyo", "2026-11-20 (Friday), time zone UTC-05:00"),
    ],
)
def test_the_observation_date_uses_the_configured_time_zone(said_at: str, zone: str, words: str) -> None:
    """Hosts keep time in UTC; a time with its own zone keeps that zone."""
    what = make_chunk("Tomorrow I fly to Rome", said_at=datetime.fromisoformat(said_at))

    assert format_observation_date(replace(what, zone=load_time_zone(zone)).said_at) == words


def test_without_a_time_zone_the_observation_date_is_that_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user and their own computer share a wall clock."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        said_at = make_chunk("hi", said_at=datetime(2026, 11, 20, 23, 30, tzinfo=UTC)).said_at
    finally:
        monkeypatch.undo()
        time.tzset()

    assert format_observation_date(said_at) == "2026-11-21 (Saturday), time zone JST (UTC+09:00)"


@pytest.mark.parametrize("prompt", ["gaia", "mem0"])
async def test_a_long_answer_before_the_chunk_is_included_to_its_end(
    prompt: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mem0 cuts a message at 300 characters; the question the user replies to is at the end."""
    script = register_scripted_providers(monkeypatch, "long")
    backend = scripted_backend(tmp_path, "long", extraction_prompt=prompt)
    async with _closed(_of_script(script, backend)) as host:
        host.script(facts())
        before = "x" * 2 * MAX_MEM0_CONTEXT_CHARACTERS + " this or that?"
        await host.extract(make_chunk("the second", before=[before]))

    assert "this or that?" in host.asked()[0].replace("\nuser: ", "")


async def test_a_fact_stated_by_both_sides_is_returned_once_per_side(host: Case) -> None:
    """Dropping the assistant's statement must not drop the user's, in any order."""
    both = [{"text": "User likes tea", "attributed_to": side} for side in ("assistant", "user", "assistant")]
    host.script(json.dumps({"memory": both}))

    found = await host.backend.extractor.extract(make_chunk(STATEMENT), instructions="", check=keep_all)

    assert [fact.attributed_to for fact in found] == ["assistant", "user"]
