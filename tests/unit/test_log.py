"""Log lines escape untrusted values."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from gaia_memory.errors import ConfigError
from gaia_memory.language.printable_text import escape_line, escape_lines
from gaia_memory.log import MultiLine, logger_for

FORGED = "ada\nERROR forged: all is lost\r\x1b[2J\u202egnorw\u2028x\x85y\u200b\ud800"
FORM = "%(levelname)s %(message)s"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """Return the output of a root handler for a logger of this package."""
    written = io.StringIO()
    handler, root = logging.StreamHandler(written), logging.getLogger()
    handler.setFormatter(logging.Formatter(FORM))
    root.addHandler(handler)
    yield written
    root.removeHandler(handler)


logger = logger_for("gaia_memory.test_log")


def one_of(written: io.StringIO) -> str:
    """Return the only line, which must be printable ASCII."""
    [line] = written.getvalue().split("\n")[:-1]
    assert line.isprintable()
    return line


def test_an_argument_cannot_start_another_line(lines: io.StringIO) -> None:
    """Line breaks, control and bidirectional characters are escaped."""
    logger.warning("conversation %s is put off: %d", FORGED, 3)

    assert one_of(lines).startswith("WARNING conversation ada\\nERROR forged: all is lost\\r\\x1b[2J\\u202egnorw")


def test_multi_line_text_is_indented(lines: io.StringIO) -> None:
    """Lists of problems and tracebacks stay readable, and none of their lines looks like a record."""
    logger.warning("refused: %s", ConfigError(["a: wrong", f"b: {FORGED}"], source="x"))
    logger.warning("broke:\n%s", MultiLine("KeyError\nERROR forged\n  File x"))

    records = [line for line in lines.getvalue().split("\n") if line and not line.startswith("  ")]
    assert records == ["WARNING refused: x is not usable:", "WARNING broke:", "KeyError"]
    assert "\x1b" not in lines.getvalue()


def test_the_message_of_an_error_is_indented_in_its_traceback(lines: io.StringIO) -> None:
    """The traceback of `--debug` may quote an answer."""
    try:
        raise ValueError(FORGED)
    except ValueError:
        logger.warning("failed", exc_info=True)

    first, *others = lines.getvalue().rstrip("\n").split("\n")
    assert first == "WARNING failed"
    assert others[0].startswith("Traceback")
    assert all(line.startswith("  ") for line in others[1:])
    assert "forged" in others[-1]


def test_fields_are_escaped_like_the_line(caplog: pytest.LogCaptureFixture) -> None:
    """A formatter may write them into a line. Numbers stay numbers."""
    logger.warning("x", extra={"gaia_session": FORGED, "gaia_facts": 3})

    fields = vars(caplog.records[0])
    assert fields["gaia_session"].isprintable()
    assert fields["gaia_facts"] == 3


@pytest.mark.parametrize("text", ["שוקו", "domain\\ada", ""])
def test_printable_text_stays_as_it_is(text: str) -> None:
    """Examples are ids in any script and Windows paths."""
    assert escape_line(text) == text
    assert escape_lines(f"{text}\n  - {text}") == f"{text}\n  - {text}"
