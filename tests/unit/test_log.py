"""A log line shows what it is given and obeys nothing in it."""

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
    """What a handler at the root writes of a logger of this package."""
    written = io.StringIO()
    handler, root = logging.StreamHandler(written), logging.getLogger()
    handler.setFormatter(logging.Formatter(FORM))
    root.addHandler(handler)
    yield written
    root.removeHandler(handler)


logger = logger_for("gaia_memory.test_log")


def one_of(written: io.StringIO) -> str:
    """The only line, in signs that any terminal shows as they are."""
    [line] = written.getvalue().split("\n")[:-1]
    assert line.isprintable()
    return line


def test_what_fills_a_line_cannot_begin_another(lines: io.StringIO) -> None:
    """Whatever breaks, erases or turns a line is shown as its escape."""
    logger.warning("conversation %s is put off: %d", FORGED, 3)

    assert one_of(lines).startswith("WARNING conversation ada\\nERROR forged: all is lost\\r\\x1b[2J\\u202egnorw")


def test_a_line_without_arguments_is_looked_at_itself(lines: io.StringIO) -> None:
    """A reason that is logged as it is may hold a path with an escape sequence."""
    logger.warning("/tmp/\x1b[31m%s: is gone")

    assert one_of(lines) == "WARNING /tmp/\\x1b[31m%s: is gone"


def test_an_argument_by_name_is_looked_at_too(lines: io.StringIO) -> None:
    """The other form of `logging`."""
    logger.warning("of %(user)s", {"user": FORGED})

    assert one_of(lines).startswith("WARNING of ada\\nERROR")


def test_text_of_several_lines_is_indented(lines: io.StringIO) -> None:
    """A list of problems and a traceback stay readable, and no line of them begins as a record does."""
    logger.warning("refused: %s", ConfigError(["a: wrong", f"b: {FORGED}"], source="x"))
    logger.warning("broke:\n%s", MultiLine("KeyError\nERROR forged\n  File x"))

    records = [line for line in lines.getvalue().split("\n") if line and not line.startswith("  ")]
    assert records == ["WARNING refused: x is not usable:", "WARNING broke:", "KeyError"]
    assert "\x1b" not in lines.getvalue()


def test_the_words_of_an_error_are_indented_in_its_traceback(lines: io.StringIO) -> None:
    """What `--debug` shows may quote an answer."""
    try:
        raise ValueError(FORGED)
    except ValueError:
        logger.warning("failed", exc_info=True)

    first, *others = lines.getvalue().rstrip("\n").split("\n")
    assert first == "WARNING failed"
    assert others[0].startswith("Traceback")
    assert all(line.startswith("  ") for line in others[1:])
    assert "forged" in others[-1]


def test_fields_are_as_legible_as_the_line(caplog: pytest.LogCaptureFixture) -> None:
    """A formatter may write them into a line; numbers stay numbers."""
    logger.warning("x", extra={"gaia_session": FORGED, "gaia_facts": 3})

    fields = vars(caplog.records[0])
    assert fields["gaia_session"].isprintable()
    assert fields["gaia_facts"] == 3


@pytest.mark.parametrize("text", ["ada:cli", "שוקו", "日本 語", "domain\\ada", "😀", ""])
def test_what_anybody_can_read_stays(text: str) -> None:
    """Ids in any script, and what a path of Windows holds."""
    assert escape_line(text) == text
    assert escape_lines(f"{text}\n  - {text}") == f"{text}\n  - {text}"
