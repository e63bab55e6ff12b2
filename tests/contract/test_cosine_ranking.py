"""With all weights but vectors off, recall ranks by cosine similarity, as mem0 on Chroma does."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gaia_memory import NewFact, open_memory
from support.storage.plain_mem0 import plain_mem0
from support.storage.scripted_backend import DIMENSIONS, PROVIDER, register_scripted_providers

WEIGHTS = (
    *("keywords", "surroundings", "conversation", "phrases", "speaker", "subject", "names", "dates"),
    *("asking", "recency", "diversity"),
)
OFF = dict.fromkeys(WEIGHTS, 0)
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "ki", "lo", "mu", "ne", "pa", "ri", "so", "tu", "va")
WORDS = [f"{one}{two}{one}" for one in SYLLABLES for two in SYLLABLES]
"""So many that most facts share none with a question: then a cosine is chance, and may be below nothing."""
FACTS, QUESTIONS, LIMIT = 200, 20, 100
EMBEDDERS: dict[str, dict[str, Any]] = {
    "offline": {"provider": "offline"},
    "neural": {"provider": PROVIDER, "model": "cosine", "embedding_dims": DIMENSIONS},
}


def meaning(text: str) -> list[float]:
    """Return a vector like that of a neural embedder: the sum of one direction per word."""
    each = [np.random.default_rng(sum(map(ord, word)) * 7919).normal(size=DIMENSIONS) for word in text.split()]
    return [float(value) for value in np.sum(each, axis=0)]


@pytest.fixture
def texts() -> tuple[list[str], list[str]]:
    """Generate facts with speakers, questions and conversations, and queries."""
    draw = random.Random(7)
    said = [" ".join(draw.sample(WORDS, 6)) for _ in range(FACTS)]
    facts = [f"Maria: {text}?" if place % 3 == 0 else text for place, text in enumerate(said)]
    return facts, [f"when did Maria {' '.join(draw.sample(WORDS, 2))}" for _ in range(QUESTIONS)]


@pytest.mark.parametrize("embedder", EMBEDDERS)
async def test_with_vectors_only_the_ranking_equals_that_of_mem0(
    embedder: str, texts: tuple[list[str], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 facts and 20 questions go through recall and through mem0's own search."""
    register_scripted_providers(monkeypatch, "cosine").vector = meaning
    memory = {"llm": {"provider": "offline"}, "embedder": EMBEDDERS[embedder], "recall": {"weights": OFF}}
    facts, questions = texts
    async with open_memory({"memory": memory}, home=tmp_path, model="offline") as gaia:
        scope = gaia.scope("maria")
        await gaia.memory.add(
            scope, [NewFact(text, session_id="s", seq=seq) for seq, text in enumerate(facts) if seq % 2]
        )
        await gaia.memory.add(scope, [NewFact(text) for seq, text in enumerate(facts) if not seq % 2])
        await gaia.memory.settled()
        with plain_mem0(gaia.mem0_config()) as mem0:
            for question in questions:
                hits = await gaia.memory.recall(scope, question, limit=LIMIT)
                plain = await asyncio.to_thread(
                    mem0.search, question, top_k=FACTS, threshold=0.0, filters={"user_id": scope.mem0_user_id}
                )
                scores = {each["id"]: each["score"] for each in plain["results"]}

                assert len(hits) == LIMIT
                # Equal cosines may stand either way round: then the scores are equal.
                ours, theirs = [scores[hit.fact.id] for hit in hits], list(scores.values())[:LIMIT]
                assert ours == pytest.approx(theirs, abs=1e-5), question
                assert {name for hit in hits for name in hit.why} <= {"vectors", "hashed"}
