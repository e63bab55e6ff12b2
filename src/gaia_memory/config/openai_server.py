"""Where OpenAI's interface is asked, and with which key: for the agent, for learning and for vectors alike."""

from __future__ import annotations

from collections.abc import Mapping

KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
PLACEHOLDER_KEY = "no-key"
"""Sent to a server that was named without a key: the client insists on one, and most such servers ask for none."""

OWN_SERVER_TIMEOUT_SECONDS = 190.0
"""How long a server of one's own may take to begin an answer: it may be slow to read a prompt of 8,000 tokens."""

OWN_SERVER_RETRIES = 1
"""A slow server is asked again only once: each question adds to its work."""

MISSING_KEY_MESSAGE = f"{KEY_VARIABLE} is not set: set it, or {URL_VARIABLE} for a server of your own"


def base_url(environ: Mapping[str, str], *, configured: object = None) -> str:
    """Return the server to ask, `configured` before that of the environment; empty for OpenAI itself."""
    return str(configured or environ.get(URL_VARIABLE, "").strip())


def api_key(environ: Mapping[str, str], *, configured: object = None) -> str:
    """Return the key, a stand-in where only a server was `configured` or is in the environment.

    Empty without either.
    """
    return environ.get(KEY_VARIABLE, "").strip() or (
        PLACEHOLDER_KEY if base_url(environ, configured=configured) else ""
    )
