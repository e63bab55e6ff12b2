"""Loading the configuration from a file, a mapping or nothing; all problems are reported together."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from gaia_memory.config.schema import GaiaConfig
from gaia_memory.config.sources.load import LoadedConfig, load, locate
from gaia_memory.errors import ConfigError, SecretInConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of a configuration file that does not exist yet."""
    return tmp_path / "gaia.yaml"


def loaded(file: Path, text: str, environ: dict[str, str] | None = None, **arguments: Any) -> LoadedConfig:
    file.write_text(text, encoding="utf-8")
    return load(file, environ=environ or {}, **arguments)


def refusal(file: Path, text: str, environ: dict[str, str] | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        loaded(file, text, environ)
    return caught.value


@pytest.mark.acceptance("G01")
def test_without_a_file_every_key_has_its_default():
    """No configuration is required."""
    config = load(None, environ={}).config

    assert (config.memory.enabled, config.memory.auto_ingest, config.memory.preload) == (True, True, True)
    assert (config.memory.recall_limit, config.memory.preload_limit) == (5, 20)
    assert config.memory.extraction_instructions == ""
    assert (config.sessions.window_turns, config.sessions.idle_consolidate_minutes) == (30, 30.0)
    assert (config.memory.llm.provider, config.memory.embedder.provider) == ("auto", "auto")
    assert config.memory.vector_store.provider == "chroma"
    assert config == GaiaConfig()


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "memory:\nsessions:\n"])
def test_an_empty_file_or_section_means_the_defaults(file, text):
    """A file with every line commented out still works."""
    assert loaded(file, text).config == GaiaConfig()


@pytest.mark.parametrize("layer", ["argument", "variable"])
def test_a_section_without_keys_is_refused_also_if_one_of_its_keys_is_overridden(file, layer):
    """The override would hide that the rest of the section is missing."""
    overrides = {
        "argument": {"settings": {"sessions": {"window_turns": 3}}},
        "variable": {"environ": {"GAIA_SESSIONS__WINDOW_TURNS": "3"}},
    }
    with pytest.raises(ConfigError) as caught:
        loaded(file, "sessions: many\n", **overrides[layer])

    assert caught.value.problems == ("sessions: 'many' is not allowed; give a section: `key: value` lines, indented",)


@pytest.mark.acceptance("G04")
def test_an_unknown_key_causes_a_warning_with_a_suggestion(file, caplog):
    """The rest of the file is loaded."""
    with caplog.at_level(logging.WARNING):
        found = loaded(file, "memory: {recal_limit: 3, preload_limit: 7}\nrecal_limit: 3\nsession: {}\nxyzzy: 1\n")

    assert found.warnings == (
        "memory.recal_limit: unknown key, ignored; did you mean `memory.recall_limit`?",
        "recal_limit: unknown key, ignored; did you mean `memory.recall_limit`?",
        "session: unknown key, ignored; did you mean `sessions`?",
        "xyzzy: unknown key, ignored",
    )
    assert found.config.memory.preload_limit == 7
    assert [line for line in found.warnings if line in caplog.text] == list(found.warnings)


def test_a_warning_is_logged_once_for_several_loads(file, caplog):
    """The service, two plugins and the runner all load the file."""
    with caplog.at_level(logging.WARNING):
        loads = [loaded(file, "bogus: 1\n") for _ in range(4)]

    assert [len(found.warnings) for found in loads] == [1, 1, 1, 1]
    assert len(caplog.records) == 1


