"""What kept a model from answering is said in words."""

from __future__ import annotations

import httpx
import pytest
from aiohttp import ClientConnectorError, ServerTimeoutError
from aiohttp.client_reqrep import ConnectionKey
from google.genai.errors import APIError

from gaia_memory.adk.failure import what_happened

ADDRESS = ConnectionKey("models.local", 8443, True, None, None, None, None)


def refused(code: int, message: str = "a person's words") -> APIError:
    """Return the error of an answer with this status."""
    return APIError(code, {"error": {"message": message}})


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (refused(401), "the model refused the key (401)"),
        (refused(400, "API key not valid"), "the model refused the key (400)"),
        (refused(400), "the model refused the request (400)"),
        (refused(404), "the provider knows no model of that name (404)"),
        (refused(429), "the model was asked too often (429)"),
        (refused(503), "the model failed (503)"),
        (ValueError("No API key was provided."), "the model has no key: set GEMINI_API_KEY"),
        (httpx.ConnectError("x"), "the model could not be reached"),
        (
            httpx.ConnectError("x", request=httpx.Request("POST", "http://127.0.0.1:9/v1beta")),
            "the model could not be reached at 127.0.0.1:9",
        ),
        (ClientConnectorError(ADDRESS, OSError("no")), "the model could not be reached at models.local:8443"),
        (httpx.ReadTimeout("x"), "the model did not answer in time"),
        (ServerTimeoutError(), "the model did not answer in time"),
        (ConnectionResetError(), "the model could not be reached"),
        (ZeroDivisionError("a person's words"), None),
    ],
    ids=str,
)
def test_what_went_wrong_is_worded_without_the_words_of_the_error(error: Exception, said: str | None) -> None:
    """Whichever client raised it, also where another error stands around it."""
    around = RuntimeError("a person's words")
    around.__cause__ = error

    assert what_happened(error) == said
    assert what_happened(around) == said
