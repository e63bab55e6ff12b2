"""The models of the agents that run in this process, for `memory.llm: {provider: agent}`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tenacity import AsyncRetrying

from gaia_memory.backend.model_errors import to_model_error
from gaia_memory.backend.providers.offline_fallback import OfflineFallback
from gaia_memory.backend.providers.resolve_provider import AGENT
from gaia_memory.backend.providers.swappable_llm import SwappableLlm
from gaia_memory.errors import GaiaMemoryError, ModelUnavailableError
from gaia_memory.log import MultiLine, logger_for
from gaia_memory.model_calls import LEARNING, AnswerOptions, asking_app, retry_policy
from gaia_memory.ports import AgentModel
from gaia_memory.ports.external import MISSING_AGENT_MODEL, MISSING_AGENT_MODEL_REMEDY
from gaia_memory.telemetry import log_fields

logger = logger_for(__name__)

FindFallback = Callable[[str], OfflineFallback | None]


class AgentModels:
    """The model of each app's agent, as of its last turn in this process.

    `on_new_app` is called when the first model of an app is adopted: its conversations can be learned from then on.
    """

    def __init__(self, llm: SwappableLlm, find_fallback: FindFallback = lambda _: None) -> None:
        """Start without models; `llm` has the provider in force.

        `find_fallback` returns what is offline beside an agent's model of a name.
        """
        self._llm = llm
        self.on_new_app: Callable[[], None] = lambda: None
        self._find_fallback = find_fallback
        self._models: dict[str, AgentModel] = {}
        self._has_warned = False

    def adopt(self, app: str, model: AgentModel) -> None:
        """Let a model answer about the users of an app."""
        previous = self._models.pop(app, None)
        self._models[app] = model
        if previous is None:
            self.on_new_app()

    def warn_if_offline(self, model: AgentModel) -> None:
        """Log, once, that `auto` fell back to offline parts beside an agent with a real model."""
        if self._has_warned or model.is_offline:
            return
        fallback = self._find_fallback(model.name)
        if fallback is not None:
            self._has_warned = True
            text = MultiLine(fallback.describe(model.name))
            logger.warning("%s", text, extra=log_fields("model.offline", model=model.name))

    @property
    def notes(self) -> tuple[str, ...]:
        """What users of memory should know about its models: that offline parts replace real ones."""
        model = self.get(None)
        name = "" if model is None or model.is_offline else model.name
        fallback = self._find_fallback(name)
        return () if fallback is None else (fallback.describe(name),)

    def get(self, app: str | None) -> AgentModel | None:
        """Return the model of an app's agent, without an app the one of the last turn; None if there was no turn."""
        return next(reversed(self._models.values()), None) if app is None else self._models.get(app)

    def has_model_for(self, app: str) -> bool:
        """Return whether a model can be asked about users of an app: with the provider `agent`, once its agent ran."""
        return self._llm.provider.name != AGENT or app in self._models

    def current(self) -> AgentModel:
        """Return the model for the current call.

        Raises:
            ModelUnavailableError: no agent of the app has run in this process.
        """
        model = self.get(asking_app())
        if model is None:
            raise ModelUnavailableError(f"{MISSING_AGENT_MODEL}: {MISSING_AGENT_MODEL_REMEDY}")
        return model

    async def ask(self, model: AgentModel, prompt: str, *, system: str, options: AnswerOptions) -> str:
        """Return a model's answer.

        Raises:
            ModelUnavailableError: the model did not answer.
            ContextSizeError: the question is too long for it.
            BadAnswerError: its answer is blocked or cut off, or it refuses the request.
        """
        try:
            async for attempt in AsyncRetrying(**retry_policy(LEARNING)):
                with attempt:
                    async with asyncio.timeout(LEARNING.timeout_seconds):
                        return await model.complete(prompt, system=system, options=options)
        except GaiaMemoryError:
            raise
        except Exception as error:  # Boundary: a host's model may raise anything.
            raise to_model_error(error, subject=f"the agent's model {model.name}") from error
        raise AssertionError("the last attempt returns or raises")
