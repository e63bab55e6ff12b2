"""Every setting, with its default, unit and range: the one place where they are declared.

The file `gaia.yaml`, its JSON schema and the reference page are rendered from here.
"""

from __future__ import annotations

import os
import re
from datetime import tzinfo
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from gaia_memory.config.database_urls import is_server_url, normalize_url, resolve_url, sqlite_url
from gaia_memory.config.describe import AFTER_RESTART
from gaia_memory.config.sections.people_section import PeopleConfig
from gaia_memory.config.sections.provider_section import (
    Amount,
    Count,
    Days,
    ProviderConfig,
    Section,
    Share,
    VectorStoreConfig,
)
from gaia_memory.config.sections.recall_section import RecallConfig, RecallLimit, RerankerConfig
from gaia_memory.models import load_time_zone

_APP_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*")
_PERCENT_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_RESERVED_APP_NAMES = frozenset({"user"})
_ALLOWED_DATABASE_URLS = "sqlite:///path or postgresql://user@host/database; null for the default"


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def is_app_name(name: str) -> bool:
    """Say whether ADK takes a name for an app."""
    return _APP_NAME.fullmatch(name) is not None and name not in _RESERVED_APP_NAMES


class MemoryConfig(Section):
    """What is remembered, and how it is found again."""

    enabled: bool = Field(
        default=True,
        description=(
            "Memory as a whole. Off: nothing is stored, recalled or offered; what is stored stays, and what is said "
            "meanwhile is never learned."
        ),
    )
    auto_ingest: bool = Field(
        default=True,
        description="Learn from conversations once they are quiet. Off: only explicit `remember` and `add` store.",
    )
    preload: bool = Field(
        default=True,
        description="Put a short profile of the person into the prompt at the start of a session.",
    )
    recall_limit: RecallLimit = Field(
        default=5,
        description=(
            "How many facts one recall returns at most. `auto`: 3, 5 or 10, as the question asks for one thing or "
            "for several."
        ),
        json_schema_extra={"allowed": "a whole number of facts from 1 to 50, or `auto`"},
    )
    preload_limit: Count = Field(
        default=20,
        ge=1,
        le=100,
        description="How many lines the profile has at most.",
        json_schema_extra={"unit": "lines"},
    )
    profile_tokens: Count = Field(
        default=1000,
        ge=50,
        le=32_000,
        description="How many tokens the profile has at most, by a cautious estimate; whole lines are left out.",
        json_schema_extra={"unit": "tokens"},
    )
    extraction_instructions: str = Field(
        default="",
        description="What to learn from a conversation, in your words, in place of our own text.",
        json_schema_extra={"allowed": "text; empty for our own"},
    )
    learn_from: Literal["user", "both"] = Field(
        default="user",
        description=(
            "Whose word becomes a fact: the user's, who stated it or agreed to it; or also what the assistant alone "
            "said."
        ),
    )
    time_zone: str | None = Field(
        default=None,
        description=(
            'Where people are: what day "tomorrow" is. A session\'s state knows better with `user:time_zone`. '
            "Default: this machine's."
        ),
        json_schema_extra={"allowed": "an IANA name, `Europe/Berlin`; null for the default"},
    )
    score_threshold: Share | None = Field(
        default=None,
        description="Recall leaves out facts that score below it.",
        json_schema_extra={"unit": "points of relevance"},
    )
    scope: Literal["app_user", "user"] = Field(
        default="app_user",
        description="Whether a person is remembered by each app apart, or once across all apps.",
        json_schema_extra={"takes_effect": AFTER_RESTART},
    )
    database_url: str | None = Field(
        default=None,
        description=(
            "The database of facts. Default: SQLite `memory.db` in the home; where the sessions are on a database "
            "server, that one. A URL with a password belongs in the environment."
        ),
        json_schema_extra={"takes_effect": AFTER_RESTART, "allowed": _ALLOWED_DATABASE_URLS},
    )
    llm: ProviderConfig = Field(
        default=ProviderConfig(),
        description="The model that learns and writes profiles. `auto`: Gemini when it has a key, else offline.",
        json_schema_extra={"allowed": "a section with `provider` and the provider's own keys"},
    )
    embedder: ProviderConfig = Field(
        default=ProviderConfig(),
        description="The model that turns text into vectors. `auto`: Gemini when it has a key, else offline.",
        json_schema_extra={
            "takes_effect": AFTER_RESTART,
            "allowed": "a section with `provider` and the provider's own keys",
        },
    )
    vector_store: VectorStoreConfig = Field(
        default=VectorStoreConfig(),
        description="The mem0 store that follows the database of facts.",
        json_schema_extra={
            "takes_effect": AFTER_RESTART,
            "allowed": "a section with `provider` and the store's own keys",
        },
    )
    reranker: RerankerConfig = Field(
        default=RerankerConfig(),
        description=(
            "A model that reads the question beside each of the best facts and puts them in order. `none`; `local`: a "
            "cross-encoder from the folder `model` on this machine, never downloaded; or one of mem0's: `cohere` and "
            "`zero_entropy` send the question and these facts to a service, `llm_reranker` sends them to a language "
            "model, `sentence_transformer` and `huggingface` run here and download what is not there."
        ),
        json_schema_extra={"allowed": "a section with `provider` and the reranker's own keys"},
    )
    recall: RecallConfig = Field(
        default=RecallConfig(),
        description=RecallConfig.__doc__,
        json_schema_extra={"allowed": "a section: `key: value` lines, indented"},
    )
    profile_agents: Literal["root", "all"] | tuple[str, ...] = Field(
        default="root",
        description="Which agents get the profile and the tools.",
        json_schema_extra={"allowed": "`root`, `all` or a list of agent names"},
    )
    on_unavailable: Literal["degrade", "fail"] = Field(
        default="degrade",
        description="What a turn does while memory cannot answer: go on without it, or fail.",
    )

    @field_validator("time_zone")
    @classmethod
    def _time_zone(cls, value: str | None) -> str | None:
        if value is not None:
            load_time_zone(value)
        return value

    @field_validator("database_url")
    @classmethod
    def _database(cls, value: str | None) -> str | None:
        return None if value is None else normalize_url(value)

    @property
    def zone(self) -> tzinfo | None:
        """The time zone where people are; None for this machine's."""
        return None if self.time_zone is None else load_time_zone(self.time_zone)


