"""Resolves the providers of a configuration without importing mem0."""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gaia_memory.backend.providers import local
from gaia_memory.config.api_keys import can_reach_gemini, uses_vertex
from gaia_memory.config.sections.provider_section import REMOTE_STORE_KEYS
from gaia_memory.errors import ConfigError

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig

OFFLINE = "offline"
LOCAL = "local"
AUTO = "auto"
AGENT = "agent"
"""Of `memory.llm`: the model of the agent, handed over by its host."""

NO_STORE = "none"
"""Of `memory.vector_store`: there is no other mem0 program."""

GEMINI = "gemini"
OPENAI = "openai"

DEFAULT_APP_MODEL = "gemini-3.5-flash"
"""ADK's default for an agent without a model."""

DEFAULT_GEMINI_EMBEDDER = "models/gemini-embedding-2"
DEFAULT_VERTEX_EMBEDDER = "gemini-embedding-001"
"""On Vertex AI this one is offered in most regions and at `global`, its successor only in some."""
DEFAULT_OPENAI_EMBEDDER = "text-embedding-3-small"
DEFAULT_COLLECTION = "gaia"
OPENAI_MODEL_PREFIX = "openai:"
"""Prefix of an agent's model that uses OpenAI's interface."""

PROVIDERS_WITH_EXTRA = ("ollama",)
"""Providers whose package is an extra of ours with the same name."""

_OPENROUTER_KEYS = frozenset({"openrouter_base_url", "models", "route", "site_url", "app_name"})
"""Options of mem0's `openai` that take effect only with OPENROUTER_API_KEY, which is not read."""

CHROMA = "chroma"
_CHROMA_FIELDS = ("path",)
"""Known without the import of mem0, which takes a second."""

_STORE_CONFIG_PACKAGE = "mem0.configs.vector_stores"
_NO_MODEL = "gaia_memory.backend.builder.NoModel"
_OFFLINE_EMBEDDER = "gaia_memory.backend.providers.sentence_encoder.SentenceEncoder"
_LOCAL_EMBEDDER = "gaia_memory.backend.providers.local.LocalEmbedder"


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider of mem0's factories, and its configuration."""

    name: str
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> str | None:
        """The model in the configuration, if any."""
        model = self.config.get("model")
        return str(model) if model else None


def resolve_llm(config: GaiaConfig, environ: Mapping[str, str]) -> Provider:
    """Return the provider that extracts facts and distils profiles."""
    name, options = config.memory.llm.provider, dict(config.memory.llm.config)
    if name == AUTO:
        name = GEMINI if can_reach_gemini(environ) else OFFLINE
        options = options if name == GEMINI else {}
    if name == GEMINI and not options.get("model"):
        options["model"] = _app_model(config.model)
    if name == OPENAI and not options.get("model") and config.model.startswith(OPENAI_MODEL_PREFIX):
        options["model"] = config.model.removeprefix(OPENAI_MODEL_PREFIX)
    return Provider(name, options)


def resolve_embedder(config: GaiaConfig, environ: Mapping[str, str], *, stored: str | None = None) -> Provider:
    """Return the provider of vectors.

    With `auto`, the identity of the `stored` vectors (`provider/model/dimensions`) takes precedence over the
    environment: adding or removing a key must not leave all facts without a usable vector.
    """
    name, options = config.memory.embedder.provider, dict(config.memory.embedder.config)
    if name == AUTO:
        stored_provider = _stored_provider(stored)
        if stored_provider is not None:
            return stored_provider
        name = GEMINI if can_reach_gemini(environ) else OFFLINE
        options = options if name == GEMINI else {}
    gemini_default = DEFAULT_VERTEX_EMBEDDER if uses_vertex(environ) else DEFAULT_GEMINI_EMBEDDER
    defaults = {GEMINI: gemini_default, OPENAI: DEFAULT_OPENAI_EMBEDDER}
    if name in defaults and not options.get("model"):
        options["model"] = defaults[name]
    return Provider(name, options)


def with_absolute_paths(config: GaiaConfig) -> GaiaConfig:
    """Return the configuration with the folders of `local` models and of the store made absolute, from the home on."""
    changed: dict[str, Any] = {}
    store = config.memory.vector_store
    if path := store.config.get("path"):
        absolute = str(config.home / os.path.expanduser(str(path)))
        changed["vector_store"] = store.model_copy(update={"config": {**store.config, "path": absolute}})
    for section in ("embedder", "reranker"):
        provider = getattr(config.memory, section)
        if provider.provider == LOCAL and provider.config.get("model"):
            model = str(config.home / os.path.expanduser(str(provider.config["model"])))
            changed[section] = provider.model_copy(update={"config": {**provider.config, "model": model}})
    return config.model_copy(update={"memory": config.memory.model_copy(update=changed)})


def _app_model(model: str) -> str:
    """Return the app's model if it is one of Gemini's, otherwise ADK's default."""
    return model if model.startswith(("gemini", "models/", "projects/")) else DEFAULT_APP_MODEL


def _stored_provider(stored: str | None) -> Provider | None:
    """Parse an identity as one of the two providers of `auto`."""
    if not stored:
        return None
    name, _, rest = stored.partition("/")
    model, _, dimensions = rest.rpartition("/")
    if name == OFFLINE:
        return Provider(OFFLINE)
    if name == GEMINI and dimensions.isdigit():
        return Provider(GEMINI, {"model": model, "embedding_dims": int(dimensions)})
    return None


