"""Long results of tools are cut in a request."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.load_memory_tool import LoadMemoryResponse, LoadMemoryTool
from google.genai import types

from gaia_memory.adk.plugins.window_plugin import cut_tool_results

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


@pytest.mark.acceptance("W15")
@pytest.mark.parametrize(
    ("response", "cut"),
    [
        ({"result": "z" * 100}, {"result": "z" * 100}),
        ({"result": "z" * 300}, {"result": "z" * 40 + "… [cut: 260 more characters]"}),
        (
            {"status": "ok", "text": "z" * 300},
            {"result": '{"status": "ok", "text": "' + "z" * 14 + "… [cut: 288 more characters]"},
        ),
        (
            {"text": "z" * 300, "images": [{"kind": "png", "data": b"y" * 300}]},
            {
                "text": "z" * 40 + "… [cut: 260 more characters]",
                "images": [{"kind": "png", "data": b"y" * 300}],
            },
        ),
        (
            {"data": b"z" * 300, "n": 3, "on": True, "none": None},
            {"data": b"z" * 300, "n": 3, "on": True, "none": None},
        ),
    ],
)
def test_a_long_result_is_cut_and_says_what_is_missing(response: Any, cut: Any) -> None:
    """A file and the user's message stay whole, and the original is not changed."""
    request, original = request_with(response), json.dumps(response, default=repr)
    contents = request.contents[0]
    cut_tool_results(request, 100)

    assert result_of(request).response == cut
    assert result_of(request).parts == [FILE]
    assert (request.contents[0].parts or [])[0].text == "y" * 9_000
    whole = (contents.parts or [])[1].function_response
    assert whole is not None
    assert json.dumps(whole.response, default=repr) == original


def test_a_model_as_a_result_is_cut() -> None:
    """ADK's own `load_memory` returns one, and its metadata may be long."""
    memories = [
        MemoryEntry(content=types.Content(parts=[types.Part(text="m" * 500)]), custom_metadata={"k": "v" * 500})
    ]
    request = request_with({"result": LoadMemoryResponse(memories=memories)}, name="load_memory")
    request.tools_dict["load_memory"] = LoadMemoryTool()
    cut_tool_results(request, 100)

    assert len(json.dumps(result_of(request).response)) < 300


def test_a_tool_of_the_agent_is_cut_whatever_its_name() -> None:
    """An agent may have a `recall` of its own."""

    def recall() -> str:
        """Return text."""
        return ""

    request = request_with({"result": "r" * 500}, name="recall")
    request.tools_dict["recall"] = FunctionTool(recall)
    cut_tool_results(request, 100)

    assert len(json.dumps(result_of(request).response)) < 200


def test_answers_of_memory_have_a_budget_of_their_own() -> None:
    """They are cut where they are made."""
    request = request_with({"memories": [{"text": "m" * 500}]}, name="load_memory")
    cut_tool_results(request, 100)

    assert result_of(request).response == {"memories": [{"text": "m" * 500}]}