class SessionsConfig(Section):
    """The running conversation, and when it is learned from."""

    window_turns: Count = Field(
        default=30,
        ge=1,
        description="How many turns of a conversation the model is shown at most.",
        json_schema_extra={"unit": "turns"},
    )
    idle_consolidate_minutes: Amount = Field(
        default=30.0,
        gt=0,
        allow_inf_nan=False,
        description="How long a conversation is quiet before it is learned from.",
        json_schema_extra={"unit": "minutes"},
    )
    database_url: str | None = Field(
        default=None,
        description=(
            "The database of conversations. Default: SQLite `sessions.db` in the home. A URL with a password belongs "
            "in the environment."
        ),
        json_schema_extra={"takes_effect": AFTER_RESTART, "allowed": _ALLOWED_DATABASE_URLS},
    )
    clear: Literal["auto", "delete", "rewind", "keep"] = Field(
        default="auto",
        description=(
            "What happens to a conversation that was learned. `auto`: delete it where every turn passes through us, "
            "rewind it elsewhere. `delete`: delete it in any case; a Runner of your own then needs "
            "`auto_create_session=True`, or ADK refuses the next message. `rewind`: hide it. `keep`: leave it."
        ),
    )
    retain_days: Days | None = Field(
        default=90,
        description=(
            "How long talk that was learned and cleared by a rewind stays in the session database, hidden. Then the "
            "session is deleted, unless somebody has spoken in it since. Null: for ever."
        ),
        json_schema_extra={"unit": "days"},
    )
    coalesce_seconds: Amount = Field(
        default=1.0,
        ge=0,
        le=60,
        allow_inf_nan=False,
        description="How long to wait for more messages of a burst before answering them together.",
        json_schema_extra={"unit": "seconds"},
    )

    @field_validator("database_url")
    @classmethod
    def _database(cls, value: str | None) -> str | None:
        return None if value is None else normalize_url(value)


class GaiaConfig(BaseSettings):
    """The whole configuration, frozen.

    Built directly it reads neither a file nor the environment; `gaia_memory.config.sources.load.load` does.
    """

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        hide_input_in_errors=True,
        env_prefix="GAIA_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        title="gaia.yaml",
    )

    app: str = Field(
        default="gaia",
        description="The name of the ADK app that sessions and memory belong to.",
        json_schema_extra={
            "takes_effect": AFTER_RESTART,
            "allowed": "a letter, then letters, digits, `_` or `-`; not `user`",
        },
    )
    home: Path = Field(
        default=Path("~/.gaia"),
        description="The folder of everything that is stored. A relative one is taken from the folder of this file.",
        json_schema_extra={"takes_effect": AFTER_RESTART, "allowed": "a path; `~` is your home folder"},
    )
    model: str = Field(
        default="auto",
        min_length=1,
        description="The agents' model. `auto`: Gemini when GEMINI_API_KEY or GOOGLE_API_KEY is set, else offline.",
        json_schema_extra={
            "takes_effect": AFTER_RESTART,
            "allowed": "`auto`, `offline`, a Gemini name, `openai:NAME` or another model that ADK knows",
        },
    )
    memory: MemoryConfig = Field(
        default=MemoryConfig(),
        description=MemoryConfig.__doc__,
        json_schema_extra={"allowed": "a section: `key: value` lines, indented"},
    )
    sessions: SessionsConfig = Field(
        default=SessionsConfig(),
        description=SessionsConfig.__doc__,
        json_schema_extra={"allowed": "a section: `key: value` lines, indented"},
    )
    people: PeopleConfig = Field(
        default=PeopleConfig(),
        description=PeopleConfig.__doc__,
        json_schema_extra={"allowed": "a section: `key: value` lines, indented"},
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read nothing on construction: `load` lays the environment over the file, so that both can be named."""
        return (init_settings,)

    @field_validator("app")
    @classmethod
    def _app(cls, value: str) -> str:
        if not is_app_name(value):
            raise ValueError("breaks ADK's rule for app names")
        return value

    @field_validator("home")
    @classmethod
    def _home(cls, value: Path) -> Path:
        if not value.parts:
            raise ValueError("is empty")
        if "?" in str(value):
            raise ValueError("must not hold `?`, which ends the path of a database URL")
        if _PERCENT_ESCAPE.search(str(value)):
            raise ValueError("must not hold `%` before two hex digits, which a database URL reads as one character")
        if not _is_path(str(value)):
            raise ValueError("holds a character that no path may hold")
        try:
            return value.expanduser().absolute()
        except RuntimeError as error:
            raise ValueError("starts with `~` and a name that is no user here") from error

    @property
    def sessions_url(self) -> str:
        """The SQLAlchemy URL of the conversations."""
        if self.sessions.database_url is None:
            return sqlite_url(self.home / "sessions.db")
        return resolve_url(self.sessions.database_url, self.home)

    @property
    def memory_url(self) -> str:
        """The SQLAlchemy URL of the facts."""
        if self.memory.database_url is not None:
            return resolve_url(self.memory.database_url, self.home)
        if is_server_url(self.sessions_url):
            return self.sessions_url
        return sqlite_url(self.home / "memory.db")
