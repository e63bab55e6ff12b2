"""A page of the docs done literally: its files written, its commands typed, their output compared.

Its Python blocks are run by `tests/docs`, as those of every page.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from support.checkout import ROOT

FENCED = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
ANYTHING = "…"
TIMEOUT = 170.0
_END = "@@ end of block"
STUBS = ("pip", "ollama", "vllm")
"""Commands that reach the network or a server of the reader's: noted in a file of their name, and not run."""


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    kind: str
    text: str


@dataclass(frozen=True)
class Shown:
    """What a page says a command prints, and what it printed."""

    said: str
    printed: str

    @property
    def missing(self) -> list[str]:
        """The lines that were not printed, in this order; `…` stands for anything, also for no line at all."""
        rest = [line.rstrip() for line in self.printed.splitlines()]
        missing = []
        for line in (each.rstrip() for each in self.said.splitlines() if each.strip() != ANYTHING):
            form = re.compile(".*".join(re.escape(part.strip()) for part in line.split(ANYTHING)))
            place = next((at for at, printed in enumerate(rest) if form.fullmatch(printed.strip())), None)
            if place is None:
                missing.append(line)
            else:
                rest = rest[place + 1 :]
        return missing


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page of `docs/`, in order."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [Block(found["kind"], found["text"]) for found in FENCED.finditer(text)]


def done_literally(
    page: str, folder: Path, *, instead: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[list[Shown], str]:
    """Do what a page says in `folder`, a fresh one; return what it shows, and what the stubs were called with.

    A `yaml` block is written as `gaia.yaml`, `bash` blocks are run in one shell that stops at the first error, a
    `text` block is what the last `bash` block before it prints. `instead` puts real addresses in the place of those
    on the page.
    """
    page_blocks = blocks(page)
    script = folder / "page.sh"
    script.write_text("\n".join(_steps(page_blocks, instead)), encoding="utf-8")
    home = folder / "home"
    home.mkdir()
    path = f"{_stubs(folder)}:{Path(sys.executable).parent}:/usr/bin:/bin"
    environ = {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "COLUMNS": "200", **environment}
    code, printed, complaints = _run(script, environ)
    if code:
        raise AssertionError(f"{page} stopped with {code}:\n{printed}\n{complaints}")
    calls = folder / "calls"
    return list(_shown(page_blocks, printed)), calls.read_text(encoding="utf-8") if calls.exists() else ""


def _run(script: Path, environ: Mapping[str, str]) -> tuple[int, str, str]:
    """Run a page beside which a server may be started; nothing of it outlives the page."""
    with subprocess.Popen(
        ["/bin/bash", "-eu", str(script)],
        cwd=script.parent,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as shell:
        try:
            printed, complaints = shell.communicate(timeout=TIMEOUT)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
    return shell.returncode, printed, complaints


def _steps(page_blocks: list[Block], instead: Mapping[str, str]) -> Iterator[str]:
    for block in page_blocks:
        text = block.text
        for written, real in instead.items():
            text = text.replace(written, real)
        match block.kind:
            case "yaml":
                yield f"cat > gaia.yaml <<'END_OF_FILE'\n{text}END_OF_FILE"
            case "bash":
                yield text
        yield f"echo '{_END}'"


def _stubs(folder: Path) -> Path:
    stubs = folder / "stubs"
    stubs.mkdir()
    for name in STUBS:
        stub = stubs / name
        stub.write_text(f'#!/bin/sh\necho "{name} $*" >> "{folder}/calls"\n', encoding="utf-8")
        stub.chmod(0o755)
    return stubs


def _shown(page_blocks: list[Block], output: str) -> Iterator[Shown]:
    printed = output.split(f"{_END}\n")
    last = ""
    for block, text in zip(page_blocks, printed, strict=False):
        if block.kind == "bash":
            last = text
        elif block.kind == "text":
            yield Shown(block.text, last)
