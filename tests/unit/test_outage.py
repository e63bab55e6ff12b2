"""Errors of model clients are classified and described, whichever client raised them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import httpx
import pydantic
import pytest
from aiohttp.client_reqrep import ConnectionKey
from google import genai
from google.genai.errors import APIError, UnknownApiResponseError
from google.genai.types import GenerateContentResponse
from openai import OpenAI
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import create_async_engine
from tenacity import Retrying

from gaia_memory.model_calls import CallLimits, retry_policy
from gaia_memory.outage import classify_error, describe_database_failure

pytestmark = pytest.mark.heavy

ADDRESS = ConnectionKey("models.local", 8443, True, None, None, None, None)
WORDS = "a person's words"
KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "GOOGLE_GENAI_USE_VERTEXAI")


def refused(code: int, message: str = WORDS, *, delay: str | None = None, header: str | None = None) -> APIError:
    """Return google-genai's error for a response with this status."""
    error: dict[str, Any] = {"message": message}
    if delay is not None:
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]
    headers = {} if header is None else {"Retry-After": header}
    return APIError(code, {"error": error}, httpx.Response(code, headers=headers))


def no_response() -> pydantic.ValidationError:
    """Return google-genai's error for JSON of another form."""
    with pytest.raises(pydantic.ValidationError) as raised:
        GenerateContentResponse.model_validate({"candidates": WORDS})
    return raised.value


def without_key(client: Callable[[], Any]) -> Exception:
    """Return a client's error for a missing key."""
    with pytest.MonkeyPatch.context() as patch:
        for name in KEYS:
            patch.delenv(name, raising=False)
        try:
            client()
        except Exception as error:
            return error
    raise AssertionError(f"{client} needs no key")


def around(error: Exception) -> Exception:
    """Return another error whose cause is this one."""
    outer = RuntimeError(WORDS)
    outer.__cause__ = error
    return outer


@pytest.mark.parametrize(
    ("error", "described", "may_pass"),
    [
        (refused(401), "it refused the key (401): check it in the environment", False),
        (refused(400, "API key not valid"), "it refused the key (400): check it in the environment", False),
        (refused(400), "it refused the request (400)", False),
        (
            refused(404),
            "it was not found, the provider knows no model of that name (404): "
            "check the model's name, and the address of the provider",
            False,
        ),
        (refused(429), "it was asked too often (429), or its quota is used up", True),
        (refused(503), "it failed (503): it is overloaded or out of order", True),
        (refused(504), "it did not answer in time (504)", True),
        (refused(501), "it failed (501): it is overloaded or out of order", False),
        (without_key(genai.Client), "it has no key: set GEMINI_API_KEY", False),
        (without_key(OpenAI), "it has no key: set OPENAI_API_KEY", False),
        (
            ValueError("The API key was not given"),
            "it has no key: set the variable that its provider reads it from",
            False,
        ),
        (
            ValueError("Your default credentials were not found."),
            "it has no key: run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS",
            False,
        ),
        (
            httpx.ConnectError("x", request=httpx.Request("POST", "http://127.0.0.1:9/v1beta")),
            "it could not be reached at 127.0.0.1:9",
            True,
        ),
        (aiohttp.ClientConnectorError(ADDRESS, OSError("no")), "it could not be reached at models.local:8443", True),
        (httpx.ReadTimeout("x"), "it did not answer in time", False),
        (aiohttp.ServerTimeoutError(), "it did not answer in time", False),
        (ConnectionResetError(), "it broke off the connection", True),
        (aiohttp.ServerDisconnectedError(), "it broke off the connection", True),
        (aiohttp.ClientPayloadError(WORDS), "it broke off the connection", True),
        (httpx.ReadError("x"), "it broke off the connection", True),
        (
            UnknownApiResponseError(f"Failed to parse response as JSON. Raw response: {WORDS}"),
            "it gave an answer that could not be read, as a proxy in between may do",
            False,
        ),
        (no_response(), "it gave an answer that could not be read, as a proxy in between may do", False),
    ],
    ids=str,
)
def test_a_model_error_is_described_without_its_own_message(error: Exception, described: str, may_pass: bool) -> None:
    """This also works for an error that wraps it."""
    for found in (error, around(error)):
        outage = classify_error(found)

        assert outage is not None
        assert outage.describe("it") == described
        assert outage.is_transient is may_pass


