"""`gaia config`: check, show and schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.config.render import render_json_schema
from support.cli.cli_runner import CommandResult, gaia_home, run_gaia, run_gaia_process, write_offline_config


def shown(done: CommandResult) -> dict[str, tuple[Any, str, str | None]]:
    """Return each setting with its value, its origin and the variable that set it."""
    return {row["key"]: (row["value"], row["from"], row["variable"]) for row in done.json_output["settings"]}


def test_check_confirms_a_valid_file(tmp_path: Path) -> None:
    """In one line with its path; without a file, the environment is checked."""
    config = write_offline_config(tmp_path, "memory: {recall_limit: 7}")
    named, looked_up = run_gaia("config", "check", str(config)), run_gaia("config", "check")

    assert (named.code, named.out, named.err) == (0, f"OK: {config}\n", "")
    assert (looked_up.code, looked_up.out) == (
        0,
        "OK: the environment\n",
    )
    assert not gaia_home().exists()


def test_check_uses_the_file_that_other_commands_would_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`GAIA_CONFIG` names it, or it is in the home."""
    monkeypatch.setenv("GAIA_CONFIG", str(write_offline_config(tmp_path)))

    assert run_gaia("config", "check").out == f"OK: {tmp_path / 'gaia.yaml'}\n"


def test_check_lists_all_problems_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Invalid values of file and environment, and unknown keys: one line each, with the file's name and the fix."""
    config = write_offline_config(tmp_path, "memory: {recall_limit: 500, recal_limit: 3}", "sesions: {}")
    monkeypatch.setenv("GAIA_SESSIONS__CLEAR", "sometimes")
    done = run_gaia("config", "check", str(config))
    data = run_gaia("config", "check", str(config), "--json")

    assert (done.code, done.out, data.code) == (1, "", 1)
    assert len(done.err.splitlines()) == 4
    assert all(line.startswith(f"gaia: {config}: ") for line in done.err.splitlines())
    for part in ("memory.recall_limit: 500", "did you mean `memory.recall_limit`", "did you mean `sessions`"):
        assert part in done.err
    assert "GAIA_SESSIONS__CLEAR" in done.err
    assert data.json_output["ok"] is False
    assert len(data.json_output["problems"]) == 4


def test_the_folder_of_a_local_model_is_resolved_against_the_home(tmp_path: Path) -> None:
    """As memory would resolve it, not against the temporary home of the check."""
    config = tmp_path / "gaia.yaml"
    config.write_text("memory:\n  embedder: {provider: local, model: models/mini}\n", encoding="utf-8")

    done = run_gaia("config", "check", str(config))

    assert done.code == 1
    assert f"'{gaia_home() / 'models' / 'mini'}' is no folder" in done.err


def test_a_single_unknown_key_exits_with_1(tmp_path: Path) -> None:
    """It is reported once."""
    done = run_gaia_process("config", "check", str(write_offline_config(tmp_path, "memory: {recal_limit: 3}")))

    assert done.code == 1
    assert len(done.err.splitlines()) == 1


