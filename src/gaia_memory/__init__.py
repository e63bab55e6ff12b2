"""Long-term memory for Google ADK agents, backed by mem0.

Importing this package is cheap: each public name loads its module when it is first used. mem0 loads only when
memory is opened, and ADK when something of it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaia_memory.adk.memory_service import Mem0MemoryService as Mem0MemoryService
    from gaia_memory.adk.models.model_factory import build_model as build_model
    from gaia_memory.adk.plugins.memory_plugin import MemoryPlugin as MemoryPlugin
    from gaia_memory.adk.plugins.window_plugin import SessionWindowPlugin as SessionWindowPlugin
    from gaia_memory.adk.tools.memory_tools import MemoryToolset as MemoryToolset
    from gaia_memory.backup.restore import restore as restore
    from gaia_memory.config.schema import GaiaConfig as GaiaConfig
    from gaia_memory.errors import ConfigError as ConfigError
    from gaia_memory.errors import GaiaMemoryError as GaiaMemoryError
    from gaia_memory.errors import MemoryUnavailable as MemoryUnavailable
    from gaia_memory.models import AddResult as AddResult
    from gaia_memory.models import Fact as Fact
    from gaia_memory.models import Hit as Hit
    from gaia_memory.models import NewFact as NewFact
    from gaia_memory.models import Receipt as Receipt
    from gaia_memory.models import Scope as Scope
    from gaia_memory.runtime import open_memory as open_memory
    from gaia_memory.server.application import memory_app as memory_app

_HOME_OF = {
    "AddResult": "models",
    "ConfigError": "errors",
    "Fact": "models",
    "GaiaConfig": "config.schema",
    "GaiaMemoryError": "errors",
    "Hit": "models",
    "Mem0MemoryService": "adk.memory_service",
    "MemoryPlugin": "adk.plugins.memory_plugin",
    "MemoryToolset": "adk.tools.memory_tools",
    "MemoryUnavailable": "errors",
    "NewFact": "models",
    "Receipt": "models",
    "Scope": "models",
    "SessionWindowPlugin": "adk.plugins.window_plugin",
    "build_model": "adk.models.model_factory",
    "memory_app": "server.application",
    "open_memory": "runtime",
    "restore": "backup.restore",
}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
