"""Translates the errors of models into ours, by whether a later attempt can help."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from gaia_memory.errors import (
    ContextSizeError,
    GaiaMemoryError,
    ModelError,
    ModelUnavailableError,
    RefusedRequestError,
)
from gaia_memory.outage import Outage, classify_error, exception_chain
from gaia_memory.redaction.mask import mask_secrets

_BAD_REQUEST_STATUSES = frozenset({400, 413, 422})
_CONTEXT_SIZE = re.compile(
    r"context[ _](?:size|length|window)|input token count|prompt is too long: \d+ tokens|too many (?:input )?tokens",
    re.IGNORECASE,
)
"""What servers call a request that does not fit: llama.cpp, OpenAI, vLLM and Ollama, then Gemini, Anthropic, others."""

_CONTEXT_SIZE_REMEDY = (
    "the question does not fit into the model's context: give the server a larger one, choose a model with a larger "
    "one, or lower `memory.llm.max_tokens`"
)
_MAX_QUOTE_CHARACTERS = 300
_WORD = re.compile(r"\w{2,}")
_COMMON_WORDS = """
about after again all an and any are as ask asked at be because been before but by call called can cannot check code
could did do does error fail failed for found from given got had has have how if in input into invalid is it its key
limit long make may message model more must my need new no not of on only or our out please provider quota rate
request response see server set should so some such support text than that the their them there they this time to
token tokens too try unable unknown up use used user valid value was we were what when which while who will with
would you your
"""
"""Common words of error messages: a message that shares only these with a conversation does not quote it."""


def to_model_error(error: BaseException, *, subject: str) -> GaiaMemoryError:
    """Return `error` as one of ours, with a message for users; `subject` is its subject.

    Only a request that was refused for its content (400, 413, 422) is a bad answer, because it would be refused again.
    One that is too long for the model's context is neither: the model is at fault, not the conversation. Any other
    problem, such as a wrong key, can be corrected. An unreadable answer is not quoted: it may contain a
    user's text.
    """
    if isinstance(error, GaiaMemoryError):
        return error
    outage = Outage("unreadable") if isinstance(error, json.JSONDecodeError) else classify_error(error)
    if outage is not None:
        message = outage.describe(subject)
        quote = f"{_quote_suffix(outage.provider_message)}{_address_suffix(error)}" if outage.kind == "status" else ""
        if outage.status in _BAD_REQUEST_STATUSES and not outage.is_authentication_failure:
            if _CONTEXT_SIZE.search(outage.provider_message):
                return ContextSizeError(f"{message}: {_CONTEXT_SIZE_REMEDY}", quote=quote)
            return RefusedRequestError(message, quote=quote)
        return ModelUnavailableError(message, quote=quote, retry_after=outage.retry_after)
    kind, quote = type(error).__name__, f"{_quote_suffix(str(error) or 'no message')}{_address_suffix(error)}"
    if isinstance(error, ImportError):
        return ModelUnavailableError(f"{subject} needs a package that is not installed: {kind}", quote=quote)
    return ModelUnavailableError(f"{subject} could not be asked: {kind}", quote=quote)


@contextmanager
def redact_user_text(texts: Iterable[str]) -> Iterator[None]:
    """Remove the provider's message from a `ModelError` if it quotes `texts`.

    The texts belong to a user, but the reason of a failure is stored, outlives a `forget`, and is shown to others.
    """
    try:
        yield
    except ModelError as error:
        if error.quote and quotes_user_text(error.quote, texts):
            error.drop_quote()
        raise


def quotes_user_text(quote: str, texts: Iterable[str]) -> bool:
    """Return whether a quote contains an uncommon word of `texts`, or is escaped and unreadable."""
    if "\\u" in quote or "\\x" in quote:
        return True
    source_text = "\n".join(texts).casefold()
    words = set(_WORD.findall(source_text)).difference(_COMMON_WORDS.split())
    quoted_words = _WORD.findall(quote.casefold())
    # The last word may be cut off. In scripts without spaces, any part of a text may be a word.
    return any(
        word in words
        or (not word.isascii() and word in source_text)
        or (at == len(quoted_words) and _is_word_prefix(word, words))
        for at, word in enumerate(quoted_words, start=1)
    )


def _is_word_prefix(word: str, words: Iterable[str]) -> bool:
    return len(word) > 1 and any(each.startswith(word) for each in words)


def _quote_suffix(words: str) -> str:
    text = " ".join(words.split())
    return f": {mask_secrets(text, os.environ)[:_MAX_QUOTE_CHARACTERS]}" if text else ""


def _address_suffix(error: BaseException) -> str:
    """Return the address of the request, if the error has it; without the query, which may contain a key."""
    for found in exception_chain(error):
        url: Any = getattr(vars(found).get("request"), "url", None)
        if getattr(url, "host", None):
            return f" (at {url.scheme}://{url.host}{f':{url.port}' if url.port else ''}{url.path})"
    return ""
