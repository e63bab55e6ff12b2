"""`docs/llms.txt`: the documentation as a list for coding agents, rendered from README and start page.

The form is the one of https://llmstxt.org: a title, a summary in a quotation, then lists of links under headings.
"""

from __future__ import annotations

import re
from pathlib import Path

_RULES = """\
- Open memory with `async with open_memory(...) as gaia`, or put `MemoryPlugin`, `SessionWindowPlugin` and
  `Mem0MemoryService` into an ADK Runner. Use one way, not both.
- Every call names a `Scope` (app and user): `gaia.scope("ada")`. There is no search over several users.
- A conversation is learned when it has been quiet for 30 minutes, or by `await gaia.sweep(force=True)`. `remember`
  stores a fact at once.
- Without a key sentences are learned as they were said, and the offline model quotes them. It is for trials and tests.
"""

_ITEM = re.compile(r"(?m)^(?:-|\d+\.) (?P<item>.*(?:\n {2,}.*)*)")
_LINK = re.compile(r"\[(?P<title>[^]]+)\]\((?P<target>[^)]+)\)")


def rendered_files(docs: Path) -> dict[str, str]:
    """Return the path and the text of the list for the pages in `docs`."""
    title, summary = _read_summary((docs.parent / "README.md").read_text(encoding="utf-8"))
    parts = [f"# {title}\n", f"> {summary}\n", _RULES]
    for section in re.split(r"(?m)^## ", (docs / "index.md").read_text(encoding="utf-8")):
        heading, _, body = section.partition("\n")
        name = "Start" if heading.startswith("# ") else heading.strip()
        parts.append(f"## {name}\n\n{''.join(_render_item(found['item']) for found in _ITEM.finditer(body))}")
    return {"docs/llms.txt": "\n".join(parts)}


def _read_summary(readme: str) -> tuple[str, str]:
    """Return the title and the first paragraph, without links, on one line."""
    title, paragraph, *_ = readme.split("\n\n")
    return title.removeprefix("# "), _LINK.sub(lambda link: link["title"], " ".join(paragraph.split()))


def _render_item(item: str) -> str:
    """Return a line for each link of the item; the words behind the links describe all of them."""
    text = " ".join(item.split())
    _, colon, note = _LINK.sub("", text).partition(": ")
    described = f": {note.rstrip('.')}" if colon else ""
    return "".join(f"- [{link['title'].strip('`')}]({link['target']}){described}\n" for link in _LINK.finditer(text))
