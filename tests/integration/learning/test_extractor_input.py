"""The extractor's complete input for a conversation: days and time zones, language, instructions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from google.adk.platform.time import reset_time_provider, set_time_provider
from mem0.configs.prompts import ADDITIVE_EXTRACTION_PROMPT

from gaia_memory.backend.extraction_question import MAX_FACT_CHARACTERS, SYSTEM_PROMPT
from gaia_memory.learning.prompts import (
    ATTRIBUTION_INSTRUCTIONS,
    CATEGORY_INSTRUCTIONS,
    DEFAULT_INSTRUCTIONS,
    USER_ONLY_INSTRUCTIONS,
    WORDING_INSTRUCTIONS,
)
from gaia_memory.testing import FakeClock
from support.harness import Sut
from support.hosts.extractor_input import (
    ExtractionHost,
    learn_and_read_messages,
    new_messages_in,
    open_host,
)

Open = Callable[..., AbstractAsyncContextManager[ExtractionHost]]
Make = Callable[..., Awaitable[Sut]]
TOKYO = {"memory": {"time_zone": "Asia/Tokyo"}}
HALF_PAST_ELEVEN = "2019-11-20T23:30"

CONVERSATION = """\
## New Messages
[{"role": "user", "content": "Tomorrow I fly to Rome"}, {"role": "assistant", "content": "Have a good flight"}, \
{"role": "user", "content": "Thanks"}, {"role": "assistant", "content": "ok"}]

## Observation Date
2019-11-21 (Thursday), time zone Asia/Tokyo (UTC+09:00)"""

OF_MEM0 = """\
## Summary


## Last k Messages


## Recently Extracted Memories
[]

## Existing Memories
[]

## New Messages
[{{"role": "user", "content": "Tomorrow I fly to Rome"}}, {{"role": "assistant", "content": "Have a good flight"}}, \
{{"role": "user", "content": "Thanks"}}, {{"role": "assistant", "content": "ok"}}]

## Observation Date
2019-11-21 (Thursday), time zone Asia/Tokyo (UTC+09:00)

## Current Date
2019-11-21

## Custom Instructions
{instructions}

## Language Requirement
CRITICAL: Respond in the SAME LANGUAGE and SCRIPT as the input messages.
1. Match the language of the user's messages exactly — if they write in Korean, extract in Korean; Japanese in Japanese; etc.
2. Preserve the exact script/alphabet of the input.
3. Do NOT translate or transliterate into English unless the input is already in English.
4. Maintain all quality standards (contextual richness, temporal grounding, etc.) regardless of language.
5. Technical terms, proper nouns, and brand names should be preserved in their original form as used in the input.
6. If the input mixes languages (e.g., Hinglish), preserve both the mixed language style AND the script.
7. For Japanese: explicitly resolve omitted subjects using conversation context.
8. For CJK languages: maintain appropriate formality level from the source text.

# Output:"""  # noqa: E501 - mem0's own lines


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    """Yield a clock for ADK's events that never repeats a time: ADK would sort equal times by their random ids."""
    clock = FakeClock(at(HALF_PAST_ELEVEN))
    set_time_provider(lambda: clock.advance(timedelta(milliseconds=1)).timestamp())
    yield clock
    reset_time_provider()


