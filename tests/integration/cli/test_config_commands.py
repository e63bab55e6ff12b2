"""`gaia config`: check, show and schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gaia_memory.config.render import render_json_schema
from support.cli.cli_runner import CommandResult, gaia_home, run_gaia, run_gaia_process, write_offline_config


def shown(done: CommandResult) -> dict[str, tuple[Any, str, str | None]]:
    """Return each setting with its value, who set it and by which variable."""
    return {row["key"]: (row["value"], row["from"], row["variable"]) for row in done.json_output["settings"]}


def test_a_right_file_is_said_to_be_right(tmp_path: Path) -> None:
    """By its path, in one line; without a file the environment is looked at."""
    config = write_offline_config(tmp_path, "memory: {recall_limit: 7}")
    named, looked_up = run_gaia("config", "check", str(config)), run_gaia("config", "check")

    assert (named.code, named.out, named.err) == (0, f"OK: {config}\n", "")
    assert (looked_up.code, looked_up.out) == (
        0,
        f"OK: the environment (GAIA_CONFIG names no file, and there is no {gaia_home() / 'gaia.yaml'})\n",
    )
    assert not gaia_home().exists()


def test_the_file_that_commands_would_use_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`GAIA_CONFIG` names it, or it stands in the home."""
    monkeypatch.setenv("GAIA_CONFIG", str(write_offline_config(tmp_path)))

    assert run_gaia("config", "check").out == f"OK: {tmp_path / 'gaia.yaml'}\n"


def test_everything_that_is_wrong_is_listed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused values of file and environment, and unknown keys: one line each, with the file's name and the fix."""
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


def test_the_folder_of_a_local_model_is_looked_for_in_the_home(tmp_path: Path) -> None:
    """Where memory would look for it, and not beside whatever the check uses for a home."""
    config = tmp_path / "gaia.yaml"
    config.write_text("memory:\n  embedder: {provider: local, model: models/mini}\n", encoding="utf-8")

    done = run_gaia("config", "check", str(config))

    assert done.code == 1
    assert f"'{gaia_home() / 'models' / 'mini'}' is no folder" in done.err


def test_an_unknown_key_alone_is_enough_to_leave_with_1(tmp_path: Path) -> None:
    """It is told once."""
    done = run_gaia_process("config", "check", str(write_offline_config(tmp_path, "memory: {recal_limit: 3}")))

    assert done.code == 1
    assert len(done.err.splitlines()) == 1


def test_a_variable_that_sets_nothing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, with what may be meant; what says where files are, and what tests go by, is no setting."""
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


def test_a_secret_is_named_and_not_shown(tmp_path: Path) -> None:
    """With the variable it belongs into."""
    done = run_gaia(
        "config", "check", str(write_offline_config(tmp_path, "memory: {llm: {provider: openai, api_key: hush}}"))
    )

    assert done.code == 1
    assert "OPENAI_API_KEY" in done.err
    assert "hush" not in done.err


@pytest.mark.parametrize("text", [None, "memory: [", "- a list\n", "\tapp: x\n"])
def test_a_file_that_is_none_is_told(tmp_path: Path, text: str | None) -> None:
    """Missing, broken, or something else."""
    path = tmp_path / "gaia.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    done = run_gaia("config", "check", str(path))

    assert (done.code, done.out) == (1, "")
    assert str(path) in done.err


def test_a_tab_is_named_with_what_stands_there_instead(tmp_path: Path) -> None:
    """It looks like spaces, and YAML takes none."""
    path = tmp_path / "gaia.yaml"
    path.write_text("memory:\n\trecall_limit: 3\n", encoding="utf-8")

    assert "line 2, column 1: found a tab; indent with spaces" in run_gaia("config", "check", str(path)).err


def test_providers_that_mem0_does_not_know_are_found(tmp_path: Path) -> None:
    """And keys that a provider does not have; mem0 leaves nothing in the home."""
    config = write_offline_config(tmp_path, "memory: {llm: {provider: opnai}, embedder: {provider: openai, modle: x}}")
    done = run_gaia("config", "check", str(config))

    assert done.code == 1
    assert f"{config}: memory.llm.provider: 'opnai' is not a provider; did you mean 'openai'?" in done.err
    assert "memory.embedder.modle" in done.err
    assert not gaia_home().exists()


def test_each_setting_is_shown_with_who_set_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file, a variable of the environment (also one of a whole section), or nobody."""
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


def test_a_provider_that_the_environment_changes_loses_what_the_file_told_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does when the configuration is read."""
    config = write_offline_config(tmp_path, "memory: {llm: {provider: openai, model: small}}")
    monkeypatch.setenv("GAIA_MEMORY__LLM__PROVIDER", "ollama")
    found = shown(run_gaia("config", "show", "-c", str(config), "--json"))

    assert found["memory.llm.provider"] == ("ollama", "environment", "GAIA_MEMORY__LLM__PROVIDER")
    assert "memory.llm.model" not in found


def test_the_table_for_people_names_the_file_and_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line a setting; what was ignored is told beside it, once."""
    config = write_offline_config(tmp_path, "memory: {recal_limit: 3}")
    monkeypatch.setenv("GAIA_MEMORY__PRELOAD_LIMIT", "9")
    done = run_gaia("config", "show", "-c", str(config))
    lines = {line.split()[0]: line.split()[1:] for line in done.out.splitlines()}

    assert done.code == 0
    assert lines["model"] == ["offline", str(config)]
    assert lines["memory.preload_limit"] == ["9", "GAIA_MEMORY__PRELOAD_LIMIT"]
    assert lines["memory.recall_limit"] == ["5", "default"]
    assert done.err.count("unknown key") == 1


def test_no_secret_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert shown(data)["sessions.database_url"][0] == "postgresql+asyncpg://me:***@db/talk"
    assert shown(data)["memory.database_url"] == ("postgresql+asyncpg://me:***@db/talk", "default", None)


def test_the_schema_is_the_one_of_the_package() -> None:
    """It can be piped into a file as it is."""
    done = run_gaia_process("config", "schema")

    assert done.out == render_json_schema()
    assert json.loads(done.out)["title"] == "gaia.yaml"


def test_a_wrong_configuration_cannot_be_shown(tmp_path: Path) -> None:
    """It says why."""
    done = run_gaia("config", "show", "-c", str(write_offline_config(tmp_path, "memory: {recall_limit: 500}")))

    assert (done.code, done.out) == (1, "")
    assert "memory.recall_limit" in done.err
