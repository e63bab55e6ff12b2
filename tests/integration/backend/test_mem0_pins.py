"""Behavior of mem0 that we rely on or work around: a test fails here when mem0 changes it."""

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
    """Return a response of Gemini as its SDK parses it."""
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


def test_the_prompt_builder_accepts_our_arguments() -> None:
    """By name, and keyword-only where required."""
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


def test_the_prompt_requests_the_format_we_check() -> None:
    """A list `memory` of objects with `text`, or an empty list."""
    from mem0.configs.prompts import ADDITIVE_EXTRACTION_PROMPT

    assert '{"memory": []}' in ADDITIVE_EXTRACTION_PROMPT
    assert "**text** (string, required)" in ADDITIVE_EXTRACTION_PROMPT
    assert "## Observation Date" in ADDITIVE_EXTRACTION_PROMPT


def test_our_code_never_calls_mem0s_add() -> None:
    """`Memory.add` extracts and stores in one step that cannot be exactly-once: no `infer=` anywhere."""
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


def test_mem0_still_treats_an_unreadable_answer_as_nothing_to_learn() -> None:
    """This is why we check the answer ourselves."""
    from mem0.memory.main import Memory

    source = inspect.getsource(Memory._add_to_vector_store)

    assert "extracted_memories = []" in source
    assert "timestamp=" not in source


def test_mem0s_gemini_still_reads_only_the_first_text_part(gemini_llm: Any) -> None:
    """This is why ours joins the parts and omits thoughts."""
    assert gemini_llm._parse_response(answer({"text": "one "}, {"text": "two"}), None) == "one "
    assert gemini_llm._parse_response(answer({"text": "hm", "thought": True}, {"text": "two"}), None) == "hm"


def test_mem0s_gemini_still_returns_truncated_and_blocked_answers_as_text(gemini_llm: Any) -> None:
    """This is why ours checks the finish reason."""
    blocked = types.GenerateContentResponse.model_validate({"promptFeedback": {"blockReason": "SAFETY"}})

    assert gemini_llm._parse_response(answer({"text": "half"}, finish="MAX_TOKENS"), None) == "half"
    assert gemini_llm._parse_response(blocked, None) == ""


def test_mem0s_gemini_still_has_no_timeout_and_no_retries(gemini_llm: Any) -> None:
    """This is why we replace its client."""
    options = gemini_llm.client._api_client._http_options

    assert options.timeout is None
    assert options.retry_options is None
    assert "http_options" not in inspect.signature(type(gemini_llm.config)).parameters


def test_mem0s_gemini_embedder_still_merges_the_texts_of_a_batch(gemini: FakeGemini) -> None:
    """This is why ours sends each text as its own content: the new model returns one vector per content."""
    from mem0.configs.embeddings.base import BaseEmbedderConfig
    from mem0.embeddings.gemini import GoogleGenAIEmbedding

    embedder = GoogleGenAIEmbedding(BaseEmbedderConfig(model="models/gemini-embedding-2"))
    with pytest.raises(ValueError, match="1 embeddings for 2 texts"):
        embedder.embed_batch(["one", "two"])
    embedder.client.close()


@pytest.mark.parametrize("kind", ["LlmConfig", "EmbedderConfig"])
def test_mem0s_configurations_still_refuse_registered_providers(kind: str) -> None:
    """This is why we create them with `model_construct`."""
    from mem0.embeddings.configs import EmbedderConfig
    from mem0.llms.configs import LlmConfig

    made = {"LlmConfig": LlmConfig, "EmbedderConfig": EmbedderConfig}[kind]
    with pytest.raises(ValueError, match="Unsupported"):
        made(provider="offline", config={})


def test_mem0s_openai_still_goes_to_openrouter_if_its_variable_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """This is why we restore the client."""
    from mem0.llms.openai import OpenAILLM

    monkeypatch.setenv("OPENROUTER_API_KEY", "x")
    monkeypatch.setenv("OPENAI_API_KEY", "y")
    llm = OpenAILLM()
    base_url = str(llm.client.base_url)
    llm.client.close()

    assert "openrouter" in base_url


def test_mem0_still_silences_a_logger_of_another_package() -> None:
    """This is why we restore its level after the import."""
    from mem0.memory import telemetry

    assert 'getLogger("urllib3").setLevel' in inspect.getsource(telemetry)


def test_mem0_still_downloads_a_language_model_during_a_call() -> None:
    """This is why the attempt is marked as failed beforehand."""
    from mem0.utils import spacy_models

    assert "download(" in inspect.getsource(spacy_models._ensure_model_available)
    assert isinstance(spacy_models._load_failed_full, bool)
    assert isinstance(spacy_models._load_failed_lemma, bool)
