"""Vectors without a model: hashed words and character n-grams."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIMENSIONS = 384

_IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile(r"[0-9a-z]+")
_WORD_WEIGHT = 1.0
_NGRAM_WEIGHT = 0.35
_STOP_WORD_WEIGHT = 0.15
_KANA_ENDING = re.compile(r"[\u3040-\u309f^$]+")
"""Parts of Japanese words that hold grammar alone."""

_STOP_WORD_TEXT = """
a an and are as at be but by can could did do does for from had has have how i if in is it its me my of on or
our s she so t that the their them they this to user users was we were what when where which who will with would
you your he her his
"""
_STOP_WORDS = frozenset(_STOP_WORD_TEXT.split())


class OfflineEmbedder:
    """An embedder in the form mem0 uses: deterministic, without a key, a network or a download.

    Texts are near when they share words or parts of words, in any script. It knows no meaning: "car" and
    "automobile" are as far apart as any two words.
    """

    def __init__(self, config: Any = None) -> None:
        """Take mem0's `BaseEmbedderConfig`, of which only the dimensions are set."""
        self.config = config
        if config is not None:
            config.embedding_dims = DIMENSIONS

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of `text`, of length 1."""
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """Return one vector a text."""
        vectors: list[list[float]] = self.embed_rows(texts).tolist()
        return vectors

    def embed_rows(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the vectors as rows of a matrix: as lists of numbers most of their time goes into the lists."""
        features = [_text_features(text) for text in texts]
        sizes = [sum(map(len, indices)) for indices, _ in features]
        rows: NDArray[np.float64] = np.zeros((len(texts), DIMENSIONS))
        if any(sizes):
            # All texts in one sum, each with places of its own.
            places = np.concatenate([place for its_places, _ in features for place in its_places])
            places += np.repeat(np.arange(len(texts)) * DIMENSIONS, sizes)
            weights = np.concatenate([weight for _, its_weights in features for weight in its_weights])
            rows = np.bincount(places, weights, rows.size).astype(np.float64, copy=False).reshape(rows.shape)
        # Each row by itself, to the bit: vectors that were kept are compared with those made now.
        norms = np.sqrt(np.matmul(rows[:, np.newaxis, :], rows[:, :, np.newaxis]).reshape(-1))
        # Nothing to go by: one fixed direction, because a vector without length is near to nothing.
        empty = norms == 0.0
        rows[empty, 0] = norms[empty] = 1.0
        rows /= norms[:, np.newaxis]
        return rows


def _text_features(text: str) -> tuple[list[NDArray[np.int64]], list[NDArray[np.float64]]]:
    """Return the places that each word of a text has in its vector, and what it adds there."""
    tokens = _ASCII_WORD.findall(text.lower()) if text.isascii() else _WORD.findall(_fold(text))
    if len(set(tokens)) == len(tokens):
        features = [_word_features(word) for word in tokens]
        return [word_indices for word_indices, _ in features], [word_weights for _, word_weights in features]
    counts = Counter(tokens)
    indices, weights = [], []
    for word, count in counts.items():
        its_places, its_weights = _word_features(word)
        indices.append(its_places)
        weights.append(its_weights if count == 1 else (1.0 + math.log(count)) * its_weights)
    return indices, weights


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


@lru_cache(maxsize=8_192)
def _word_features(word: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the places that a word and its parts have in a vector, and what each adds there."""
    if word in _STOP_WORDS:
        features, weights = [f"w {word}"], [_STOP_WORD_WEIGHT]
    else:
        ngrams = list(_ngrams(word))
        features, weights = [f"w {word}", *[f"g {gram}" for gram in ngrams]], [_WORD_WEIGHT]
        weights += [_STOP_WORD_WEIGHT if _KANA_ENDING.fullmatch(gram) else _NGRAM_WEIGHT for gram in ngrams]
    hashes = [
        int.from_bytes(blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        for feature in features
    ]
    indices = [(value >> 32) % DIMENSIONS for value in hashes]
    signed_weights = [weight if value >> 24 & 1 else -weight for value, weight in zip(hashes, weights, strict=True)]
    return np.array(indices), np.array(signed_weights)


def _ngrams(word: str) -> Iterator[str]:
    """Yield the parts of a word: the shorter, the more a single letter says in its script."""
    padded = f"^{word}$"
    sizes = (3, 4) if word.isascii() else (1, 2) if _IDEOGRAPH.search(word) else (2, 3)
    for size in sizes:
        for start in range(len(padded) - size + 1):
            yield padded[start : start + size]
