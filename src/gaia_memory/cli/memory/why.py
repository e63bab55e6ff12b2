"""`gaia memory why`: where a fact comes from."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_memory.cli.engines import AppOption, ConfigOption, JsonOption, UserOption, open_scope, print_other_scopes
from gaia_memory.cli.memory.forget import find_fact
from gaia_memory.cli.ui.fact_output import print_json, print_rows
from gaia_memory.cli.ui.terminal import print_line
from gaia_memory.language.printable_text import escape_line

if TYPE_CHECKING:
    from gaia_memory.models import Origin

EXAMPLES = """
Examples:

`gaia memory why 3f9a1c --user ada` shows who said the fact, when, where and in which words.

`gaia memory why 3f9a1c --user ada --json | jq -r '.sources[].excerpt'` prints only the words.
"""

_COLUMNS = ("said_at", "source", "channel", "agent", "session_id", "excerpt")


async def why(
    fact_id: Annotated[
        str, typer.Argument(metavar="ID", help="The id of the fact, or its first six characters.", show_default=False)
    ],
    user: UserOption,
    app_name: AppOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show where a fact comes from: each source, with the beginning of what the user said.

    Exits with 1 if the user has no such fact.
    """
    from gaia_memory.models.masked_fact import mask_fact, mask_origin

    async with open_scope(config, app_name, user) as (engine, scope):
        allow_numbers = engine.config.memory.allow_numbers
        facts = await engine.memory.facts(scope)
        if not facts:
            await print_other_scopes(engine, scope)
        fact = mask_fact(find_fact(facts, fact_id, escape_line(user)), allow_numbers=allow_numbers)
        origins = await engine.memory.sources(scope, fact.id)
        sources = [_source_to_dict(mask_origin(each, allow_numbers=allow_numbers)) for each in origins]
    if as_json:
        print_json({"id": fact.id, "text": fact.text, "sources": sources})
        return
    print_line(fact.text)
    print_rows(("date", *_COLUMNS[1:]), [_row(source) for source in sources])


def _source_to_dict(origin: Origin) -> dict[str, Any]:
    """Return a source as data for JSON; `said_at` is when it was noted if nobody knows when it was said."""
    said_at = origin.said_at or origin.noted_at
    return {
        # What an import says of its sources is not known to be true.
        "source": "import" if origin.is_imported else origin.source,
        "said_at": None if said_at is None else said_at.isoformat(),
        "channel": origin.channel,
        "agent": origin.agent,
        "session_id": origin.session_id,
        "excerpt": origin.excerpt,
    }


def _row(source: dict[str, Any]) -> list[str]:
    said_at = source["said_at"]
    date = datetime.fromisoformat(said_at).astimezone().date().isoformat() if said_at else ""
    return [date, *(source[name] or "" for name in _COLUMNS[1:])]