@pytest.mark.acceptance("G05", "S07")
def test_all_invalid_values_are_reported_together_with_key_value_and_range(file):
    """One run of `gaia config check` shows all there is to correct."""
    error = refusal(
        file,
        "sessions: {idle_consolidate_minutes: -5, window_turns: 0}\n"
        "memory: {recall_limit: -1, scope: everyone}\n"
        "bogus: 1\n",
    )

    assert error.problems == (
        "memory.recall_limit: -1 is not allowed; give a whole number of facts from 1 to 50, or `auto`",
        "memory.scope: 'everyone' is not allowed; give `app_user` or `user`",
        "sessions.window_turns: 0 is not allowed; give a whole number of turns from 1 up",
        "sessions.idle_consolidate_minutes: -5 is not allowed; give a number of minutes above 0",
        "bogus: unknown key, ignored",
    )
    assert str(file) in str(error)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("memory.recall_limit", 0),
        ("memory.recall_limit", 51),
        ("memory.recall_limit", 2.5),
        ("memory.recall_limit", True),
        ("memory.recall_limit", None),
        ("memory.preload_limit", 101),
        ("memory.tail_tokens", 20),
        ("memory.enabled", "maybe"),
        ("memory.enabled", None),
        ("memory.score_threshold", 1.1),
        ("memory.score_threshold", math.nan),
        ("memory.profile_agents", "some"),
        ("memory.time_zone", "Berlin"),
        ("memory.time_zone", "Europe"),
        ("memory.time_zone", "../etc/passwd"),
        ("memory.time_zone", ""),
        ("memory.time_zone", 2),
        ("memory.on_unavailable", "panic"),
        ("memory.llm", ["openai"]),
        ("memory.llm.provider", ""),
        ("memory.embedder.config", "model"),
        ("sessions.window_turns", -1),
        ("sessions.idle_consolidate_minutes", math.inf),
        ("sessions.coalesce_seconds", -0.1),
        ("sessions.clear", "sometimes"),
        ("memory", "on"),
        ("home", ""),
        ("home", "/data/100%20"),
        ("home", "/data/what?"),
        ("model", ""),
    ],
)
def test_an_invalid_value_is_refused_by_name(key, value):
    """Otherwise each of these would cause an error later."""
    data: Any = value
    for part in reversed(key.split(".")):
        data = {part: data}

    with pytest.raises(ConfigError) as caught:
        load(data, environ={})

    (problem,) = caught.value.problems
    assert problem.startswith(f"{key}: {value!r} ")
    assert "; give " in problem


@pytest.mark.parametrize("app", ["user", "9lives", "a b", "a.b", "-a", "ä", "a\n", "", 7])
def test_an_app_name_that_adk_refuses_is_refused(app):
    """ADK would refuse it only at the first turn."""
    with pytest.raises(ConfigError, match=r"^the given mapping is not usable:\n  - app: "):
        load({"app": app}, environ={})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("memory: [\n", "line 2, column 1: .*correct the YAML"),
        ("a: 1\n  b: 2\n", "line 2, column 4"),
        ("- a\n- b\n", "a list; write `key: value` lines"),
        ("just words\n", "a single value"),
        ("memory: {}\nmemory: {}\n", "line 2, column 1: this key occurs twice"),
        ("a: 2001-99-99\n", "no valid form"),
        ("[" * 1500, "too deeply"),
        ("a: \x00\n", "is not allowed in YAML"),
        ("a: 1\n--- \nb: 2\n", "line 2"),
    ],
)
def test_a_file_that_is_not_a_mapping_is_refused_with_its_position(file, text, told):
    """The defaults are never used instead: memory may have been switched off."""
    assert isinstance(refusal(file, text), ConfigError)
    with pytest.raises(ConfigError, match=told):
        load(file, environ={})


