"""Why a model did not answer, read from whatever its client raised, and how patiently it is asked again.

Every client has errors of its own. They are told apart by what they carry and by their names, so that no client is
imported for it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tenacity import RetryCallState, retry_if_exception, stop_after_attempt, stop_before_delay, wait_exponential_jitter

_PASSING = frozenset({408, 429, 500, 502, 503, 504})
_WRONG_KEY = frozenset({401, 403})
_LATE = frozenset({408, 504})
_KEY_WORDS = ("api key", "api_key", "credential", "permission")
_NO_KEY = ("no api key", "api key was not", "key inputs argument", "missing credentials", "api_key client option")
_NO_ACCOUNT = "default credentials were not found"
_OF_A_CLIENT = frozenset({"ValueError", "OpenAIError", "GroqError", "AnthropicError", "DefaultCredentialsError"})
"""What clients raise where they find no key; a tool's own error may say the like of something else."""

_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN)\b")
_GOOGLES_PAGE = "ai.google.dev"
_DROPPED = frozenset(
    {
        *("BrokenPipeError", "ConnectionAbortedError", "ConnectionResetError", "IncompleteRead"),
        *("ClientConnectionResetError", "ClientOSError", "ClientPayloadError", "ServerDisconnectedError"),
        *("CloseError", "ReadError", "RemoteProtocolError", "WriteError", "ChunkedEncodingError"),
    }
)
_SECONDS = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*s?\s*")


@dataclass(frozen=True, slots=True)
class Outage:
    """What kept a model from answering.

    `said` are the provider's own words for a status, and what to do where there is no key, `where` the address that
    was asked where it is known, and `wait` the seconds after which the provider wants to be asked again, where it
    names them.
    """

    kind: Literal["status", "late", "dropped", "unreachable", "unreadable", "no key"]
    status: int = 0
    said: str = ""
    where: str = ""
    wait: float | None = None

    @property
    def may_pass(self) -> bool:
        """Whether the same question can be answered a moment later. One that took too long would take as long again."""
        return self.kind in ("dropped", "unreachable") or self.status in _PASSING

    @property
    def is_about_the_key(self) -> bool:
        """Whether the provider refused who asked, and not what was asked."""
        said = self.said.lower()
        return self.status in _WRONG_KEY or (self.status in (400, 422) and any(word in said for word in _KEY_WORDS))

    def told(self, who: str) -> str:
        """Return it in words of our own, with what to do about it; `who` names the model."""
        if self.kind == "status":
            return f"{who} {self._refused()}"
        return {
            "late": f"{who}{self.where} did not answer in time",
            "dropped": f"{who} broke off the connection",
            "unreachable": f"{who} could not be reached{self.where}",
            "unreadable": f"{who} gave an answer that could not be read, as a proxy in between may do",
            "no key": f"{who} has no key: {self.said}",
        }[self.kind]

    def _refused(self) -> str:
        status = self.status
        if self.is_about_the_key:
            return f"refused the key ({status}): check it in the environment"
        if status == 404:
            return (
                f"was not found, the provider knows no model of that name ({status}): "
                "check the model's name, and the address of the provider"
            )
        if status == 429:
            return f"was asked too often ({status}), or its quota is used up"
        if status in _LATE:
            return f"did not answer in time ({status})"
        return (
            f"failed ({status}): it is overloaded or out of order"
            if status >= 500
            else f"refused the request ({status})"
        )


def outage_of(error: BaseException) -> Outage | None:
    """Return what an error, or one that it was raised from, says of a model; None where that is nothing known."""
    for found in chain(error):
        status = _status(found)
        if status is not None:
            return Outage("status", status=status, said=_said(found), wait=_wait(found))
        missing = _missing_key(found)
        if missing:
            return Outage("no key", said=missing)
        kind = _kind(found)
        if kind is not None:
            return Outage(kind, where=_where(found))
    return None


def patience(*, attempts: int, first: float, longest: float, jitter: float, within: float) -> dict[str, Any]:
    """Return the arguments of tenacity's `Retrying` for asking a model again after what may pass.

    Pauses grow from `first` to `longest` seconds, each with up to `jitter` more; where the provider names a pause,
    it is kept. No question is asked later than `within` seconds after the first.
    """
    usual = wait_exponential_jitter(initial=first, max=longest, jitter=jitter)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        outage = outage_of(error) if error is not None else None
        if outage is None or outage.wait is None:
            return usual(state)
        return outage.wait + random.uniform(0, jitter)

    def may_pass(error: BaseException) -> bool:
        outage = outage_of(error)
        return outage is not None and outage.may_pass

    return {
        "stop": stop_after_attempt(attempts) | stop_before_delay(within),
        "wait": wait,
        "retry": retry_if_exception(may_pass),
        "reraise": True,
    }


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that it was raised from, outermost first."""
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


def _said(error: BaseException) -> str:
    message = getattr(error, "message", None)
    said = " ".join((message if isinstance(message, str) and message else str(error)).split())
    return "" if said.startswith("<") else said


def _missing_key(error: BaseException) -> str:
    """Return what to set, where a client was made or asked without a key; empty where that is not what is wrong.

    Only a variable that the client names itself, or Google's, is named: each provider has its own.
    """
    said = str(error) if type(error).__name__ in _OF_A_CLIENT else ""
    if _NO_ACCOUNT in said:
        return "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
    if not any(words in said.lower() for words in _NO_KEY):
        return ""
    named = _VARIABLE.search(said)
    if named:
        return f"set {named[0]}"
    return "set GEMINI_API_KEY" if _GOOGLES_PAGE in said else "set the variable that its provider reads it from"


def _kind(error: BaseException) -> Literal["late", "dropped", "unreachable", "unreadable"] | None:
    if _is_of(error, "Timeout"):
        return "late"
    if type(error).__name__ in _DROPPED:
        return "dropped"
    if isinstance(error, ConnectionError) or _is_of(error, "Connect"):
        return "unreachable"
    return "unreadable" if _is_of(error, "UnknownApiResponse") or _is_of_a_response(error) else None


def _is_of(error: BaseException, family: str) -> bool:
    return any(family in kind.__name__ for kind in type(error).__mro__)


def _is_of_a_response(error: BaseException) -> bool:
    """Say whether pydantic refused what a provider answered: its words would quote the answer."""
    return _is_of(error, "ValidationError") and str(getattr(error, "title", "")).endswith("Response")


def _where(error: BaseException) -> str:
    try:
        url = getattr(getattr(error, "request", None), "url", None)
    except RuntimeError:
        # httpx raises it where the request is not known.
        return ""
    host = getattr(url, "host", None) or getattr(error, "host", None)
    port = getattr(url, "port", None) or getattr(error, "port", None)
    if not host:
        return ""
    return f" at {host}:{port}" if port else f" at {host}"


def _wait(error: BaseException) -> float | None:
    """Return the longer of what the header and Google's `RetryInfo` name."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    header = headers.get("retry-after") if isinstance(headers, Mapping) else None
    named = [_seconds(header), *map(_seconds, _retry_delays(getattr(error, "details", None)))]
    return max((seconds for seconds in named if seconds is not None), default=None)


def _retry_delays(body: Any) -> list[Any]:
    error = body.get("error", body) if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    if not isinstance(details, list):
        return []
    return [each.get("retryDelay") for each in details if isinstance(each, Mapping)]


def _seconds(value: Any) -> float | None:
    """Read `7` and `7.5s`; dates, which HTTP allows too, are not read."""
    number = _SECONDS.fullmatch(value) if isinstance(value, str) else None
    return float(number[1]) if number else None
