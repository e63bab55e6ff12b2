"""Follows a page of the docs literally: writes its files, types its commands, compares their output.

`tests/docs` runs its Python blocks, like those of every page.
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
STUBBED_COMMANDS = ("pip", "ollama", "vllm", "gcloud")
"""Commands that reach the network or a server of the reader's: logged in a file of their name and not run."""


@dataclass(frozen=True)
class FencedBlock:
    """A fenced block."""

    kind: str
    text: str


@dataclass(frozen=True)
class ExpectedOutput:
    """The output that a page promises and the actual output."""

    expected: str
    printed: str

    @property
    def missing_lines(self) -> list[str]:
        """The expected lines that were not printed in this order; `…` matches anything, including no line at all."""
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
    """Follow a page in `folder`, a fresh one; return its outputs and the calls of the stubs.

    A `yaml` block is written as `gaia.yaml`, `bash` blocks run in one shell that stops at the first error, and a `text`
    block is the output of the last `bash` block before it. `replacements` maps addresses on the page to real ones.
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
    """Run a page that may start a server; kill everything it started at the end."""
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
