"""A small agent that remembers, for a folder that has none yet."""

from __future__ import annotations

import keyword
import re
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from gaia_memory.cli.ui.output_files import FileStep, create_folder, write_file
from gaia_memory.config.schema import is_app_name

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")
_RESERVED_MODULE = "services"
"""A module of this name in the folder is ADK's other way to learn services: it would import the agent as one."""

_AGENT_TEMPLATE = '''\
"""An agent that remembers the people it talks to. `gaia init` wrote it; it is yours to change."""

from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.apps import App

from gaia_memory import MemoryPlugin, SessionWindowPlugin, build_model

CONFIG = Path(__file__).parents[1] / "gaia.yaml"

root_agent = LlmAgent(
    name="{name}",
    # Gemini with GEMINI_API_KEY in the environment, or in a file `.env` beside this one; else a stand-in that needs no
    # key and says so. Any model of ADK's may stand here, such as model="gemini-2.5-pro".
    model=build_model("auto"),
    instruction="You are a helpful assistant who knows the person you talk to. Answer briefly and plainly.",
)

# ADK takes the plugins from an App; its name is that of the folder.
app = App(
    name="{name}",
    root_agent=root_agent,
    plugins=[SessionWindowPlugin(config=CONFIG), MemoryPlugin(config=CONFIG)],
)
'''


def agent_name_problem(name: str, folder: Path) -> str | None:
    """Return why ADK could not load an agent of this name from `folder`, None where it could."""
    if _NAME.fullmatch(name) is None or not is_app_name(name) or name == _RESERVED_MODULE:
        rule = "a letter, then letters, digits and `_`, but neither `user` nor `services`"
        return f"{name!r} is no name for an agent: take {rule}"
    if keyword.iskeyword(name):
        return f"{name!r} is a word of Python's own, and no module can be called that: take another"
    if _is_installed(name, agents_folder=folder):
        return f"{name!r} is the name of a Python module that is installed, which ADK would load instead: take another"
    return None


def _is_installed(name: str, *, agents_folder: Path) -> bool:
    # What lies in the working directory is no installed module: ADK looks into the folder of the agents before it.
    search_paths = [
        place for place in sys.path if place and Path(place).resolve() not in (Path.cwd(), agents_folder.resolve())
    ]
    return name in sys.stdlib_module_names or PathFinder.find_spec(name, search_paths) is not None


def write_agent(folder: Path, name: str) -> list[FileStep]:
    """Make the agent; what is there already is somebody's work and stays, whatever is asked for.

    Raises:
        InvalidInputError: it cannot be written.
    """
    agent_folder = folder / name
    if (agent_folder / "agent.py").exists() or (agent_folder / "root_agent.yaml").exists():
        return [FileStep(agent_folder, "kept", "there is an agent in it already")]
    create_folder(agent_folder)
    steps = []
    for file, text in (("agent.py", _AGENT_TEMPLATE.format(name=name)), ("__init__.py", "from . import agent\n")):
        if (agent_folder / file).exists():
            steps.append(FileStep(agent_folder / file, "kept"))
        else:
            write_file(agent_folder / file, text)
            steps.append(FileStep(agent_folder / file, "made"))
    return steps
