"""What the extractor is told to look for."""

from __future__ import annotations

from gaia_memory.config.schema import GaiaConfig

DEFAULT_INSTRUCTIONS = """\
Keep durable facts about the user and about the people, places and things they care about: who they are, whom \
they live and work with, what they like, avoid, own, plan and are working on, dates that matter to them, and how \
they want to be treated. A fact is durable when it will still help in a conversation weeks from now.

Rules:
- Take only what the user stated, or clearly confirmed when the assistant asked or suggested it.
- What the assistant merely claimed, guessed, recommended or reported is no fact about the user.
- Of assistant action logs, tool output, error messages, command listings, greetings, thanks and small talk, \
extract nothing.
- Of questions the user asks about the world, extract nothing, unless they tell something lasting about the user.
- Never keep passwords, keys, tokens, card numbers or other credentials, not even in part.
- One fact to a sentence, complete in itself: names instead of "he" or "it", and the date instead of "tomorrow", \
counted from the day of the conversation.
- Write each fact in the language the user spoke.
- When in doubt, leave it out: an empty list is a good answer."""


def instructions(config: GaiaConfig) -> str:
    """Return the steering for the extractor: `memory.extraction_instructions` where it is set, else our own."""
    own = config.memory.extraction_instructions
    return own if own.strip() else DEFAULT_INSTRUCTIONS
