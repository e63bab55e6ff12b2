"""Log lines carry ids and numbers in fields, and never what a user said."""

from __future__ import annotations

import asyncio
import logging
import re
import traceback
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from gaia_memory.errors import GaiaMemoryError
from gaia_memory.log import error_frames
from gaia_memory.testing import call
from support.checkout import PACKAGE, ROOT, python_files
from support.harness import Sut, facts
from support.host_matrix import wait_until

Make = Callable[..., Awaitable[Sut]]
MARKER = "ZEBRA77"
HOSTS = ("google_adk",)
"""Loggers outside our control: ADK logs the errors of a host's model."""


class Records(logging.Handler):
    """Collects every record at the root: from DEBUG for this package, from INFO for others."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.all: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.all.append(record)

    def of(self, event: str) -> list[dict[str, Any]]:
        """Return the fields of each record of an event."""
        return [fields(record) for record in self.all if vars(record).get("gaia_event") == event]


@pytest.fixture
def logged() -> Iterator[Records]:
    handler, root, ours = Records(), logging.getLogger(), logging.getLogger("gaia_memory")
    before = root.level, ours.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    ours.setLevel(logging.DEBUG)
    yield handler
    root.removeHandler(handler)
    root.setLevel(before[0])
    ours.setLevel(before[1])


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields that a JSON formatter would add to the message."""
    return {name: value for name, value in vars(record).items() if name.startswith("gaia_")}


def rendered(record: logging.LogRecord) -> str:
    """Return everything that a formatter could write of a record."""
    trouble = record.exc_info[1] if record.exc_info else None
    cause = "".join(traceback.format_exception(trouble)) if trouble is not None else ""
    return f"{record.getMessage()} {vars(record)} {cause}"


async def test_a_learned_conversation_is_one_line_with_its_numbers(make: Make, logged: Records) -> None:
    """It contains the facts, turns, chunks and seconds."""
    sut = await make(extractor=[facts("Likes tea", "Lives in Oslo")])
    await sut.chat("ada", "cli", "I like tea")
    await sut.chat("ada", "cli", "I live in Oslo")
    await sut.sweep_after_idle()

    [learned] = logged.of("conversation.learned")
    assert learned.pop("gaia_seconds") >= 0
    assert learned == {
        "gaia_event": "conversation.learned",
        "gaia_app": "gaia",
        "gaia_session": "ada:cli",
        "gaia_facts": 2,
        "gaia_turns": 2,
        "gaia_chunks": 1,
        "gaia_cleared": True,
    }
    assert [record.levelname for record in logged.all if "is learned" in record.getMessage()] == ["INFO"]


@pytest.mark.slow
async def test_no_line_contains_what_a_user_said(make: Make, logged: Records) -> None:
    """This includes DEBUG lines and errors in which a model, embedder, store or database quotes it."""
    sut = await make(
        main=[
            *[call("remember", fact=f"Knows {MARKER}"), "ok"],
            *[call("load_memory", query=f"who is {MARKER}?"), f"{MARKER} is known"],
            OSError(f"the prompt was: {MARKER}"),
        ],
        extractor=[
            RuntimeError(f"refused: {MARKER}"),
            *[f"no JSON but {MARKER}"] * 3,
            *['{"memory": ["' + MARKER + '"]}'] * 3,
            facts(f"Likes {MARKER}", f"sk-{MARKER}secretsecretsecret1"),
        ],
        profiler=[ValueError(MARKER)] * 9,
    )
    scope, memory = sut.scope("ada"), sut.gaia.memory
    await sut.chat("ada", "cli", f"remember {MARKER}")
    await sut.chat("ada", "cli", f"look for {MARKER}")
    await sut.chat("ada", "cli", f"this one fails: {MARKER}")
    await sut.chat("ada", "cli", f"/remember Owns {MARKER}")
    await sut.chat("ada", "cli", f"/unknown {MARKER}")
    for _ in range(4):
        sut.clock.advance(timedelta(hours=2))
        await sut.sweep_after_idle()
    assert [len(logged.of("conversation.put_off")), len(logged.of("conversation.learned"))] == [3, 1]
    await sut.chat("ada", "desk", "hi")
    await _break_embedder(sut)
    await _break_commit(sut)
    await _break_store(sut)
    with pytest.raises(GaiaMemoryError):
        await memory.remember(scope, f"sk-{MARKER}hunter2hunter2hunter2")
    assert (await memory.forget(scope)).count >= 4
    await memory.settled()
    await sut.close()

    ours = [record for record in logged.all if not record.name.startswith(HOSTS)]
    assert [rendered(record) for record in ours if MARKER in rendered(record)] == []
    wanted = {"profile.plain", "facts.without_vector", "recall.partial", "embedder.failed", "store.not_followed"}
    wanted |= {"facts.dropped", "memory.forgotten", "store.begun"}
    assert wanted <= {str(vars(record).get("gaia_event")) for record in ours}


