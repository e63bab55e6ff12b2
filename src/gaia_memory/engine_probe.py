"""Looks at a configuration and the parts it names without opening memory, as `gaia doctor` does."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from gaia_memory.backend.builder import Backend
from gaia_memory.backend.mem0_import import require_version
from gaia_memory.backend.mem0_store.store import StoreLocation, name_place, named_refusals
from gaia_memory.backend.mem0_store.vector_stores import resolve_location
from gaia_memory.backend.providers.agent_models import OfflineFallback
from gaia_memory.backend.providers.provider_check import check_providers
from gaia_memory.backend.providers.resolve_provider import CHROMA, with_absolute_paths
from gaia_memory.config.api_keys import missing_key_variable
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources import live_config
from gaia_memory.config.sources.load import LoadedConfig, load
from gaia_memory.database.read_only import open_read_only
from gaia_memory.database.sql_engine import Database
from gaia_memory.errors import ConfigError, MemoryUnavailable
from gaia_memory.facts import FactStore, Indexes, Outbox
from gaia_memory.learning.grounding import GroundingCheck
from gaia_memory.learning.prompts import extraction_instructions
from gaia_memory.ledger import Ledger, is_owner_dead, load_token_sums
from gaia_memory.models import (
    Chunk,
    EventPosition,
    Message,
    PendingConversation,
    SessionKey,
    StoreState,
    TokenPurpose,
    TokenUsage,
    Turn,
)
from gaia_memory.telemetry.token_usage import summarize_tokens
from gaia_memory.threads import run_in_thread

CLOSE_SECONDS = 0.1

SAMPLE_STATEMENT = "I am allergic to peanuts."


@dataclass(frozen=True, slots=True)
class DatabaseSummary:
    """What the memory database says about itself: most vectors' embedder, the current store, pending conversations.

    `outdated` counts facts whose words another version has indexed, or none.
    """

    embedder: str | None
    outdated: int
    store: StoreState
    pending: Sequence[PendingConversation]
    usage: Mapping[str, Mapping[TokenPurpose, TokenUsage]]


@dataclass(frozen=True, slots=True)
class ModelProbe:
    """A model or embedder: its name as `provider/model`, its provider and that provider's keys."""

    name: str
    provider: str
    config: Mapping[str, Any]

    @property
    def missing_key(self) -> str | None:
        """The variable that the provider needs and that is not set."""
        return missing_key_variable(self.provider, self.config, os.environ)


