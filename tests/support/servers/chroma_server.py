"""A Chroma server on the loopback interface, started like `chroma run`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def chroma_server(folder: Path, *, port: int = 0) -> Iterator[dict[str, Any]]:
    """Run a server over a folder, by default at a free port; yield the matching `memory.vector_store`."""
    port = port or free_port()
    chroma = Path(sys.executable).with_name("chroma")
    command = [str(chroma), "run", "--path", str(folder), "--port", str(port)]
    environment = dict(os.environ, ANONYMIZED_TELEMETRY="False")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as server:
        try:
            deadline = time.monotonic() + 60
            while not _is_listening(port):
                assert server.poll() is None, "the Chroma server ended"
                assert time.monotonic() < deadline, "the Chroma server does not answer"
                time.sleep(0.05)
            yield {"provider": "chroma", "host": "127.0.0.1", "port": port}
        finally:
            server.terminate()


def free_port() -> int:
    """Return a port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
