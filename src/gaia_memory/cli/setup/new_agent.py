"""The example agent that `gaia init --agent` writes."""

from __future__ import annotations

import keyword
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from gaia_memory.cli.setup.agent_folders import is_agent_folder
from gaia_memory.cli.ui.output_files import FileStep, write_file
from gaia_memory.config.schema import is_app_name

_RESERVED_MODULE = "services"
"""ADK imports a module of this name to register services, so an agent cannot have it."""

_AGENT_TEMPLATE = '''\
"""An agent that remembers the people it talks to. `gaia init` wrote it; it is yours to change."""

from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.apps import App

from gaia_memory import MemoryPlugin, SessionWindowPlugin, build_model

ABOVE = Path(__file__).parents[1] / "gaia.yaml"
# An image of `adk deploy` has this folder alone: copy gaia.yaml into it.
CONFIG = ABOVE if ABOVE.is_file() else Path(__file__).with_name("gaia.yaml")

root_agent = LlmAgent(
    name="{name}",
    # Gemini if GEMINI_API_KEY is set in the environment or in a file `.env` next to this one, else an offline model
    # that needs no key. You can use any ADK model, such as model="gemini-2.5-pro".
    model=build_model("auto"),
    instruction="You are a helpful assistant who knows the person you talk to. Answer briefly and plainly.",
)

# ADK reads the plugins from the App. Its name must be that of the folder.
app = App(
    name="{name}",
    root_agent=root_agent,
    plugins=[SessionWindowPlugin(config=CONFIG), MemoryPlugin(config=CONFIG)],
)
'''


def agent_name_problem(name: str, folder: Path) -> str | None:
    """Return why ADK cannot load an agent of this name from `folder`, None if it can."""
    if "-" in name or not is_app_name(name) or name == _RESERVED_MODULE or keyword.iskeyword(name):
        rule = "a letter, then letters, digits and `_`, no keyword of Python, and neither `user` nor `services`"
        return f"{name!r} is not a valid agent name: use {rule}"
    if _is_installed(name, agents_folder=folder):
        return f"{name!r} is the name of an installed Python module, which ADK would load instead: choose another"
    return None


def _is_installed(name: str, *, agents_folder: Path) -> bool:
    # Modules in the working directory do not count: ADK searches the folder of the agents first.
    search_paths = [
        place for place in sys.path if place and Path(place).resolve() not in (Path.cwd(), agents_folder.resolve())
    ]
    return name in sys.stdlib_module_names or PathFinder.find_spec(name, search_paths) is not None


def write_agent(folder: Path, name: str) -> list[FileStep]:
    """Write the agent; an existing agent is never replaced."""
    agent_folder = folder / name
    if is_agent_folder(agent_folder):
        return [FileStep(agent_folder, "kept", "it already contains an agent")]
    agent_folder.mkdir(mode=0o775, parents=True, exist_ok=True)
    steps = []
    for file, text in (("agent.py", _AGENT_TEMPLATE.format(name=name)), ("__init__.py", "from . import agent\n")):
        path = agent_folder / file
        is_new = not path.exists()
        if is_new:
            write_file(path, text)
        steps.append(FileStep(path, "made" if is_new else "kept"))
    return steps
