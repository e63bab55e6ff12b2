"""Checked answers from mem0's language model, in worker threads, or from the agent's own model."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

from gaia_memory.backend.model_errors import to_model_error
from gaia_memory.backend.providers.agent_models import AgentModels
from gaia_memory.backend.providers.resolve_provider import AGENT, OFFLINE
from gaia_memory.backend.providers.swappable_llm import SwappableLlm
from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.errors import BadAnswerError, ModelUnavailableError
from gaia_memory.model_calls import LEARNING_DEADLINE_SECONDS, asking_app, time_limit

_THINKING_BLOCK = re.compile(r"\A\s*(?:<think>|(?![\s{`<\-*])).*?</think>", re.DOTALL)
"""Some servers omit the opening tag of the thoughts, because it is part of their prompt."""


class Mem0LanguageModel:
    """The port `LanguageModel` over mem0's LLM object, and with the provider `agent` over the agent's own model."""

    def __init__(
        self,
        llm: SwappableLlm,
        pool: WorkerPool,
        *,
        agent_models: AgentModels | None = None,
        prepare: Callable[[], Awaitable[None]] | None = None,
        deadline: float = LEARNING_DEADLINE_SECONDS,
    ) -> None:
        """Ask `llm` in a thread of `pool`; `deadline` bounds one question, in seconds.

        `prepare` imports packages before the first question; no time limit counts that.
        """
        self._llm = llm
        self._agent_models = agent_models or AgentModels(llm)
        self._pool = pool
        self._prepare = prepare
        self._deadline = deadline

    @property
    def identity(self) -> str:
        """Provider and model, as `provider/model`."""
        provider = self._llm.provider
        if provider.name == AGENT:
            model = self._agent_models.get(asking_app())
            return f"{OFFLINE}/default" if model is not None and model.is_offline else f"{AGENT}/own-model"
        return f"{provider.name}/{provider.model or 'default'}"

    @property
    def is_offline(self) -> bool:
        """Whether fixed rules answer instead of a model."""
        return self._llm.provider.name == OFFLINE

    async def complete(self, prompt: str, *, system: str) -> str:
        """Return the whole answer without a leading block of thoughts.

        Raises:
            ModelUnavailableError: the model could not be reached in time.
            BadAnswerError: its answer is blank, blocked or cut off.
        """
        return await self.ask(prompt, system=system)

    async def ask(self, prompt: str, *, system: str, json: bool = False) -> str:
        """Return the answer as `complete` does; `json` asks the provider for its JSON mode."""
        if self._prepare is not None:
            await self._prepare()
        try:
            async with time_limit(self._deadline):
                answer = await self._answer(prompt, system=system, json=json)
        except TimeoutError as late:
            message = f"the model {self.identity} gave no answer within {self._deadline:g} s"
            raise ModelUnavailableError(message) from late
        if not isinstance(answer, str):
            raise BadAnswerError(f"the model {self.identity} answered with a {type(answer).__name__}, not with text")
        answer = _THINKING_BLOCK.sub("", answer).strip()
        if answer.startswith("<think>"):
            raise BadAnswerError(f"the model {self.identity} did not finish its thoughts")
        if not answer:
            raise BadAnswerError(f"the model {self.identity} gave a blank answer")
        return answer

    async def _answer(self, prompt: str, *, system: str, json: bool) -> Any:
        if self._llm.provider.name == AGENT:
            model = self._agent_models.current()
            if not model.is_offline:
                return await self._agent_models.ask(model, prompt, system=system, json=json)
        # An agent on the offline model learns by the offline rules, which mem0's object of that provider contains.
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        return await self._pool.run(self._generate, messages, json)

    def _generate(self, messages: list[dict[str, str]], json: bool) -> Any:
        json_mode = {"response_format": {"type": "json_object"}} if json else {}
        try:
            return self._llm.generate_response(messages=messages, **json_mode)
        except (Exception, SystemExit) as error:  # Boundary: a provider may raise anything, and some exit.
            raise to_model_error(error, subject=f"the model {self.identity}") from error
