"""Gives drafts their vectors, without ever holding a fact back for one."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Callable, Sequence

import numpy as np

from gaia_memory.errors import BadAnswerError, ModelError
from gaia_memory.log import logger_for
from gaia_memory.models import Draft, Vector
from gaia_memory.ports import Embedder
from gaia_memory.telemetry import about

logger = logger_for(__name__)

EMBED_SECONDS = 20.0
BATCH = 100


async def embed_drafts(
    embedder: Embedder,
    drafts: Sequence[Draft],
    *,
    seconds: float = EMBED_SECONDS,
    progress: Callable[[int, int], None] | None = None,
) -> list[Draft]:
    """Return `drafts` in order, each with its vector where the embedder gave one.

    Waits at most `seconds` a batch of `BATCH` texts. Once a batch fails, the rest goes without vectors: such
    facts are found by their words, and their vectors follow when the embedder is back. `progress` is told how
    many of how many are done.
    """
    tell = progress or (lambda done, of: None)
    done = list(drafts)
    open_places = [place for place, draft in enumerate(drafts) if draft.vector is None]
    for start in range(0, len(open_places), BATCH):
        places = open_places[start : start + BATCH]
        try:
            vectors = await _embed(embedder, [drafts[place].fact.text for place in places], seconds)
        except (ModelError, TimeoutError) as error:
            left = len(open_places) - start
            kind = type(error).__name__
            fields = about("facts.without_vector", facts=left, error=kind)
            logger.warning("facts are kept without a vector for now (%d): %s", left, kind, extra=fields)
            tell(len(drafts), len(drafts))
            break
        identity = embedder.identity
        for place, vector in zip(places, vectors, strict=True):
            done[place] = _with_vector(drafts[place], _packed(vector), identity)
        tell(places[-1] + 1, len(drafts))
    return done


def _packed(vector: Vector) -> Vector:
    """Return a vector in 4 bytes a number: of Python's own they would take ten times as much."""
    return array("f", np.asarray(vector, np.float32).tobytes())


def _with_vector(draft: Draft, vector: Vector, embedder: str) -> Draft:
    # What `dataclasses.replace` looks up anew for each object takes three times as long.
    return Draft(
        fact=draft.fact,
        source=draft.source,
        app=draft.app,
        event_ids=draft.event_ids,
        vector=vector,
        embedder=embedder,
        created_at=draft.created_at,
        updated_at=draft.updated_at,
    )


async def _embed(embedder: Embedder, texts: Sequence[str], seconds: float) -> list[Vector]:
    async with asyncio.timeout(seconds):
        vectors = await embedder.embed(texts, purpose="add")
    if len(vectors) != len(texts):
        raise BadAnswerError(f"the embedder gave {len(vectors)} vectors for {len(texts)} texts")
    return vectors