def test_errors_that_do_not_come_from_a_model_are_not_described() -> None:
    """Examples are errors of tools and callbacks, even for a missing key of another service."""
    assert classify_error(around(ZeroDivisionError(WORDS))) is None
    assert classify_error(around(RuntimeError("no api key for the weather"))) is None


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ({}, None),
        ({"delay": "1.5s"}, 1.5),
        ({"header": "7"}, 7.0),
        ({"header": "7", "delay": "38.25s"}, 38.25),
        ({"header": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"delay": "soon"}, None),
        ({"header": "1e999"}, None),
    ],
    ids=str,
)
def test_the_requested_delay_is_read_from_header_and_body(asked: Mapping[str, str], seconds: float | None) -> None:
    """The longer one counts; a value that is not a number of seconds is ignored."""
    outage = classify_error(refused(429, **asked))

    assert outage is not None
    assert outage.retry_after == seconds


@pytest.mark.parametrize("body", [None, "page", {"error": "quota"}, {"error": {"details": [1]}}], ids=str)
def test_a_body_of_any_form_is_accepted(body: Any) -> None:
    """Proxies change it freely."""
    error = refused(429)
    error.details = body

    outage = classify_error(error)

    assert outage is not None
    assert (outage.status, outage.retry_after) == (429, None)


class Sleeps:
    """Records the pauses instead of sleeping."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def asked(*answers: Exception | str) -> tuple[str | Exception, list[float], int]:
    """Ask until there is an answer or patience ends; return it, the pauses, and how often it was asked."""
    left, sleeps = list(answers), Sleeps()

    def ask() -> str:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    limits = CallLimits(
        60.0, max_attempts=4, first_pause_seconds=1.0, max_pause_seconds=2.0, jitter_seconds=0.5, window_seconds=10.0
    )
    retrying = Retrying(**retry_policy(limits), sleep=sleeps)
    try:
        return retrying(ask), sleeps.taken, len(answers) - len(left)
    except Exception as error:
        return error, sleeps.taken, len(answers) - len(left)


def test_temporary_failures_are_retried_after_growing_pauses() -> None:
    """The number of attempts is limited."""
    answer, pauses, _ = asked(refused(503), httpx.ReadError("x"), refused(500), "fine")

    assert answer == "fine"
    assert [1.0 <= pauses[0] <= 1.5, 2.0 <= pauses[1] <= 2.5, 2.0 <= pauses[2] <= 2.5] == [True] * 3


def test_the_last_failure_is_raised_unchanged() -> None:
    """The caller can then describe it."""
    failures = [refused(503) for _ in range(5)]
    error, _, times = asked(*failures)

    assert (error, times) == (failures[3], 4)


@pytest.mark.parametrize("error", [refused(400), refused(404), httpx.ReadTimeout("x"), ZeroDivisionError()], ids=str)
def test_permanent_failures_are_not_retried(error: Exception) -> None:
    """Time-outs are not retried either: the caller has waited long enough."""
    assert asked(error, "fine") == (error, [], 1)


def test_the_delay_of_the_provider_is_respected() -> None:
    """Jitter is added, so that clients do not retry at the same time."""
    answer, pauses, _ = asked(refused(429, delay="3s"), "fine")

    assert answer == "fine"
    assert 3.0 <= pauses[0] <= 3.5


def test_a_delay_beyond_the_time_limit_fails_at_once() -> None:
    """An earlier retry would be refused again."""
    error = refused(429, delay="40s")

    assert asked(error, "fine") == (error, [], 1)


async def failed_connection(error: BaseException) -> Exception:
    """Return what SQLAlchemy passes on if a server's driver raises this error while it connects."""

    async def connect() -> Any:
        raise error

    engine = create_async_engine("postgresql+asyncpg://", async_creator=connect)
    with pytest.raises((SQLAlchemyError, OSError)) as raised:
        await engine.connect()
    await engine.dispose()
    return raised.value


async def test_a_database_is_not_mistaken_for_a_model() -> None:
    """Neither a pool without a free connection, nor a lock, nor a server that does not answer."""
    locked = OperationalError("BEGIN IMMEDIATE", {}, sqlite3.OperationalError("database is locked"))
    described = {
        PoolTimeoutError("QueuePool limit"): "a database did not answer in time",
        await failed_connection(TimeoutError()): "a database did not answer in time",
        await failed_connection(ConnectionResetError(WORDS)): "a database failed: ConnectionResetError",
        locked: "a database is locked by another process",
        sqlite3.IntegrityError(WORDS): "a database failed: IntegrityError",
    }
    for error, description in described.items():
        for found in (error, around(error)):
            assert classify_error(found) is None
            assert describe_database_failure(found) == description
    assert describe_database_failure(httpx.ReadTimeout("x")) == ""
