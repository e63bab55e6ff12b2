"""Why a model or a database did not answer, read from the error that its client raised.

Every client has its own error classes. Their attributes and names tell enough, so no client is imported.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

_TRANSIENT_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
_AUTHENTICATION_STATUSES = frozenset({401, 403})
_TIMEOUT_STATUSES = frozenset({408, 504})
_AUTHENTICATION_WORDS = ("api key", "api_key", "credential", "permission")
_MISSING_KEY_PHRASES = (
    "no api key",
    "api key was not",
    "key inputs argument",
    "missing credentials",
    "api_key client option",
)
_MISSING_CREDENTIALS_PHRASE = "default credentials were not found"
_CLIENT_ERROR_NAMES = frozenset({"ValueError", "OpenAIError", "GroqError", "AnthropicError", "DefaultCredentialsError"})
"""What clients raise when they find no key. Other errors with similar words come from tools, not from models."""

_KEY_VARIABLE_PATTERN = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN)\b")
_GOOGLE_AI_HOST = "ai.google.dev"
_DROPPED_CONNECTION_ERRORS = frozenset(
    {
        *("BrokenPipeError", "ConnectionAbortedError", "ConnectionResetError", "IncompleteRead"),
        *("ClientConnectionResetError", "ClientOSError", "ClientPayloadError", "ServerDisconnectedError"),
        *("CloseError", "ReadError", "RemoteProtocolError", "WriteError", "ChunkedEncodingError"),
    }
)
_DATABASE_PACKAGES = frozenset({"sqlalchemy", "asyncpg", "sqlite3"})
_SECONDS = r"(\d{1,9}(?:\.\d{1,9})?)"
_RETRY_INFO = re.compile(rf"'retryDelay': '{_SECONDS}s'")
"""Google's pause in the `details` of an error."""


@dataclass(frozen=True, slots=True)
class Outage:
    """The reason a model did not answer.

    `provider_message` is the provider's text for a status; without a key it says what to do. `address` is empty when
    the client does not know it. `retry_after` is the pause that the provider named, in seconds.
    """

    kind: Literal["status", "late", "dropped", "unreachable", "unreadable", "no key"]
    status: int = 0
    provider_message: str = ""
    address: str = ""
    retry_after: float | None = None

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed a moment later. A call that timed out would time out again."""
        return self.kind in ("dropped", "unreachable") or self.status in _TRANSIENT_STATUSES

    @property
    def is_authentication_failure(self) -> bool:
        """Whether the provider refused the caller rather than the request."""
        message = self.provider_message.lower()
        return self.status in _AUTHENTICATION_STATUSES or (
            self.status in (400, 422) and any(word in message for word in _AUTHENTICATION_WORDS)
        )

    def describe(self, model_name: str) -> str:
        """Return one sentence without the provider's text, with the remedy; `model_name` is its subject."""
        if self.kind == "status":
            return f"{model_name} {self._describe_status()}"
        return {
            "late": f"{model_name}{self.address} did not answer in time",
            "dropped": f"{model_name} broke off the connection",
            "unreachable": f"{model_name} could not be reached{self.address}",
            "unreadable": f"{model_name} gave an answer that could not be read, as a proxy in between may do",
            "no key": f"{model_name} has no key: {self.provider_message}",
        }[self.kind]

    def _describe_status(self) -> str:
        status = self.status
        if self.is_authentication_failure:
            return f"refused the key ({status}): check it in the environment"
        if status == 404:
            return (
                f"was not found, the provider knows no model of that name ({status}): "
                "check the model's name, and the address of the provider"
            )
        if status == 429:
            return f"was asked too often ({status}), or its quota is used up"
        if status in _TIMEOUT_STATUSES:
            return f"did not answer in time ({status})"
        return (
            f"failed ({status}): it is overloaded or out of order"
            if status >= 500
            else f"refused the request ({status})"
        )


