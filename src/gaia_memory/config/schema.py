"""The declaration of every setting, with its default, unit and range.

The file `gaia.yaml`, its JSON schema and the reference page are rendered from it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from pydantic import ConfigDict, Field, field_validator

from gaia_memory.config.database_urls import is_server_url, resolve_url, sqlite_url
from gaia_memory.config.describe import AFTER_RESTART
from gaia_memory.config.sections.memory_section import MemoryConfig
from gaia_memory.config.sections.people_section import PeopleConfig
from gaia_memory.config.sections.provider_section import Section
from gaia_memory.config.sections.server_section import ServerConfig
from gaia_memory.config.sections.sessions_section import SessionsConfig

_APP_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]*")
_PERCENT_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_RESERVED_APP_NAMES = frozenset({"user"})


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def is_app_name(name: str) -> bool:
    """Return whether ADK accepts a name for an app."""
    return _APP_NAME.fullmatch(name) is not None and name not in _RESERVED_APP_NAMES


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
    server: ServerConfig = Field(
        default=ServerConfig(),
        description=ServerConfig.__doc__,
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
            if value.parts[0] == "~":
                raise ValueError("is unknown, because HOME is not set; set GAIA_HOME") from error
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
