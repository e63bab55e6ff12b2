"""What `adk deploy cloud_run` stages, started as its Dockerfile says, in an account without name and home."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from support.checkout import ROOT
from support.cli.cli_runner import GAIA_COMMAND, run_gaia
from support.cli.docs_pages import fenced_blocks
from support.databases import memory_url
from support.hosts.adk_process import ADK, Server
from support.hosts.unknown_user import UNKNOWN_USER, empty_environment, needs_root, open_folder

pytestmark = needs_root

__all__ = ["open_folder"]

PAGE = "how-to/deploy.md"
GCLOUD = """\
#!/bin/sh
# Keeps what would be built, and what it was called with.
echo "$@" > "$STAGED.arguments"
while [ "$1" != --source ]; do shift; done
cp -r "$2" "$STAGED"
"""


def with_gcloud(folder: Path) -> dict[str, str]:
    """Return an environment in which `gcloud` copies what it shall build to `app` in a folder."""
    program = folder / "programs" / "gcloud"
    program.parent.mkdir()
    program.write_text(GCLOUD, encoding="utf-8")
    program.chmod(0o755)
    return empty_environment(HOME=str(folder), STAGED=str(folder / "app"), PROJECT="p", REGION="r", CLONE=str(ROOT)) | {
        "PATH": os.pathsep.join([str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    }


def deploy(agent: Path, folder: Path, *options: str) -> Path:
    """Return what `adk deploy cloud_run` hands to gcloud for an agent."""
    command = [ADK, "deploy", "cloud_run", "--project", "p", "--region", "r", *options, str(agent)]
    subprocess.run(command, cwd=folder, env=with_gcloud(folder), check=True, capture_output=True, timeout=120)
    return folder / "app"


@contextmanager
def container(command: Sequence[str], app: Path, folder: Path, **variables: str) -> Iterator[Server]:
    """Run the command of a Dockerfile, with `/app` in another place, on a free port."""
    programs = {"adk": [ADK], "gaia": GAIA_COMMAND}[command[0]]
    words = " ".join([*programs, *command[1:]]).replace("/app/", f"{app}/")
    words = re.sub(r"--port[ =]\d+", "--port=0", words).replace("0.0.0.0", "127.0.0.1")
    log = folder / f"server-{len(list(folder.glob('server-*')))}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*UNKNOWN_USER, *words.split()],
            cwd=app,
            env=empty_environment(PYTHONUNBUFFERED="1", **variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(process, log)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.stop()


def command_of(dockerfile: str) -> list[str]:
    """Return the words of its CMD."""
    [command] = re.findall(r"^CMD (\[.+\])$", dockerfile, re.MULTILINE)
    return list(json.loads(command))


def page_block(kind: str, start: str) -> str:
    """Return the block of the page that starts so."""
    [text] = [block.text for block in fenced_blocks(PAGE) if block.kind == kind and block.text.startswith(start)]
    return text


@pytest.mark.timeout(180)
def test_the_staged_folder_of_an_agent_starts_with_memory(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a copy of the configuration; the memory of the developer is not in it."""
    monkeypatch.delenv("GAIA_HOME")
    assert run_gaia("init", str(open_folder / "agents"), "--agent", "assistant").code == 0
    shutil.copy(open_folder / "agents" / "gaia.yaml", open_folder / "agents" / "assistant")
    app = deploy(open_folder / "agents" / "assistant", open_folder)
    shutil.rmtree(open_folder / "agents")
    command = command_of((app / "Dockerfile").read_text(encoding="utf-8"))
    with container(command, app, open_folder, GAIA_HOME=str(open_folder / "home")) as server:
        server.create_session()
        told = server.send("/remember I like teal")
        server.create_session("s2")
        listed = server.send("/memory", session="s2")
        answer = server.send("What do I like?", session="s2")

    assert (told, listed) == ("I will remember: I like teal", "I remember 1 fact about you:\n1. I like teal")
    assert "teal" in answer
    assert (open_folder / "home" / "memory.db").is_file()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_steps_of_the_page_stage_the_agent_with_this_package(open_folder: Path) -> None:
    """The wheel is where its image looks for it, and `services.py` makes the URI known there."""
    steps = page_block("bash", "gaia init").replace("pip wheel", "python -m pip wheel --quiet --no-build-isolation")
    environment = with_gcloud(open_folder)
    subprocess.run(["bash", "-eu", "-c", steps], cwd=open_folder, env=environment, check=True, timeout=200)
    app, arguments = open_folder / "app", (open_folder / "app.arguments").read_text(encoding="utf-8")
    requirements = str(app / "agents" / "assistant" / "requirements.txt")
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(open_folder / "site")]
    subprocess.run([*install, "-r", requirements], cwd=app, check=True, timeout=100)
    (app / "services.py").write_text(page_block("python", "from google.adk"), encoding="utf-8")
    command = command_of((app / "Dockerfile").read_text(encoding="utf-8"))
    command.insert(-1, "--memory_service_uri=mem0://?config=assistant/gaia.yaml")
    variables = {"GAIA_HOME": str(open_folder / "home"), "PYTHONPATH": f"{open_folder / 'site'}:{app}"}
    with container(command, app, open_folder, **variables) as server:
        server.create_session()
        told = server.send("/remember I like teal")
        added = server.add_to_memory()

    assert "--set-secrets GAIA_MEMORY__DATABASE_URL=gaia-database:latest" in arguments
    assert (open_folder / "site" / "gaia_memory" / "py.typed").is_file()
    assert (told, added.status_code) == ("I will remember: I like teal", 200)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_two_containers_and_a_job_share_one_database(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one was told, the other knows; the job learns what waits while neither runs."""
    monkeypatch.delenv("GAIA_HOME")
    async with memory_url("postgresql", open_folder) as url:
        variables = {"GAIA_SESSIONS__DATABASE_URL": url.render_as_string(hide_password=False)}
        await asyncio.to_thread(_talk_and_sweep, open_folder, variables)


def _talk_and_sweep(folder: Path, variables: dict[str, str]) -> None:
    assert run_gaia("init", str(folder / "agents"), "--agent", "assistant").code == 0
    shutil.rmtree(folder / "agents" / ".gaia")
    dockerfile = page_block("dockerfile", "FROM")
    assert "ENV GAIA_HOME=/tmp/gaia" in dockerfile
    command = command_of(dockerfile)
    with ExitStack() as running:
        one, two = (
            running.enter_context(container(command, folder, folder, GAIA_HOME=str(folder / name), **variables))
            for name in ("one", "two")
        )
        one.create_session()
        one.send("/remember I like teal")
        one.send("My sister is called Noa.")
        two.create_session("s2", user="ada")
        known = two.send("/memory", session="s2")
        same = two.session()["events"]
    sweep = [*UNKNOWN_USER, *GAIA_COMMAND, *shlex.split(page_block("bash", "gaia sweep"))[1:]]
    environment = empty_environment(GAIA_HOME=str(folder / "job"), **variables)

    def job(*options: str) -> str:
        done = subprocess.run(
            [*sweep, *options], cwd=folder, env=environment, capture_output=True, text=True, timeout=90
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    not_quiet, learned = job(), job("--force")

    assert known.startswith("I remember 1 fact about you:\n1. I like teal")
    assert len(same) > 2
    assert "0 conversations learned" in not_quiet
    assert "1 conversation learned, 0 failed" in learned
