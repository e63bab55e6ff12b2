"""Whether the environment holds the key that a provider of mem0 needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaia_memory.config.openai_server import base_url
from gaia_memory.config.secrets import PROVIDER_VARIABLES


def missing_key_variable(provider: str, config: Mapping[str, Any], environ: Mapping[str, str]) -> str | None:
    """Return the variable a provider takes its key from, where it is not set; None where it needs none."""
    variables = PROVIDER_VARIABLES.get(provider)
    if provider == "openai" and base_url(environ, configured=config.get("openai_base_url")):
        # Most servers of one's own ask for none, and one that does says so.
        return None
    if variables is None or any(environ.get(name, "").strip() for name in variables.split(" or ")):
        return None
    return variables
