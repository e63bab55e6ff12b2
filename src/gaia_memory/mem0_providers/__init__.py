"""Registers the embedder `offline` with mem0: a plain mem0 program imports this before it opens a store of ours."""

from gaia_memory.backend.providers.resolve_provider import register_providers

register_providers()
