"""Long results of tools are cut in a request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from gaia_memory.adk.plugins.tool_results import cut_tool_results

pytestmark = pytest.mark.heavy

FILE = types.FunctionResponsePart(inline_data=types.FunctionResponseBlob(mime_type="image/png", data=b"x" * 5_000))


def request_with(response: Any, name: str = "read_page") -> LlmRequest:
    """Return a request with a tool's result, and a file in it."""
    result = types.FunctionResponse(name=name, response=response, parts=[FILE])
    part = types.Part(function_response=result)
    return LlmRequest(contents=[types.Content(role="user", parts=[types.Part(text="y" * 9_000), part])])


def result_of(request: LlmRequest) -> types.FunctionResponse:
    """Return the tool's result."""
    found = (request.contents[0].parts or [])[1].function_response
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("response", "cut"),
    [
        ({"result": "z" * 94}, {"result": "z" * 94}),
        ({"result": "z" * 300}, {"result": "z" * 94 + "… [cut: 206 more characters]"}),
        ({"text": "z" * 300, "status": "ok"}, {"text": "z" * 88 + "… [cut: 212 more characters]", "status": "ok"}),
        ({"rows": ["a" * 48] * 9}, {"rows": ["a" * 48, "a" * 48, "… [cut: 7 more items]"]}),
        (
            {"data": b"z" * 300, "n": 3, "on": True, "none": None},
            {"data": b"z" * 300, "n": 3, "on": True, "none": None},
        ),
    ],
)
def test_a_long_result_keeps_its_form_and_says_what_is_missing(response: Any, cut: Any) -> None:
    """Short values are kept first; a file and the user's message stay whole, and the original is not changed."""
    request, original = request_with(response), json.dumps(response, default=repr)
    contents = request.contents[0]
    cut_tool_results(request, 100)

    assert result_of(request).response == cut
    assert result_of(request).parts == [FILE]
    assert (request.contents[0].parts or [])[0].text == "y" * 9_000
    whole = (contents.parts or [])[1].function_response
    assert whole is not None
    assert json.dumps(whole.response, default=repr) == original


def test_keys_beyond_the_limit_are_counted() -> None:
    """Their names would be too long, too."""
    request = request_with({f"key {number:04}": "v" * 10 for number in range(900)})
    cut_tool_results(request, 100)

    response = result_of(request).response or {}
    assert response["…"] == "[cut: 894 more keys]"
    assert len(json.dumps(response)) < 300


def test_answers_of_memory_have_a_budget_of_their_own() -> None:
    """They are cut where they are made."""
    request = request_with({"memories": [{"text": "m" * 500}]}, name="load_memory")
    cut_tool_results(request, 100)

    assert result_of(request).response == {"memories": [{"text": "m" * 500}]}