@pytest.fixture(params=["ours", "foreign"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, make: Make) -> Open:
    """Return a function that opens each kind of host."""
    return lambda **arguments: open_host(request.param, tmp_path / "host", make, **arguments)


def at(moment: str) -> datetime:
    """Return a moment as UTC."""
    return datetime.fromisoformat(moment).replace(tzinfo=UTC)


async def say_at(host: ExtractionHost, clock: FakeClock, *moments: str) -> None:
    """Send each moment as a message at that time."""
    for moment in moments:
        clock.advance(at(moment) - clock.now())
        await host.send(moment)


def told(host: ExtractionHost) -> list[tuple[str, list[str]]]:
    """Return the day and zone of each request, and the user's messages in it."""
    prompts = host.script.prompts["extractor"]
    days = [prompt.rpartition("## Observation Date\n")[2].partition("\n\n")[0] for prompt in prompts]
    said = [[text for role, text in new_messages_in(prompt) if role == "user"] for prompt in prompts]
    return list(zip(days, said, strict=True))


async def ask_about_rome(opened: Open, clock: FakeClock, **memory: Any) -> str:
    """Return the request about two messages of the 20th in UTC, the 21st in Tokyo, learned three days later."""
    settings = {"memory": {"time_zone": "Asia/Tokyo", **memory}}
    async with opened(main=["Have a good flight"], settings=settings) as host:
        await host.send("Tomorrow I fly to Rome")
        await host.send("Thanks")
        clock.advance(timedelta(days=3))
        await learn_and_read_messages(host)
        [prompt] = host.script.prompts["extractor"]
    return prompt


@pytest.mark.acceptance("I15", "L06", "L08")
async def test_the_complete_prompt(opened: Open, clock: FakeClock) -> None:
    """Our rules, then the messages in order and their day and zone; of the day of learning there is no word."""
    prompt = await ask_about_rome(opened, clock)

    ours = [
        DEFAULT_INSTRUCTIONS,
        WORDING_INSTRUCTIONS,
        USER_ONLY_INSTRUCTIONS,
        ATTRIBUTION_INSTRUCTIONS,
        CATEGORY_INSTRUCTIONS,
    ]
    system = SYSTEM_PROMPT.format(instructions="\n".join(ours), max_characters=MAX_FACT_CHARACTERS)
    assert prompt == f"{system}\n\n{CONVERSATION}"
    assert [prompt.count(heading) for heading in ("## New Messages", "## Observation Date")] == [1, 1]


@pytest.mark.acceptance("L07")
async def test_the_complete_prompt_with_custom_instructions(opened: Open, clock: FakeClock) -> None:
    """They replace ours on what to learn; how to word and attribute a fact stays."""
    prompt = await ask_about_rome(opened, clock, extraction_instructions="ONLY-CATS")

    own = f"ONLY-CATS\n{WORDING_INSTRUCTIONS}\n{ATTRIBUTION_INSTRUCTIONS}\n{CATEGORY_INSTRUCTIONS}"
    system = SYSTEM_PROMPT.format(instructions=own, max_characters=MAX_FACT_CHARACTERS)
    assert prompt == f"{system}\n\n{CONVERSATION}"


async def test_the_complete_prompt_of_mem0(opened: Open, clock: FakeClock) -> None:
    """`memory.extraction_prompt: mem0` asks with mem0's own text, and ours as its custom instructions."""
    prompt = await ask_about_rome(opened, clock, extraction_prompt="mem0", extraction_instructions="ONLY-CATS")

    own = f"ONLY-CATS\n{ATTRIBUTION_INSTRUCTIONS}\n{CATEGORY_INSTRUCTIONS}"
    assert prompt == f"{ADDITIVE_EXTRACTION_PROMPT}\n\n{OF_MEM0.format(instructions=own)}"


@pytest.mark.acceptance("I15")
async def test_each_local_day_of_the_user_has_its_own_request(opened: Open, clock: FakeClock) -> None:
    """23:30 and 00:30 in Berlin, around the day with 23 hours, given in UTC."""
    async with opened(settings={"memory": {"time_zone": "Europe/Berlin"}}) as host:
        await say_at(host, clock, "2026-03-28T22:30", "2026-03-28T23:30", "2026-03-29T21:30", "2026-03-29T22:30")
        await learn_and_read_messages(host)

        assert told(host) == [
            ("2026-03-28 (Saturday), time zone Europe/Berlin (UTC+01:00)", ["2026-03-28T22:30"]),
            ("2026-03-29 (Sunday), time zone Europe/Berlin (UTC+01:00)", ["2026-03-28T23:30", "2026-03-29T21:30"]),
            ("2026-03-30 (Monday), time zone Europe/Berlin (UTC+02:00)", ["2026-03-29T22:30"]),
        ]


@pytest.mark.acceptance("I15")
@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("America/Lima", "2019-11-20 (Wednesday), time zone America/Lima (UTC-05:00)"),
        ("UTC", "2019-11-20 (Wednesday), time zone UTC (UTC+00:00)"),
        ("Nowhere/Land", "2019-11-21 (Thursday), time zone Asia/Tokyo (UTC+09:00)"),
        (7, "2019-11-21 (Thursday), time zone Asia/Tokyo (UTC+09:00)"),
    ],
)
async def test_a_session_can_set_the_users_time_zone(opened: Open, clock: FakeClock, zone: object, day: str) -> None:
    """`user:time_zone` in its state overrides the configuration; an invalid name changes nothing."""
    async with opened(settings=TOKYO) as host:
        key = host.key
        await host.runner.session_service.create_session(
            app_name=key.app, user_id=key.user, session_id=key.session, state={"user:time_zone": zone}
        )
        await host.send("hi")
        await learn_and_read_messages(host)

        assert told(host) == [(day, ["hi"])]