def test_a_missing_or_unreadable_file_is_refused_by_path(file, tmp_path):
    """A file that is named must exist."""
    with pytest.raises(ConfigError, match="no such file") as missing:
        load(file, environ={})
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path, environ={})
    file.write_bytes(b"app: \xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load(str(file), environ={})

    assert missing.value.source == str(file)


def test_a_file_with_a_byte_order_mark_is_read(file):
    """Windows editors write one."""
    file.write_text("app: other\n", encoding="utf-8-sig")

    assert load(file, environ={}).config.app == "other"


def test_the_environment_overrides_the_file_and_arguments_override_both(file):
    """A container can set one value without changing the file."""
    environ = {"GAIA_MEMORY__RECALL_LIMIT": "8", "GAIA_HOME": "/one", "GAIA_APP": "", "GAIA_MODEL": "m1"}
    found = loaded(file, "app: kept\nmemory: {recall_limit: 3, preload_limit: 4}\n", environ, home="/two", model="m2")

    assert (found.config.memory.recall_limit, found.config.memory.preload_limit) == (8, 4)
    assert (found.config.app, found.config.home, found.config.model) == ("kept", Path("/two"), "m2")


def test_a_mapping_given_in_code_overrides_the_environment(tmp_path):
    """The environment fills in what the mapping leaves out."""
    environ = {"GAIA_HOME": "/one", "GAIA_MEMORY__RECALL_LIMIT": "8", "GAIA_MODEL": "m1"}
    config = load({"home": str(tmp_path), "memory": {"recall_limit": 3}}, environ=environ).config

    assert (config.home, config.memory.recall_limit, config.model) == (tmp_path, 3, "m1")


def test_the_environment_can_set_lists_sections_and_keys_of_a_provider(file):
    """Values with parts are JSON; numbers of a provider become numbers, as in the file."""
    environ = {
        "GAIA_MEMORY__PROFILE_AGENTS": '["a", "b"]',
        "GAIA_SESSIONS": '{"clear": "keep"}',
        "GAIA_MEMORY__LLM__PROVIDER": "openai",
        "GAIA_MEMORY__LLM__TEMPERATURE": "0.5",
        "GAIA_MEMORY__LLM__MODEL": "gpt",
        "GAIA_MEMORY__LLM__API_KEY": "12345",
    }
    config = loaded(file, "memory: {llm: {provider: openai, max_tokens: 9, model: x}}", environ).config

    assert config.memory.profile_agents == ("a", "b")
    assert config.sessions.clear == "keep"
    assert config.memory.llm.config == {"max_tokens": 9, "model": "gpt", "temperature": 0.5, "api_key": "12345"}


def test_a_provider_from_the_environment_ignores_the_files_keys_of_another_provider(file):
    """An OpenAI model is no Gemini model."""
    environ = {"GAIA_MEMORY__LLM__PROVIDER": "gemini"}

    assert loaded(file, "memory: {llm: {provider: openai, model: gpt}}", environ).config.memory.llm.config == {}


def test_invalid_environment_values_are_reported_by_variable(file):
    """The reader needs to know where to look."""
    environ = {
        "GAIA_MEMORY__RECALL_LIMIT": "many",
        "gaia_sessions__clear": "never",
        "GAIA_MEMORY__RECAL_LIMIT": "3",
        "GAIA_MEMORY__LLM": "{broken",
    }

    assert refusal(file, "", environ).problems == (
        "GAIA_MEMORY__RECALL_LIMIT: 'many' is not allowed; give a whole number of facts from 1 to 50, or `auto`",
        "GAIA_MEMORY__LLM: '{broken' is not allowed; give a section with `provider` and the provider's own keys",
        "gaia_sessions__clear: 'never' is not allowed; give `auto`, `delete`, `rewind` or `keep`",
        "GAIA_MEMORY__RECAL_LIMIT: unknown key, ignored; did you mean `GAIA_MEMORY__RECALL_LIMIT`?",
    )


def test_an_invalid_argument_is_reported_as_an_argument():
    """It is not in the file."""
    with pytest.raises(ConfigError, match="the argument model: ''"):
        load(GaiaConfig(), model="")


def test_both_forms_of_a_provider_section_are_equivalent(file):
    """The forms are flat keys and mem0's nested `config`."""
    flat = loaded(file, "memory: {llm: {provider: openai, model: m, top_p: 0.1}}").config
    nested = loaded(file, "memory: {llm: {provider: openai, config: {model: m, top_p: 0.1}}}").config

    assert flat == nested
    assert flat.memory.llm.config == {"model": "m", "top_p": 0.1}


def test_home_is_expanded_and_a_relative_one_is_relative_to_the_file(file, tmp_path, monkeypatch):
    """The working directory makes no difference."""
    monkeypatch.setenv("HOME", "/somebody")

    assert loaded(file, "home: ~/memory\n").config.home == Path("/somebody/memory")
    assert loaded(file, "home: memory\n").config.home == tmp_path / "memory"
    assert load(None, environ={"GAIA_HOME": "~/m"}).config.home == Path("/somebody/m")
    assert load(None, environ={}).config.home == Path("/somebody/.gaia")


@pytest.mark.parametrize(
    ("given", "resolved"),
    [
        ("sqlite:////data/x.db", "sqlite+aiosqlite:////data/x.db"),
        ("sqlite+aiosqlite:////data/x.db?timeout=5", "sqlite+aiosqlite:////data/x.db?timeout=5"),
        ("sqlite:///x.db", "sqlite+aiosqlite:////home/x.db"),
        ("sqlite:///~/x.db", "sqlite+aiosqlite:////somebody/x.db"),
        ("postgresql://u@h/d", "postgresql+asyncpg://u@h/d"),
        ("postgres://h/d?sslmode=require", "postgresql+asyncpg://h/d?ssl=require"),
        ("postgresql+asyncpg://h/d", "postgresql+asyncpg://h/d"),
    ],
)
def test_database_urls_get_their_asynchronous_driver(given, resolved, monkeypatch):
    """Users can write the URL they know."""
    monkeypatch.setenv("HOME", "/somebody")
    config = load({"sessions": {"database_url": given}, "memory": {"database_url": given}}, home="/home", environ={})

    assert (config.config.sessions_url, config.config.memory_url) == (resolved, resolved)


@pytest.mark.parametrize(
    "url", ["mysql://h/d", "sqlite://", "sqlite:///:memory:", "x.db", "postgresql+psycopg://h/d", ""]
)
def test_unsupported_databases_are_refused(url):
    """An in-memory database would lose everything."""
    with pytest.raises(ConfigError, match=r"memory\.database_url: .*; give sqlite:///path or postgresql://"):
        load({"memory": {"database_url": url}}, environ={})


def test_memory_uses_the_database_server_of_the_sessions():
    """One URL configures both, but a SQLite file for sessions is not used for memory."""
    server = load({"sessions": {"database_url": "postgresql://h/d"}}, home="/home", environ={}).config
    file = load({"sessions": {"database_url": "sqlite:////s.db"}}, home="/home", environ={}).config
    apart = load(
        {"sessions": {"database_url": "postgresql://h/d"}, "memory": {"database_url": "sqlite:////m.db"}}, environ={}
    ).config

    assert server.memory_url == server.sessions_url == "postgresql+asyncpg://h/d"
    assert file.memory_url == "sqlite+aiosqlite:////home/memory.db"
    assert apart.memory_url == "sqlite+aiosqlite:////m.db"


def test_the_identity_is_determined_by_file_home_and_contents(file, tmp_path, monkeypatch):
    """Parts with the same identity share one engine."""
    monkeypatch.chdir(tmp_path)
    absolute, relative = loaded(file, "app: a\n"), load("gaia.yaml", environ={})
    elsewhere = load(file, environ={}, home=tmp_path / "other")
    mappings = [load(data, environ={}) for data in ({"app": "a"}, {"app": "a"}, {"app": "b"})]

    assert absolute.identity == relative.identity
    assert len({absolute.identity, elsewhere.identity, mappings[0].identity, mappings[2].identity}) == 4
    assert mappings[0].identity == mappings[1].identity
    assert (absolute.path, mappings[0].path) == (file, None)


def test_a_config_object_is_used_unchanged():
    """The environment does not apply to it."""
    config = GaiaConfig(app="mine")
    found = load(config, environ={"GAIA_APP": "other"}, home="/h")

    assert (found.config.app, found.config.home) == ("mine", Path("/h"))


def test_the_default_file_comes_from_the_environment_or_the_home(tmp_path, monkeypatch):
    """It is `GAIA_CONFIG`, else `gaia.yaml` in the home, else none."""
    monkeypatch.setenv("HOME", str(tmp_path))
    home = tmp_path / "home"

    assert locate({"GAIA_CONFIG": "~/x.yaml", "GAIA_HOME": str(home)}) == tmp_path / "x.yaml"
    assert locate({"GAIA_HOME": str(home)}) is None
    home.mkdir()
    (home / "gaia.yaml").touch()
    assert locate({"GAIA_HOME": str(home)}) == home / "gaia.yaml"
    assert locate({}) is None


SECRET = "hunter2hunter2"


@pytest.mark.acceptance("L04")
@pytest.mark.parametrize(
    ("data", "key", "variable"),
    [
        ({"memory": {"llm": {"api_key": f"sk-{SECRET}"}}}, "memory.llm.api_key", "OPENAI_API_KEY"),
        ({"memory": {"llm": {"api_key": SECRET}}}, "memory.llm.api_key", "GEMINI_API_KEY or GOOGLE_API_KEY"),
        (
            {"memory": {"llm": {"provider": "gemini", "config": {"api_key": SECRET}}}},
            "memory.llm.config.api_key",
            "GEMINI_API_KEY or GOOGLE_API_KEY",
        ),
        (
            {"memory": {"embedder": {"provider": "openai", "apiKey": SECRET}}},
            "memory.embedder.apiKey",
            "OPENAI_API_KEY",
        ),
        (
            {"memory": {"embedder": {"provider": "azure_openai", "azure_kwargs": {"api_key": SECRET}}}},
            "memory.embedder.azure_kwargs.api_key",
            "EMBEDDING_AZURE_OPENAI_API_KEY",
        ),
        (
            {"memory": {"vector_store": {"provider": "pgvector", "password": SECRET}}},
            "memory.vector_store.password",
            "GAIA_MEMORY__VECTOR_STORE__PASSWORD",
        ),
        (
            {"memory": {"vector_store": {"provider": "redis", "redis_url": f"redis://:{SECRET}@h:6379"}}},
            "memory.vector_store.redis_url",
            "GAIA_MEMORY__VECTOR_STORE__REDIS_URL",
        ),
        ({"memory": {"llm": {"model": f"AIza{SECRET}"}}}, "memory.llm.model", "GEMINI_API_KEY or GOOGLE_API_KEY"),
        (
            {"memory": {"llm": {"provider": "x", "headers": [f"sk-{SECRET}"]}}},
            "memory.llm.headers.0",
            "GAIA_MEMORY__LLM__HEADERS",
        ),
        ({"memory": {"extraction_instructions": f"use sk-{SECRET}"}}, "memory.extraction_instructions", "environment"),
        ({"openai_api_key": SECRET}, "openai_api_key", "OPENAI_API_KEY"),
        ({"telegram": {"token": SECRET}}, "telegram.token", "environment variable"),
        ({"api_keys": {"openai": SECRET}}, "api_keys", "environment variable"),
        (
            {"memory": {"database_url": f"postgresql://u:{SECRET}/x@h/d"}},
            "memory.database_url",
            "GAIA_MEMORY__DATABASE_URL",
        ),
        (
            {"sessions": {"database_url": f"postgresql://h/d?user=u&password={SECRET}"}},
            "sessions.database_url",
            "GAIA_SESSIONS__DATABASE_URL",
        ),
    ],
)
def test_a_secret_in_the_file_is_refused_and_never_shown(file, caplog, data, key, variable):
    """The error names the variable to use instead; messages may end up in logs or issues."""
    with caplog.at_level(logging.DEBUG), pytest.raises(SecretInConfigError) as caught:
        loaded(file, yaml.safe_dump(data))

    problem = caught.value.problems[0]
    assert problem.startswith(f"{key}: does not belong here; remove this entry")
    assert variable in problem
    assert SECRET not in str(caught.value) + repr(caught.value) + caplog.text
    assert caught.value.__cause__ is None


def test_a_secret_does_not_hide_the_other_problems(file):
    """All of them in one go, secrets first."""
    error = refusal(file, f"memory: {{recall_limit: 0, llm: {{api_key: {SECRET}}}, scope: x}}\n")

    assert isinstance(error, SecretInConfigError)
    assert [line.split(":")[0] for line in error.problems] == [
        "memory.llm.api_key",
        "memory.recall_limit",
        "memory.scope",
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"api_key: [{SECRET}\n",
        f"api_key: *{SECRET}\n",
        f"api_key: !{SECRET} x\n",
        f"api_key: 'a\n{SECRET}: b\n",
        f"{SECRET}: {{\n",
    ],
)
def test_invalid_yaml_is_reported_without_its_content(file, text):
    """PyYAML's own message quotes the line, which may contain a key."""
    error = refusal(file, text)

    assert SECRET not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None


