"""The question that asks a model for the facts of a chunk: the prompt of this package, or mem0's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any, Literal

from gaia_memory.language.printable_text import estimate_tokens
from gaia_memory.models import MAX_KEY_CHARACTERS, Chunk, Message

PromptName = Literal["gaia", "mem0"]

MAX_MEM0_CONTEXT_CHARACTERS = 300
"""mem0 shows no more of an earlier message: a longer one is sent in pieces."""

MAX_FACT_CHARACTERS = 300
TOKENS_PER_FACT = 150
"""What a fact of `MAX_FACT_CHARACTERS` takes with its keys, in languages with three characters to a token."""

MAX_FACTS = 40

MAX_KNOWN_KEY_TOKENS = 200
"""The keys in a question that a person has already."""

PROMPT_VERSIONS: Mapping[PromptName, str] = {"gaia": "gaia-6", "mem0": "mem0-1"}
"""Whose prompt asks, and the version of what we add to it; stored with each fact that it taught."""

LATER_HEADING = "Later Messages (extract nothing from these; leave out what they take back or correct)"
"""Said here and not among the rules, as few questions have such messages."""

SYSTEM_PROMPT = """\
You are the Memory Extractor: note what is worth remembering in the New Messages. Earlier Messages only explain them.

{instructions}

