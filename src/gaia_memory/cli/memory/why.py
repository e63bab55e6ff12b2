"""`gaia memory why`: where a fact comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_memory.cli.memory.target import IdArgument, Target
from gaia_memory.cli.ui.fact_output import iso, local_day, print_json, print_rows
from gaia_memory.cli.ui.terminal import print_line

if TYPE_CHECKING:
    from gaia_memory.models import Origin

EXAMPLES = """
Examples:

`gaia memory why 3f9a1c --user ada` shows who said the fact, when, where and in which words.

`gaia memory why 3f9a1c --user ada --json | jq -r '.sources[].excerpt'` prints only the words.
"""


async def why(target: Target, fact_id: IdArgument) -> None:
    """Show where a fact comes from: each source, with the beginning of what the user said.

    Exits with 1 if the user has no such fact.
    """
    async with target.open() as opened:
        fact = opened.mask(await opened.find(fact_id))
        origins = opened.mask_origins(await opened.memory.sources(opened.scope, fact.id))
    sources = [_source_to_dict(each) for each in origins]
    if target.as_json:
        print_json({"id": fact.id, "text": fact.text, "sources": sources})
        return
    print_line(fact.text)
    days = [local_day(each.said_at or each.noted_at) for each in origins]
    names = ("source", "channel", "agent", "session_id", "excerpt")
    rows = [(day, *(each[name] or "" for name in names)) for day, each in zip(days, sources, strict=True)]
    print_rows(("date", *names), rows)


def _source_to_dict(origin: Origin) -> dict[str, Any]:
    """Return a source as data for JSON; `said_at` is when it was noted if nobody knows when it was said."""
    return {
        # What an import says of its sources is not known to be true.
        "source": "import" if origin.is_imported else origin.source,
        "said_at": iso(origin.said_at or origin.noted_at),
        "channel": origin.channel,
        "agent": origin.agent,
        "session_id": origin.session_id,
        "excerpt": origin.excerpt,
    }
