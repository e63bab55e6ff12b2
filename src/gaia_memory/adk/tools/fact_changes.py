"""The tools that write facts: `remember`, `update_memory` and `forget_memory`."""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING, Any, cast

from gaia_memory.adk.plugins.invocation_state import current_run
from gaia_memory.adk.tools.fact_framing import (
    CHANGE_NOT_REQUESTED,
    CONFIRMATION_REQUIRED,
    FORGOTTEN,
    KEPT_BESIDE,
    NOT_CURRENT,
    WITHDRAWN,
    WRITES_REFUSED,
    error_response,
    render_facts,
)
from gaia_memory.adk.tools.tool_call import ToolCall
from gaia_memory.drafts.screen import describe_masked, screen_draft
from gaia_memory.errors import InvalidInputError, MemoryDisabledError
from gaia_memory.models import Draft, Fact, FactDetails, NewFact
from gaia_memory.models.validation import require_text
from gaia_memory.profile.fence import escape_for_prompt
from gaia_memory.redaction.credentials import mask_credentials
from gaia_memory.sessions.pending_confirmations import HeldFact
from gaia_memory.threads import run_in_thread

if TYPE_CHECKING:
    from gaia_memory.adk.tools.tool_arguments import ToolArguments


async def remember(call: ToolCall) -> dict[str, Any]:
    """Store one fact, or hold it until the person agrees; the answer has facts that it may correct."""
    arguments = await call.read_arguments()
    text, details = require_text("fact", arguments.text("fact")).strip(), _details_of(arguments)
    if answer := await _hold_or_refuse(call, text, details):
        return answer
    saved = await call.engine.memory.remember(
        call.scope,
        text,
        origin=call.origin,
        user_statement=call.statement,
        active_context=call.active_context,
        **details,
    )
    similar = [
        fact for fact in await call.engine.memory.similar(call.scope, saved.id) if fact.is_visible(call.active_context)
    ]
    rows = render_facts(similar, await call.show(similar), allow_numbers=call.engine.config.memory.allow_numbers)
    return {**await _answer_with(call, saved, arguments.zone), **({"similar": rows} if rows else {})}


async def update_memory(call: ToolCall) -> dict[str, Any]:
    """Correct the fields that are given, if the person asks for it; that they were reminded needs no request."""
    arguments, fact = await call.read_arguments(), await call.find_shown()
    text, changes = arguments.text("fact"), arguments.changes()
    if text is None and not changes:
        raise InvalidInputError("update_memory has nothing to change: pass fact or a detail besides id")
    is_reminder = text is None and changes.keys() == {"reminded_at"}
    if not is_reminder and (answer := _refuse_unrequested(call, fact)):
        return answer
    updated = await call.engine.memory.update(
        call.scope,
        fact.id,
        text=text,
        actor=f"agent:{call.context.agent_name}",
        origin=call.origin,
        user_statement=call.statement,
        **changes,
    )
    answer = await _answer_with(call, updated, arguments.zone)
    is_beside = updated.is_unconfirmed and not fact.is_unconfirmed and updated.id != fact.id
    return {**answer, **({"note": KEPT_BESIDE} if is_beside else {})}


async def forget_memory(call: ToolCall) -> dict[str, Any]:
    """Forget one fact, if the person asks for it."""
    fact = await call.find_shown()
    if answer := _refuse_unrequested(call, fact):
        return answer
    await call.engine.memory.withdraw(call.scope, fact.id, call.turn)
    seconds = call.engine.config.memory.undo_seconds
    return {"status": "success", "message": WITHDRAWN.format(seconds) if seconds else FORGOTTEN}


async def _answer_with(call: ToolCall, fact: Fact, zone: tzinfo) -> dict[str, Any]:
    short_ids, allow_numbers = await call.show([fact]), call.engine.config.memory.allow_numbers
    [row] = render_facts([fact], short_ids, zone=zone, allow_numbers=allow_numbers)
    del row["timestamp"]
    masked, is_current = describe_masked([fact]), fact.id in await call.engine.memory.get(call.scope, [fact.id])
    notes = [*([f"tell the person: {masked}"] if masked else []), *([] if is_current else [NOT_CURRENT])]
    return {"status": "success", **row, **({"note": "; ".join(notes)} if notes else {})}


def _details_of(arguments: ToolArguments) -> FactDetails:
    details: Any = {name: value for name, value in arguments.changes().items() if value is not None}
    return cast(FactDetails, details)


async def _hold_or_refuse(call: ToolCall, text: str, details: FactDetails) -> dict[str, Any] | None:
    """Return the answer to a call that `memory.agent_writes` does not allow to store anything; None if it may.

    Raises:
        InvalidInputError: the fact could not be stored even with a yes.
    """
    config, turn = call.engine.config.memory, current_run().outer_turn
    if config.agent_writes == "allow" or not config.enabled:
        return None
    if config.agent_writes == "refuse" or turn is None:
        # Without a plugin nothing would notice the user's yes.
        return error_response(WRITES_REFUSED)
    text = mask_credentials(text, allow_numbers=config.allow_numbers)
    if text in turn.confirmed_facts:
        return None
    draft = Draft(fact=NewFact(text, **details), source="agent")
    await run_in_thread(screen_draft, draft, allow_numbers=config.allow_numbers)
    call.engine.pending_confirmations.hold_fact(turn.key, text, HeldFact(call.origin, details))
    return {"status": "confirmation_required", "message": CONFIRMATION_REQUIRED, "text": escape_for_prompt(text)}


def _refuse_unrequested(call: ToolCall, fact: Fact) -> dict[str, Any] | None:
    """Return the answer to a change that nobody asked for; None if the person did.

    They did if they say yes to the fact that this tool named in the turn before. Where `memory.agent_writes` is
    `allow`, a distinctive word of the fact in their message is enough.

    Raises:
        MemoryDisabledError: memory is off.
    """
    config = call.engine.config.memory
    if not config.enabled:
        raise MemoryDisabledError
    if config.agent_writes == "refuse":
        return error_response(WRITES_REFUSED)
    if call.agrees_to(fact) or (config.agent_writes == "allow" and call.names(fact)):
        return None
    call.engine.pending_confirmations.name_change(call.key, call.statement.turn_id, call.name, fact.id)
    [row] = render_facts([fact], {}, allow_numbers=config.allow_numbers)
    return {"status": "confirmation_required", "message": CHANGE_NOT_REQUESTED, "text": row["text"]}
