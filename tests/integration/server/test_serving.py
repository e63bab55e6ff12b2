"""`gaia serve` as a command, behind a proxy, and mounted on ADK's own application."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import pytest
import yaml

from gaia_memory import memory_app
from gaia_memory.cli.serve import _listen
from gaia_memory.server.access.access_tokens import hash_token
from support.harness import Sut
from support.hosts.adk_process import (
    MEMORY_URI,
    OFFLINE_MODEL,
    PLUGIN_CLASSES,
    AgentsFolder,
    agent_source,
    environment,
    wait_for,
)
from support.servers.memory_server import ADA, BOB, TOKENS, admin_token, app_client

Make = Callable[..., Awaitable[Sut]]

_HOST_PROGRAM = f"""
import gc
import sys
from contextlib import asynccontextmanager

import uvicorn
from google.adk.cli.fast_api import get_fast_api_app

from gaia_memory import memory_app, open_memory
from gaia_memory.engine import Engine

agents, port = sys.argv[1:]


@asynccontextmanager
async def lifespan(app):
    async with open_memory(f"{{agents}}/gaia.yaml") as gaia:
        app.mount("/memory", memory_app(gaia))
        yield


app = get_fast_api_app(
    agents_dir=agents,
    web=False,
    lifespan=lifespan,
    memory_service_uri="{MEMORY_URI}",
    extra_plugins={list(PLUGIN_CLASSES)!r},
)


@app.get("/engines")
async def engines():
    return sum(isinstance(each, Engine) for each in gc.get_objects())


uvicorn.run(app, port=int(port))
"""


@pytest.mark.slow
@pytest.mark.acceptance("H09")
def test_mounted_on_adks_application_both_work_over_one_engine(tmp_path: Path, unused_tcp_port: int) -> None:
    """ADK's routes need no token; a fact remembered in a turn there is listed here."""
    agents = AgentsFolder(tmp_path / "agents", assistant=agent_source(model=OFFLINE_MODEL))
    program = tmp_path / "host.py"
    program.write_text(_HOST_PROGRAM, encoding="utf-8")
    log = tmp_path / "host.log"
    with log.open("wb") as output:
        command = [sys.executable, str(program), str(agents.folder), str(unused_tcp_port)]
        process = subprocess.Popen(
            command, env=environment(tmp_path), stdout=output, stderr=subprocess.STDOUT, cwd=tmp_path
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{unused_tcp_port}", timeout=60) as client:
            wait_for(lambda: _answers(client), describe=lambda: log.read_text(encoding="utf-8"))
            session = "/apps/assistant/users/ada/sessions/s1"
            message = {"role": "user", "parts": [{"text": "/remember Allergic to nuts"}]}
            turn = {"app_name": "assistant", "user_id": "ada", "session_id": "s1", "new_message": message}
            assert client.get("/list-apps").json() == ["assistant"]
            assert client.post(session, json={}).status_code == 200
            assert client.post("/run", json=turn).status_code == 200
            facts = "/memory/v1/apps/assistant/users/ada/facts"
            assert client.get(facts).status_code == 401
            token = (agents.data / "server.token").read_text(encoding="utf-8").strip()
            listed = client.get(facts, headers={"Authorization": f"Bearer {token}"}).json()
            assert [each["text"] for each in listed["items"]] == ["Allergic to nuts"]
            assert client.get("/engines").json() == 1
    finally:
        process.terminate()
        process.wait(60)


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/memory/health").status_code == 200
    except httpx.TransportError:
        return False


async def test_a_trusted_proxy_says_who_the_user_is(make: Make) -> None:
    """Its header counts from its address alone; `people.users` says who is an admin."""
    server = {"auth": "header:X-User", "trusted_hosts": ["127.0.0.0/8"], "hostnames": ["memory.example.com"]}
    people = {"users": {"root": {"admin": True}}}
    sut = await make(yaml.safe_dump({"server": server, "people": people}))
    app = memory_app(sut.gaia)
    url = "https://memory.example.com"

    async with app_client(app, base_url=url) as proxy:
        assert (await proxy.get(f"{ADA}/facts", headers={"X-User": "ada"})).status_code == 200
        assert (await proxy.get(f"{BOB}/facts", headers={"X-User": "ada"})).status_code == 403
        assert (await proxy.get(f"{BOB}/facts", headers={"X-User": "root"})).status_code == 200
        assert (await proxy.get(f"{ADA}/facts")).status_code == 401
    transport = httpx.ASGITransport(app=app, client=("192.0.2.7", 50_000))
    async with httpx.AsyncClient(transport=transport, base_url=url) as stranger:
        assert (await stranger.get(f"{ADA}/facts", headers={"X-User": "ada"})).status_code == 401


async def test_a_token_that_leaves_the_file_is_refused_at_once(make: Make) -> None:
    """Also the session of a browser that logged in with it."""
    sut = await make(yaml.safe_dump({"server": {"tokens": {hash_token("old"): "user:ada"}}}))

    async with app_client(memory_app(sut.gaia), base_url="http://localhost") as browser:
        await browser.post("/login", data={"token": "old"})
        assert (await browser.get(f"{ADA}/stats")).status_code == 200
        sut.write_config(yaml.safe_dump({"server": {"tokens": TOKENS}}))
        assert (await browser.get(f"{ADA}/stats")).status_code == 401


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--host", "0.0.0.0"], 2, "can be reached by other machines"),
        (["--tls-certificate", "gaia.yaml"], 2, "pass both"),
        (["token", "--role", "boss"], 2, "is no role"),
    ],
)
def test_what_would_be_open_to_others_is_refused(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    """Another address than loopback without TLS, half a certificate, an unknown role."""
    (tmp_path / "gaia.yaml").write_text(f"home: {tmp_path}\n", encoding="utf-8")
    done = _gaia(tmp_path, "serve", *arguments)

    assert done.returncode == code, done.stderr
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "server.token").exists()


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    """With what to do, and before anybody is told an address."""
    (tmp_path / "gaia.yaml").write_text(f"home: {tmp_path}\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = _gaia(tmp_path, "serve", "--port", str(port))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"gaia: port {port} of 127.0.0.1 cannot be used (Address already in use): pass another --port, 0 for any, or "
        "another --host\n"
    )


