"""The memory URI of ADK's command line: mistakes are reported at once."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from gaia_memory import Mem0MemoryService, MemoryPlugin, SessionWindowPlugin

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize(
    "uri",
    [
        "mem0://?config=a&config=b&token=hush",
        "mem0://?config=",
        "mem0://gaia.yaml",
        "mem0:///srv/gaia.yaml",
        "mem0://me:hush@host/x",
        "mem0://?confg=gaia.yaml",
        "mem0://?config=gaia.yaml&top_k=5",
        "mem0s://?config=gaia.yaml",
        "sqlite:///memory.db",
        "gaia.yaml",
    ],
)
def test_another_uri_is_refused(uri: str) -> None:
    """A typo would silently open another memory. ADK shows a ValueError as a single line, without a password."""
    with pytest.raises(ValueError, match=r"write mem0://\?config=gaia.yaml$") as refused:
        Mem0MemoryService(uri=uri)
    assert "hush" not in str(refused.value)


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