async def _break_embedder(sut: Sut) -> None:
    """Make the embedder fail with an error that quotes the text."""
    sut.script.embedder_error = RuntimeError(f"cannot embed {MARKER}")
    await sut.gaia.memory.remember(sut.scope("ada"), f"Met {MARKER}")
    await sut.gaia.memory.recall(sut.scope("ada"), MARKER)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(sut.gaia.memory.settled(), 2)
    sut.script.embedder_error = None
    await sut.gaia.memory.settled()


async def _break_commit(sut: Sut) -> None:
    """Make the database fail with an error that quotes the row."""
    learner = sut.gaia._engine.consolidator.learner

    async def quoting(*_: Any, **__: Any) -> None:
        try:
            raise LookupError(f"INSERT INTO facts VALUES ({MARKER!r})")
        except LookupError as error:
            raise RuntimeError(f"could not write {MARKER}") from error

    write, learner._commit = learner._commit, quoting  # type: ignore[method-assign]
    sut.script.answers["extractor"].extend([facts(f"Likes {MARKER}")] * 2)
    await sut.chat("ada", "phone", f"I like {MARKER}")
    assert (await sut.sweep_after_idle()).failed >= 1
    learner._commit = write  # type: ignore[method-assign]


async def _break_store(sut: Sut) -> None:
    """Make the store fail once with an error that quotes the facts."""
    store = sut.gaia._engine.follower._writer.store
    assert store is not None
    write = store.write

    def quoting(*_: Any) -> list[str]:
        store.write = write  # type: ignore[method-assign]
        raise RuntimeError(f"cannot hold {MARKER}")

    store.write = quoting  # type: ignore[method-assign]
    await sut.gaia.memory.remember(sut.scope("ada"), f"Saw {MARKER}")
    await sut.gaia.memory.settled()


class RefusedError(Exception):
    """A provider's error with a status that quotes the request."""

    status_code = 400


async def test_stored_and_shown_reasons_quote_no_user(make: Make) -> None:
    """The reason stays on disk after a forget, and the status of other users shows it."""
    sut = await make(extractor=[RefusedError(f"cannot read {MARKER}")] * 3)
    memory = sut.gaia.memory
    await sut.chat("ada", "cli", f"I am {MARKER}")
    await sut.sweep_after_idle()
    [waiting] = (await memory.status(sut.scope("ada"))).pending
    sut.script.embedder_error = RefusedError(f"cannot embed {MARKER}")
    await memory.remember(sut.scope("ada"), f"Met {MARKER}")
    await wait_until(lambda: memory.engine_state().store_problem)
    seen_by_another = await memory.status(sut.scope("bob"))
    sut.script.embedder_error = None
    await memory.forget(sut.scope("ada"))
    await memory.settled()

    assert "(400)" in str(waiting.reason)
    assert "(400)" in seen_by_another.reason
    assert MARKER not in f"{waiting} {seen_by_another}"
    files = [path for path in sut.home.rglob("*") if path.is_file() and path.name != "sessions.db"]
    assert [path for path in files if MARKER.encode() in path.read_bytes()] == []


def test_error_frames_contain_types_and_places_only() -> None:
    """They cover the error and its causes."""
    try:
        try:
            raise LookupError(MARKER)
        except LookupError as error:
            raise RuntimeError(MARKER) from error
    except RuntimeError as error:
        frames = error_frames(error)

    assert MARKER not in frames
    assert [line for line in frames.splitlines() if not line.startswith(" ")] == ["RuntimeError", "LookupError"]
    assert "test_logs.py" in frames


def test_the_guide_lists_exactly_the_events_that_are_logged() -> None:
    """One table has all names for alerts."""
    page = (ROOT / "docs" / "how-to" / "observe.md").read_text(encoding="utf-8")
    table = page.partition("| event |")[2].partition("\n\n")[0]
    listed = re.findall(r"^\| `([\w.]+)`", table, re.MULTILINE)
    sources = "\n".join(file.read_text(encoding="utf-8") for file in python_files(PACKAGE))
    used = re.findall(r'\blog_fields\(\s*"([\w.]+)"', sources)

    assert sorted(listed) == sorted(set(used))
