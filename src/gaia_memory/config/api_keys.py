"""API keys of model providers in the environment, and the address of a server with OpenAI's interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaia_memory.config.secrets import PROVIDER_VARIABLES

GEMINI_KEY_VARIABLES = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
"""In the order of precedence of Google's own client."""

OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
OPENAI_URL_VARIABLE = "OPENAI_BASE_URL"
PLACEHOLDER_KEY = "no-key"
"""Sent to a configured server without a key: the client insists on one, and most such servers ignore it."""

MISSING_OPENAI_KEY = f"{OPENAI_KEY_VARIABLE} is not set: set it, or {OPENAI_URL_VARIABLE} for a server of your own"


def gemini_api_key(environ: Mapping[str, str]) -> str | None:
    """Return the Gemini key of `environ`; empty variables do not count."""
    return next((environ[name] for name in GEMINI_KEY_VARIABLES if environ.get(name, "").strip()), None)


def openai_base_url(environ: Mapping[str, str], *, configured: object = None) -> str:
    """Return the server's address, `configured` before the environment; empty for OpenAI itself."""
    return str(configured or environ.get(OPENAI_URL_VARIABLE, "").strip())


def openai_api_key(environ: Mapping[str, str], *, configured: object = None) -> str:
    """Return OpenAI's key, or a placeholder when only a server is `configured` or in the environment, else nothing."""
    server = openai_base_url(environ, configured=configured)
    return environ.get(OPENAI_KEY_VARIABLE, "").strip() or (PLACEHOLDER_KEY if server else "")


def missing_key_variable(provider: str, config: Mapping[str, Any], environ: Mapping[str, str]) -> str | None:
    """Return the key variable that a provider needs and that is not set, else None."""
    variables = PROVIDER_VARIABLES.get(provider)
    if provider == "openai" and openai_base_url(environ, configured=config.get("openai_base_url")):
        # Most self-hosted servers need no key, and the others report a missing one.
        return None
    if variables is None or any(environ.get(name, "").strip() for name in variables.split(" or ")):
        return None
    return variables
