"""What went wrong with a model, told apart by whether asking later can help."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from gaia_memory.errors import BadAnswerError, GaiaMemoryError, ModelUnavailableError
from gaia_memory.outage import Outage, chain, outage_of

_REFUSED_THE_REQUEST = frozenset({400, 413, 422})
_SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_ACCESS_KEY")
_MESSAGE_LIMIT = 300


def model_error(error: BaseException, *, what: str) -> GaiaMemoryError:
    """Return `error` as one of ours, worded for a person; `what` names who failed.

    Only a request that was refused for what it holds (400, 413, 422) is a bad answer: that stays so. Whatever
    else kept the model from answering, a wrong key too, is gone once somebody puts it right. An answer that
    cannot be read is not quoted: it may hold what a person said.
    """
    if isinstance(error, GaiaMemoryError):
        return error
    outage = Outage("unreadable") if isinstance(error, json.JSONDecodeError) else outage_of(error)
    if outage is not None:
        told = outage.told(what)
        if outage.kind == "status":
            told += f"{_quoted(outage.said)}{_address(error)}"
        if outage.status in _REFUSED_THE_REQUEST and not outage.is_about_the_key:
            return BadAnswerError(told)
        return ModelUnavailableError(told, retry_after=outage.wait)
    said = f"{type(error).__name__}{_quoted(str(error) or 'no message')}{_address(error)}"
    if isinstance(error, ImportError):
        return ModelUnavailableError(f"{what} needs a package that is not installed: {said}")
    return ModelUnavailableError(f"{what} could not be asked: {said}")


def _quoted(words: str) -> str:
    text = " ".join(words.split())
    return f": {without_secrets(text, os.environ)[:_MESSAGE_LIMIT]}" if text else ""


def _address(error: BaseException) -> str:
    """Return where it was asked, for errors that know; without what may follow the path, which may hold a key."""
    for found in chain(error):
        url: Any = getattr(vars(found).get("request"), "url", None)
        if getattr(url, "host", None):
            return f" (at {url.scheme}://{url.host}{f':{url.port}' if url.port else ''}{url.path})"
    return ""


def without_secrets(text: str, environ: Mapping[str, str]) -> str:
    """Return `text` with the values of key-like environment variables struck out."""
    for name, value in environ.items():
        if name.upper().endswith(_SECRET_ENDINGS) and len(value) >= 8:
            text = text.replace(value, f"[{name}]")
    return text
