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
WILDCARD = "…"
TIMEOUT_SECONDS = 170.0
_BLOCK_END_MARKER = "@@ end of block"
STUBBED_COMMANDS = ("pip", "ollama", "vllm")
"""Commands that reach the network or a server of the reader's: noted in a file of their name, and not run."""


@dataclass(frozen=True)
class FencedBlock:
    """What stands between two fences."""

    kind: str
    text: str


@dataclass(frozen=True)
class ExpectedOutput:
    """What a page says a command prints, and what it printed."""

    expected: str
    printed: str

    @property
    def missing_lines(self) -> list[str]:
        """The lines that were not printed, in this order; `…` stands for anything, also for no line at all."""
        rest = [line.rstrip() for line in self.printed.splitlines()]
        missing = []
        for line in (each.rstrip() for each in self.expected.splitlines() if each.strip() != WILDCARD):
            form = re.compile(".*".join(re.escape(part.strip()) for part in line.split(WILDCARD)))
            index = next((at for at, printed in enumerate(rest) if form.fullmatch(printed.strip())), None)
            if index is None:
                missing.append(line)
            else:
                rest = rest[index + 1 :]
        return missing


def fenced_blocks(page: str) -> list[FencedBlock]:
    """Return the fenced blocks of a page of `docs/`, in order."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [FencedBlock(found["kind"], found["text"]) for found in FENCED.finditer(text)]


def run_page(
    page: str, folder: Path, *, replacements: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[list[ExpectedOutput], str]:
    """Do what a page says in `folder`, a fresh one; return what it shows, and what the stubs were called with.

    A `yaml` block is written as `gaia.yaml`, `bash` blocks are run in one shell that stops at the first error, a
    `text` block is what the last `bash` block before it prints. `replacements` puts real addresses in the place of
    those on the page.
    """
    page_blocks = fenced_blocks(page)
    script = folder / "page.sh"
    script.write_text("\n".join(_shell_script(page_blocks, replacements)), encoding="utf-8")
    home = folder / "home"
    home.mkdir()
    path = f"{_write_stubs(folder)}:{Path(sys.executable).parent}:/usr/bin:/bin"
    environ = {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "COLUMNS": "200", **environment}
    code, printed, stderr = _run(script, environ)
    if code:
        raise AssertionError(f"{page} stopped with {code}:\n{printed}\n{stderr}")
    calls = folder / "calls"
    return list(_expected_outputs(page_blocks, printed)), calls.read_text(encoding="utf-8") if calls.exists() else ""


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
            printed, stderr = shell.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
    return shell.returncode, printed, stderr


def _shell_script(page_blocks: list[FencedBlock], replacements: Mapping[str, str]) -> Iterator[str]:
    for block in page_blocks:
        text = block.text
        for written, real in replacements.items():
            text = text.replace(written, real)
        match block.kind:
            case "yaml":
                yield f"cat > gaia.yaml <<'END_OF_FILE'\n{text}END_OF_FILE"
            case "bash":
                yield text
        yield f"echo '{_BLOCK_END_MARKER}'"


def _write_stubs(folder: Path) -> Path:
    stubs = folder / "stubs"
    stubs.mkdir()
    for name in STUBBED_COMMANDS:
        stub = stubs / name
        stub.write_text(f'#!/bin/sh\necho "{name} $*" >> "{folder}/calls"\n', encoding="utf-8")
        stub.chmod(0o755)
    return stubs


def _expected_outputs(page_blocks: list[FencedBlock], output: str) -> Iterator[ExpectedOutput]:
    printed = output.split(f"{_BLOCK_END_MARKER}\n")
    last = ""
    for block, text in zip(page_blocks, printed, strict=False):
        if block.kind == "bash":
            last = text
        elif block.kind == "text":
            yield ExpectedOutput(block.text, last)
