"""Checks that the facts of an answer come from the conversation, not from the prompt or from nowhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Literal

from gaia_memory.errors import BadAnswerError
from gaia_memory.language.distinctive_words import ROLE_WORDS, count_shared, distinctive_words, is_role, word_forms
from gaia_memory.language.function_words import language_of
from gaia_memory.language.stems import stem
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.language.unicode_forms import fold_case
from gaia_memory.learn.questions import only_asks
from gaia_memory.log import logger_for
from gaia_memory.models import Chunk, ExtractedFact
from gaia_memory.telemetry import log_fields

logger = logger_for(__name__)

Origin = Literal["conversation", "unknown", "elsewhere"]
"""unknown: the conversation neither confirms nor excludes the fact, as in another language."""

MIN_CONVERSATION_SHARE = 1 / 3
"""Share of a fact's words that the conversation has to contain for the fact to come from there."""

MIN_PROMPT_SHARE = 1 / 2
"""Share of a fact's words in one line of the prompt from which on the fact may come from that line."""

MIN_COPIED_SHARE = 3 / 4
"""Share of a fact's words in one line of the prompt from which on it is from there, whatever its language."""

MIN_LANGUAGE_WORDS = 5
"""Words from which on a message tells in which language people speak: "ok" is said in many."""

MIN_ECHO_WORDS = 3
"""Words from which on a text that stands inside a sentence of the prompt is copied from there, not alike by chance."""

_NOT_WORDS = re.compile(r"[\W_]+")

ECHO_PROBLEM = "the answer only repeats the prompt, or states nothing: choose a larger model"
FOREIGN_PROBLEM = "the facts of the answer are not in the conversation: take facts only from there"
UNGROUNDED_PROBLEM = (
    "the facts of the answer are not in the conversation: choose a larger model, or set `memory.grounded: false` to "
    "keep such facts"
)


class ConversationWords:
    """The words of a chunk and its context, with which the facts that it gave are compared."""

    def __init__(self, chunk: Chunk) -> None:
        """Read all messages that the extractor sees."""
        messages = (*chunk.before, *chunk.messages)
        self._texts = [message.text for message in messages]
        self._forms = word_forms("\n".join(self._texts))
        self._user_names = _names(message.speaker for message in messages if message.role == "user")
        self._names = self._user_names | _names(message.speaker for message in messages)

    def count_shared(self, fact: ExtractedFact) -> int:
        """Return how many distinctive words of a fact the conversation contains."""
        return count_shared(self._words(fact), self._forms)

    def contains(self, words: Collection[str]) -> bool:
        """Return True if each of `words` was said."""
        return count_shared(words, self._forms) == len(words)

    def find_origin(self, fact: ExtractedFact, prompt: str) -> Origin:
        """Return where a fact comes from; `prompt` is the fixed text of the question that it answers."""
        words = self._words(fact)
        shared = count_shared(words, self._forms)
        if shared >= MIN_CONVERSATION_SHARE * len(words):
            return "conversation"
        is_from_prompt = self._is_from_prompt(words, shared, prompt)
        if shared and not is_from_prompt:
            return "conversation"
        names_user = not self._user_names.isdisjoint(index_tokens(fact.text))
        if self._is_in_other_language(fact.text):
            return "elsewhere" if self._copies_prompt(words, prompt) else "unknown"
        if names_user and not is_from_prompt:
            return "unknown"
        return "elsewhere"

    def _words(self, fact: ExtractedFact) -> frozenset[str]:
        return distinctive_words(fact.text, left_out={*self._names, *index_tokens(fact.category or "")})

    def _is_from_prompt(self, words: frozenset[str], shared: int, prompt: str) -> bool:
        """Return True if one line of the prompt has more of the words than the conversation, and at least half.

        All lines together contain most common words, so only one line at a time shows that a fact comes from there.
        """
        most = max((count_shared(words, forms) for forms in _lines_of(prompt)), default=0)
        return most > shared and most >= MIN_PROMPT_SHARE * len(words)

    def _copies_prompt(self, words: frozenset[str], prompt: str) -> bool:
        """Return True if most words are of one line: an example of the prompt with another date or name."""
        most = max((count_shared(words, forms) for forms in _lines_of(prompt)), default=0)
        return most >= max(MIN_ECHO_WORDS, MIN_COPIED_SHARE * len(words))

    def _is_in_other_language(self, text: str) -> bool:
        return language_of(text, self._languages[0]) not in self._languages

    @cached_property
    def _languages(self) -> list[str]:
        """The language of all messages together, then that of each."""
        main_language = language_of("\n".join(self._texts))
        texts = (text for text in self._texts if len(index_tokens(text)) >= MIN_LANGUAGE_WORDS)
        return [main_language, *(language_of(text, main_language) for text in texts)]


class GroundingCheck:
    """The port `AnswerCheck` for the answers about one chunk.

    Only an answer about another conversation is refused, and one that contains no fact at all: a conversation must not
    be cleared for it. Single facts that come from elsewhere are dropped.
    """

    def __init__(self, chunk: Chunk, *, is_enabled: bool = True) -> None:
        """Without `is_enabled`, only what is no fact at all is dropped or refused."""
        self._chunk = chunk
        self._conversation = ConversationWords(chunk)
        self._is_enabled = is_enabled
        self._has_asked_again = False

    def __call__(self, facts: Sequence[ExtractedFact], *, prompt: str) -> list[ExtractedFact]:
        """Return the facts to keep; those that the conversation does not confirm are marked as unverified.

        Raises:
            BadAnswerError: none of the facts is from the conversation.
        """
        candidates = [fact for fact in facts if not self._is_placeholder(fact.text, prompt)]
        if facts and not candidates:
            raise BadAnswerError(ECHO_PROBLEM)
        kept = self._keep_grounded(candidates, prompt) if self._is_enabled else candidates
        dropped, unverified = len(facts) - len(kept), sum(fact.unverified for fact in kept)
        if dropped or unverified:
            logger.info(
                "of %d extracted facts, %d were not from the conversation, and %d are unverified",
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
            if origin != "elsewhere"
        ]
        return kept if kept or not facts else self._keep_repeated(facts)

    def _keep_repeated(self, foreign: Sequence[ExtractedFact]) -> list[ExtractedFact]:
        """Return what a second answer of foreign facts shares at least a word with; the first is asked again."""
        if not self._has_asked_again:
            self._has_asked_again = True
            raise BadAnswerError(FOREIGN_PROBLEM)
        kept = [replace(fact, unverified=True) for fact in foreign if self._conversation.count_shared(fact)]
        if not kept:
            raise BadAnswerError(UNGROUNDED_PROBLEM)
        return kept

    def _is_placeholder(self, text: str, prompt: str) -> bool:
        """Return True for a question, a role alone, a text without words, and one of the prompt that was not said."""
        if is_role(text) or only_asks(text):
            return True
        tokens = index_tokens(text)
        words = {*distinctive_words(text), *(token for token in tokens if token[0].isdigit())}
        is_short = not words or len(tokens) < MIN_ECHO_WORDS
        is_echo = _plain(text) in _phrases_of(prompt) if is_short else f" {_plain(text)} " in _plain_prompt(prompt)
        return is_echo and not (words and self._conversation.contains(words))


def _names(speakers: Iterable[str]) -> frozenset[str]:
    """Return the words of the speakers' names, without those that are roles."""
    words = {word for speaker in speakers for word in index_tokens(speaker)}
    return frozenset(word for word in words if stem(word) not in ROLE_WORDS)


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