def test_a_new_token_is_printed_with_its_entry(tmp_path: Path) -> None:
    """The entry holds the hash, and the file accepts it."""
    done = _gaia(tmp_path, "serve", "token", "--role", "user:ada")
    token, entry = done.stdout.splitlines()

    assert yaml.safe_load(entry) == {hash_token(token): "user:ada"}
    (tmp_path / "gaia.yaml").write_text(f"home: {tmp_path}\nserver:\n  tokens:\n{entry}\n", encoding="utf-8")
    assert _gaia(tmp_path, "config", "check", "--config", "gaia.yaml").returncode == 0


def _gaia(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gaia_memory.cli", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=60, check=False
    )


async def test_a_credential_is_masked_and_a_fact_of_nothing_else_refused_with_the_reason(make: Make) -> None:
    """Neither answer has the credential."""
    sut = await make(yaml.safe_dump({"server": {"tokens": TOKENS}}))
    async with app_client(memory_app(sut.gaia), await admin_token(sut.gaia)) as client:
        kept = await client.post(f"{ADA}/facts", json={"text": "My password is hunter2"})
        refused = await client.post(f"{ADA}/facts", json={"text": "AKIA" + "IOSFODNN7EXAMPLE"})

    assert kept.json()["text"] == "My password is [redacted: a password]"
    assert refused.status_code == 422
    told = "it contains a credential (a key or token): keep secrets in a password store, not in memory"
    assert refused.json()["detail"] == told


def test_a_client_that_has_read_the_address_is_not_refused() -> None:
    """It is printed before the server answers: a script connects at once, and waits."""
    with _listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname(), timeout=5) as client:
        assert client.getpeername() == listener.getsockname()
