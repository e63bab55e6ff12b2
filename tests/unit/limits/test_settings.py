"""Values that the configuration refuses, and limits that it does not set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sections.people_section import identify_speaker
from gaia_memory.config.sources.load import load
from gaia_memory.database.sql_engine import open_engine
from gaia_memory.errors import ConfigError


def test_a_name_that_looks_like_a_key_is_refused_in_the_file() -> None:
    """Model names that look like keys are refused, too; the environment accepts them."""
    with pytest.raises(ConfigError, match="model"):
        load({"model": "sk-large-model"}, environ={})

    assert load(None, environ={"GAIA_MODEL": "sk-large-model"}).config.model == "sk-large-model"


def test_a_user_id_with_a_colon_is_refused() -> None:
    """Colons separate channel and sender in the id of an unknown sender."""
    with pytest.raises(ConfigError, match="colon"):
        load({"people": {"users": {"team:ada": {"telegram": ["1"]}}}}, environ={})


def test_senders_are_compared_letter_by_letter() -> None:
    """Write each spelling of an address in `people.users`."""
    people = load({"people": {"users": {"ada": {"email": ["ada@example.com"]}}}}, environ={}).config.people

    assert identify_speaker(people, "email", "Ada@example.com") is None


def test_a_database_url_names_sqlite_or_postgresql(tmp_path: Path) -> None:
    """Other databases are refused."""
    with pytest.raises(ConfigError, match="database_url"):
        load({"home": str(tmp_path), "memory": {"database_url": "mysql://db/memory"}}, environ={})


def test_recall_has_no_token_budget_by_default() -> None:
    """A host that puts hits into a prompt gets five facts of 100,000 characters each; the tools have a budget."""
    assert GaiaConfig().memory.recall.tokens is None


def test_a_process_opens_at_most_fifteen_connections_to_postgresql() -> None:
    """This is the limit of one engine; each event loop has its own engine."""
    pool: Any = open_engine("postgresql+asyncpg://db/memory").pool

    assert pool.size() + pool._max_overflow == 15
