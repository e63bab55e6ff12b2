"""The declaration of every setting, with its default, unit and range.

The file `gaia.yaml`, its JSON schema and the reference page are rendered from it.
"""

from __future__ import annotations

import os
import re
from datetime import tzinfo
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, field_validator

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
    """Return whether ADK accepts a name for an app."""
    return _APP_NAME.fullmatch(name) is not None and name not in _RESERVED_APP_NAMES


class MemoryConfig(Section):
    """What memory learns, and how it recalls."""

    enabled: bool = Field(
        default=True,
        description=(
            "Switches memory on or off. Off: nothing is stored or recalled, stored facts stay, and messages sent "
            "meanwhile are never learned."
        ),
    )
    auto_ingest: bool = Field(
        default=True,
        description="Learn from conversations. Off: only `remember` and `add` store facts.",
    )
    preload: bool = Field(
        default=True,
        description="Put a short profile of the user into the prompt at the start of a session.",
    )
    recall_limit: RecallLimit = Field(
        default=5,
        description="Maximum facts per recall. `auto`: 3, 5 or 10, depending on how much the question asks for.",
        json_schema_extra={"allowed": "a whole number of facts from 1 to 50, or `auto`"},
    )
    preload_limit: Count = Field(
        default=20,
        ge=1,
        le=100,
        description="Maximum lines in the profile.",
        json_schema_extra={"unit": "lines"},
    )
    profile_tokens: Count = Field(
        default=1000,
        ge=50,
        le=32_000,
        description="Maximum tokens in the profile, by a cautious estimate; whole lines are dropped.",
        json_schema_extra={"unit": "tokens"},
    )
    extraction_prompt: Literal["gaia", "mem0"] = Field(
        default="gaia",
        description=(
            "The question that extracts facts. `gaia`: a short one of our own; `mem0`: mem0's, of 8,500 tokens, with "
            "our instructions after it."
        ),
    )
    extraction_instructions: str = Field(
        default="",
        description="Your instructions on what to learn from a conversation; they replace the built-in text.",
        json_schema_extra={"allowed": "text; empty for the built-in text"},
    )
    learn_from: Literal["user", "both"] = Field(
        default="user",
        description=(
            "Whose statements become facts. `user`: those the user made or agreed to; `both`: the assistant's too."
        ),
    )
    allow_numbers: bool = Field(
        default=False,
        description=(
            "Keep facts with numbers of cards, bank accounts (IBAN) and US social security. Off: they are refused and "
            "masked, like passwords, PINs and keys, which always are."
        ),
    )
    grounded: bool = Field(
        default=True,
        description=(
            "Keep a learned fact only if the conversation contains enough of its words. Off: only copies of the prompt "
            "are refused."
        ),
    )
    time_zone: str | None = Field(
        default=None,
        description=(
            'The time zone of the users, to resolve "tomorrow". `user:time_zone` in the session state overrides it. '
            "Default: this machine's."
        ),
        json_schema_extra={"allowed": "an IANA name, `Europe/Berlin`; null for the default"},
    )
    score_threshold: Share | None = Field(
        default=None,
        description="Recall drops facts with a lower score.",
        json_schema_extra={"unit": "points of relevance"},
    )
    scope: Literal["app_user", "user"] = Field(
        default="app_user",
        description="`app_user`: one memory per app and user; `user`: one memory per user across all apps.",
        json_schema_extra={"takes_effect": AFTER_RESTART},
    )
    database_url: str | None = Field(
        default=None,
        description=(
            "The database of facts. Default: the database server of the sessions, else SQLite `memory.db` in the "
            "home. Set a URL with a password through the environment."
        ),
        json_schema_extra={"takes_effect": AFTER_RESTART, "allowed": _ALLOWED_DATABASE_URLS},
    )
    llm: ProviderConfig = Field(
        default=ProviderConfig(),
        description=(
            "The model that learns and writes profiles. `auto`: Gemini if there is a key or a project on Vertex AI, "
            "else offline. `agent`: the agent's own model, in processes that run the agent."
        ),
        json_schema_extra={"allowed": "a section with `provider` and the provider's own keys"},
    )
    embedder: ProviderConfig = Field(
        default=ProviderConfig(),
        description=(
            "The model that embeds text. `auto`: Gemini if there is a key or a project on Vertex AI, else offline."
        ),
        json_schema_extra={
            "takes_effect": AFTER_RESTART,
            "allowed": "a section with `provider` and the provider's own keys",
        },
    )
    vector_store: VectorStoreConfig = Field(
        default=VectorStoreConfig(),
        description="The mem0 store that mirrors the facts.",
        json_schema_extra={
            "takes_effect": AFTER_RESTART,
            "allowed": "a section with `provider` and the store's own keys",
        },
    )
    reranker: RerankerConfig = Field(
        default=RerankerConfig(),
        description=(
            "A model that reorders the best facts for the question. `none`; `local`: a cross-encoder from the local "
            "folder `model`, never downloaded; or one of mem0's. `cohere` and `zero_entropy` send question and facts "
            "to a service, `llm_reranker` to a language model; `sentence_transformer` and `huggingface` run locally "
            "and download their model."
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
        description="The agents that get the profile and the tools.",
        json_schema_extra={"allowed": "`root`, `all` or a list of agent names"},
    )
    agent_writes: Literal["allow", "confirm", "refuse"] = Field(
        default="allow",
        description=(
            "What happens when a model calls `remember`. `allow`: the fact is stored; `confirm`: it is stored if the "
            "user's next message says yes; `refuse`: it is not stored."
        ),
    )
    on_unavailable: Literal["degrade", "fail"] = Field(
        default="degrade",
        description="What a turn does if memory is unavailable: continue without it, or fail.",
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
        """The time zone of the users; None for this machine's."""
        return None if self.time_zone is None else load_time_zone(self.time_zone)


class SessionsConfig(Section):
    """Conversations: replay, learning and clearing."""

    window_turns: Count = Field(
        default=30,
        ge=1,
        description=(
            "Maximum turns of a conversation that the model sees. Once more are unlearned, memory learns from the "
            "conversation, quiet or not."
        ),
        json_schema_extra={"unit": "turns"},
    )
    idle_consolidate_minutes: Amount = Field(
        default=30.0,
        gt=0,
        allow_inf_nan=False,
        description="How long a conversation must be quiet before memory learns all of it.",
        json_schema_extra={"unit": "minutes"},
    )
    background_sweep: bool = Field(
        default=True,
        description=(
            "Learn in the background while memory is open: quiet conversations, and turns that leave the window. Off: "
            "`gaia sweep`, `gaia.sweep()` and `/reset` do, from quiet conversations."
        ),
    )
    database_url: str | None = Field(
        default=None,
        description=(
            "The database of sessions. Default: SQLite `sessions.db` in the home. Set a URL with a password through "
            "the environment."
        ),
        json_schema_extra={"takes_effect": AFTER_RESTART, "allowed": _ALLOWED_DATABASE_URLS},
    )
    clear: Literal["auto", "delete", "rewind", "keep"] = Field(
        default="auto",
        description=(
            "What happens to a conversation after learning. `delete`; a Runner of your own then needs "
            "`auto_create_session=True`. `rewind`: hide it. `keep`: leave it. `auto`: delete it if gaia's Runner "
            "handles every turn, else rewind it."
        ),
    )
    retain_days: Days | None = Field(
        default=90,
        description=(
            "How long a rewound conversation stays hidden in the session database. Then its session is deleted, unless "
            "it has new messages. Null: for ever."
        ),
        json_schema_extra={"unit": "days"},
    )
    coalesce_seconds: Amount = Field(
        default=1.0,
        ge=0,
        le=60,
        allow_inf_nan=False,
        description="How long to wait for further messages, to answer a burst together.",
        json_schema_extra={"unit": "seconds"},
    )

    @property
    def idle_seconds(self) -> float:
        """How long a conversation must be quiet, in seconds."""
        return self.idle_consolidate_minutes * 60

    @field_validator("database_url")
    @classmethod
    def _database(cls, value: str | None) -> str | None:
        return None if value is None else normalize_url(value)


class GaiaConfig(Section):
    """The whole configuration, frozen.

    The constructor reads neither a file nor the environment; `gaia_memory.config.sources.load.load` does.
    """

    model_config = ConfigDict(title="gaia.yaml")

    app: str = Field(
        default="gaia",
        description="The ADK app that sessions and memory belong to.",
        json_schema_extra={
            "takes_effect": AFTER_RESTART,
            "allowed": "a letter, then letters, digits, `_` or `-`; not `user`",
        },
    )
    home: Path = Field(
        default=Path("~/.gaia"),
        description="The data folder. A relative path starts at the folder of this file.",
        json_schema_extra={"takes_effect": AFTER_RESTART, "allowed": "a path; `~` is your home folder"},
    )
    model: str = Field(
        default="auto",
        min_length=1,
        description="The agents' model. `auto`: Gemini if GEMINI_API_KEY or GOOGLE_API_KEY is set, else offline.",
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
            raise ValueError("must not contain `?`, which ends the path of a database URL")
        if _PERCENT_ESCAPE.search(str(value)):
            raise ValueError("must not contain `%` before two hex digits, which a database URL reads as one character")
        if not _is_path(str(value)):
            raise ValueError("contains a character that no path may contain")
        try:
            return value.expanduser().absolute()
        except RuntimeError as error:
            raise ValueError("starts with `~` and the name of an unknown user") from error

    @property
    def sessions_url(self) -> str:
        """The SQLAlchemy URL of the session database."""
        if self.sessions.database_url is None:
            return sqlite_url(self.home / "sessions.db")
        return resolve_url(self.sessions.database_url, self.home)

    @property
    def background_window(self) -> int | None:
        """The replay window whose turns are learned before it drops them; None if nothing is learned unasked."""
        is_on = self.memory.enabled and self.memory.auto_ingest and self.sessions.background_sweep
        return self.sessions.window_turns if is_on else None

    @property
    def memory_url(self) -> str:
        """The SQLAlchemy URL of the memory database."""
        if self.memory.database_url is not None:
            return resolve_url(self.memory.database_url, self.home)
        if is_server_url(self.sessions_url):
            return self.sessions_url
        return sqlite_url(self.home / "memory.db")
