"""Requests that schemathesis generates from the OpenAPI document, valid and broken, against `gaia serve`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from support.servers.memory_server import ADA_TOKEN, BOB, BOB_TOKEN, TOKENS

CASES = 5000
SECRET = "zanzibar"
_ADDRESS = re.compile(r"served at (http://\S+)")


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server, and the token of its admin."""

    url: str
    admin_token: str


@contextmanager
def running_server(home: Path) -> Iterator[RunningServer]:
    """Run `gaia serve` over a new home, in which Bob has a secret."""
    home.mkdir(mode=0o700)
    config = home / "gaia.yaml"
    offline = {"provider": "offline"}
    options = {"home": str(home), "memory": {"llm": offline, "embedder": offline}, "server": {"tokens": TOKENS}}
    config.write_text(yaml.safe_dump(options), encoding="utf-8")
    command = [sys.executable, "-m", "gaia_memory.cli", "serve", "--port", "0", "--config", str(config)]
    log = home / "stderr.txt"
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
    assert process.stdout is not None
    try:
        first, second = process.stdout.readline(), process.stdout.readline()
        found = _ADDRESS.search(first)
        assert found is not None, first + log.read_text(encoding="utf-8")
        yield RunningServer(found[1], second.split()[-1])
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
        process.stdout.close()
    assert SECRET not in log.read_text(encoding="utf-8")


@pytest.mark.acceptance("H19")
@pytest.mark.parametrize("cases", [pytest.param(CASES, marks=[pytest.mark.slow, pytest.mark.timeout(1800)]), 60])
def test_no_generated_request_breaks_the_server_or_crosses_to_another_person(tmp_path: Path, cases: int) -> None:
    """No answer of 500 or more; with Ada's token nothing of Bob is shown or changed, whatever the request holds."""
    # The server closes a connection that is idle while the next request is generated.
    limits = httpx.Limits(max_keepalive_connections=0)
    with (
        running_server(tmp_path / "home") as server,
        httpx.Client(base_url=server.url, timeout=60, limits=limits) as client,
    ):
        bob = {"Authorization": f"Bearer {BOB_TOKEN}"}
        added = client.post(f"{BOB}/facts", json={"text": f"Hides the {SECRET} plans"}, headers=bob)
        document = client.get("/openapi.json", headers=bob).json()
        operations = list(_operations(document))
        # Some operations take so little that they have few different requests.
        per_operation = -(-2 * cases // len(operations))
        sent = sum([_send_cases(client, server, each, added.json()["id"], per_operation) for each in operations])
        left = client.get(f"{BOB}/facts", headers=bob).json()

    assert sent >= cases
    assert [each["text"] for each in left["items"]] == [f"Hides the {SECRET} plans"]


def _operations(document: dict[str, Any]) -> Iterator[Any]:
    schema = schemathesis.openapi.from_dict(document)
    for result in schema.get_all_operations():
        operation = result.ok()
        # The event stream does not end.
        if not operation.path.endswith("/events"):
            yield operation


def _send_cases(client: httpx.Client, server: RunningServer, operation: Any, secret_id: str, cases: int) -> int:
    """Send generated requests of one operation; return how many."""
    sent = 0

    @settings(
        max_examples=cases,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=operation.as_strategy(),
        user=st.sampled_from(["ada", "bob", None]),
        fact_id=st.sampled_from([secret_id, None]),
        is_admin=st.booleans(),
    )
    def send(case: Any, user: str | None, fact_id: str | None, is_admin: bool) -> None:
        nonlocal sent
        sent += 1
        own = {"app": "gaia", "user": user, "fact_id": fact_id}
        known = {name: value for name, value in own.items() if value is not None and name in case.path_parameters}
        if is_admin and (user == "bob" or user is None):
            # The admin may change everybody's memory, and Bob's is what is looked at in the end.
            known["user"] = "carol"
        case.path_parameters = {**case.path_parameters, **{k: v for k, v in known.items() if k in case.path_parameters}}
        token = server.admin_token if is_admin else ADA_TOKEN
        answer = _call(client, case, token)
        assert answer.status_code < 500, (answer.status_code, answer.text)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
        if not is_admin:
            assert SECRET not in answer.text
            if known.get("user") == "bob":
                assert answer.status_code == 403

    send()
    return sent


def _call(client: httpx.Client, case: Any, token: str) -> httpx.Response:
    """Send a case with a token."""
    arguments = case.as_transport_kwargs(base_url=str(client.base_url))
    headers = {name: value for name, value in arguments["headers"].items() if name.lower() != "user-agent"}
    return client.request(
        arguments["method"],
        arguments["url"],
        params=arguments.get("params"),
        headers={**headers, "Authorization": f"Bearer {token}"},
        content=None if arguments.get("json") is None else json.dumps(arguments["json"]),
    )
