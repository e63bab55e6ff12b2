"""The address and the key of OpenAI's interface, for the agent, for learning and for vectors."""

from __future__ import annotations

from collections.abc import Mapping

KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
PLACEHOLDER_KEY = "no-key"
"""Sent to a configured server without a key: the client insists on one, and most such servers ignore it."""

MISSING_KEY_MESSAGE = f"{KEY_VARIABLE} is not set: set it, or {URL_VARIABLE} for a server of your own"


def base_url(environ: Mapping[str, str], *, configured: object = None) -> str:
    """Return the server's address, `configured` before the environment; empty for OpenAI itself."""
    return str(configured or environ.get(URL_VARIABLE, "").strip())


def api_key(environ: Mapping[str, str], *, configured: object = None) -> str:
    """Return the key, or a placeholder when only a server is `configured` or in the environment.

    Empty without either.
    """
    return environ.get(KEY_VARIABLE, "").strip() or (
        PLACEHOLDER_KEY if base_url(environ, configured=configured) else ""
    )
