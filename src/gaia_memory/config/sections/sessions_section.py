"""The section `sessions`: conversations, their replay, learning and clearing."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from gaia_memory.config.database_urls import ALLOWED_DATABASE_URLS, normalize_url
from gaia_memory.config.describe import AFTER_RESTART
from gaia_memory.config.sections.provider_section import Amount, Count, Days, Section, reject_bool

_Characters = Annotated[int, Field(ge=100), BeforeValidator(reject_bool)]


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
            "The database of sessions. Default: SQLite `sessions.db` in the home. A relative SQLite path starts at the "
            "home, an absolute one has four slashes: `sqlite:////srv/sessions.db`. Set a URL with a password through "
            "the environment."
        ),
        json_schema_extra={"takes_effect": AFTER_RESTART, "allowed": ALLOWED_DATABASE_URLS},
    )
    server_connections: Count = Field(
        default=15,
        ge=1,
        le=1000,
        description=(
            "Maximum connections of one process to a database server. Sessions and facts share them if they share the "
            "database. SQLite is not concerned."
        ),
        json_schema_extra={"unit": "connections", "takes_effect": AFTER_RESTART},
    )
    server_wait_seconds: Amount = Field(
        default=30.0,
        gt=0,
        le=600,
        allow_inf_nan=False,
        description="How long a call waits for a free connection to the database server; memory in a turn at most 5 s.",
        json_schema_extra={
            "unit": "seconds",
            "allowed": "a number of seconds above 0, up to 600",
            "takes_effect": AFTER_RESTART,
        },
    )
    clear: Literal["auto", "delete", "rewind", "keep"] = Field(
        default="auto",
        description=(
            "What happens to a session after learning. `auto`: it is deleted if gaia's Runner handles every turn, else "
            "kept as it is. `keep`: it is kept. `rewind`: it is hidden. `delete`: it is deleted; a Runner of your own "
            "then needs `auto_create_session=True`."
        ),
    )
    retain_days: Days | None = Field(
        default=90,
        description=(
            "How long a session that `sessions.clear: rewind` hid stays in the session database. Then it is deleted, "
            "unless it has new messages. Null: for ever."
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
    tool_result_chars: _Characters | None = Field(
        default=12_000,
        description=(
            "Maximum characters of a tool's result in a request to the model. The stored session keeps all of it, and "
            "files are not cut. Null: no limit."
        ),
        json_schema_extra={"unit": "characters"},
    )

    @property
    def idle_seconds(self) -> float:
        """How long a conversation must be quiet, in seconds."""
        return self.idle_consolidate_minutes * 60

    @field_validator("database_url")
    @classmethod
    def _database(cls, value: str | None) -> str | None:
        return None if value is None else normalize_url(value)
