"""The page that adds up what memory costs in tokens, rendered from the questions and declarations in the code."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from gaia_memory.adk.tools.fact_framing import TOOL_TOKENS, tool_instruction
from gaia_memory.adk.tools.memory_tools import memory_tools
from gaia_memory.backend.extraction_question import MAX_KNOWN_KEY_TOKENS, SYSTEM_PROMPT, TOKENS_PER_FACT
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.engine_registry import EngineSource
from gaia_memory.learning.chunk import MAX_CHUNK_CHARACTERS, MAX_CHUNK_TURNS
from gaia_memory.learning.prompts import extraction_instructions
from gaia_memory.profile import distil, prompts
from gaia_memory.truth.by_model import model_question, model_reconciler

_CHARACTERS_PER_TOKEN = 4
"""What the usual tokenizers make of English text and JSON."""

_HEAD = """\
# What memory costs in tokens

The fixed parts are counted at four characters to a token. What grows is bounded by the settings and constants named,
by a [cautious estimate](../how-to/observe.md#tokens), which also shows what your home has used.

"""

_TAIL = """
A turn asks no model by itself, and a request repeats the tools, the instruction and the profile byte for byte, so
that a provider's prompt cache can reuse them. A conversation is learned once, when it is quiet. A new fact is compared
only if stored facts are similar to it and no [key](../explanation/what-is-true.md) settles it; one question compares
up to {facts} facts. A profile is written when a session starts after a fact has changed, and then serves all sessions
until the next change. Embeddings come on top: one for each learned fact and one for each search.

Without a key none of this asks a model. `memory.llm` sets the model that learns, compares and writes profiles;
`memory.extraction_prompt: mem0`, `memory.tools: extended` and `memory.preload_facts` cost more,
`memory.reconcile: off` and `memory.preload: false` less. [Measured on a public
conversation](../explanation/reconciling.md#what-it-costs), learning and comparing take 3% of the tokens of
mem0's `add`.
"""


def render_costs() -> str:
    """Return the page: tokens of a request of the agent, a learned conversation, a comparison and a profile."""
    memory = GaiaConfig().memory
    rules = SYSTEM_PROMPT.format(instructions=extraction_instructions(GaiaConfig()), max_characters=300)
    profile = prompts.SYSTEM_PROMPT + prompts.build_profile_prompt((), (), limit=memory.preload_limit)
    rows = [
        ("", "asked", "fixed", "what grows"),
        ("---", "---", "---", "---"),
        (
            "request of the agent",
            "by the agent",
            f"{_declared('basic')} with the basic tools, {_declared('extended')} with the extended ones",
            f"the profile, at most {memory.profile_tokens:,} (`memory.profile_tokens`); the notes before the message, "
            f"at most {memory.tail_tokens} (`memory.tail_tokens`); the answer of a search, at most {TOOL_TOKENS:,} "
            "(`memory.recall.tokens`)",
        ),
        (
            "learned conversation",
            f"once, for each {MAX_CHUNK_TURNS} turns or {MAX_CHUNK_CHARACTERS:,} characters",
            f"{_tokens(rules)}",
            f"its messages; known keys, at most {MAX_KNOWN_KEY_TOKENS}; at most {TOKENS_PER_FACT} for each fact of the "
            "answer",
        ),
        (
            "comparison",
            "for new facts that resemble stored ones",
            f"{_tokens(model_question.SYSTEM_PROMPT)}",
            f"these facts, at most {model_reconciler.MAX_QUESTION_CHARACTERS:,} characters",
        ),
        (
            "profile",
            "once after a change, at the start of a session",
            f"{_tokens(profile)}",
            f"all facts of the person, at most {distil.MAX_PROMPT_CHARACTERS:,} characters; an answer of at most "
            f"{memory.preload_limit} lines",
        ),
    ]
    table = "\n".join(_row(cells) for cells in rows)
    return f"{_HEAD}{table}\n{_TAIL.format(facts=model_reconciler.MAX_QUESTION_FACTS)}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


def _declared(kind: str) -> int:
    """Return the tokens of the declarations and the instruction of memory's tools."""
    return _tokens("".join(_texts(kind)))


def _texts(kind: str) -> Iterator[str]:
    tools = memory_tools(EngineSource(None), kind)
    yield tool_instruction([tool.name for tool in tools])
    for tool in tools:
        declaration = tool._get_declaration()
        assert declaration is not None
        yield json.dumps(declaration.model_dump(exclude_none=True, mode="json"))
