"""API keys of model providers in the environment, and the address of a server with OpenAI's interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaia_memory.config.secrets import PROVIDER_VARIABLES

GEMINI_KEY_VARIABLES = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
"""In the order of precedence of Google's own client."""

VERTEX_SWITCH_VARIABLES = ("GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI")
"""The variables that make Google's client use Vertex AI; the first one that is set decides."""

VERTEX_PROJECT_VARIABLE = "GOOGLE_CLOUD_PROJECT"
VERTEX_LOCATION_VARIABLE = "GOOGLE_CLOUD_LOCATION"
DEFAULT_VERTEX_LOCATION = "global"
"""The location that Google's client uses when none is set."""

OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
OPENAI_URL_VARIABLE = "OPENAI_BASE_URL"
PLACEHOLDER_KEY = "no-key"
"""Sent to a configured server without a key: the client insists on one, and most such servers ignore it."""

MISSING_OPENAI_KEY = f"{OPENAI_KEY_VARIABLE} is not set"
MISSING_OPENAI_KEY_REMEDY = f"set {OPENAI_KEY_VARIABLE}, or {OPENAI_URL_VARIABLE} for a server of your own"


_OWN_SERVER_PROVIDERS = frozenset({"ollama", "vllm", "lmstudio"})


def is_own_server(provider: str, environ: Mapping[str, str], *, configured: object = None) -> bool:
    """Return whether a mem0 provider is a server of one's own; `configured` is the address of OpenAI's interface."""
    return provider in _OWN_SERVER_PROVIDERS or (
        provider == "openai" and bool(openai_base_url(environ, configured=configured))
    )


def gemini_api_key(environ: Mapping[str, str]) -> str | None:
    """Return the Gemini key of `environ`; empty variables do not count."""
    return next((environ[name] for name in GEMINI_KEY_VARIABLES if environ.get(name, "").strip()), None)


def uses_vertex(environ: Mapping[str, str], *, configured: object = None) -> bool:
    """Return whether Gemini is reached through Vertex AI: `configured`, or else as Google's own client decides it."""
    if configured is not None:
        return bool(configured)
    switch = next((environ[name] for name in VERTEX_SWITCH_VARIABLES if name in environ), "")
    return switch.lower() in {"1", "true"}


def vertex_project(environ: Mapping[str, str], *, configured: object = None) -> str:
    """Return the Google Cloud project, `configured` before the environment; empty if there is none."""
    return str(configured or environ.get(VERTEX_PROJECT_VARIABLE, "").strip())


def can_reach_gemini(environ: Mapping[str, str]) -> bool:
    """Return whether `auto` means Gemini: there is a key, or Vertex AI with a project."""
    return gemini_api_key(environ) is not None or (uses_vertex(environ) and bool(vertex_project(environ)))


def gemini_client_arguments(
    environ: Mapping[str, str], *, vertexai: bool | None = None, project: str | None = None, location: str | None = None
) -> dict[str, Any]:
    """Return the arguments with which Google's client reaches Gemini; given ones win over the environment.

    On Vertex AI that is the project and the location, or without a project the key (express mode).
    """
    key = gemini_api_key(environ)
    if not uses_vertex(environ, configured=vertexai):
        # Not left out: the client would read the variables that a configured `vertexai: false` overrides.
        return {"vertexai": False, "api_key": key}
    project = vertex_project(environ, configured=project)
    if key and not project:
        return {"vertexai": True, "api_key": key}
    location = location or environ.get(VERTEX_LOCATION_VARIABLE, "").strip() or DEFAULT_VERTEX_LOCATION
    # Without a project the client asks Google's credentials for theirs.
    return {"vertexai": True, "location": location, **({"project": project} if project else {})}


def openai_base_url(environ: Mapping[str, str], *, configured: object = None) -> str:
    """Return the server's address, `configured` before the environment; empty for OpenAI itself."""
    return str(configured or environ.get(OPENAI_URL_VARIABLE, "").strip())


def openai_api_key(environ: Mapping[str, str], *, configured: object = None) -> str:
    """Return OpenAI's key, or a placeholder when only a server is `configured` or in the environment, else nothing."""
    server = openai_base_url(environ, configured=configured)
    return environ.get(OPENAI_KEY_VARIABLE, "").strip() or (PLACEHOLDER_KEY if server else "")


def missing_key_variable(provider: str, config: Mapping[str, Any], environ: Mapping[str, str]) -> str | None:
    """Return the variable that a provider needs for access and that is not set, else None.

    That is its key; for Gemini on Vertex AI it is the project.
    """
    variables = PROVIDER_VARIABLES.get(provider)
    if provider == "gemini" and uses_vertex(environ, configured=config.get("vertexai")):
        has_access = vertex_project(environ, configured=config.get("project")) or gemini_api_key(environ)
        return None if has_access else VERTEX_PROJECT_VARIABLE
    if provider == "openai" and openai_base_url(environ, configured=config.get("openai_base_url")):
        # Most self-hosted servers need no key, and the others report a missing one.
        return None
    if variables is None or any(environ.get(name, "").strip() for name in variables.split(" or ")):
        return None
    return variables
