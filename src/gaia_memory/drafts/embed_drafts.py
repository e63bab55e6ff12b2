"""Embeds drafts; a fact never waits long for its vector."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gaia_memory.errors import BadAnswerError, ModelError, VectorsLaterError
from gaia_memory.log import log_fields, logger_for
from gaia_memory.model_calls import time_limit
from gaia_memory.models import Draft, Scope, Vector
from gaia_memory.ports import Embedder

if TYPE_CHECKING:
    from gaia_memory.database.sql_engine import Database
    from gaia_memory.facts import FactStore

logger = logger_for(__name__)

EMBED_TIMEOUT_SECONDS = 20.0
EMBED_BATCH_SIZE = 100


async def embed_in_scope(
    database: Database,
    facts: FactStore,
    scope: Scope,
    embedder: Embedder,
    drafts: Sequence[Draft],
    *,
    embeds_sensitive: bool,
    timeout_seconds: float = EMBED_TIMEOUT_SECONDS,
    progress: Callable[[int, int], None] | None = None,
) -> list[Draft]:
    """Return `drafts` as `embed_drafts` does; without `embeds_sensitive`, no sensitive text has or gets a vector.

    Nor one that is said again without the mark: the text of a fact that is known as sensitive.
    """
    left_out: Collection[int] = ()
    if not embeds_sensitive and drafts:
        async with database.read_transaction() as tx:
            are_sensitive = await facts.past.are_sensitive(tx, scope, [draft.fact for draft in drafts])
        left_out = {place for place, is_sensitive in enumerate(are_sensitive) if is_sensitive}
        drafts = [replace(each, vector=None) if place in left_out else each for place, each in enumerate(drafts)]
    return await embed_drafts(embedder, drafts, timeout_seconds=timeout_seconds, progress=progress, left_out=left_out)


async def embed_drafts(
    embedder: Embedder,
    drafts: Sequence[Draft],
    *,
    timeout_seconds: float = EMBED_TIMEOUT_SECONDS,
    progress: Callable[[int, int], None] | None = None,
    left_out: Collection[int] = (),
) -> list[Draft]:
    """Return `drafts` in order, with vectors as far as the embedder supplied them.

    Waits at most `timeout_seconds` per batch of `EMBED_BATCH_SIZE` texts. After a failed batch, the rest is returned
    without vectors: such facts are found by their words, and their vectors are backfilled later. `progress` is called
    with the number of drafts done and of all drafts. Those at the places `left_out` get no vector.
    """
    report_progress = progress or (lambda done, of: None)
    embedded = list(drafts)
    missing_indices = [index for index, draft in enumerate(drafts) if draft.vector is None and index not in left_out]
    for start in range(0, len(missing_indices), EMBED_BATCH_SIZE):
        batch_indices = missing_indices[start : start + EMBED_BATCH_SIZE]
        try:
            vectors = await _embed(embedder, [drafts[index].fact.text for index in batch_indices], timeout_seconds)
        except VectorsLaterError:
            report_progress(len(drafts), len(drafts))
            break
        except (ModelError, TimeoutError) as error:
            unembedded_count = len(missing_indices) - start
            kind = type(error).__name__
            fields = log_fields("facts.without_vector", facts=unembedded_count, error=kind)
            reason = f"no answer within {timeout_seconds:g} s" if isinstance(error, TimeoutError) else kind
            logger.warning("facts are kept without a vector for now (%d): %s", unembedded_count, reason, extra=fields)
            report_progress(len(drafts), len(drafts))
            break
        identity = embedder.identity
        for index, vector in zip(batch_indices, vectors, strict=True):
            embedded[index] = replace(drafts[index], vector=_to_float32(vector), embedder=identity)
        report_progress(batch_indices[-1] + 1, len(drafts))
    return embedded


def _to_float32(vector: Vector) -> Vector:
    """Return a vector with 4 bytes per number: a list of Python floats takes ten times as much."""
    return array("f", np.asarray(vector, np.float32).tobytes())


async def _embed(embedder: Embedder, texts: Sequence[str], timeout_seconds: float) -> list[Vector]:
    async with time_limit(timeout_seconds):
        vectors = await embedder.embed(texts, purpose="write")
    if len(vectors) != len(texts):
        raise BadAnswerError(f"the embedder gave {len(vectors)} vectors for {len(texts)} texts")
    return vectors
