"""The short `gaia.yaml` that `gaia init` writes: the most common settings with descriptions."""

from __future__ import annotations

from pathlib import Path

from gaia_memory.cli.ui.output_files import FileStep, write_file
from gaia_memory.config.render import yaml_scalar
from gaia_memory.config.sources.load import FILE_NAME, load
from gaia_memory.errors import ConfigError

_TEMPLATE = """\
# The configuration of gaia-memory for all agents of this folder, with the most common settings. `gaia config schema`
# prints all settings, `gaia config check` checks this file, and `gaia config show` shows the values in force. Keys and
# passwords belong in the environment (GEMINI_API_KEY, ...), never in this file.

# The app that commands use unless `--app` names another. Each agent is its own app.
app: {app}

# The data folder. A relative path starts at the folder of this file.
home: .gaia

memory:
  # The model that learns and writes profiles. `auto`: Gemini if there is a key or a project on Vertex AI, else
  # offline. `agent`: the agent's own model.
  llm: {{provider: auto}}

  # The model that embeds text. `auto`: Gemini if there is a key or a project on Vertex AI, else offline.
  embedder: {{provider: auto}}

  # Maximum facts per recall. `auto`: up to 10, as far as the scores say that they are not noise.
  recall_limit: 5

sessions:
  # The database of sessions. A relative SQLite path starts at the home, an absolute one has four slashes:
  # `sqlite:////srv/sessions.db`. Set a URL with a password through the environment. Start `adk` with the same database.
  database_url: sqlite:///sessions.db

  # How long a conversation must be quiet before memory learns all of it.
  idle_consolidate_minutes: 30

  # Maximum turns of a conversation that the model sees. Once more are unlearned, memory learns from the conversation,
  # quiet or not.
  window_turns: 30
"""


def write_gaia_yaml(folder: Path, app: str) -> FileStep:
    """Write the file, or check an existing one."""
    path = folder / FILE_NAME
    if not path.exists():
        write_file(path, _TEMPLATE.format(app=yaml_scalar(app)))
        return FileStep(path, "made")
    try:
        return FileStep(path, "kept", "; ".join(load(path).warnings))
    except ConfigError as error:
        return FileStep(path, "wrong", "; ".join(error.problems))
