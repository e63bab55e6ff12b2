"""Loaded first by the Python of `adk eval`: records network access and replaces packages.

The extra `eval` of ADK is 600 MB, most of it for model-based scores. Packages that it imports only for those are empty
here unless they are installed.
"""

import importlib.machinery
import importlib.util
import os
import sys
import types

STUBBED_PACKAGES = ("agentplatform", "jinja2", "pandas", "rouge_score", "tabulate", "vertexai")


class _StubModule(types.ModuleType):
    __path__ = ()  # type: ignore[assignment]

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _StubFinder:
    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name.partition(".")[0] not in STUBBED_PACKAGES:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _StubModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Leave it empty."""


def _record_network_event(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        with open(os.environ["TRIAL_NETWORK"], "a", encoding="utf-8") as notes:
            notes.write(f"{event} {arguments[-1] if event == 'socket.connect' else arguments[0]}\n")


sys.meta_path.append(_StubFinder())
if "TRIAL_NETWORK" in os.environ:
    sys.addaudithook(_record_network_event)