Answer with one JSON object only. Its "memory" is a list; of each fact: "id" (as text), "text" (up to \
{max_characters} characters), "attributed_to" ("user", "assistant" or the message's "name"), "category", for \
what there is one of at a time "key" (whose/what in English, such as user/home, user/employer or anna/phone: a known \
key if one fits; none where there can be several, such as pets, hobbies or plans), in ISO 8601 "said_at" only if \
before the Observation Date, "valid_from" if it began earlier, "valid_until" if it ends, for reminders "due_at", \
"every" (RRULE).

Examples of the form, with invented contents: never copy them.
Messages of 2031-03-04: [{{"role": "user", "content": "Tomorrow my brother Tomasz opens his bakery. Which flour suits \
rye?"}}]
Answer: {{"memory": [{{"id": "0", "text": "User's brother Tomasz opens his bakery on 2031-03-05", "attributed_to": \
"user", "category": "family"}}]}}
Messages: [{{"role": "user", "content": "How high is Everest?"}}]
Answer: {{"memory": []}}"""

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionQuestion:
    """A question about a chunk, as a system message and a prompt.

    `fixed_text` is all of it that does not come from the conversation, and `version` names it. An answer has at most
    `max_facts` facts of `MAX_FACT_CHARACTERS`, None for any number of any length.
    """

    system: str
    prompt: str
    fixed_text: str
    version: str
    max_facts: int | None = None


def build_question(chunk: Chunk, instructions: str, *, max_answer_tokens: int) -> ExtractionQuestion:
    """Return the question of this package: all rules in the system message, and the conversation alone after it."""
    system = SYSTEM_PROMPT.format(instructions=instructions, max_characters=MAX_FACT_CHARACTERS)
    return ExtractionQuestion(
        system=system,
        prompt=build_conversation(chunk),
        fixed_text=system,
        version=PROMPT_VERSIONS["gaia"],
        max_facts=max(1, min(MAX_FACTS, max_answer_tokens // TOKENS_PER_FACT)),
    )


def build_mem0_question(chunk: Chunk, instructions: str) -> ExtractionQuestion:
    """Return mem0's question, with the instructions as its custom ones. Imports mem0."""
    from mem0.configs.prompts import ADDITIVE_EXTRACTION_PROMPT, generate_additive_extraction_prompt

    prompt = generate_additive_extraction_prompt(
        new_messages=to_prompt_messages(chunk.messages),
        last_k_messages=_split_for_mem0(chunk.before),
        timestamp=format_observation_date(chunk.said_at),
        # The model must not see the current day: "tomorrow" counts from the day of the conversation.
        current_date=chunk.said_at.date().isoformat(),
        custom_instructions=instructions,
        use_input_language=True,
    )
    fixed_text = generate_additive_extraction_prompt(custom_instructions=instructions, use_input_language=True)
    return ExtractionQuestion(
        system=ADDITIVE_EXTRACTION_PROMPT,
        prompt=prompt,
        fixed_text=f"{ADDITIVE_EXTRACTION_PROMPT}\n{fixed_text}",
        version=PROMPT_VERSIONS["mem0"],
    )


def build_conversation(chunk: Chunk) -> str:
    """Return the messages of a chunk and its day, each under a heading.

    As JSON, no line of a message can look like a heading.
    """
    sections = {
        "Earlier Messages": _to_json(chunk.before) if chunk.before else "",
        LATER_HEADING: _to_json(chunk.after) if chunk.after and chunk.ends_early else "",
        "New Messages": _to_json(chunk.messages),
        "Observation Date": format_observation_date(chunk.said_at),
    }
    parts = [f"## {heading}\n{content}" for heading, content in sections.items() if content]
    if keys := _shown_keys(chunk.known_keys):
        parts.insert(0, "\n".join(["<KNOWN_KEYS>", *keys, "</KNOWN_KEYS>"]))
    return "\n\n".join(parts)


def _shown_keys(keys: Iterable[str]) -> list[str]:
    """Return the first keys that fit into `MAX_KNOWN_KEY_TOKENS`, without one that could end their tag."""
    shown = [key for key in keys if not {"<", ">"} & set(key)]
    totals = accumulate(estimate_tokens(key) + 1 for key in shown)
    return [key for key, total in zip(shown, totals, strict=True) if total <= MAX_KNOWN_KEY_TOKENS]


def build_answer_schema(chunk: Chunk, *, max_facts: int) -> dict[str, Any]:
    """Return the JSON schema of an answer about a chunk, with bounds that end an endless answer."""
    named = [message.speaker for message in chunk.messages if _has_name(message)]
    speakers = list(dict.fromkeys(["user", "assistant", *named]))
    properties = {
        "id": {"type": "string", "maxLength": 4},
        "text": {"type": "string", "maxLength": MAX_FACT_CHARACTERS},
        "attributed_to": {"type": "string", "enum": speakers},
        "category": {"type": "string", "maxLength": 20},
        "key": {"type": "string", "maxLength": MAX_KEY_CHARACTERS},
        "said_at": {"type": "string", "maxLength": 25},
        "valid_from": {"type": "string", "maxLength": 25},
        "valid_until": {"type": "string", "maxLength": 25},
        "sensitive": {"type": "boolean"},
        "due_at": {"type": "string", "maxLength": 25},
        "every": {"type": "string", "maxLength": 60},
    }
    fact = {"type": "object", "properties": properties, "required": ["id", "text", "attributed_to"]}
    facts = {"type": "array", "items": fact, "maxItems": max_facts}
    return {"type": "object", "properties": {"memory": facts}, "required": ["memory"]}


def format_observation_date(said_at: datetime) -> str:
    """Return the day and the time zone of a time: `2026-11-20 (Friday), time zone Asia/Tokyo (UTC+09:00)`."""
    offset = said_at.strftime("%z")
    utc = f"UTC{offset[:3]}:{offset[3:5]}"
    name = getattr(said_at.tzinfo, "key", None) or said_at.tzname()
    zone = utc if name == utc else f"{name} ({utc})"
    return f"{said_at.date().isoformat()} ({_WEEKDAYS[said_at.weekday()]}), time zone {zone}"


def to_prompt_messages(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Return messages in the form of a prompt; a speaker other than "the user" gets a name."""
    return [
        {"role": message.role, "content": message.text, **({"name": message.speaker} if _has_name(message) else {})}
        for message in messages
    ]


def _has_name(message: Message) -> bool:
    return message.role == "user" and message.speaker not in ("", "user")


def _to_json(messages: Iterable[Message]) -> str:
    return json.dumps(to_prompt_messages(messages), ensure_ascii=False)


def _split_for_mem0(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Return earlier messages in pieces that mem0's prompt does not cut off."""
    return [
        {**entry, "content": entry["content"][start : start + MAX_MEM0_CONTEXT_CHARACTERS]}
        for entry in to_prompt_messages(messages)
        for start in range(0, len(entry["content"]), MAX_MEM0_CONTEXT_CHARACTERS)
    ]
