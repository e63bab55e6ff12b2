"""Returns freed memory to the system after many writes.

The C library keeps freed memory for each group of threads: after 10,000 facts, a tenth of the process's memory.
"""

from __future__ import annotations

import ctypes
import sys


def trim_heap() -> None:
    """Return freed memory to the system if the C library can (glibc); takes milliseconds, without a lock."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
