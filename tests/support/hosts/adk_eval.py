"""`adk eval` as a child process, on an agent that lists our plugins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.hosts.adk_process import ADK

TIMEOUT_SECONDS = 120.0
_REMOVED_PREFIXES = ("GAIA_", "GOOGLE_", "GEMINI_", "OPENAI_", "ADK_", "PYTEST_")

AGENT_SOURCE = """
import json, os
from google.adk.agents import LlmAgent
from google.adk.apps import App
from gaia_memory import MemoryPlugin, SessionWindowPlugin
from gaia_memory.testing import ScriptedLlm

def answer(request):
    tools = [named.name for tool in request.config.tools or [] for named in tool.function_declarations or []]
    seen = {"system": request.config.system_instruction, "tools": tools, "contents": str(request.contents)}
    with open(os.environ["TRIAL_SEEN"], "a") as notes:
        print(json.dumps(seen), file=notes)
    return f"answer {len(request.contents)}"

root_agent = LlmAgent(name="assistant", model=ScriptedLlm(default=answer), instruction="Help.")
PLUGINS
"""


@dataclass(frozen=True)
class EvalResult:
    """The outcome of ADK's command."""

    code: int
    output: str
    model_requests: list[dict[str, Any]]
    network_calls: str


class EvalWorkspace:
    """A folder with one agent and a home that should stay empty."""

    def __init__(self, folder: Path, plugins: str | None = "SessionWindowPlugin(), MemoryPlugin()") -> None:
        """Write the agent, with its plugins as Python code, or with none."""
        self.agents, self.home, self.notes_dir = folder / "agents", folder / "home", folder / "notes"
        for made in (self.agents / "shop" / "tests", self.home, self.notes_dir):
            made.mkdir(parents=True)
        (self.agents / "shop" / "__init__.py").write_text("from . import agent\n")
        self.write_agent(plugins)

    def write_agent(self, plugins: str | None) -> None:
        """Write the agent again."""
        app = f'app = App(name="shop", root_agent=root_agent, plugins=[{plugins}])' if plugins is not None else ""
        (self.agents / "shop" / "agent.py").write_text(AGENT_SOURCE.replace("PLUGINS", app))

    def evaluate(self, *messages: str, **environ: str) -> EvalResult:
        """Run `adk eval` on a conversation of these messages, as the user ada."""
        conversation = [
            {
                "invocation_id": f"i{at}",
                "user_content": _content("user", message),
                "final_response": _content("model", f"answer {2 * at + 1}"),
                "intermediate_data": {"tool_uses": [], "intermediate_responses": []},
            }
            for at, message in enumerate(messages)
        ]
        who = {"app_name": "shop", "user_id": "ada", "state": {}}
        case = {"eval_id": "hours", "conversation": conversation, "session_input": who}
        cases, criteria = self.notes_dir / "cases.json", self.notes_dir / "criteria.json"
        cases.write_text(json.dumps({"eval_set_id": "hours", "name": "hours", "eval_cases": [case]}))
        criteria.write_text(json.dumps({"criteria": {"tool_trajectory_avg_score": 1.0}}))
        return self._adk("eval", "shop", str(cases), "--config_file_path", str(criteria), **environ)

    def _adk(self, *arguments: str, **environ: str) -> EvalResult:
        requests_file, network = self.notes_dir / "seen.jsonl", self.notes_dir / "network.txt"
        for notes in (requests_file, network):
            notes.write_text("")
        sitecustomize_dir = Path(__file__).parent / "adk_eval_process"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_REMOVED_PREFIXES)}
        environment = {
            **inherited,
            "HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join([str(sitecustomize_dir), *sys.path]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "TRIAL_SEEN": str(requests_file),
            "TRIAL_NETWORK": str(network),
            **environ,
        }
        completed = subprocess.run(
            [ADK, *arguments],
            cwd=self.agents,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        shown = [json.loads(line) for line in requests_file.read_text().splitlines()]
        return EvalResult(completed.returncode, completed.stdout, shown, network.read_text())


def _content(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": text}]}
