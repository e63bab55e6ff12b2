"""An agent that remembers the people it talks to. `gaia init` wrote it; it is yours to change."""

from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.apps import App

from gaia_memory import MemoryPlugin, SessionWindowPlugin, build_model

ABOVE = Path(__file__).parents[1] / "gaia.yaml"
# An image of `adk deploy` has this folder alone: copy gaia.yaml into it.
CONFIG = ABOVE if ABOVE.is_file() else Path(__file__).with_name("gaia.yaml")

root_agent = LlmAgent(
    name="assistant",
    # Gemini if GEMINI_API_KEY is set in the environment or in a file `.env` next to this one, else an offline model
    # that needs no key. You can use any ADK model, such as model="gemini-2.5-pro".
    model=build_model("auto"),
    instruction="You are a helpful assistant who knows the person you talk to. Answer briefly and plainly.",
)

# ADK reads the plugins from the App. Its name must be that of the folder.
app = App(
    name="assistant",
    root_agent=root_agent,
    plugins=[SessionWindowPlugin(config=CONFIG), MemoryPlugin(config=CONFIG)],
)
