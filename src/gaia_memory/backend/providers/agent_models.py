"""The models of agents, for `memory.llm: {provider: agent}`, and the warning when `auto` finds no other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenacity import AsyncRetrying

from gaia_memory.backend.model_errors import to_model_error
from gaia_memory.backend.providers.resolve_provider import AGENT, AUTO, OFFLINE, Provider
from gaia_memory.backend.providers.swappable_llm import SwappableLlm
from gaia_memory.config.api_keys import (
    OPENAI_KEY_VARIABLE,
    VERTEX_PROJECT_VARIABLE,
    VERTEX_SWITCH_VARIABLES,
    can_reach_gemini,
    uses_vertex,
)
from gaia_memory.errors import GaiaMemoryError, ModelUnavailableError
from gaia_memory.log import MultiLine, log_fields, logger_for
from gaia_memory.model_calls import LEARNING, AnswerOptions, asking_app, retry_policy
from gaia_memory.ports import AgentModel
from gaia_memory.ports.external import MISSING_AGENT_MODEL, MISSING_AGENT_MODEL_REMEDY

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig


logger = logger_for(__name__)

FindFallback = Callable[[str], "OfflineFallback | None"]

_NO_MODEL = "memory learns sentences as they were said"
_EMBEDDER = "the offline embedder compares texts on this machine"
_EMBEDDER_HINT = "The embedder is chosen separately"
_REINDEX_HINT = "Then run `gaia memory reindex`."
_CONFIRMATION_HINT = "That confirms it. For another embedder, name it there and run `gaia memory reindex`."
_NO_ACCESS = "there is no GEMINI_API_KEY and no project on Vertex AI"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineFallback:
    """The parts of memory for which `auto` chose the offline provider, and why.

    `replaces_llm` and `replaces_embedder` name the parts; an explicit `provider: offline` is none of them.
    """

    replaces_llm: bool
    replaces_embedder: bool
    reason: str
    llm_settings: str
    embedder_settings: str
    needs_reindex: bool

    @property
    def what(self) -> str:
        """The clause that says which offline parts are used."""
        both = self.replaces_llm and self.replaces_embedder
        return f"{_NO_MODEL} and {_EMBEDDER}" if both else _NO_MODEL if self.replaces_llm else _EMBEDDER

    @property
    def setting(self) -> str:
        """The line below `memory:` in gaia.yaml that replaces the offline part, the model first."""
        return f"llm: {self.llm_settings}" if self.replaces_llm else f"embedder: {self.embedder_settings}"

    @property
    def embedder_remedy(self) -> str:
        """What to do about the offline embedder."""
        change = f"put `embedder: {self.embedder_settings}` under `memory:`"
        if self.needs_reindex:
            return f"{change}, then run `gaia memory reindex`"
        return f"{change} to confirm it, or name another embedder there and run `gaia memory reindex`"

    def describe(self, agent_model: str) -> str:
        """Return the whole text: what is offline and why, and the lines of YAML that change it.

        `agent_model` is empty if no agent is known, or it is offline itself.
        """
        contrast = f", although the agent's model is {agent_model}" if agent_model else ""
        lines = [f"{self.what}{contrast}: {self.reason}. Put this into gaia.yaml:", "  memory:", f"    {self.setting}"]
        if self.replaces_embedder:
            hint = _REINDEX_HINT if self.needs_reindex else _CONFIRMATION_HINT
            lines.append(f"{_EMBEDDER_HINT}: {self.embedder_remedy}." if self.replaces_llm else hint)
        return "\n".join(lines)


def find_offline_fallback(
    config: GaiaConfig, environ: Mapping[str, str], llm: Provider, embedder: Provider, *, agent_model: str
) -> OfflineFallback | None:
    """Return which of the resolved providers are an offline fallback; None if none is."""
    replaces_llm = config.memory.llm.provider == AUTO and llm.name == OFFLINE
    replaces_embedder = config.memory.embedder.provider == AUTO and embedder.name == OFFLINE
    if not (replaces_llm or replaces_embedder):
        return None
    lacks_project = uses_vertex(environ) and not can_reach_gemini(environ)
    is_gemini = not agent_model or agent_model.startswith(("gemini", "models/gemini"))
    embedder_provider = "gemini" if can_reach_gemini(environ) else _other_embedder(environ)
    return OfflineFallback(
        replaces_llm=replaces_llm,
        replaces_embedder=replaces_embedder,
        reason=_reason(environ, lacks_project=lacks_project),
        llm_settings="{provider: gemini, vertexai: true, project: YOUR-PROJECT, location: global}"
        if lacks_project and is_gemini
        else "{provider: agent}",
        embedder_settings=f"{{provider: {embedder_provider}}}",
        needs_reindex=embedder_provider != OFFLINE,
    )


def _reason(environ: Mapping[str, str], *, lacks_project: bool) -> str:
    if can_reach_gemini(environ):
        return "most stored vectors are its own"
    if lacks_project:
        switch = next(name for name in VERTEX_SWITCH_VARIABLES if name in environ)
        return f"{switch} is set without {VERTEX_PROJECT_VARIABLE}"
    return _NO_ACCESS


def _other_embedder(environ: Mapping[str, str]) -> str:
    return "openai" if environ.get(OPENAI_KEY_VARIABLE, "").strip() else OFFLINE
