"""Write every page and file rendered from the code: `python -m docs.render` in the top folder of a checkout.

It writes `docs/reference/*.md`, `docs/llms.txt`, `config/gaia.yaml` and `config/gaia.schema.json`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from docs.render import config_files, llms_txt, reference_pages

COMMAND = "python -m docs.render"


def main() -> int:
    """Write all files below the working directory; return the exit code."""
    checkout = Path.cwd()
    if not (checkout / "src" / "gaia_memory" / "config" / "schema.py").is_file():
        sys.stderr.write(f"{checkout} is not a checkout of gaia-memory: run `{COMMAND}` in its top folder\n")
        return 2
    rendered = (
        config_files.rendered_files() | reference_pages.rendered_pages() | llms_txt.rendered_files(checkout / "docs")
    )
    for name, text in rendered.items():
        path = checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{name}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