class EngineProbe:
    """The models and the store of a configuration; creates and changes nothing. Close it after use."""

    def __init__(self, loaded: LoadedConfig, home: Path, backend: Backend) -> None:
        """Take the configuration with its home replaced by a scratch folder, and the real home; see `open`."""
        self._loaded = loaded
        self._home = home
        self._backend = backend

    @classmethod
    async def open(cls, config: GaiaConfig, scratch: Path, *, stored_embedder: str | None = None) -> EngineProbe:
        """Return a probe for `config`. mem0 writes to its home when it is imported: here that is `scratch`."""
        loaded = await run_in_thread(lambda: load(with_absolute_paths(config), home=scratch))
        return cls(loaded, config.home, Backend(loaded.config, stored_embedder=stored_embedder))

    async def close(self) -> None:
        """Close the clients of the models."""
        await self._backend.close(grace=CLOSE_SECONDS)

    async def check_providers(self) -> None:
        """Check the providers with mem0 if they are not the usual ones.

        Raises:
            ConfigError: a provider or one of its keys is unknown, or a package is missing.
        """
        try:
            await run_in_thread(require_version)
            await check_providers(self._loaded.config, backend=self._backend)
            if self._backend.store_provider.name != CHROMA:
                await run_in_thread(self._backend.require_store_package)
        except ConfigError as error:
            raise error.found_in(self._loaded.source) from error
        except MemoryUnavailable as error:
            raise ConfigError([error.reason], source=self._loaded.source) from error

    def missing_keys(self) -> list[str]:
        """Return a line for each key that a provider of memory needs and the environment lacks."""
        providers = (
            {"llm": self.language_model, "embedder": self.embedder} if self._loaded.config.memory.enabled else {}
        )
        return [
            f"memory.{section}.provider: {model.provider!r} cannot be asked without {missing}: set it"
            for section, model in providers.items()
            if (missing := model.missing_key)
        ]

    def describe_model(self) -> str:
        """Return one line: the model and the embedder, and why they differ from the expected ones."""
        return self._backend.describe()

    def offline_fallback(self, agent_model: str) -> OfflineFallback | None:
        """Return for which parts `auto` chose the offline provider; `agent_model` is the agents' model, if any."""
        return self._backend.offline_fallback(agent_model)

    @property
    def language_model(self) -> ModelProbe:
        """The model that learns."""
        provider = self._backend.llm.provider
        return ModelProbe(self._backend.language_model.identity, provider.name, provider.config)

    @property
    def embedder(self) -> ModelProbe:
        """The embedder."""
        provider = self._backend.embedder_provider
        return ModelProbe(self._backend.embedder.identity, provider.name, provider.config)

    async def extract_sample(self) -> list[str]:
        """Return the facts that the model finds in `SAMPLE_STATEMENT`, asked as for a conversation.

        Raises:
            ModelError: it gives no usable answer.
        """
        now, config = datetime.now(UTC), self._loaded.config
        message = Message(role="user", text=SAMPLE_STATEMENT, said_at=now, event_id="1", speaker="user")
        turn = Turn(seq=1, messages=(message,), end=EventPosition(now.timestamp(), message.event_id))
        chunk = Chunk(key=SessionKey(config.app, "doctor", "doctor"), turns=(turn,), zone=config.memory.zone)
        check = GroundingCheck(chunk, is_enabled=config.memory.grounded)
        facts = await self._backend.extractor.extract(chunk, instructions=extraction_instructions(config), check=check)
        return [fact.text for fact in facts]

    async def ping_embedder(self) -> None:
        """Embed one word.

        Raises:
            ModelError: the embedder gives no answer.
        """
        await self._backend.embedder.embed(["ready"], purpose="search")

    async def find_store_problem(self, store_id: str) -> tuple[Literal["fail", "warn"], str, str] | None:
        """Return why the database whose store is `store_id` cannot use what is there now, and the remedy.

        It fails if this is for good, and warns if there is no answer.
        """
        location = self.store_location
        try:
            with named_refusals(self._backend.store_provider, location.address):
                await run_in_thread(location.require_usable, store_id)
        except MemoryUnavailable as error:
            return "fail", error.reason, error.remedy
        except ConfigError as error:
            return "fail", "; ".join(error.problems), "correct gaia.yaml"
        except Exception as error:  # Each engine has errors of its own.
            place = name_place(self._backend.store_provider, location.address)
            remedy = "start it, or correct memory.vector_store; facts are found without it"
            return "warn", f"{place}, and there is no answer ({type(error).__name__})", remedy
        return None

    @property
    def store_location(self) -> StoreLocation:
        """Where the mem0 store is, and the stores of other databases beside it."""
        return resolve_location(self._backend, self._home)[0]


async def load_newest(loaded: LoadedConfig) -> LoadedConfig:
    """Return what the file of a configuration gives now, or `loaded` where there is none or it cannot be used."""
    return await live_config.load_newest(loaded, check=check_providers)


async def load_database_summary(url: str) -> DatabaseSummary:
    """Return what a memory database of this version says about itself, without changing it."""
    database, indexes = Database(open_read_only(url)), Indexes()
    try:
        async with database.read_transaction() as tx:
            return DatabaseSummary(
                embedder=await FactStore().dominant_embedder(tx),
                outdated=await indexes.count_outdated(tx),
                store=await Outbox().store(tx),
                pending=await Ledger().pending(tx, user=None, app=None),
                usage=summarize_tokens(await load_token_sums(tx)),
            )
    finally:
        await database.close()


async def is_store_owner_running(state: StoreState) -> bool:
    """Return whether the last owner of a store is still running, as far as this host can tell."""
    return state.owner is not None and not await run_in_thread(is_owner_dead, state.owner)
