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
"""Parts of Japanese words that only carry grammar."""

_STOP_WORD_TEXT = """
a an and are as at be but by can could did do does for from had has have how i if in is it its me my of on or
our s she so t that the their them they this to user users was we were what when where which who will with would
you your he her his
"""
_STOP_WORDS = frozenset(_STOP_WORD_TEXT.split())


class OfflineEmbedder:
    """An embedder with mem0's interface: deterministic, without a key, a network or a download.

    Texts are close when they share words or parts of words, in any script. Meaning does not count: "car" and
    "automobile" are as far apart as any two words.
    """

    def __init__(self, config: Any = None) -> None:
        """Take mem0's `BaseEmbedderConfig` and set its dimensions."""
        self.config = config
        if config is not None:
            config.embedding_dims = DIMENSIONS

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of `text`, of length 1."""
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """Return one vector for each text."""
        features = [_text_features(text) for text in texts]
        sizes = [sum(map(len, indices)) for indices, _ in features]
        rows: NDArray[np.float64] = np.zeros((len(texts), DIMENSIONS))
        if any(sizes):
            # One sum for all texts, each with its own range of indices.
            indices = np.concatenate([index for word_indices, _ in features for index in word_indices])
            indices += np.repeat(np.arange(len(texts)) * DIMENSIONS, sizes)
            weights = np.concatenate([weight for _, word_weights in features for weight in word_weights])
            rows = np.bincount(indices, weights, rows.size).astype(np.float64, copy=False).reshape(rows.shape)
        # Row by row, bit by bit: stored vectors are compared with new ones.
        norms = np.sqrt(np.matmul(rows[:, np.newaxis, :], rows[:, :, np.newaxis]).reshape(-1))
        # A text without features gets a fixed direction, because a zero vector is close to nothing.
        empty = norms == 0.0
        rows[empty, 0] = norms[empty] = 1.0
        vectors: list[list[float]] = (rows / norms[:, np.newaxis]).tolist()
        return vectors


def _text_features(text: str) -> tuple[list[NDArray[np.int64]], list[NDArray[np.float64]]]:
    """Return the vector indices and the weights of each word of a text."""
    tokens = _ASCII_WORD.findall(text.lower()) if text.isascii() else _WORD.findall(_fold(text))
    if len(set(tokens)) == len(tokens):
        features = [_word_features(word) for word in tokens]
        return [word_indices for word_indices, _ in features], [word_weights for _, word_weights in features]
    counts = Counter(tokens)
    indices, weights = [], []
    for word, count in counts.items():
        word_indices, word_weights = _word_features(word)
        indices.append(word_indices)
        weights.append(word_weights if count == 1 else (1.0 + math.log(count)) * word_weights)
    return indices, weights


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


@lru_cache(maxsize=8_192)
def _word_features(word: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the vector indices and the weights of a word and its n-grams."""
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
    """Yield the n-grams of a word: shorter ones in scripts whose characters carry more meaning."""
    padded = f"^{word}$"
    sizes = (3, 4) if word.isascii() else (1, 2) if _IDEOGRAPH.search(word) else (2, 3)
    for size in sizes:
        for start in range(len(padded) - size + 1):
            yield padded[start : start + size]
