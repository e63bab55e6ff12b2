"""ADK's own commands as child processes: `adk web`, `adk api_server` and `adk run` over a folder of agents."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import httpx

ADK = str(Path(sys.executable).with_name("adk"))
APP, USER, SESSION = "assistant", "ada", "s1"
MEMORY_URI = "mem0://?config=gaia.yaml"
PLUGIN_CLASSES = ("gaia_memory.SessionWindowPlugin", "gaia_memory.MemoryPlugin")
SERVICES_YAML = """\
services:
  - scheme: mem0
    type: memory
    class: gaia_memory.Mem0MemoryService
"""
OFFLINE_MODEL = 'build_model("auto")'
"""A model that answers by rules, without a key."""
READY_SECONDS, WAIT_SECONDS, STOP_SECONDS = 90.0, 60.0, 60.0

_REMOVED_PREFIXES = ("GAIA_", "GOOGLE_", "GEMINI_", "OPENAI_", "ADK_")
_ADDRESS = re.compile(r"Uvicorn running on (http://[\d.:]+)")

T = TypeVar("T")


def wait_for(condition: Callable[[], T], *, seconds: float = WAIT_SECONDS, describe: Callable[[], str] = str) -> T:
    """Wait until `condition` returns a true value, and return it."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"it is not so after {seconds} s: {describe()}"
        time.sleep(0.05)
    return found


def agent_source(tools: str = "", *, model: str = '"gemini-3.5-flash"', own_plugins: str = "") -> str:
    """Return an `agent.py`; `own_plugins`, the name of an App, adds the plugins to it."""
    lines = [
        "from google.adk.agents import LlmAgent",
        "from google.adk.apps import App",
        "from google.adk.tools import load_memory",
        "from gaia_memory import MemoryPlugin, SessionWindowPlugin, build_model",
        f'root_agent = LlmAgent(name="helper", model={model}, instruction="Help the user.", tools=[{tools}])',
    ]
    plugins = "plugins=[SessionWindowPlugin(), MemoryPlugin()]"
    app = f'app = App(name="{own_plugins}", root_agent=root_agent, {plugins})'
    return "\n".join([*lines, app if own_plugins else "", ""])


class AgentsFolder:
    """A folder of agents in the layout of `adk`, with the two `services.yaml` and a `gaia.yaml`."""

    def __init__(self, folder: Path, settings: str = "", **agents: str) -> None:
        """Write the folder, given the text of each `agent.py`."""
        self.folder = folder
        self.data = folder / "data"
        for name, program in (agents or {APP: agent_source()}).items():
            (folder / name).mkdir(parents=True)
            (folder / name / "__init__.py").write_text("from . import agent\n", encoding="utf-8")
            (folder / name / "agent.py").write_text(program, encoding="utf-8")
            (folder / name / "services.yaml").write_text(SERVICES_YAML, encoding="utf-8")
        (folder / "services.yaml").write_text(SERVICES_YAML, encoding="utf-8")
        self.config = folder / "gaia.yaml"
        self.configure(settings)

    def configure(self, settings: str) -> None:
        """Rewrite the configuration with these settings in addition to the home."""
        self.config.write_text(f"home: data\n{settings}", encoding="utf-8")

    def facts(self) -> dict[tuple[str, str], list[str]]:
        """Return the texts of all facts in the database, by app and user."""
        path = self.data / "memory.db"
        if not path.exists():
            return {}
        query = "SELECT app, user_id, text FROM gaia_facts JOIN gaia_scopes USING (partition) ORDER BY row"
        found: dict[tuple[str, str], list[str]] = {}
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            try:
                rows = database.execute(query).fetchall()
            except sqlite3.OperationalError:
                return {}
        for app, user, text in rows:
            found.setdefault((unquote(app), unquote(user)), []).append(text)
        return found

    def fact_texts(self, user: str = USER, *, app: str = APP) -> list[str]:
        """Return the texts of a user's facts, oldest first."""
        return self.facts().get((app, user), [])


