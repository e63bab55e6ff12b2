"""The section `memory`: what memory learns, and how it recalls."""

from __future__ import annotations

from datetime import tzinfo
from typing import Literal

from pydantic import Field, field_validator

from gaia_memory.config.database_urls import ALLOWED_DATABASE_URLS, normalize_url
from gaia_memory.config.describe import AFTER_RESTART
from gaia_memory.config.sections.provider_section import Count, ProviderConfig, Section, VectorStoreConfig
from gaia_memory.config.sections.recall_section import RecallConfig, RecallLimit, RerankerConfig, ScoreThreshold
from gaia_memory.models import load_time_zone

MIN_TAIL_TOKENS = 50
"""What the notes before a message take that have only the time."""


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
        description="Maximum facts per recall. `auto`: up to 10, as far as the scores say that they are not noise.",
        json_schema_extra={"allowed": "a whole number of facts from 1 to 50, or `auto`"},
    )
    preload_facts: bool = Field(
        default=False,
        description=(
            "Search memory once a turn for the user's message, and put the facts before it. Off: the model searches "
            "with its tool."
        ),
    )
    tail_tokens: Count = Field(
        default=400,
        ge=0,
        le=32_000,
        description=(
            "Maximum tokens of the notes before the user's message (the time, what is due, the context, recalled "
            "facts), by a cautious estimate; whole lines are dropped. 0: no notes."
        ),
        json_schema_extra={"unit": "tokens", "allowed": "0, or a whole number of tokens from 50 to 32000"},
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
            "Keep the numbers of cards, bank accounts (IBAN) and US social security in facts. Off: they are masked, "
            "like passwords, codes and keys, which always are."
        ),
    )
    mark_sensitive: bool = Field(
        default=False,
        description=(
            "Mark learned facts about health, sexuality, religion, finances and legal matters as sensitive: they are "
            "in no profile, and answer a question only if the person names them."
        ),
    )
    embed_sensitive: bool = Field(
        default=True,
        description=(
            "Send the text of sensitive facts to the embedder. Off: they get no vector, are found by their words alone "
            "and are not in the mem0 store."
        ),
    )
    grounded: bool = Field(
        default=True,
        description=(
            "Drop a learned fact that is copied from the prompt, and mark one of which no word was said as unverified. "
            "Off: only what repeats the prompt word for word is dropped."
        ),
    )
    reconcile: Literal["auto", "model", "rules", "off"] = Field(
        default="auto",
        description=(
            "Who decides which stored facts a new one without a key replaces. `auto`, `model`: one question to "
            "`memory.llm`, where there is a model; `off`, `rules`: nobody, facts are only added."
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
    score_threshold: ScoreThreshold | None = Field(
        default="auto",
        description=(
            "Recall drops facts with a lower score. `auto`: it answers nothing where the best scores below 0.17, with "
            "the embedder `offline` alone; scores of others are not calibrated. Null: it drops none."
        ),
        json_schema_extra={"allowed": "a number of points from 0 to 1, `auto`, or null"},
    )
    trust: Literal["person", "all"] = Field(
        default="person",
        description=(
            "Whose word comes first in recall. `person`: what is unconfirmed, such as what a web page said, stands "
            "behind all else; `all`: it is ranked as any other fact. It is marked either way."
        ),
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
            "home, where a relative SQLite path starts, too. Set a URL with a password through the environment."
        ),
        json_schema_extra={"takes_effect": AFTER_RESTART, "allowed": ALLOWED_DATABASE_URLS},
    )
    llm: ProviderConfig = Field(
        default=ProviderConfig(),
        description=(
            "The model that learns and writes profiles. `auto`: Gemini if there is a key or a project on Vertex AI, "
            "else offline. `agent`: the agent's own model, in processes that run the agent; `max_tokens` bounds its "
            "answers to memory (4,096)."
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
    profile_agents: Literal["speaking", "root", "all"] | tuple[str, ...] = Field(
        default="speaking",
        description=(
            "The agents that get the profile, the notes of a turn and the tools. `speaking`: the root agent and each "
            "agent that a transfer or a task gives the conversation to; `root`: the root agent alone."
        ),
        json_schema_extra={"allowed": "`speaking`, `root`, `all` or a list of agent names"},
    )
    tools: Literal["basic", "extended"] = Field(
        default="extended",
        description=(
            "The tools that agents get. `basic`: `remember` with the fact alone, and `load_memory`; `extended`: also "
            "`recall`, `update_memory`, `forget_memory` and `switch_context`, and `remember` with details such as a "
            "due date."
        ),
    )
    app_facts: bool = Field(
        default=False,
        description="Recall also asks the facts of `Scope.app_wide`, which every user of the app may be told.",
    )
    agent_writes: Literal["allow", "confirm", "refuse"] = Field(
        default="allow",
        description=(
            "What happens when a model calls `remember`, `update_memory` or `forget_memory`. `allow`: the fact is "
            "stored, changed or forgotten; `confirm`: it is if the user's next message says yes; `refuse`: it is not."
        ),
    )
    undo_seconds: Count = Field(
        default=600,
        ge=0,
        le=86_400,
        description=(
            "How long `/undo` can take back what a model's `forget_memory` has forgotten; then it is erased. 0: it is "
            "erased at once."
        ),
        json_schema_extra={"unit": "seconds"},
    )
    usage_days: Count = Field(
        default=90,
        ge=0,
        le=3_650,
        description=(
            "How long memory keeps which tools, commands and channels a person used in turns: names and counts, no "
            "words. `gaia grow run` proposes facts from them. 0: they are not stored."
        ),
        json_schema_extra={"unit": "days"},
    )
    on_unavailable: Literal["degrade", "fail"] = Field(
        default="degrade",
        description="What a turn does if memory is unavailable: continue without it, or fail.",
    )

    @field_validator("reconcile", mode="before")
    @classmethod
    def _reconcile(cls, value: object) -> object:
        # YAML reads a bare `off` as false.
        return "off" if value is False else value

    @field_validator("time_zone")
    @classmethod
    def _time_zone(cls, value: str | None) -> str | None:
        if value is not None:
            load_time_zone(value)
        return value

    @field_validator("tail_tokens")
    @classmethod
    def _tail_tokens(cls, value: int) -> int:
        if 0 < value < MIN_TAIL_TOKENS:
            raise ValueError("is too few for the time alone")
        return value

    @field_validator("database_url")
    @classmethod
    def _database(cls, value: str | None) -> str | None:
        return None if value is None else normalize_url(value)

    @property
    def zone(self) -> tzinfo | None:
        """The time zone of the users; None for this machine's."""
        return None if self.time_zone is None else load_time_zone(self.time_zone)