def test_a_password_from_the_environment_is_used_and_never_shown(file):
    """An error message masks it."""
    environ = {
        "GAIA_MEMORY__DATABASE_URL": f"postgresql://u:{SECRET}@h/d",
        "GAIA_MEMORY__VECTOR_STORE__PASSWORD": SECRET,
    }
    config = load(None, environ=environ).config
    error = refusal(file, "", {"GAIA_MEMORY__DATABASE_URL": f"mysql://u:{SECRET}@h/d"})
    broken = refusal(file, "", {"GAIA_MEMORY__LLM": f'{{"api_key": "{SECRET}"'})

    assert config.memory_url == f"postgresql+asyncpg://u:{SECRET}@h/d"
    assert config.memory.vector_store.config == {"password": SECRET}
    assert SECRET not in repr(config) + str(config) + str(error) + str(broken)
    assert "mysql://u:***@h/d" in str(error)


@pytest.mark.parametrize(
    "data",
    [
        {"llm": {"provider": "openai", "model": "m", "max_tokens": 100, "top_p": 0.1}},
        {"llm": {"provider": "vllm", "vllm_base_url": "http://localhost:8000/models/x@001"}},
        {"vector_store": {"provider": "chroma", "collection_name": "task-risk-assessments", "path": "/x"}},
        {
            "vector_store": {
                "provider": "x",
                "use_azure_credential": True,
                "credentials_path": "/x",
                "partition_key": "u",
            }
        },
        {"extraction_instructions": "Never learn a password: they are secret=always. Tokens too."},
        {"database_url": "postgresql://u@h:5432/d"},
    ],
)
def test_values_that_only_resemble_a_secret_are_loaded(data):
    """`max_tokens` is not a token."""
    assert load({"memory": data}, environ={}).warnings == ()


def test_a_recursive_yaml_alias_does_not_hang(file):
    """YAML nodes can refer to themselves."""
    assert loaded(file, "x: &x {y: *x}\n").warnings == ("x: unknown key, ignored",)


@pytest.mark.parametrize(
    ("source", "arguments", "words"),
    [
        (5, {}, "the source is 5: pass a path, a mapping, a GaiaConfig or None"),
        (None, {"home": 5}, "the argument home: 5 is not allowed; give a path"),
        ({}, {"model": 5}, "the argument model: 5 is not allowed"),
    ],
)
def test_an_argument_of_another_type_is_refused_by_name(source, arguments, words):
    """The message is ours, not an internal error of Python."""
    with pytest.raises(ConfigError) as caught:
        load(source, environ={}, **arguments)

    assert words in str(caught.value)
