"""Says that `auto` fell back to no model or to the offline embedder, and what to put into gaia.yaml instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gaia_memory.backend.providers.resolve_provider import AUTO, OFFLINE, Provider
from gaia_memory.config.api_keys import (
    OPENAI_KEY_VARIABLE,
    VERTEX_PROJECT_VARIABLE,
    VERTEX_SWITCH_VARIABLES,
    can_reach_gemini,
    uses_vertex,
)

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig

_NO_MODEL = "memory learns sentences as they were said"
_EMBEDDER = "the offline embedder finds facts by their words alone"
_EMBEDDER_HINT = "The embedder is chosen separately"
_REINDEX_HINT = "Then run `gaia memory reindex`."
_CONFIRMATION_HINT = "That confirms it. For another embedder, name it there and run `gaia memory reindex`."
_NO_ACCESS = "there is no GEMINI_API_KEY and no project on Vertex AI"


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
