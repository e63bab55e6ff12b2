"""The backend: mem0's model, embedder and store, built from the configuration."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_memory.backend import mem0_import
from gaia_memory.backend.embedder import Mem0Embedder
from gaia_memory.backend.event_loop_guard import assert_off_event_loop
from gaia_memory.backend.extractor import Mem0Extractor
from gaia_memory.backend.foreign_store import COPY_FOLDER
from gaia_memory.backend.language_model import Mem0LanguageModel
from gaia_memory.backend.model_errors import to_model_error
from gaia_memory.backend.providers import local, resolve_provider
from gaia_memory.backend.providers.agent_models import AgentModels, OfflineFallback, find_offline_fallback
from gaia_memory.backend.providers.provider_factory import make_embedder, make_llm
from gaia_memory.backend.providers.reranker import NO_RERANKER, Mem0Reranker
from gaia_memory.backend.providers.reranker import problems as reranker_problems
from gaia_memory.backend.providers.sentence_encoder import SentenceEncoder
from gaia_memory.backend.providers.swappable_llm import SwappableLlm, close_client
from gaia_memory.backend.thread_pools import WorkerPools
from gaia_memory.config.api_keys import (
    GEMINI_KEY_VARIABLES,
    OPENAI_KEY_VARIABLE,
    VERTEX_PROJECT_VARIABLE,
    can_reach_gemini,
    missing_key_variable,
    uses_vertex,
)
from gaia_memory.database.files.empty_tables import empty_tables
from gaia_memory.errors import ConfigError, MemoryUnavailable, ModelUnavailableError
from gaia_memory.files.private_files import create_private_file
from gaia_memory.model_calls import outside_time_limits
from gaia_memory.models import TokenSums
from gaia_memory.telemetry.token_usage import TokenMeter
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.config.schema import GaiaConfig


_KEYLESS_LLM, _SENTENCE_TRANSFORMERS = "lmstudio", "huggingface"
"""mem0's names for a server that needs no key, and for what runs a model in a folder."""

_AGENT_LABEL = "the agent's own model"
_NEEDS_NO_MEM0 = frozenset({resolve_provider.OFFLINE, resolve_provider.AGENT})
"""An agent's model is asked through ADK."""


