"""What kept a model from answering, in words that hold nothing a person said."""

from __future__ import annotations

from collections.abc import Iterator

from gaia_memory.adk.model import GEMINI_KEYS

_NO_KEY = ("no api key", "api key was not", "key inputs argument", "default credentials")
_WRONG_KEY = (401, 403)


def what_happened(error: BaseException) -> str | None:
    """Return what went wrong with the model, None where it is nothing known."""
    for found in _chain(error):
        code = getattr(found, "code", None)
        if isinstance(code, int) and 400 <= code <= 599:
            return _refused(code, str(found).lower())
        if isinstance(found, ValueError) and any(words in str(found).lower() for words in _NO_KEY):
            return f"the model has no key: set {GEMINI_KEYS[0]}"
        if _is_of(found, "Timeout"):
            return f"the model{_address(found)} did not answer in time"
        if isinstance(found, ConnectionError) or _is_of(found, "Connect"):
            return f"the model could not be reached{_address(found)}"
    return None


def _refused(code: int, said: str) -> str:
    if code in _WRONG_KEY or "api key" in said:
        return f"the model refused the key ({code})"
    if code == 404:
        return f"the provider knows no model of that name ({code})"
    if code == 429:
        return f"the model was asked too often ({code})"
    return f"the model failed ({code})" if code >= 500 else f"the model refused the request ({code})"


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _is_of(error: BaseException, family: str) -> bool:
    """Say whether an error is of a family: each HTTP client has a tree of its own, and none is imported for this."""
    return any(family in kind.__name__ for kind in type(error).__mro__)


def _address(error: BaseException) -> str:
    try:
        url = getattr(error, "request", None)
    except RuntimeError:
        # httpx raises it where the request is not known.
        return ""
    url = getattr(url, "url", None)
    host, port = getattr(url, "host", None) or getattr(error, "host", None), getattr(url, "port", None)
    if not host:
        return ""
    port = port or getattr(error, "port", None)
    return f" at {host}:{port}" if port else f" at {host}"
