"""API keys of mem0's providers in the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaia_memory.config.openai_server import base_url
from gaia_memory.config.secrets import PROVIDER_VARIABLES


def missing_key_variable(provider: str, config: Mapping[str, Any], environ: Mapping[str, str]) -> str | None:
    """Return the key variable that a provider needs and that is not set, else None."""
    variables = PROVIDER_VARIABLES.get(provider)
    if provider == "openai" and base_url(environ, configured=config.get("openai_base_url")):
        # Most self-hosted servers need no key, and the others report a missing one.
        return None
    if variables is None or any(environ.get(name, "").strip() for name in variables.split(" or ")):
        return None
    return variables