class Backend:
    """Everything that needs mem0, behind our ports.

    The constructor imports and opens nothing. The blocking methods are for worker threads, such as those of `pools`,
    and refuse to run on an event loop.
    """

    def __init__(
        self,
        config: GaiaConfig,
        *,
        environ: Mapping[str, str] | None = None,
        stored_embedder: str | None = None,
        save_tokens: Callable[[TokenSums], Awaitable[None]] | None = None,
    ) -> None:
        """Resolve the providers of `config`; `save_tokens` stores what questions cost.

        `stored_embedder` is the identity of the vectors in the database. With `embedder.provider: auto` it takes
        precedence over the environment.
        """
        self._config = config = resolve_provider.with_absolute_paths(config)
        self._environ = os.environ if environ is None else environ
        self.llm = SwappableLlm(resolve_provider.resolve_llm(config, self._environ), self._create_llm)
        self.embedder_provider = resolve_provider.resolve_embedder(config, self._environ, stored=stored_embedder)
        self.store_provider = resolve_provider.Provider(
            config.memory.vector_store.provider, dict(config.memory.vector_store.config)
        )
        self.pools, self.meter = WorkerPools(), TokenMeter(save_tokens)
        self._build_lock = threading.RLock()
        self._embedding_model: Any = None
        self._checked_providers: tuple[resolve_provider.Provider, ...] = ()
        self._prepared_providers: list[resolve_provider.Provider] = []
        self.agent_models = AgentModels(self.llm, self.offline_fallback)
        self.language_model = Mem0LanguageModel(
            self.llm, self.pools.model, meter=self.meter, agent_models=self.agent_models, prepare=self._prepare_llm
        )
        self.extractor = Mem0Extractor(
            self.language_model, self.load, self.pools.model, lambda: self._config.memory.extraction_prompt
        )
        self.reranker = self._create_reranker()
        self.embedder = Mem0Embedder(
            self.embedding_model,
            self.embedder_provider,
            self.pools.embedder,
            meter=self.meter,
            prepare=self._prepare_embedder,
        )
        self._stored_embedder = stored_embedder or ""

    @property
    def embeds_sensitive(self) -> bool:
        """Whether sensitive facts get vectors."""
        return self._config.memory.embed_sensitive

    @property
    def reranker_provider(self) -> resolve_provider.Provider:
        """The current reranker; without one, its name is `none`."""
        settings = self._config.memory.reranker
        return resolve_provider.Provider(settings.provider, dict(settings.config))

    def _create_reranker(self) -> Mem0Reranker | None:
        provider = self.reranker_provider
        return None if provider.name == NO_RERANKER else Mem0Reranker(provider, self.load, self.pools.reranker)

    def reconfigure(self, config: GaiaConfig) -> None:
        """Switch to the language model and the reranker of another configuration, on the event loop.

        Running calls of the language model finish on the previous one.
        """
        previous_reranker = self.reranker_provider
        self._config = config = resolve_provider.with_absolute_paths(config)
        if self.reranker_provider != previous_reranker:
            if self.reranker is not None:
                self.pools.reranker.submit(self.reranker.close)
            self.reranker = self._create_reranker()
        self.llm.provider = resolve_provider.resolve_llm(config, self._environ)

    def offline_fallback(self, agent_model: str) -> OfflineFallback | None:
        """Return for which parts `auto` chose the offline provider; None if for none.

        `agent_model` is the name of the agent's model; empty if it is not known or offline itself.
        """
        providers = self.llm.provider, self.embedder_provider
        return find_offline_fallback(self._config, self._environ, *providers, agent_model=agent_model)

    def describe(self) -> str:
        """Return one line: the model and the embedder, and the reason if they may surprise."""
        llm, embedder = self.llm.provider, self.embedder_provider
        llm_label = _AGENT_LABEL if llm.name == resolve_provider.AGENT else llm.model or llm.name
        line = f"{llm_label} + {embedder.model or embedder.name} embedder"
        memory = self._config.memory
        reasons = []
        is_auto = resolve_provider.AUTO in (memory.llm.provider, memory.embedder.provider)
        if is_auto and not can_reach_gemini(self._environ):
            is_vertex = uses_vertex(self._environ)
            reasons.append(f"no {VERTEX_PROJECT_VARIABLE if is_vertex else GEMINI_KEY_VARIABLES[-1]}")
        openai_providers = [each for each in (llm, embedder) if each.name == resolve_provider.OPENAI]
        if any(missing_key_variable(each.name, each.config, self._environ) for each in openai_providers):
            reasons.append(f"no {OPENAI_KEY_VARIABLE}")
        if resolve_provider.resolve_embedder(self._config, self._environ) != embedder:
            reasons.append("the embedder is that of the stored vectors")
        return f"{line} ({'; '.join(reasons)})" if reasons else line

    def load(self) -> Any:
        """Import mem0 safely, register our providers and return the module. Blocking.

        Raises:
            ConfigError: mem0 does not know a provider, or a provider does not take a key; all problems are listed.
            ModelUnavailableError: mem0 cannot be loaded now.
        """
        assert_off_event_loop("Backend.load")
        try:
            return self._load()
        except (OSError, ImportError) as error:
            # The home cannot be written, or no file descriptor is free: a later attempt may succeed.
            raise ModelUnavailableError(f"mem0 cannot be loaded ({error})") from error

    def _load(self) -> Any:
        with self._build_lock:
            mem0 = mem0_import.load_mem0(self._config.home)
            mem0_providers = (self.llm.provider, self.embedder_provider, self.store_provider)
            all_providers = (*mem0_providers, self.reranker_provider)
            if self._checked_providers != all_providers:
                resolve_provider.register_providers()
                problems = [*resolve_provider.problems(*mem0_providers), *reranker_problems(self.reranker_provider)]
                if problems:
                    raise ConfigError(problems)
                if self.embedder_provider.name == resolve_provider.LOCAL:
                    self.embedder.adopt_fingerprint(local.fingerprint_model(Path(str(self.embedder_provider.model))))
                self._checked_providers = all_providers
            return mem0

    def require_store_package(self) -> None:
        """Check that the package of the vector store is installed. Blocking.

        Raises:
            MemoryUnavailable: it is not; the message names it. Memory works without the store.
        """
        self.load()
        if lines := resolve_provider.missing_store_package(self.store_provider):
            raise MemoryUnavailable(lines[0])

    def embedding_model(self) -> Any:
        """Return mem0's embedder object, built once. Blocking.

        Raises:
            ModelUnavailableError: it could not be built, because a package or a key is missing.
        """
        assert_off_event_loop("Backend.embedding_model")
        with self._build_lock:
            if self._embedding_model is None:
                is_offline = self.embedder_provider.name == resolve_provider.OFFLINE
                self._embedding_model = (
                    SentenceEncoder() if is_offline else self._create(make_embedder, self.embedder_provider, "embedder")
                )
            return self._embedding_model

    async def _prepare_embedder(self) -> None:
        # The constructor of `local` loads its model. Those of other providers may ask the network.
        is_local = self.embedder_provider.name == resolve_provider.LOCAL
        await self._prepare(self.embedder_provider, self.embedding_model if is_local else self.load)

    async def _prepare_llm(self) -> None:
        await self._prepare(self.llm.provider, self.load)

    async def _prepare(self, provider: resolve_provider.Provider, load: Callable[[], Any]) -> None:
        """Import what a provider needs before its first call; this may take seconds, which no time limit counts."""
        if provider.name in _NEEDS_NO_MEM0 or provider in self._prepared_providers:
            return
        with outside_time_limits():
            await self.pools.imports.run(load)
        self._prepared_providers.append(provider)

    def store_config(self, folder: Path) -> Any:
        """Return mem0's configuration of the vector store, which is in `folder` if it is embedded. Blocking.

        A store that needs the length of the vectors gets it, which may ask the embedder once.
        """
        self.load()
        from mem0.vector_stores.configs import VectorStoreConfig

        store, measure = self.store_provider, self.embedder.measure_dimensions
        options = resolve_provider.store_config(store, str(folder), measure)
        # A mem0 program on this configuration records its writes here: mem0 keeps the mode of the file.
        create_private_file(mem0_import.mem0_home(self._config.home) / mem0_import.HISTORY_FILE, exist_ok=True)
        return VectorStoreConfig(provider=store.name, config=options).config

    def create_vector_store(self, config: Any) -> Any:
        """Return mem0's adapter of the store with this configuration. Blocking.

        Raises:
            MemoryUnavailable: the store's package is not installed.
        """
        self.require_store_package()
        from mem0.utils.factory import VectorStoreFactory

        return VectorStoreFactory.create(self.store_provider.name, config)

    def mem0_config(self, address: Path) -> dict[str, Any]:
        """Return the configuration with which plain mem0 opens the store, without secrets.

        `address` is the path of an embedded store. mem0 builds a language model in any case: LM Studio's needs no key,
        and takes the place of ours where that is none of mem0's.

        Raises:
            ConfigError: there is no store, or nobody has asked the embedder yet how long its vectors are.
        """
        if self.store_provider.name == resolve_provider.NO_STORE:
            raise ConfigError(["memory.vector_store.provider: is 'none', so plain mem0 has nothing to open"])
        store, embedder, llm = self.store_provider, self.embedder_provider, self.llm.provider
        if llm.name in _NEEDS_NO_MEM0:
            llm = resolve_provider.Provider(_KEYLESS_LLM)
        if embedder.name == resolve_provider.LOCAL:
            embedder = resolve_provider.Provider(_SENTENCE_TRANSFORMERS, embedder.config)
        options = resolve_provider.store_config(store, str(address), self._require_dimensions)
        parts = {"vector_store": resolve_provider.Provider(store.name, options), "embedder": embedder, "llm": llm}
        return {
            # mem0 refuses providers that were registered with it, unless they have no configuration.
            **{
                role: {"provider": each.name, **({"config": dict(each.config)} if each.config else {})}
                for role, each in parts.items()
            },
            "history_db_path": str(self._config.home / "mem0" / mem0_import.HISTORY_FILE),
        }

    def _require_dimensions(self) -> int:
        model, _, last = self.embedder.identity.rpartition("/")
        if not last.isdigit() and self._stored_embedder.startswith(f"{model}/"):
            last = self._stored_embedder.rpartition("/")[2]
        if not last.isdigit():
            raise ConfigError(["memory.embedder.embedding_dims: is not known yet: set it, or store a fact first"])
        return int(last)

    async def erase_history(self) -> bool:
        """Empty mem0's record of what programs wrote, and remove a copy of a store whose import was killed.

        False while the record is being written. The file stays, because a mem0 of the host's own may use it.
        """
        await run_in_thread(shutil.rmtree, self._config.home / COPY_FOLDER, ignore_errors=True)
        path = self._config.home / "mem0" / mem0_import.HISTORY_FILE
        return await run_in_thread(empty_tables, path, mem0_import.HISTORY_TABLES)

    async def close(self, *, grace: float = 3.0) -> None:
        """Wait up to `grace` seconds for running calls, save what they cost and close every client."""
        await self.pools.close(grace=grace)
        await self.meter.close()
        await run_in_thread(self._close_clients)

    def _close_clients(self) -> None:
        self.llm.close()
        close_client(self._embedding_model)
        if self.reranker is not None:
            self.reranker.close()

    def _create_llm(self, provider: resolve_provider.Provider) -> Any:
        assert_off_event_loop("SwappableLlm.instance")
        if provider.name in _NEEDS_NO_MEM0:
            return NoModel()
        return self._create(make_llm, provider, "model")

    def _create(
        self, factory: Callable[[resolve_provider.Provider], Any], provider: resolve_provider.Provider, part: str
    ) -> Any:
        self.load()
        try:
            return factory(provider)
        except (Exception, SystemExit) as error:  # Boundary: a provider may raise anything, and some exit.
            raise to_model_error(error, subject=f"the {part} {_provider_label(provider)}") from error


def _provider_label(provider: resolve_provider.Provider) -> str:
    return f"{provider.name} ({provider.model})" if provider.model else provider.name


class NoModel:
    """What mem0 builds for `offline` and `agent`; memory asks it nothing."""

    def __init__(self, config: Any = None) -> None:
        """Take mem0's `BaseLlmConfig`."""
        self.config = config

    def generate_response(self, messages: Any, **options: Any) -> str:
        """Refuse a question.

        Raises:
            ModelUnavailableError: always.
        """
        raise ModelUnavailableError(
            "memory has no model to ask: set GEMINI_API_KEY, or name a provider under `memory.llm` in gaia.yaml"
        )