def classify_error(error: BaseException) -> Outage | None:
    """Return the outage behind an error or one of its causes; None when it has nothing to do with a model."""
    if describe_database_failure(error):
        return None
    for cause in exception_chain(error):
        status = _status(cause)
        if status is not None:
            return Outage(
                "status", status=status, provider_message=_provider_message(cause), retry_after=_retry_after(cause)
            )
        key_remedy = _missing_key_remedy(cause)
        if key_remedy:
            return Outage("no key", provider_message=key_remedy)
        kind = _failure_kind(cause)
        if kind is not None:
            return Outage(kind, address=_address_suffix(cause))
    return None


def describe_database_failure(error: BaseException) -> str:
    """Return how a database failed, without its message; empty if none did."""
    for cause in exception_chain(error):
        if not _is_of_database(cause):
            continue
        if _has_type_named(cause, "Timeout"):
            return "a database did not answer in time"
        is_locked = "database is locked" in str(getattr(cause, "orig", cause))
        return "a database is locked by another process" if is_locked else f"a database failed: {type(cause).__name__}"
    return ""


def exception_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _is_of_database(error: BaseException) -> bool:
    if type(error).__module__.partition(".")[0] in _DATABASE_PACKAGES:
        return True
    # A driver's time-out is Python's own, and SQLAlchemy passes it on as it is.
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return isinstance(error, OSError) and any(
        str(frame.f_globals.get("__name__")).partition(".")[0] == "sqlalchemy" for frame in frames
    )


def _status(error: BaseException) -> int | None:
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "code", "http_status", "status"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
                return value
    return None


def _provider_message(error: BaseException) -> str:
    message = getattr(error, "message", None)
    text = " ".join((message if isinstance(message, str) and message else str(error)).split())
    return "" if text.startswith("<") else text


def _missing_key_remedy(error: BaseException) -> str:
    """Return the remedy when a client has no key; empty when a key is not the problem.

    Only a variable named by the client, or Google's, is mentioned: each provider has its own.
    """
    message = str(error) if type(error).__name__ in _CLIENT_ERROR_NAMES else ""
    if _MISSING_CREDENTIALS_PHRASE in message:
        return "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
    if not any(words in message.lower() for words in _MISSING_KEY_PHRASES):
        return ""
    variable = _KEY_VARIABLE_PATTERN.search(message)
    if variable:
        return f"set {variable[0]}"
    return "set GEMINI_API_KEY" if _GOOGLE_AI_HOST in message else "set the variable that its provider reads it from"


def _failure_kind(error: BaseException) -> Literal["late", "dropped", "unreachable", "unreadable"] | None:
    if _has_type_named(error, "Timeout"):
        return "late"
    if type(error).__name__ in _DROPPED_CONNECTION_ERRORS:
        return "dropped"
    if isinstance(error, ConnectionError) or _has_type_named(error, "Connect"):
        return "unreachable"
    return (
        "unreadable" if _has_type_named(error, "UnknownApiResponse") or _is_response_validation_error(error) else None
    )


def _has_type_named(error: BaseException, name_part: str) -> bool:
    return any(name_part in kind.__name__ for kind in type(error).__mro__)


def _is_response_validation_error(error: BaseException) -> bool:
    """Return whether pydantic rejected a provider's answer. Its message quotes the answer."""
    return _has_type_named(error, "ValidationError") and str(getattr(error, "title", "")).endswith("Response")


def _address_suffix(error: BaseException) -> str:
    try:
        url = getattr(getattr(error, "request", None), "url", None)
    except RuntimeError:
        # httpx raises it when the error has no request.
        return ""
    host = getattr(url, "host", None) or getattr(error, "host", None)
    port = getattr(url, "port", None) or getattr(error, "port", None)
    if not host:
        return ""
    return f" at {host}:{port}" if port else f" at {host}"


def _retry_after(error: BaseException) -> float | None:
    """Return the longer pause of the header and Google's `RetryInfo`. HTTP dates are ignored."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    header = headers.get("retry-after", "") if isinstance(headers, Mapping) else ""
    pauses = [*re.findall(rf"^{_SECONDS}$", header), *_RETRY_INFO.findall(str(getattr(error, "details", None)))]
    return max(map(float, pauses), default=None)