def environment(folder: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment with its own home and no other keys and settings than these."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_REMOVED_PREFIXES)}
    inherited = {name: value for name, value in inherited.items() if not name.endswith("_API_KEY")}
    home = folder / "user"
    (home / ".adk").mkdir(parents=True, exist_ok=True)
    # Without a setting `adk web` asks whether Google may collect usage data.
    (home / ".adk" / "config.json").write_text('{"telemetry": false}\n', encoding="utf-8")
    # The notes of a turn would stand among the messages that tests compare.
    settings = {"GAIA_MEMORY__TAIL_TOKENS": "0", "PYTHONUNBUFFERED": "1"}
    # `adk run` writes its log to the folder for temporary files.
    return {**inherited, "HOME": str(home), "TMPDIR": str(home), **settings, **(extra or {})}


class Server:
    """A running server of ADK, with the requests of a browser or a program."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        """Accept the process and its output file."""
        self.process = process
        self._log = log
        self.url = ""
        self.http = httpx.Client(timeout=30.0)

    @property
    def log(self) -> str:
        """The output so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def wait_until_ready(self) -> None:
        """Wait until the server answers."""
        self.url = wait_for(self._address, seconds=READY_SECONDS, describe=lambda: self.log)
        self.http.base_url = httpx.URL(self.url)

    def _address(self) -> str:
        assert self.process.poll() is None, f"it ended with {self.process.returncode}:\n{self.log}"
        found = _ADDRESS.search(self.log)
        return found[1] if found else ""

    def create_session(self, session: str = SESSION, *, user: str = USER, app: str = APP) -> str:
        """Create a session and return its id."""
        answer = self.http.post(_path(app, user, "sessions", session), json={})
        assert answer.status_code == 200, f"{answer.status_code} {answer.text}"
        return session

    def session(self, session: str = SESSION, *, user: str = USER, app: str = APP) -> dict[str, Any]:
        """Return a session as the server shows it."""
        return dict(self.http.get(_path(app, user, "sessions", session)).json())

    def post(
        self, text: str, *, session: str = SESSION, user: str = USER, app: str = APP, seconds: float = 30.0
    ) -> httpx.Response:
        """Send a message to `/run` and return the raw response; disconnect after this many seconds."""
        return self.http.post("/run", json=_request(text, session, user, app), timeout=seconds)

    def send(self, text: str, *, session: str = SESSION, user: str = USER, app: str = APP) -> str:
        """Send a message to `/run` and return the text of the reply."""
        answer = self.post(text, session=session, user=user, app=app)
        assert answer.status_code == 200, f"{answer.status_code} {answer.text}"
        return _text_of_events(answer.json())

    def stream(self, text: str, *, session: str = SESSION, user: str = USER, app: str = APP) -> str:
        """Send a message to `/run_sse` and return the text of the final reply."""
        request = {**_request(text, session, user, app), "streaming": True}
        with self.http.stream("POST", "/run_sse", json=request) as answer:
            assert answer.status_code == 200, f"{answer.status_code} {answer.read()!r}"
            events = [
                json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line.startswith("data")
            ]
        assert not [event for event in events if "error" in event], str(events)
        return _text_of_events(event for event in events if not event.get("partial"))

    def add_to_memory(self, session: str = SESSION, *, user: str = USER, app: str = APP) -> httpx.Response:
        """Pass a session to the memory service."""
        return self.http.patch(_path(app, user, "memory"), json={"session_id": session})

    def kill(self) -> None:
        """Kill the server and its children, like a crash."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_SECONDS)

    def stop(self) -> None:
        """Stop the server like a service manager would, and leave no process behind."""
        self.http.close()
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        finally:
            kill_process_group(self.process)


@contextmanager
def adk_server(
    command: str,
    agents: AgentsFolder,
    *options: str,
    memory: str = MEMORY_URI,
    sessions: str | None = None,
    plugins: tuple[str, ...] = PLUGIN_CLASSES,
    environ: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """Run `adk web` or `adk api_server` over a folder until the block ends; print its output if the block fails."""
    arguments = [command, "--port", "0", "--memory_service_uri", memory, *options]
    if sessions is not None:
        arguments += ["--session_service_uri", sessions]
    for plugin in plugins:
        arguments += ["--extra_plugins", plugin]
    outside = agents.folder.with_name(f"{agents.folder.name}-outside")
    outside.mkdir(exist_ok=True)
    log = outside / f"{command}-{time.monotonic_ns()}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [ADK, *arguments, str(agents.folder)],
            cwd=outside,
            env=environment(outside, environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = Server(process, log)
    try:
        server.wait_until_ready()
        yield server
    except BaseException:
        server.stop()
        sys.stderr.write(f"\n--- {command} told ---\n{server.log}")
        raise
    finally:
        server.stop()


def adk_run(
    agents: AgentsFolder, *options: str, input_text: str, environ: Mapping[str, str] | None = None, app: str = APP
) -> str:
    """Run `adk run` over one agent, type these lines and return its output."""
    working_dir = agents.folder.with_name(f"{agents.folder.name}-outside")
    working_dir.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [ADK, "run", *options, str(agents.folder / app)],
        cwd=working_dir,
        env=environment(working_dir, environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(input_text.encode(), timeout=READY_SECONDS)
    finally:
        kill_process_group(process)
    output_text = output.decode()
    assert process.returncode == 0, output_text
    return output_text


def kill_process_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a group, and the whole group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(STOP_SECONDS)


def _request(text: str, session: str, user: str, app: str) -> dict[str, Any]:
    message = {"role": "user", "parts": [{"text": text}]}
    return {"app_name": app, "user_id": user, "session_id": session, "new_message": message}


def _path(app: str, user: str, *parts: str) -> str:
    return "/".join(["/apps", quote(app, safe=""), "users", *(quote(part, safe="") for part in (user, *parts))])


def _text_of_events(events: Any) -> str:
    parts = [part for event in events for part in event.get("content", {}).get("parts", [])]
    return "\n".join(part["text"] for part in parts if "text" in part)
