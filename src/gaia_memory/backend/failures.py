"""What went wrong with a model, told apart by whether asking later can help."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from gaia_memory.errors import BadAnswerError, GaiaMemoryError, ModelUnavailableError

_REFUSED_THE_REQUEST = frozenset({400, 413, 422})
_KEY_WORDS = ("api key", "api_key", "credential", "permission")
_SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_ACCESS_KEY")
_MESSAGE_LIMIT = 300


def model_error(error: BaseException, *, what: str) -> GaiaMemoryError:
    """Return `error` as one of ours, worded for a person; `what` names who failed.

    Read from the status an SDK's exception carries, not from its class, so that no SDK is imported for it.
    Only a request that was refused for what it holds (400, 413, 422) is a bad answer: that stays so. Whatever
    else kept the model from answering, a wrong key too, is gone once somebody puts it right.
    """
    if isinstance(error, GaiaMemoryError):
        return error
    status = next((found for found in map(_status, _chain(error)) if found is not None), None)
    said = _worded(error)
    if status in _REFUSED_THE_REQUEST and not any(word in said.lower() for word in _KEY_WORDS):
        return BadAnswerError(f"{what} refused the request with status {status}: {said}")
    if status is not None:
        return ModelUnavailableError(f"{what} answered with status {status}: {said}{_advice(status)}")
    if isinstance(error, ImportError):
        return ModelUnavailableError(f"{what} needs a package that is not installed: {said}")
    return ModelUnavailableError(f"{what} could not be asked: {said}")


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "code", "http_status", "status"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
                return value
    return None


def _advice(status: int) -> str:
    if status in (401, 403):
        return "; check the provider's key in the environment"
    if status == 404:
        return "; check the model's name"
    return ""


def _worded(error: BaseException) -> str:
    text = " ".join(str(error).split()) or "no message"
    return f"{type(error).__name__}: {without_secrets(text, os.environ)[:_MESSAGE_LIMIT]}"


def without_secrets(text: str, environ: Mapping[str, str]) -> str:
    """Return `text` with the values of key-like environment variables struck out."""
    for name, value in environ.items():
        if name.upper().endswith(_SECRET_ENDINGS) and len(value) >= 8:
            text = text.replace(value, f"[{name}]")
    return text
