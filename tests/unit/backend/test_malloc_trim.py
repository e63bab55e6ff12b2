"""Memory freed in other threads returns to the operating system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_PROGRAM = """
import threading
import psutil
from gaia_memory.backend.mem0_store.chroma.malloc_trim import trim_heap

kept = []

def work():
    many = [bytearray(2_000) for _ in range(40_000)]
    # What is allocated last and lives on keeps all before it from going back by itself.
    kept.append(bytearray(2_000))
    del many

thread = threading.Thread(target=work)
thread.start()
thread.join()
before = psutil.Process().memory_info().rss
trim_heap()
print(before - psutil.Process().memory_info().rss)
"""


@pytest.mark.heavy
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be asked for it")
def test_what_was_freed_leaves_the_process() -> None:
    """80 MB were freed in a thread; at least half of them are the system's again."""
    told = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)

    assert int(told.stdout) > 40_000_000