def test_an_unknown_variable_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, with a suggestion; variables that name files or belong to the tests are no settings."""
    monkeypatch.setenv("GAIA_SESSION__WINDOW_TURNS", "3")
    monkeypatch.setenv("GAIA_SESSIONS__WINDW_TURNS", "3")
    monkeypatch.setenv("GAIA_TEST_ANYTHING", "1")
    monkeypatch.setenv("GAIA_REQUIRE_ANYTHING", "1")
    config = write_offline_config(tmp_path)
    done = run_gaia("config", "check", str(config))

    assert done.code == 1
    assert sorted(done.err.splitlines()) == [
        f"gaia: {config}: GAIA_SESSION{rest}, ignored; did you mean `GAIA_SESSIONS__WINDOW_TURNS`?"
        for rest in ("S__WINDW_TURNS: unknown key", "__WINDOW_TURNS: unknown variable")
    ]


def test_a_secret_in_the_file_is_reported_but_not_shown(tmp_path: Path) -> None:
    """With the variable to use instead."""
    done = run_gaia(
        "config", "check", str(write_offline_config(tmp_path, "memory: {llm: {provider: openai, api_key: hush}}"))
    )

    assert done.code == 1
    assert "OPENAI_API_KEY" in done.err
    assert "hush" not in done.err


@pytest.mark.parametrize("text", [None, "memory: [", "- a list\n", "\tapp: x\n"])
def test_a_missing_or_invalid_file_is_reported(tmp_path: Path, text: str | None) -> None:
    """Missing, broken, or of another kind."""
    path = tmp_path / "gaia.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    done = run_gaia("config", "check", str(path))

    assert (done.code, done.out) == (1, "")
    assert str(path) in done.err


def test_unknown_providers_of_mem0_are_reported(tmp_path: Path) -> None:
    """So are unknown keys of a provider; mem0 leaves no files in the home."""
    config = write_offline_config(tmp_path, "memory: {llm: {provider: opnai}, embedder: {provider: openai, modle: x}}")
    done = run_gaia("config", "check", str(config))

    assert done.code == 1
    assert f"{config}: memory.llm.provider: 'opnai' is not a provider; did you mean 'openai'?" in done.err
    assert "memory.embedder.modle" in done.err
    assert not gaia_home().exists()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gpt5", "ADK does not know"),
        ("'openai:'", "names no model"),
        ("claude-sonnet-5", "pip install anthropic"),
    ],
)
def test_a_model_that_chat_refuses_is_reported(tmp_path: Path, name: str, told: str) -> None:
    """As soon as everything else is right."""
    file = tmp_path / "gaia.yaml"
    file.write_text(f"app: shop\nmodel: {name}\n", encoding="utf-8")
    done = run_gaia("config", "check", str(file))

    assert (done.code, done.out) == (1, "")
    assert told in done.err


def test_a_missing_key_of_a_model_is_a_warning(tmp_path: Path) -> None:
    """ADK may read it from the `.env` of an agent."""
    config = tmp_path / "gaia.yaml"
    config.write_text("model: gpt-5\n", encoding="utf-8")
    openai = run_gaia("config", "check", str(config))
    assert (openai.code, openai.out) == (0, f"OK: {config}\n")
    assert "OPENAI_API_KEY is not set" in openai.err

    config.write_text("model: gemini-3.5-flash\nmemory: {llm: {provider: openai}}\n", encoding="utf-8")
    done = run_gaia("config", "check", str(config))
    warnings = [
        "model: 'gemini-3.5-flash' cannot be asked without GEMINI_API_KEY or GOOGLE_API_KEY: set it",
        "memory.llm.provider: 'openai' cannot be asked without OPENAI_API_KEY: set it",
    ]

    assert (done.code, done.out) == (0, f"OK: {config}\n")
    assert done.err.splitlines() == [f"warning: {config}: {line}" for line in warnings]
    assert run_gaia("config", "check", str(config), "--json").json_output["warnings"] == warnings


def test_each_setting_is_shown_with_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file, an environment variable (for a key or a whole section), or the default."""
    config = write_offline_config(
        tmp_path, "memory: {recall_limit: 7, llm: {provider: openai, model: small}, embedder: {model: x}}"
    )
    monkeypatch.setenv("GAIA_MEMORY__LLM__MODEL", "large")
    monkeypatch.setenv("GAIA_SESSIONS", '{"window_turns": 12}')
    found = shown(run_gaia("config", "show", "-c", str(config), "--json"))

    assert found["memory.recall_limit"] == (7, "file", None)
    assert found["memory.llm.provider"] == ("openai", "file", None)
    assert found["memory.llm.model"] == ("large", "environment", "GAIA_MEMORY__LLM__MODEL")
    assert found["memory.embedder.provider"] == ("auto", "default", None)
    assert found["memory.embedder.model"] == ("x", "file", None)
    assert found["sessions.window_turns"] == (12, "environment", "GAIA_SESSIONS")
    assert found["sessions.clear"] == ("auto", "default", None)
    assert found["home"] == (str(gaia_home()), "environment", "GAIA_HOME")
    assert found["memory.database_url"] == (f"sqlite+aiosqlite:///{gaia_home()}/memory.db", "default", None)


