"""The chat on the tutorial page is what `gaia chat` prints."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from support.cli.cli_runner import run_gaia, write_offline_config
from support.cli.docs_pages import fenced_blocks

_TYPED = re.compile(r"^you(?: \(private\))?> (.*)$", re.MULTILINE)


def test_the_chat_of_the_tutorial_is_what_is_printed(tmp_path: Path) -> None:
    """The typed lines get these answers, but for line breaks, and private lines are marked."""
    [shown] = [block.text for block in fenced_blocks("tutorial/first-agent.md") if block.text.startswith("you> ")]
    config = write_offline_config(tmp_path)
    shown = shown.replace("On Monday", f"On {datetime.now().astimezone():%A}")
    typed = _TYPED.findall(shown)
    printed = run_gaia("chat", "--user", "ada", "--config", str(config), stdin="".join(f"{line}\n" for line in typed))
    answers = [each.strip() for each in _TYPED.split(shown)[2::2]]
    private_from = typed.index("/private") + 1
    prompts = re.findall(r"^you.*?> ", shown, re.MULTILINE)

    told = [f"gaia> {answer}".split() for answer in _answers(printed.out, len(typed), answers)]
    assert told == [answer.split() for answer in answers]
    assert prompts == ["you> "] * private_from + ["you (private)> "] * (len(typed) - private_from)


def _answers(printed: str, count: int, shown: list[str]) -> list[str]:
    """Return the printed answers; each has as many lines as the page shows, except for those that were wrapped."""
    lines = printed.splitlines()[1:]
    answers: list[str] = []
    for text in shown:
        words = text.removeprefix("gaia> ").split()
        answer: list[str] = []
        while lines and len(" ".join(answer).split()) < len(words):
            answer.append(lines.pop(0))
        answers.append("\n".join(answer))
    assert len(answers) == count
    assert not lines
    return answers
