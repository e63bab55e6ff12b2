"""The memory URI of ADK's command line: mistakes are reported at once."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from gaia_memory import Mem0MemoryService, MemoryPlugin, SessionWindowPlugin

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize(("query", "problem"), [("config=a&config=b", "2 times"), ("config=", "without a file")])
def test_a_uri_that_names_no_single_file_is_refused(query: str, problem: str) -> None:
    """ADK shows a ValueError as a single line; the message does not repeat what may be a secret."""
    with pytest.raises(ValueError, match=rf"^the memory URI has `config` {problem}: write mem0://\?config=gaia.yaml$"):
        Mem0MemoryService(uri=f"mem0://?{query}&token=hidden")


@pytest.mark.parametrize(
    ("uri", "unknown"),
    [
        ("mem0://gaia.yaml", "gaia.yaml"),
        ("mem0:///srv/gaia.yaml", "/srv/gaia.yaml"),
        ("mem0://me:hush@host/x", "host/x"),
        ("mem0://?confg=gaia.yaml", "confg"),
        ("mem0://?config=gaia.yaml&top_k=5", "top_k"),
    ],
)
def test_an_unknown_part_of_a_uri_is_refused(uri: str, unknown: str) -> None:
    """Otherwise a typo would silently open another memory; a password is not shown."""
    with pytest.raises(
        ValueError, match=rf"contains {unknown}, which has no meaning: write mem0://\?config=gaia.yaml$"
    ):
        Mem0MemoryService(uri=uri)


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("mem://x", "begins with mem:"),
        ("mem0s://?config=gaia.yaml", "begins with mem0s:"),
        ("sqlite:///memory.db", "begins with sqlite:"),
        ("gaia.yaml", "has no scheme"),
    ],
)
def test_another_scheme_is_refused(uri: str, problem: str) -> None:
    """Otherwise it would silently open the default memory instead of the named one."""
    with pytest.raises(ValueError, match=rf"^the memory URI {problem}: write mem0://\?config=gaia.yaml$"):
        Mem0MemoryService(uri=uri)


@pytest.mark.parametrize(
    "name", ["gaia.yaml", "conf/gaia", "/srv/gaia.yml", "", {"memory": {}}, Path("gaia.yaml"), None]
)
@pytest.mark.parametrize("plugin", [MemoryPlugin, SessionWindowPlugin])
def test_a_configuration_in_place_of_a_plugin_name_is_refused(plugin: type, name: object) -> None:
    """The first argument is ADK's plugin name: a path there would silently open the default memory."""
    with pytest.raises(ValueError, match=r"^name is .*: it is the plugin's name in ADK; pass .* config="):
        plugin(name)


@pytest.mark.parametrize("uri", [None, "", "mem0://", "mem0://?config=gaia.yaml", "mem0://local?config=gaia.yaml"])
def test_a_correct_uri_logs_nothing(uri: str | None, caplog: pytest.LogCaptureFixture) -> None:
    """Without a file, the configuration is looked up."""
    with caplog.at_level(logging.WARNING):
        service = Mem0MemoryService(uri=uri)

    assert caplog.text == ""
    assert service.source.is_named == ("config" in (uri or ""))
