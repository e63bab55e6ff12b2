"""The offline model applies rules to a single request."""

from __future__ import annotations

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from gaia_memory.adk.models.offline_model import INTRODUCTION, OfflineModel

pytestmark = pytest.mark.heavy

BLOCK = "Be kind.\n\n<USER_PROFILE>\nWhat is known.\n- Name: Itay\n- Lives in Berlin\n</USER_PROFILE>"


def remember(fact: str) -> None:
    """Keep."""


def load_memory(query: str) -> None:
    """Look."""


def words(text: str, *, role: str = "user") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def asked(*contents: types.Content, tools: bool = True, system: str | None = None) -> LlmRequest:
    request = LlmRequest(contents=list(contents), config=types.GenerateContentConfig(system_instruction=system))
    if tools:
        request.append_tools([FunctionTool(remember), FunctionTool(load_memory)])
    return request


async def answers(request: LlmRequest, *, stream: bool = False) -> list[LlmResponse]:
    return [response async for response in OfflineModel().generate_content_async(request, stream=stream)]


async def part(request: LlmRequest) -> types.Part:
    [response] = await answers(request)
    assert response.content is not None
    assert response.content.parts is not None
    return response.content.parts[0]


async def text(request: LlmRequest) -> str:
    return (await part(request)).text or ""


def responded(name: str, **response: object) -> types.Content:
    return types.Content(role="user", parts=[types.Part.from_function_response(name=name, response=response)])


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("Remember that I like teal", "I like teal"),
        ("please remember: my sister is Noa", "my sister is Noa"),
        ("Don't forget I am allergic to nuts.", "I am allergic to nuts."),
    ],
)
async def test_the_offline_model_remembers_on_request(said: str, fact: str) -> None:
    """The words after the request become the fact."""
    call = (await part(asked(words(said)))).function_call

    assert call is not None
    assert (call.name, call.args) == ("remember", {"fact": fact})


async def test_the_offline_model_looks_up_questions_that_the_profile_does_not_answer() -> None:
    """The question is passed to `load_memory` unchanged."""
    call = (await part(asked(words("What can't I eat?"), system=BLOCK))).function_call

    assert call is not None
    assert (call.name, call.args) == ("load_memory", {"query": "What can't I eat?"})


async def test_the_offline_model_answers_from_the_profile_without_a_call() -> None:
    """It quotes only the lines related to the question."""
    answer = await text(asked(words("In which city, Berlin?"), system=BLOCK))

    assert "Lives in Berlin" in answer
    assert "Itay" not in answer


async def test_the_offline_model_describes_the_results_of_memory_tools() -> None:
    """Hits, no hits, unavailable, refused and saved give different replies."""
    hits = await text(asked(words("?"), responded("load_memory", status="success", memories=[{"text": "Noa"}])))
    none = await text(asked(words("?"), responded("load_memory", status="success", memories=[])))
    down = await text(asked(words("?"), responded("load_memory", status="unavailable", memories=[])))
    kept = await text(asked(words("?"), responded("remember", status="success", text="tea")))
    refused = await text(asked(words("?"), responded("remember", status="error", message="it is a credential")))

    assert "- Noa" in hits
    assert "don't remember" in none
    assert "cannot answer" in down
    assert "tea" in kept
    assert "it is a credential" in refused


async def test_the_offline_model_introduces_itself_once_per_conversation_and_on_request() -> None:
    """Users must not mistake it for a real model."""
    first = await text(asked(words("I moved to Berlin")))
    later = await text(asked(words("I moved to Berlin"), words(first, role="model"), words("It rains")))
    when_asked = await text(asked(words("hi"), words(first, role="model"), words("Who are you?")))

    assert INTRODUCTION in first
    assert INTRODUCTION not in later
    assert INTRODUCTION in when_asked


async def test_without_tools_the_offline_model_calls_nothing() -> None:
    """Memory may be off."""
    assert "cannot answer" in await text(asked(words("Where do I live?"), tools=False))
    assert (await part(asked(words("remember that I like teal"), tools=False))).function_call is None


async def test_the_offline_model_streams_pieces_and_then_the_whole_answer() -> None:
    """The last response is complete and not partial."""
    responses = await answers(asked(words("It rains")), stream=True)

    texts = ["".join(part.text or "" for part in response.content.parts) for response in responses if response.content]
    assert [response.partial for response in responses] == [True] * (len(responses) - 1) + [False]
    assert len(responses) > 2
    assert "".join(texts[:-1]) == texts[-1]


async def test_the_offline_model_answers_an_empty_request() -> None:
    """The reply is not empty."""
    assert await text(asked())


async def test_a_general_question_gets_the_whole_profile() -> None:
    """An example is "What do you know about me?"."""
    answer = await text(asked(words("What do you know about me?"), system=BLOCK))

    assert "Name: Itay" in answer
    assert "Lives in Berlin" in answer
