"""The model of a host's agent, as memory asks it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from gaia_memory.adk.models.offline_model import OfflineModel
from gaia_memory.errors import BadAnswerError, ModelUnavailableError
from gaia_memory.model_calls import AnswerOptions, require_complete
from gaia_memory.telemetry.token_usage import report_gemini_tokens

if TYPE_CHECKING:
    from google.adk.models.llm_response import LlmResponse
    from google.adk.workflow import BaseNode

_COMPLETE_FINISH_REASONS = frozenset({"", "STOP", "FINISH_REASON_UNSPECIFIED"})


class LlmAgentModel:
    """The port `AgentModel` over the model object of an LlmAgent: its own, or the one that it inherits."""

    def __init__(self, agent: LlmAgent) -> None:
        """Ask the model that `agent` has at each question."""
        self._agent = agent

    @property
    def name(self) -> str:
        """The name of the model."""
        try:
            return self._agent.canonical_model.model
        except (ImportError, ValueError):
            # ADK does not know the model: the turn reports that.
            return str(self._agent.model)

    @property
    def is_offline(self) -> bool:
        """Whether it is this package's offline model."""
        try:
            return isinstance(self._agent.canonical_model, OfflineModel)
        except (ImportError, ValueError):
            return False

    async def complete(self, prompt: str, *, system: str, options: AnswerOptions) -> str:
        """Return the text of the answer, without thoughts.

        Raises:
            BadAnswerError: the answer is blocked or cut off.
            ModelUnavailableError: the answer is the code of an error.
        """
        model = self._agent.canonical_model
        config = types.GenerateContentConfig(
            system_instruction=system,
            response_mime_type="application/json" if options.json else None,
            response_schema=None if options.schema is None else dict(options.schema),
            temperature=options.temperature,
            max_output_tokens=options.max_tokens,
        )
        content = types.Content(role="user", parts=[types.Part(text=prompt)])
        request = LlmRequest(model=model.model, contents=[content], config=config)
        async with aclosing(model.generate_content_async(request)) as responses:
            texts = []
            async for response in responses:
                if not response.partial:
                    report_gemini_tokens(response.usage_metadata)
                    texts.append(_text(response))
            return "".join(texts)


def find_agent_model(agent: BaseNode | None) -> LlmAgentModel | None:
    """Return the model of the root agent, or of the first LlmAgent below it; None if the tree shows no LlmAgent."""
    root = agent.root_agent if isinstance(agent, BaseAgent) else None
    first = next(_llm_agents(root), None) if root is not None else None
    return LlmAgentModel(first) if first is not None else None


def _llm_agents(agent: BaseAgent) -> Iterator[LlmAgent]:
    if isinstance(agent, LlmAgent):
        yield agent
    for child in agent.sub_agents:
        yield from _llm_agents(child)


def _text(response: LlmResponse) -> str:
    code = str(getattr(response.error_code, "name", response.error_code) or "")
    if code.isdigit():
        raise ModelUnavailableError(f"the agent's model answered with the error {code}")
    parts = (response.content.parts if response.content else None) or []
    text = "".join(part.text for part in parts if part.text and not part.thought)
    require_complete(response.finish_reason, text=text, complete_reasons=_COMPLETE_FINISH_REASONS)
    if code:
        require_complete(code, text=text)
        raise BadAnswerError(f"the agent's model gave no answer ({code})")
    return text
