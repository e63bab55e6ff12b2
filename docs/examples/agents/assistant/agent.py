"""An agent that remembers the people it talks to. `gaia init` wrote it; it is yours to change."""

from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.apps import App

from gaia_memory import MemoryPlugin, SessionWindowPlugin, build_model

CONFIG = Path(__file__).parents[1] / "gaia.yaml"

root_agent = LlmAgent(
    name="assistant",
    # Gemini with GEMINI_API_KEY in the environment, or in a file `.env` beside this one; else a stand-in that needs no
    # key and says so. Any model of ADK's may stand here, such as model="gemini-2.5-pro".
    model=build_model("auto"),
    instruction="You are a helpful assistant who knows the person you talk to. Answer briefly and plainly.",
)

# ADK takes the plugins from an App; its name is that of the folder.
app = App(
    name="assistant",
    root_agent=root_agent,
    plugins=[SessionWindowPlugin(config=CONFIG), MemoryPlugin(config=CONFIG)],
)
