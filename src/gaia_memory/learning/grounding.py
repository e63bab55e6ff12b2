"""Checks that the facts of an answer are no copies of the prompt, and marks those of which no word was said."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from gaia_memory.errors import BadAnswerError
from gaia_memory.language.distinctive_words import count_shared, distinctive_words, is_role, role_stems, word_forms
from gaia_memory.language.homoglyphs import fold_case
from gaia_memory.language.stems import stem
from gaia_memory.language.text_features import QUESTION_MARKS
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.log import log_fields, logger_for
from gaia_memory.models import Chunk, ExtractedFact

logger = logger_for(__name__)

Origin = Literal["conversation", "unknown", "prompt"]
"""unknown: none of the fact's words was said, as in an inference or another language."""

MIN_COPIED_SHARE = 3 / 4
"""Share of a fact's words in one line of the prompt from which on it is a copy, if fewer of them were said."""

MIN_ECHO_WORDS = 3
"""Words from which on a text that stands inside a sentence of the prompt is copied from there, not alike by chance."""

_NOT_WORDS = re.compile(r"[\W_]+")

ECHO_PROBLEM = "the answer only repeats the prompt, or states nothing: choose a larger model"
COPIED_PROBLEM = "the facts of the answer are in the prompt, not in the conversation: take facts only from there"
UNGROUNDED_PROBLEM = (
    "the facts of the answer are copied from the prompt: choose a larger model, or set `memory.grounded: false` to "
    "keep such facts"
)


class ConversationWords:
    """The words of a chunk and its context, with which the facts that it gave are compared."""

    def __init__(self, chunk: Chunk) -> None:
        """Read all messages that the extractor sees."""
        messages = (*chunk.before, *chunk.messages)
        self._texts = [message.text for message in messages]
        self._forms = word_forms("\n".join(self._texts))
        self._names = _names(message.speaker for message in messages)

    def count_shared(self, fact: ExtractedFact) -> int:
        """Return how many distinctive words of a fact the conversation contains."""
        return count_shared(self._words(fact), self._forms)

    def contains(self, words: Collection[str]) -> bool:
        """Return True if each of `words` was said."""
        return count_shared(words, self._forms) == len(words)

    def asks(self, text: str) -> bool:
        """Return True if a text is a question that stands in the conversation as it is."""
        is_question = text.rstrip().endswith(tuple(QUESTION_MARKS))
        return is_question and any(f" {_plain(text)} " in f" {_plain(said)} " for said in self._texts)

    def find_origin(self, fact: ExtractedFact, prompt: str) -> Origin:
        """Return where a fact comes from; `prompt` is the fixed text of the question that it answers.

        The prompt is compared line by line: all of its lines together contain most common words.
        """
        words = self._words(fact)
        shared = count_shared(words, self._forms)
        copied = max((count_shared(words, forms) for forms in _lines_of(prompt)), default=0)
        if copied > shared and copied >= max(MIN_ECHO_WORDS, MIN_COPIED_SHARE * len(words)):
            return "prompt"
        return "conversation" if shared or not words else "unknown"

    def _words(self, fact: ExtractedFact) -> frozenset[str]:
        return distinctive_words(fact.text, left_out={*self._names, *index_tokens(fact.category or "")})


class GroundingCheck:
    """The port `AnswerCheck` for the answers about one chunk.

    Only an answer that is copied from the prompt is refused, and one that contains no fact at all: a conversation must
    not be cleared for it. Single copies are dropped. What a model infers is kept.
    """

    def __init__(self, chunk: Chunk, *, is_enabled: bool = True) -> None:
        """Without `is_enabled`, only what is no fact at all is dropped or refused."""
        self._chunk = chunk
        self._conversation = ConversationWords(chunk)
        self._is_enabled = is_enabled
        self._has_asked_again = False

    def __call__(self, facts: Sequence[ExtractedFact], *, prompt: str) -> list[ExtractedFact]:
        """Return the facts to keep; those of which no word was said are marked as unverified.

        Raises:
            BadAnswerError: all of the facts are copied, or none is one.
        """
        candidates = [fact for fact in facts if not self._is_placeholder(fact.text, prompt)]
        if facts and not candidates:
            raise BadAnswerError(ECHO_PROBLEM)
        kept = self._keep_grounded(candidates, prompt) if self._is_enabled else candidates
        dropped, unverified = len(facts) - len(kept), sum(fact.unverified for fact in kept)
        if dropped or unverified:
            logger.info(
                "of %d extracted facts, %d were copied from the prompt or none, and %d are unverified",
                len(facts),
                dropped,
                unverified,
                extra=log_fields("facts.foreign", self._chunk.key, facts=dropped, unverified=unverified),
            )
        return kept

    def _keep_grounded(self, facts: Sequence[ExtractedFact], prompt: str) -> list[ExtractedFact]:
        origins = [self._conversation.find_origin(fact, prompt) for fact in facts]
        kept = [
            fact if origin == "conversation" else replace(fact, unverified=True)
            for fact, origin in zip(facts, origins, strict=True)
            if origin != "prompt"
        ]
        if facts and not kept:
            problem, self._has_asked_again = UNGROUNDED_PROBLEM if self._has_asked_again else COPIED_PROBLEM, True
            raise BadAnswerError(problem)
        return kept

    def _is_placeholder(self, text: str, prompt: str) -> bool:
        """Return True for a question that was asked, a role alone, no words, and what only the prompt says."""
        if is_role(text) or self._conversation.asks(text):
            return True
        tokens = index_tokens(text)
        words = {*distinctive_words(text), *(token for token in tokens if token[0].isdigit())}
        is_short = not words or len(tokens) < MIN_ECHO_WORDS
        is_echo = _plain(text) in _phrases_of(prompt) if is_short else f" {_plain(text)} " in _plain_prompt(prompt)
        return is_echo and not (words and self._conversation.contains(words))


def _names(speakers: Iterable[str]) -> frozenset[str]:
    """Return the words of the speakers' names, without those that are roles."""
    words = {word for speaker in speakers for word in index_tokens(speaker)}
    return frozenset(word for word in words if stem(word) not in role_stems())


def _plain(text: str) -> str:
    return _NOT_WORDS.sub(" ", fold_case(text)).strip()


@lru_cache(maxsize=8)
def _plain_prompt(prompt: str) -> str:
    return f" {_plain(prompt)} "


@lru_cache(maxsize=8)
def _phrases_of(prompt: str) -> frozenset[str]:
    """Return what stands between punctuation marks in a prompt."""
    return frozenset(map(_plain, re.split(r"[^\w '\u2019-]+", prompt)))


@lru_cache(maxsize=8)
def _lines_of(prompt: str) -> tuple[frozenset[str], ...]:
    """Return the words of each line of a prompt: most prompts are the same in every question."""
    return tuple(word_forms(line) for line in prompt.splitlines() if line.strip())
