"""A conversation of any length is learned with the process memory that a short one takes."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import pytest
from google.adk.sessions.database_session_service import DatabaseSessionService

from gaia_memory.adk.sessions.transcript import SessionTranscript
from gaia_memory.backend.embedder import VectorCache
from gaia_memory.drafts import screen
from gaia_memory.engine import Engine
from gaia_memory.language import distinctive_words, stems, text_features
from gaia_memory.learning import grounding
from gaia_memory.learning.chunk import MAX_CHUNK_CHARACTERS
from gaia_memory.models import Scope
from support.databases import on_each_database
from support.oracles.long_conversations import APP, CountingExtractor, learning_engine, session_key, store_conversation
from support.plugin_host import set_extractor

LIMIT = 1.5


async def learned(engine: Engine, turns: int) -> int:
    """Learn and clear a conversation with this many turns, and return its peak memory."""
    extractor = CountingExtractor()
    set_extractor(engine, extractor)
    gc.collect()
    tracemalloc.start()
    try:
        assert await engine.consolidate(session_key(turns)) == "learned"
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert extractor.has_seen_each_turn_once(turns)
    assert extractor.max_chunk_characters <= MAX_CHUNK_CHARACTERS
    return peak


@pytest.mark.slow
@on_each_database
@pytest.mark.parametrize(
    ("short", "long"),
    [
        (50, 500),
        pytest.param(500, 5_000, marks=[pytest.mark.slow, pytest.mark.timeout(1_800)]),
        pytest.param(500, 20_000, marks=[pytest.mark.slow, pytest.mark.timeout(3_600)]),
    ],
)
async def test_memory_use_does_not_grow_with_the_length_of_a_conversation(
    tmp_path: Path, kind: str, short: int, long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each turn is in one request, the session is cleared, and the peak is that of a page and a chunk."""
    # Stems, vectors and readings are kept of so many texts and no more; a long talk fills that first.
    monkeypatch.setattr(VectorCache, "put_many", lambda *_: None)
    cached = [
        *((module, "stem") for module in (stems, distinctive_words, grounding, screen)),
        *((text_features, "stem_code"), (distinctive_words, "_forms_of")),
    ]
    uncached = [getattr(module, name).__wrapped__ for module, name in cached]
    for (module, name), function in zip(cached, uncached, strict=True):
        monkeypatch.setattr(module, name, function)
    async with learning_engine(kind, tmp_path) as engine:
        service = DatabaseSessionService(db_engine=engine.sessions_engine())
        engine.attach_transcript(APP, SessionTranscript(service, APP, clear_method="keep"))
        for turns in (20, short, long):
            await store_conversation(engine.sessions_engine(), turns)
        await learned(engine, 20)
        peaks = [await learned(engine, short), await learned(engine, long)]
        kept = await engine.memory.facts(Scope(APP, "itay"))

    assert peaks[1] < LIMIT * peaks[0]
    assert kept
