"""The profile during the life of a session, as the agent's model sees it."""

import re
from collections.abc import Awaitable, Callable

import pytest
from google.adk.models.llm_request import LlmRequest

from gaia_memory.testing import call
from support.harness import ALL, Sut, facts

Make = Callable[..., Awaitable[Sut]]


@pytest.mark.acceptance("P02", "P03", "R06")
async def test_a_profile_lives_exactly_as_long_as_its_session(make: Make) -> None:
    """It stays byte-identical over turns and restarts; the next session's profile includes new facts."""
    profiles = ["- likes tea", "- likes tea\n- has a dog", "- likes tea\n- has a dog\n- lives in Oslo"]
    main = ["ok", call("remember", fact="has a dog"), "noted", "ok"]
    sut = await make(main=main, profiler=profiles, extractor=[facts("lives in Oslo")] * 9)
    await sut.gaia.memory.remember(sut.scope("ada"), "likes tea")

    await sut.chat("ada", "cli", "hi")
    await sut.chat("ada", "cli", "I have a dog, and I live in Oslo")
    await sut.close()
    await sut.reopen()
    await sut.chat("ada", "cli", "hi again")
    told = [block_in(request) for request in sut.REQ]
    assert len(set(told)) == 1
    assert "has a dog" not in told[0]
    assert len(sut.PROF) == 1

    await sut.chat("ada", "telegram", "hi")
    await sut.chat("ada", "desk", "hi")
    assert block_in(sut.REQ[-1]) == block_in(sut.REQ[-2]) != told[0]
    assert "has a dog" in block_in(sut.REQ[-1])
    assert len(sut.PROF) == 2

    await sut.sweep_after_idle()
    await sut.chat("ada", "phone", "hi")
    assert "lives in Oslo" in block_in(sut.REQ[-1])
    assert len(sut.PROF) == 3

    await sut.chat("ada", "phone", "/forget yes")
    await sut.chat("ada", "phone", "hi")
    assert "USER_PROFILE" not in ALL(sut.REQ[-1])
    assert len(sut.PROF) == 3


def block_in(request: LlmRequest) -> str:
    """Return the profile block of a request."""
    [block] = re.findall(r"<USER_PROFILE>.*?</USER_PROFILE>", ALL(request), re.DOTALL)
    return str(block)
