"""What has to be true before mem0 and Chroma are imported, and what has to be put right after."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from pathlib import Path
from typing import Any

from gaia_memory.backend.event_loop_guard import assert_off_event_loop

_import_lock = threading.Lock()
"""Two threads that import at once would each restore the other's half-changed logger level."""

IMPORT_EXIT_WAIT_SECONDS = 20.0
"""How long the end of the process waits for an import."""

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
    """Return the folder for mem0's own files, `home`/mem0, made for its owner only."""
    folder = home / "mem0"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    return folder


def create_private_file(path: Path) -> Path:
    """Return `path`, made empty and readable by its owner only if it was not there.

    A library that opens it later keeps that mode, and SQLite gives it to the journal beside it.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    path.chmod(0o600)
    return path


@atexit.register
def _wait_for_import() -> None:
    # A daemon that is cut off while it imports a library in C++ ends the process with an abort.
    if _import_lock.acquire(timeout=IMPORT_EXIT_WAIT_SECONDS):
        _import_lock.release()


def load_mem0(home: Path) -> Any:
    """Import mem0 without its telemetry, downloads and log lines of people's text; return the module.

    The environment is set for the whole process, because mem0 reads it once, at its import: `MEM0_TELEMETRY`
    and `ANONYMIZED_TELEMETRY` (Chroma's) to False, and `MEM0_DIR` to a folder under `home`, where mem0 writes
    a file at import. Where mem0 was imported before, its folder stays what it was.
    """
    assert_off_event_loop("importing mem0")
    with _import_lock:
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["ANONYMIZED_TELEMETRY"] = "False"
        if "mem0" not in sys.modules:
            os.environ["MEM0_DIR"] = str(mem0_home(home))
        silenced_logger = logging.getLogger(_LOGGER_SILENCED_BY_MEM0)
        level = silenced_logger.level
        import mem0

        silenced_logger.setLevel(level)
        _disable_telemetry()
        _disable_spacy_download()
        _install_log_filters()
    return mem0


def _disable_telemetry() -> None:
    """Cover the host that imported mem0 first: its telemetry would name our collections and people."""
    from mem0.memory import main, telemetry

    telemetry.MEM0_TELEMETRY = False
    main.MEM0_TELEMETRY = False


def _disable_spacy_download() -> None:
    """Tell mem0 that its language model could not be loaded, before it runs an installer to get it.

    With spaCy there and its model missing, mem0 downloads it inside the first call and ends the process when
    that fails.
    """
    from mem0.utils import spacy_models

    spacy_models._load_failed_full = True
    spacy_models._load_failed_lemma = True


class _UserTextFilter(logging.Filter):
    """Lets mem0's lines through only where DEBUG is wanted: they quote what people said.

    What mem0 says from WARNING up is repeated without its text, so that a problem stays visible. The warning
    that a store has no keyword search is dropped: keywords are searched in the memory database. So is what rerankers
    say: recall says it itself.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if logging.getLogger(record.name).isEnabledFor(logging.DEBUG):
            return True
        if record.levelno < logging.WARNING or "does not support keyword search" in str(record.msg):
            return False
        if record.name.startswith(_RERANKER_LOGGER_PREFIX):
            return False
        record.msg = f"mem0 reports a problem in {record.funcName}; its words are shown at level DEBUG"
        record.args = None
        record.exc_info = None
        record.exc_text = None
        return True


def _install_log_filters() -> None:
    for name in _MEM0_LOGGERS_WITH_TEXT:
        logger = logging.getLogger(name)
        if not any(isinstance(present, _UserTextFilter) for present in logger.filters):
            logger.addFilter(_UserTextFilter())
