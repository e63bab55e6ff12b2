"""/context: tells and switches the active context, the one that new facts belong to."""

from __future__ import annotations

from gaia_memory.commands.command import Call, Command
from gaia_memory.language.printable_text import escape_markup
from gaia_memory.models import DEFAULT_CONTEXT
from gaia_memory.models.validation import require_label


async def _context(call: Call) -> str:
    active = await call.context.active()
    known = sorted({fact.context for fact in await call.memory.facts(call.scope)} - {DEFAULT_CONTEXT})
    if not call.argument:
        return _describe(active, [each for each in known if each != active])
    require_label("the name of a context", call.argument)
    # A person types a name in any case; host and tools have chosen the case of those that have facts.
    name = next(
        (each for each in [DEFAULT_CONTEXT, *known] if each.casefold() == call.argument.casefold()), call.argument
    )
    # As in `/private off`, and as the answers here say "none".
    if name.casefold() in ("off", "none") and name not in known:
        name = DEFAULT_CONTEXT
    await call.context.activate(name)
    if name == DEFAULT_CONTEXT:
        return "No context is active. What I learn from here on is known in all of them."
    answer = f"The context {escape_markup(name)} is active: what I learn from here on belongs to it."
    return f"{answer} /context global ends it."


def _describe(active: str, others: list[str]) -> str:
    named = f"Others with facts: {', '.join(map(escape_markup, others))}. " if others else ""
    if active == DEFAULT_CONTEXT:
        return f"No context is active: I use what belongs to none. {named}/context NAME activates one."
    used = f"The context {escape_markup(active)} is active: I use its facts and what belongs to none."
    return f"{used} {named}/context NAME switches, /context global ends it."


COMMAND = Command(
    name="context",
    arguments="[NAME]",
    summary="show or switch the context, such as work, that facts belong to",
    run=_context,
)
