"""What we rely on in mem0, and each defect we work around: a test here fails when one is gone or changed."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest
from google.genai import types

import gaia_memory
from support.servers.fake_gemini import FakeGemini

SOURCES = Path(gaia_memory.__file__).parent


def answer(*parts: dict[str, Any], finish: str = "STOP") -> types.GenerateContentResponse:
    """Return a response of Gemini's, as its SDK reads it."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}
    return types.GenerateContentResponse.model_validate({"candidates": [candidate]})


@pytest.fixture
def gemini_llm(gemini: FakeGemini) -> Any:
    """Return mem0's own Gemini model."""
    from mem0.configs.llms.gemini import GeminiConfig
    from mem0.llms.gemini import GeminiLLM

    made = GeminiLLM(GeminiConfig(model="gemini-x"))
    yield made
    made.client.close()


def test_the_prompt_builder_takes_what_we_give_it() -> None:
    """By name, keyword-only where it is."""
    from mem0.configs.prompts import generate_additive_extraction_prompt

    parameters = inspect.signature(generate_additive_extraction_prompt).parameters

    assert list(parameters) == [
        "summary",
        "recently_extracted_memories",
        "existing_memories",
        "new_messages",
        "last_k_messages",
        "current_date",
        "timestamp",
        "custom_instructions",
        "use_input_language",
    ]


def test_the_prompt_asks_for_the_form_that_we_check() -> None:
    """A list `memory` of objects with `text`, and an empty one for nothing."""
    from mem0.configs.prompts import ADDITIVE_EXTRACTION_PROMPT

    assert '{"memory": []}' in ADDITIVE_EXTRACTION_PROMPT
    assert "**text** (string, required)" in ADDITIVE_EXTRACTION_PROMPT
    assert "## Observation Date" in ADDITIVE_EXTRACTION_PROMPT


def test_nothing_of_ours_calls_add_on_mem0() -> None:
    """`Memory.add` extracts and stores in one step that cannot be made exactly-once: no `infer=` anywhere."""
    for path in SOURCES.rglob("*.py"):
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        inferring = [call.lineno for call in calls if any(keyword.arg == "infer" for keyword in call.keywords)]
        mem0_add = [
            call.lineno
            for call in calls
            if isinstance(call.func, ast.Attribute)
            and call.func.attr == "add"
            and isinstance(call.func.value, ast.Attribute | ast.Name)
            and ast.unparse(call.func.value).split(".")[-1].strip("_") in {"mem0", "m", "mem0_memory"}
        ]

        assert (inferring, mem0_add) == ([], []), path


def test_mem0_still_takes_an_unreadable_answer_for_nothing_to_learn() -> None:
    """Why the answer is checked by us."""
    from mem0.memory.main import Memory

    source = inspect.getsource(Memory._add_to_vector_store)

    assert "extracted_memories = []" in source
    assert "timestamp=" not in source


def test_mem0s_gemini_still_takes_the_first_text_part_only(gemini_llm: Any) -> None:
    """Why ours joins the parts and leaves thoughts out."""
    assert gemini_llm._parse_response(answer({"text": "one "}, {"text": "two"}), None) == "one "
    assert gemini_llm._parse_response(answer({"text": "hm", "thought": True}, {"text": "two"}), None) == "hm"


def test_mem0s_gemini_still_gives_cut_and_blocked_answers_as_text(gemini_llm: Any) -> None:
    """Why ours looks at the reason of the end."""
    blocked = types.GenerateContentResponse.model_validate({"promptFeedback": {"blockReason": "SAFETY"}})

    assert gemini_llm._parse_response(answer({"text": "half"}, finish="MAX_TOKENS"), None) == "half"
    assert gemini_llm._parse_response(blocked, None) == ""


def test_mem0s_gemini_still_has_no_time_out_and_no_retries(gemini_llm: Any) -> None:
    """Why its client is replaced."""
    options = gemini_llm.client._api_client._http_options

    assert options.timeout is None
    assert options.retry_options is None
    assert "http_options" not in inspect.signature(type(gemini_llm.config)).parameters


def test_mem0s_gemini_embedder_still_merges_the_texts_of_a_batch(gemini: FakeGemini) -> None:
    """Why ours sends each text as a content of its own: the new model gives one vector for all of one content."""
    from mem0.configs.embeddings.base import BaseEmbedderConfig
    from mem0.embeddings.gemini import GoogleGenAIEmbedding

    embedder = GoogleGenAIEmbedding(BaseEmbedderConfig(model="models/gemini-embedding-2"))
    with pytest.raises(ValueError, match="1 embeddings for 2 texts"):
        embedder.embed_batch(["one", "two"])
    embedder.client.close()


@pytest.mark.parametrize("kind", ["LlmConfig", "EmbedderConfig"])
def test_mem0s_configurations_still_refuse_registered_providers(kind: str) -> None:
    """Why they are made with `model_construct`."""
    from mem0.embeddings.configs import EmbedderConfig
    from mem0.llms.configs import LlmConfig

    made = {"LlmConfig": LlmConfig, "EmbedderConfig": EmbedderConfig}[kind]
    with pytest.raises(ValueError, match="Unsupported"):
        made(provider="offline", config={})


def test_mem0s_openai_still_goes_to_openrouter_by_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why the client is put back."""
    from mem0.llms.openai import OpenAILLM

    monkeypatch.setenv("OPENROUTER_API_KEY", "x")
    monkeypatch.setenv("OPENAI_API_KEY", "y")
    llm = OpenAILLM()
    base_url = str(llm.client.base_url)
    llm.client.close()

    assert "openrouter" in base_url


def test_mem0_still_silences_a_logger_that_is_not_its_own() -> None:
    """Why its level is put back after the import."""
    from mem0.memory import telemetry

    assert 'getLogger("urllib3").setLevel' in inspect.getsource(telemetry)


def test_mem0_still_downloads_a_language_model_in_the_middle_of_a_call() -> None:
    """Why the attempt is marked as failed beforehand."""
    from mem0.utils import spacy_models

    assert "download(" in inspect.getsource(spacy_models._ensure_model_available)
    assert isinstance(spacy_models._load_failed_full, bool)
    assert isinstance(spacy_models._load_failed_lemma, bool)