def test_a_provider_set_by_the_environment_drops_the_file_settings_of_the_previous_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The configuration is read in the same way."""
    config = write_offline_config(tmp_path, "memory: {llm: {provider: openai, model: small}}")
    monkeypatch.setenv("GAIA_MEMORY__LLM__PROVIDER", "ollama")
    found = shown(run_gaia("config", "show", "-c", str(config), "--json"))

    assert found["memory.llm.provider"] == ("ollama", "environment", "GAIA_MEMORY__LLM__PROVIDER")
    assert "memory.llm.model" not in found


def test_the_table_names_the_file_and_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line per setting; ignored keys are reported separately, once."""
    config = write_offline_config(tmp_path, "memory: {recal_limit: 3}")
    monkeypatch.setenv("GAIA_MEMORY__PRELOAD_LIMIT", "9")
    done = run_gaia("config", "show", "-c", str(config))
    lines = {line.split()[0]: line.split()[1:] for line in done.out.splitlines()}

    assert done.code == 0
    assert lines["model"] == ["offline", str(config)]
    assert lines["memory.preload_limit"] == ["9", "GAIA_MEMORY__PRELOAD_LIMIT"]
    assert lines["memory.recall_limit"] == ["5", "default"]
    assert done.err.count("unknown key") == 1


def test_show_reveals_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a provider's key nor the password of a database."""
    monkeypatch.setenv("GAIA_MEMORY__VECTOR_STORE__PROVIDER", "qdrant")
    monkeypatch.setenv("GAIA_MEMORY__VECTOR_STORE__API_KEY", "hush-hush")
    monkeypatch.setenv("GAIA_SESSIONS__DATABASE_URL", "postgresql://me:top-secret@db/talk")
    config = write_offline_config(tmp_path)
    table, data = run_gaia("config", "show", "-c", str(config)), run_gaia("config", "show", "-c", str(config), "--json")

    for done in (table, data):
        assert done.code == 0
        assert "hush-hush" not in done.out
        assert "top-secret" not in done.out
    assert shown(data)["memory.vector_store.api_key"][0] == "***"
    # The name of a method, not a secret.
    assert shown(data)["server.auth"][0] == "token"
    assert shown(data)["sessions.database_url"][0] == "postgresql+asyncpg://me:***@db/talk"
    assert shown(data)["memory.database_url"] == ("postgresql+asyncpg://me:***@db/talk", "default", None)


def test_schema_prints_the_schema_of_the_package() -> None:
    """The output can be piped into a file unchanged."""
    done = run_gaia_process("config", "schema")

    assert done.out == render_json_schema()
    assert json.loads(done.out)["title"] == "gaia.yaml"


@pytest.mark.parametrize("url", ["mysql://db/x", "mysql+aiomysql://me:hush-hush@db/x", "mongodb://db/x"])
def test_a_database_that_is_not_supported_is_named_with_the_supported_ones(tmp_path: Path, url: str) -> None:
    """Moving it into a variable would not help."""
    file = tmp_path / "gaia.yaml"
    file.write_text(f"memory:\n  database_url: {url}\n")
    done = run_gaia("config", "check", str(file))

    kind = url.partition("://")[0].partition("+")[0]
    assert done.code == 1
    assert f"names {kind}, which is not supported; use sqlite:///… or postgresql+asyncpg://…" in done.err
    assert "hush-hush" not in done.err
