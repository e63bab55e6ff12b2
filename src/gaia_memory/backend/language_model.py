"""Checked answers from mem0's language model, in worker threads, or from the agent's own model."""

from __future__ import annotations

import copy
import os
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any

from gaia_memory.backend.model_errors import to_model_error
from gaia_memory.backend.providers import gemini, ollama, openai
from gaia_memory.backend.providers.agent_models import AgentModels
from gaia_memory.backend.providers.resolve_provider import AGENT, GEMINI, OFFLINE, OPENAI
from gaia_memory.backend.providers.swappable_llm import SwappableLlm
from gaia_memory.backend.thread_pools import WorkerPool
from gaia_memory.config.api_keys import is_own_server
from gaia_memory.errors import BadAnswerError, ModelUnavailableError, RefusedRequestError
from gaia_memory.model_calls import LEARNING_DEADLINE_SECONDS, PLAIN_ANSWER, AnswerOptions, asking_app, time_limit
from gaia_memory.telemetry.token_usage import TokenMeter

_THINKING_BLOCK = re.compile(r"\A\s*(?:<think>|(?![\s{`<\-*])).*?</think>", re.DOTALL)
"""Some servers omit the opening tag of the thoughts, because it is part of their prompt."""

_MAX_TOKENS = {GEMINI: gemini.MAX_TOKENS, OPENAI: openai.MAX_TOKENS, "ollama": ollama.MAX_TOKENS, AGENT: 4096}
"""The most tokens of an answer, if the configuration does not say; ADK's default for the agent's model."""

_OTHER_MAX_TOKENS = 2000
"""mem0's default."""

_SCHEMA, _JSON = "schema", "json"


class Mem0LanguageModel:
    """The port `LanguageModel` over mem0's LLM object, and with the provider `agent` over the agent's own model."""

    def __init__(
        self,
        llm: SwappableLlm,
        pool: WorkerPool,
        *,
        meter: TokenMeter | None = None,
        agent_models: AgentModels | None = None,
        prepare: Callable[[], Awaitable[None]] | None = None,
        deadline: float = LEARNING_DEADLINE_SECONDS,
    ) -> None:
        """Ask `llm` in a thread of `pool`; `deadline` bounds one question, in seconds, and `meter` counts its tokens.

        `prepare` imports packages before the first question; no time limit counts that.
        """
        self._llm = llm
        self._agent_models = agent_models or AgentModels(llm)
        self._pool = pool
        self._meter = meter or TokenMeter()
        self._prepare = prepare
        self._deadline = deadline
        self._refused_forms: defaultdict[str, set[str]] = defaultdict(set)

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
        """Whether there is no model to ask."""
        return self.identity.startswith(f"{OFFLINE}/")

    @property
    def max_answer_tokens(self) -> int:
        """The most tokens of an answer, thoughts included."""
        provider = self._llm.provider
        return self._configured_max_tokens or _MAX_TOKENS.get(provider.name, _OTHER_MAX_TOKENS)

    @property
    def is_own_server(self) -> bool:
        """Whether a server of one's own answers, which may be too slow for a long answer."""
        provider = self._llm.provider
        return is_own_server(provider.name, os.environ, configured=provider.config.get("openai_base_url"))

    @property
    def _configured_max_tokens(self) -> int | None:
        return self._llm.provider.config.get("max_tokens")

    async def complete(self, prompt: str, *, system: str, options: AnswerOptions = PLAIN_ANSWER) -> str:
        """Return the whole answer without a leading block of thoughts, in the form of `options` if the server allows.

        A server that refuses the schema is asked in JSON mode, and one that refuses that too without any option. What
        a model's server has refused is not sent to it again.

        Raises:
            ModelUnavailableError: the model could not be reached in time.
            BadAnswerError: its answer is blank, blocked or cut off.
            RefusedRequestError: the server refuses the request in each form.
            ContextSizeError: the question is too long for the model.
        """
        if self._prepare is not None:
            await self._prepare()
        refused: set[str] = set()
        for name, form in self._forms(options):
            try:
                answer = await self._ask_once(prompt, system=system, options=form)
            except RefusedRequestError:
                if not name:
                    raise
                refused.add(name)
            else:
                if options.temperature is None:
                    # Another temperature may be what the server refused.
                    self._refused_forms[self._model_key()] |= refused
                return self._read(answer)
        raise AssertionError("the plain form returns or raises")

    def _forms(self, options: AnswerOptions) -> Iterator[tuple[str, AnswerOptions]]:
        """Yield the forms in which a question may be asked, the preferred one first, without those once refused."""
        refused = self._refused_forms[self._model_key()]
        if options.schema is not None and _SCHEMA not in refused:
            yield _SCHEMA, options
        if options.json and _JSON not in refused:
            yield _JSON, replace(options, schema=None)
        yield "", AnswerOptions(max_tokens=options.max_tokens)

    async def _ask_once(self, prompt: str, *, system: str, options: AnswerOptions) -> Any:
        try:
            with self._meter.question() as question:
                async with time_limit(self._deadline):
                    answer = await self._answer(prompt, system=system, options=options)
                if not self.is_offline:
                    question.estimate([system, prompt], answer if isinstance(answer, str) else "")
                return answer
        except TimeoutError as late:
            message = f"the model {self.identity} gave no answer within {self._deadline:g} s"
            raise ModelUnavailableError(message) from late

    def _read(self, answer: Any) -> str:
        if not isinstance(answer, str):
            raise BadAnswerError(f"the model {self.identity} answered with a {type(answer).__name__}, not with text")
        text = _THINKING_BLOCK.sub("", answer).strip()
        if text.startswith("<think>"):
            raise BadAnswerError(f"the model {self.identity} did not finish its thoughts")
        if not text:
            raise BadAnswerError(f"the model {self.identity} gave a blank answer")
        return text

    def _model_key(self) -> str:
        """Return the name under which the model's habits are kept."""
        model = self._agent_models.get(asking_app()) if self._llm.provider.name == AGENT else None
        return self.identity if model is None else model.name

    async def _answer(self, prompt: str, *, system: str, options: AnswerOptions) -> Any:
        if self._llm.provider.name == AGENT:
            model = self._agent_models.current()
            options = replace(options, max_tokens=options.max_tokens or self._configured_max_tokens)
            return await self._agent_models.ask(model, prompt, system=system, options=options)
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        return await self._pool.run(self._generate, messages, options)

    def _generate(self, messages: list[dict[str, str]], options: AnswerOptions) -> Any:
        response_format: dict[str, Any] | None = {"type": "json_object"} if options.json else None
        if options.schema is not None:
            response_format = {"type": "json_schema", "json_schema": {"name": "answer", "schema": options.schema}}
        arguments = {"response_format": response_format} if response_format else {}
        try:
            llm = _with_options(self._llm.instance(), options)
            return llm.generate_response(messages=messages, **arguments)
        except (Exception, SystemExit) as error:  # Boundary: a provider may raise anything, and some exit.
            raise to_model_error(error, subject=f"the model {self.identity}") from error


def _with_options(llm: Any, options: AnswerOptions) -> Any:
    """Return mem0's object with other settings of an answer; its providers read them from their configuration alone."""
    changed = {"temperature": options.temperature, "max_tokens": options.max_tokens}
    changed = {name: value for name, value in changed.items() if value is not None}
    if not changed or getattr(llm, "config", None) is None:
        return llm
    other = copy.copy(llm)
    other.config = copy.copy(llm.config)
    vars(other.config).update(changed)
    return other
