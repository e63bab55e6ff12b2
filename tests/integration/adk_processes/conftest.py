"""Shared by the tests of ADK's commands: a fake Gemini, and the server's log with each failure."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from support.hosts.adk_process import Server
from support.servers.fake_gemini import FakeGemini
from support.servers.rule_based_gemini import RuleBasedGemini


@pytest.fixture(scope="module")
def gemini_rules() -> Iterator[RuleBasedGemini]:
    """Provide the models of the module's server."""
    with FakeGemini() as gemini:
        yield RuleBasedGemini(gemini)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the server's log to the report of a failure."""
    report = yield
    if report.failed:
        servers = [given for given in getattr(item, "funcargs", {}).values() if isinstance(given, Server)]
        report.sections += [("what the server told", server.log) for server in servers]
    return report
