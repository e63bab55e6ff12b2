"""The tools that read facts: `load_memory` and `recall`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any

from gaia_memory.adk.tools.fact_framing import DATA_NOTE, error_response, render_facts
from gaia_memory.adk.tools.tool_arguments import ToolArguments
from gaia_memory.adk.tools.tool_call import ToolCall
from gaia_memory.models import DEFAULT_CONTEXT, Fact

MAX_PAGE_FACTS = 100
"""Facts in one answer."""

_DEFAULT_PAGE_FACTS = 20
_MAX_OFFSET = 800
"""Facts that may be left out: a recall returns at most 1,000."""

_LABELS = ("category", "context", "entity", "agent")


async def load_memory(call: ToolCall) -> dict[str, Any]:
    """Answer a question with the best facts."""
    question = str(call.given["query"]).strip()
    hits = await call.engine.memory.recall(
        call.scope, question, context=call.active_context, person_said=call.statement.text
    )
    if not question:
        return error_response("the query is blank: say what to look for", memories=[])
    memories = await _show(call, [hit.fact for hit in hits])
    return {"status": "success", "memories": memories, **({"note": DATA_NOTE} if memories else {})}


async def recall(call: ToolCall) -> dict[str, Any]:
    """Answer a question with a page of the facts that pass the filters; without a question, list them.

    A `limit` above the maximum gets a page of the maximum, with a note.
    """
    arguments = await call.read_arguments()
    query, filters, context = arguments.text("query") or "", _read_filters(arguments), arguments.label("context")
    offset, as_of = arguments.number("offset", 0, maximum=_MAX_OFFSET), arguments.moment("as_of", is_end=True)
    asked, notes, limit = call.given.get("limit"), list[str](), MAX_PAGE_FACTS
    if isinstance(asked, int | float) and asked > MAX_PAGE_FACTS:
        notes.append(f"limit is {asked}, and an answer has at most {MAX_PAGE_FACTS}: pass offset for others")
    else:
        limit = arguments.number("limit", _DEFAULT_PAGE_FACTS, minimum=1, maximum=MAX_PAGE_FACTS)
    if query:
        hits = await call.engine.memory.recall(
            call.scope,
            query,
            limit=offset + limit + 1,
            filters=filters,
            context=context or call.active_context,
            person_said=call.statement.text,
            as_of=as_of,
        )
        found, has_more = [hit.fact for hit in hits[offset : offset + limit]], len(hits) > offset + limit
    else:
        # A list answers no question, in which the person could name something sensitive.
        visible = {"context": context or {"in": [call.active_context, DEFAULT_CONTEXT]}, "sensitive": False}
        page = await call.engine.memory.browse(
            call.scope, filters=visible | filters, offset=offset, limit=limit, as_of=as_of
        )
        found, has_more = list(page.facts), page.has_more
    memories = await _show(call, found, zone=arguments.zone)
    notes += [DATA_NOTE] if memories else []
    answer = {"status": "success", "memories": memories, "has_more": has_more or len(memories) < len(found)}
    return answer | ({"note": "; ".join(notes)} if notes else {})


async def _show(call: ToolCall, facts: Sequence[Fact], *, zone: tzinfo | None = None) -> list[dict[str, Any]]:
    config, short_ids = call.engine.config.memory, await call.show(facts)
    return render_facts(
        facts,
        short_ids,
        tokens=config.recall.tokens,
        allow_numbers=config.allow_numbers,
        zone=zone,
    )


def _read_filters(arguments: ToolArguments) -> dict[str, Any]:
    filters: dict[str, Any] = {name: label for name in _LABELS if (label := arguments.label(name)) is not None}
    if (key := arguments.key()) is not None:
        filters["key"] = key
    since, until = arguments.moment("since"), arguments.moment("until", is_end=True)
    said_at = {name: moment for name, moment in (("gte", since), ("lt", until)) if moment is not None}
    return filters | ({"said_at": said_at} if said_at else {})
