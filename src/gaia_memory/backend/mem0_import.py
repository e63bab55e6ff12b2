"""Imports mem0 and Chroma safely: the environment before, and corrections after."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gaia_memory.backend.event_loop_guard import assert_off_event_loop
from gaia_memory.errors import ConfigError

_import_lock = threading.Lock()
"""Two threads that import mem0 at once would each restore a logger level that the other has half changed."""

IMPORT_EXIT_WAIT_SECONDS = 20.0
"""How long the exit of the process waits for an import."""

MEM0_PACKAGE, MEM0_MAJOR_VERSION = "mem0ai", "2"

HISTORY_FILE, HISTORY_TABLES = "history.db", ("history", "messages")
"""Where mem0 records its writes."""

_LOGGER_SILENCED_BY_MEM0 = "urllib3"
_RERANKER_LOGGER_PREFIX = "mem0.reranker."
_MEM0_LOGGERS_WITH_TEXT = (
    *("mem0.memory.main", "mem0.memory.utils", "mem0.memory.storage"),
    *(
        f"{_RERANKER_LOGGER_PREFIX}{name}_reranker"
        for name in ("cohere", "huggingface", "llm", "sentence_transformer", "zero_entropy")
    ),
)


def mem0_home(home: Path) -> Path:
    """Create the folder for mem0's own files, `home`/mem0, accessible only by its owner, and return it."""
    folder = home / "mem0"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    return folder


@atexit.register
def _wait_for_import() -> None:
    # A daemon thread that is stopped while it imports a C++ library aborts the process.
    if _import_lock.acquire(timeout=IMPORT_EXIT_WAIT_SECONDS):
        _import_lock.release()


def load_mem0(home: Path) -> Any:
    """Import mem0 without telemetry, downloads and log lines with users' texts; return the module.

    The environment changes for the whole process, because mem0 reads it once, at its import: `MEM0_TELEMETRY` and
    `ANONYMIZED_TELEMETRY` (Chroma's) become False, and `MEM0_DIR` a folder under `home`, where mem0 writes a file at
    import. If mem0 is already imported, its folder stays. In an account without a home folder, which Chroma asks for at
    its import, `HOME` becomes `home`.
    """
    assert_off_event_loop("importing mem0")
    require_version()
    with _import_lock:
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["ANONYMIZED_TELEMETRY"] = "False"
        if "mem0" not in sys.modules:
            os.environ["MEM0_DIR"] = str(mem0_home(home))
        if os.path.expanduser("~") == "~":
            os.environ["HOME"] = str(home)
        silenced_logger = logging.getLogger(_LOGGER_SILENCED_BY_MEM0)
        level = silenced_logger.level
        import mem0

        silenced_logger.setLevel(level)
        _disable_telemetry()
        _disable_spacy_download()
        _install_log_filters()
    return mem0


def require_version() -> None:
    """Return if the installed mem0 is one that this package is made for.

    Raises:
        ConfigError: it is of another major version.
    """
    if (found := version(MEM0_PACKAGE)).partition(".")[0] != MEM0_MAJOR_VERSION:
        fix = f"run `pip install '{MEM0_PACKAGE}=={MEM0_MAJOR_VERSION}.*'` where gaia-memory is installed"
        raise ConfigError([f"{MEM0_PACKAGE}: {found} is installed, another major version; {fix}"])


def _disable_telemetry() -> None:
    """Disable telemetry in a mem0 that the host imported first: it would send our collection and user names."""
    from mem0.memory import main, telemetry

    telemetry.MEM0_TELEMETRY = False
    main.MEM0_TELEMETRY = False


def _disable_spacy_download() -> None:
    """Mark mem0's spaCy model as failed before mem0 tries to install it.

    With spaCy installed and its model missing, mem0 downloads it inside the first call and ends the process when that
    fails.
    """
    from mem0.utils import spacy_models

    spacy_models._load_failed_full = True
    spacy_models._load_failed_lemma = True


class _UserTextFilter(logging.Filter):
    """Passes mem0's log lines only at DEBUG, because they quote users.

    Lines from WARNING up are repeated without their text, so that a problem stays visible. Two kinds are dropped: the
    warning that a store has no keyword search, which the memory database does, and lines of rerankers, whose failures
    recall logs.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if logging.getLogger(record.name).isEnabledFor(logging.DEBUG):
            return True
        if record.levelno < logging.WARNING or "does not support keyword search" in str(record.msg):
            return False
        if record.name.startswith(_RERANKER_LOGGER_PREFIX):
            return False
        record.msg = f"mem0 reports a problem in {record.funcName}; its message is shown at level DEBUG"
        record.args = None
        record.exc_info = None
        record.exc_text = None
        return True


def _install_log_filters() -> None:
    for name in _MEM0_LOGGERS_WITH_TEXT:
        logger = logging.getLogger(name)
        if not any(isinstance(present, _UserTextFilter) for present in logger.filters):
            logger.addFilter(_UserTextFilter())