def register_providers() -> None:
    """Register `offline`, `local` and `agent` with mem0's factories; mem0 itself never asks an agent's model."""
    from mem0.utils.factory import EmbedderFactory, LlmFactory

    LlmFactory.register_provider(OFFLINE, _NO_MODEL)
    LlmFactory.register_provider(AGENT, _NO_MODEL)
    EmbedderFactory.provider_to_class[OFFLINE] = _OFFLINE_EMBEDDER
    EmbedderFactory.provider_to_class[LOCAL] = _LOCAL_EMBEDDER


def problems(llm: Provider, embedder: Provider, store: Provider) -> list[str]:
    """Return one line for each unknown provider, missing package and unknown key."""
    from mem0.configs.embeddings.base import BaseEmbedderConfig
    from mem0.utils.factory import EmbedderFactory, LlmFactory, VectorStoreFactory

    lines: list[str] = []
    llms = LlmFactory.provider_to_class
    lines += find_unknown("memory.llm", llm, llms, lambda name: _accepted_llm_keys(name, llms[name][1]))
    embedders = EmbedderFactory.provider_to_class
    lines += find_unknown(
        "memory.embedder", embedder, embedders, lambda name: _accepted_embedder_keys(name, BaseEmbedderConfig)
    )
    tokens = llm.config.get("max_tokens", 1)
    if not isinstance(tokens, int) or tokens < 1:
        lines.append(f"memory.llm.max_tokens: {tokens!r} is not a whole number of tokens from 1 on")
    if embedder.name == LOCAL:
        lines += local.problems(embedder.model)
    stores = {NO_STORE: "", **VectorStoreFactory.provider_to_class}
    lines += find_unknown(
        "memory.vector_store", store, stores, lambda name: () if name == NO_STORE else store_fields(name)
    )
    if not lines:
        lines += _missing_package("memory.llm", llm, llms[llm.name][0])
        lines += _missing_package("memory.embedder", embedder, embedders[embedder.name])
    return lines


def missing_store_package(store: Provider, *, section: str = "memory.vector_store") -> list[str]:
    """Return one line if the package of a known vector store is not installed."""
    from mem0.utils.factory import VectorStoreFactory

    if store.name == NO_STORE:
        return []
    return _missing_package(section, store, VectorStoreFactory.provider_to_class[store.name])


def store_fields(provider: str) -> Collection[str] | None:
    """Return the keys that a vector store accepts; None when it accepts any."""
    name = f"{_STORE_CONFIG_PACKAGE}.{provider}"
    if find_spec(name) is None:
        return None
    try:
        module = import_module(name)
    except ImportError as missing:
        raise ConfigError([f"memory.vector_store.provider: {provider!r} needs a package: {missing}"]) from missing
    models = [each for each in vars(module).values() if getattr(each, "__module__", "") == name]
    # Some modules also define models for a part of their settings.
    [model] = [each for each in models if each.__name__.endswith("Config")]
    return set(model.model_fields)


def store_config(provider: Provider, folder: str, dimensions: Callable[[], int]) -> dict[str, Any]:
    """Return the vector store's configuration, with defaults for its location and the size of vectors.

    An embedded store is put into `folder`; a remote store gets no path. `dimensions` is called only for a store that
    needs it.
    """
    config = dict(provider.config)
    fields = _CHROMA_FIELDS if provider.name == CHROMA else store_fields(provider.name) or ()
    config.setdefault("collection_name", DEFAULT_COLLECTION)
    if "path" in fields and not any(config.get(key) for key in ("path", *REMOTE_STORE_KEYS)):
        config["path"] = folder
    if "embedding_model_dims" in fields and "embedding_model_dims" not in config:
        config["embedding_model_dims"] = dimensions()
    return config


def _parameter_names(config_class: Any) -> Collection[str] | None:
    parameters = inspect.signature(config_class).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return None
    return set(parameters) - _OPENROUTER_KEYS


def _accepted_llm_keys(provider: str, config_class: Any) -> Collection[str] | None:
    return ("max_tokens",) if provider == AGENT else _parameter_names(config_class)


def _accepted_embedder_keys(provider: str, config_class: Any) -> Collection[str] | None:
    return local.CONFIG_KEYS if provider == LOCAL else _parameter_names(config_class)


def find_unknown(
    section: str, provider: Provider, known: Collection[str], accepted_keys_of: Callable[[str], Collection[str] | None]
) -> list[str]:
    """Return one line for an unknown provider, or for each key that it does not accept; None accepts any."""
    if provider.name not in known:
        return [f"{section}.provider: {provider.name!r} is not a provider{_suggestion(provider.name, known)}"]
    if not provider.config:
        return []  # The keys of a vector store are known to its package alone, whose import takes a second.
    allowed = accepted_keys_of(provider.name)
    if allowed is None:
        return []
    return [
        f"{section}.{given}: not a key of the provider {provider.name!r}{_suggestion(given, allowed)}"
        for given in provider.config
        if given not in allowed
    ]


def _missing_package(section: str, provider: Provider, class_path: str) -> list[str]:
    try:
        import_module(class_path.rpartition(".")[0])
    except ImportError as missing:
        remedy = (
            f"pip install 'gaia-memory[{provider.name}]'" if provider.name in PROVIDERS_WITH_EXTRA else str(missing)
        )
        return [f"{section}.provider: {provider.name!r} needs a package that is not installed: {remedy}"]
    return []


def _suggestion(given: str, known: Collection[str]) -> str:
    if not known:
        return "; it takes none"
    close = difflib.get_close_matches(given, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(sorted(known))}"
