"""Takes the picture of `gaia demo`: `python -m docs.render.demo_capture` in the top folder of a checkout.

It runs the demo, which takes some seconds.
"""

from __future__ import annotations

import html
import io
import re
import sys
from pathlib import Path

from rich.console import Console

from gaia_memory.cli.demo.demo import tell_on
from gaia_memory.cli.demo.story_screen import MAX_COLUMNS

CAPTURE_PATH = "docs/images/demo.svg"
USER = "ada"
"""The user of the next command, in place of a login name."""

_TITLE = "gaia demo"


def take_capture() -> str:
    """Run the demo and return its output as an SVG picture.

    Raises:
        RuntimeError: something in the demo was not as told.
    """
    console = Console(file=io.StringIO(), record=True, width=MAX_COLUMNS, highlight=False)
    if tell_on(console, user=USER).failed_count:
        raise RuntimeError("the demo failed: run `gaia demo`")
    svg = console.export_svg(title=_TITLE, unique_id="demo")
    # The fonts would be fetched from the network; every reader has a monospaced one.
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def text_of(svg: str) -> str:
    """Return the text in a capture, without its title and without white space."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return _without_spaces("".join(texts)).replace(_without_spaces(_TITLE), "", 1)


def _without_spaces(text: str) -> str:
    return re.sub(r"\s", "", html.unescape(text))


if __name__ == "__main__":
    Path(CAPTURE_PATH).write_text(take_capture(), encoding="utf-8")
    sys.stdout.write(f"{CAPTURE_PATH}\n")
