"""The URI that names a configuration to ADK: what is wrong with it is said at once."""

from __future__ import annotations

import logging

import pytest

from gaia_memory import Mem0MemoryService

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize(("query", "said"), [("config=a&config=b", "2 times"), ("config=", "without a file")])
def test_a_uri_that_names_no_single_file_is_refused(query: str, said: str) -> None:
    """As a ValueError, which ADK's commands show as one line, without what may be a secret."""
    with pytest.raises(ValueError, match=rf"^the memory URI gives config {said}: write mem0://\?config=gaia.yaml$"):
        Mem0MemoryService(uri=f"mem0://?{query}&token=hidden")


@pytest.mark.parametrize(
    ("uri", "unused"),
    [
        ("mem0://gaia.yaml", "gaia.yaml"),
        ("mem0:///srv/gaia.yaml", "/srv/gaia.yaml"),
        ("mem0://?confg=gaia.yaml", "confg"),
        ("mem0://?config=gaia.yaml&top_k=5", "top_k"),
    ],
)
def test_what_a_uri_names_in_vain_is_told(uri: str, unused: str, caplog: pytest.LogCaptureFixture) -> None:
    """Silence would open another memory than the one that was meant."""
    with caplog.at_level(logging.WARNING):
        Mem0MemoryService(uri=uri)

    assert f"names {unused}, which is not used" in caplog.text


@pytest.mark.parametrize("uri", [None, "", "mem0://", "mem0://?config=gaia.yaml", "mem0://local?config=gaia.yaml"])
def test_a_uri_that_is_right_is_taken_in_silence(uri: str | None, caplog: pytest.LogCaptureFixture) -> None:
    """With a file, or without one: then it is looked up."""
    with caplog.at_level(logging.WARNING):
        service = Mem0MemoryService(uri=uri)

    assert caplog.text == ""
    assert service.source.is_named == ("config" in (uri or ""))
