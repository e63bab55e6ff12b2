"""/reset: learns from this conversation and starts a new one."""

from __future__ import annotations

from collections.abc import Mapping

from gaia_memory.commands.command import Call, Command, ResetOutcome
from gaia_memory.language.printable_text import escape_markup
from gaia_memory.models import LearnedFacts

_REPLIES: Mapping[ResetOutcome, str] = {
    "cleared": "A fresh start: this conversation is over. I keep what I remember about you.",
    "failed": "This conversation was not saved to memory, so it stays as it is. Try /reset again later.",
    "busy": "This conversation is in use elsewhere, so it stays as it is. Try /reset again later.",
}

_WAS_PRIVATE = "It was private: I learned nothing from it."
_NOT_PRIVATE = "The new conversation is not private."
_NOTHING_NEW = "I learned nothing new from it."
_LEARNING_OFF = "I learned nothing from it, because `memory.auto_ingest` is off."


async def _reset(call: Call) -> str:
    outcome = await call.reset()
    if outcome != "cleared":
        return _REPLIES[outcome]
    is_private = await call.flags.is_private(call.key)
    lines = [_REPLIES[outcome], _describe_learned(call, is_private=is_private)]
    if earlier := await _count_learned_before(call):
        facts = "1 fact" if earlier == 1 else f"{earlier} facts"
        lines.append(f"From earlier in this conversation I had already learned {facts}.")
    if is_private:
        await call.flags.set_private(call.key, False)
        lines.append(_NOT_PRIVATE)
    return "\n".join(lines)


def _describe_learned(call: Call, *, is_private: bool) -> str:
    if call.learned.count:
        return "\n".join(format_learned(call.learned))
    if is_private:
        return _WAS_PRIVATE
    return _NOTHING_NEW if call.memory.config.memory.auto_ingest else _LEARNING_OFF


async def _count_learned_before(call: Call) -> int:
    """Count the facts that the conversation taught before this reset: a long one is learned bit by bit."""
    facts = await call.memory.facts(call.scope)
    of_it = [each for each in facts if each.session_id == call.key.session]
    new_ids = {each.id for each in call.learned.first}
    count = sum(each.created_at.timestamp() > call.learned.since and each.id not in new_ids for each in of_it)
    return max(0, count - (call.learned.count - len(new_ids)))


def format_learned(learned: LearnedFacts) -> list[str]:
    """Return the lines that name what was learned: the first facts, and how many more there are."""
    things = "1 thing" if learned.count == 1 else f"{learned.count} things"
    lines = [f"I learned {things}:", *(f"- {escape_markup(fact.text)}" for fact in learned.first)]
    more = learned.count - len(learned.first)
    return [*lines, f"- and {more} more: /memory shows all of them"] if more else lines


COMMAND = Command(name="reset", summary="learn from this conversation and start a new one", run=_reset)
