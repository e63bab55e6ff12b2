"""How many facts the check of a learned fact's origin drops: `python tests/benchmarks/grounding.py --data FILE`.

FILE is LoCoMo's public file, as for `recall.py`. Its facts were extracted by a model from one session each, with the
turns they come from; so none should be dropped, neither in its session nor in its turn alone. Facts of other origin are
the examples of mem0's prompt, each asked of two sessions of each conversation: as they are, and with other names, which
are no copies any more. Pairs of messages and facts in several languages come from `unit/learn/grounding_pairs.yaml`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import yaml

from benchmarks.recall_data import reduce_sample
from gaia_memory.config.schema import GaiaConfig
from gaia_memory.errors import BadAnswerError
from gaia_memory.learn.grounding import ConversationWords, GroundingCheck
from gaia_memory.learn.prompts import extraction_instructions
from gaia_memory.models import Chunk, EventPosition, ExtractedFact, Message, SessionKey, Turn
from gaia_memory.models.turns import MAX_CONTEXT_CHARACTERS

PAIRS = Path(__file__).resolve().parents[1] / "unit/learn/grounding_pairs.yaml"
SESSIONS_PER_CONVERSATION = 2
OTHER_NAMES = {
    **{"Marcus": "Olaf", "Elena": "Petra", "Poppy": "Rolo", "Shopify": "Siemens", "Max": "Brix", "David": "Ulf"},
    **{"John": "Sven", "Maria": "Helga", "Sara": "Inga", "Bailey": "Zorro", "Portland": "Oslo", "Netflix": "Arte"},
}

_SAID_AT = datetime(2026, 11, 20, tzinfo=UTC)
_EXAMPLE = re.compile(r'"text":\s*"([^"]*\w[^"]*)"')

Session = Mapping[str, Any]


def prompt_text() -> str:
    """Return the question about a conversation, without the conversation."""
    from mem0.configs.prompts import ADDITIVE_EXTRACTION_PROMPT, generate_additive_extraction_prompt

    instructions = extraction_instructions(GaiaConfig())
    fixed = generate_additive_extraction_prompt(custom_instructions=instructions, use_input_language=True)
    return f"{ADDITIVE_EXTRACTION_PROMPT}\n{fixed}"


def build_chunk(turns: Sequence[Session], before: Sequence[Session] = ()) -> Chunk:
    """Return lines of a conversation as a chunk."""
    messages, context = (
        tuple(
            Message(role="user", text=each["text"], said_at=_SAID_AT, event_id=each["dia_id"], speaker=each["speaker"])
            for each in lines
        )
        for lines in (turns, before)
    )
    turn = Turn(seq=1, messages=messages, end=EventPosition(0.0, "end"))
    return Chunk(key=SessionKey("app", "user", "session"), turns=(turn,), before=context)


def whole_session(session: Session, fact: Session) -> Chunk:
    """Return all turns of a session."""
    return build_chunk(session["turns"])


def turn_alone(session: Session, fact: Session) -> Chunk:
    """Return the turns that a fact comes from."""
    return build_chunk(_source_turns(session, fact))


def turn_with_context(session: Session, fact: Session) -> Chunk:
    """Return the turns that a fact comes from and the 1,000 characters before."""
    turns = _source_turns(session, fact)
    before: list[Session] = []
    remaining = MAX_CONTEXT_CHARACTERS
    for turn in reversed(session["turns"][: session["turns"].index(turns[0])]):
        if remaining > 0:
            before.insert(0, {**turn, "text": turn["text"][-remaining:]})
            remaining -= len(turn["text"])
    return build_chunk(turns, before)


def _source_turns(session: Session, fact: Session) -> list[Session]:
    return [turn for turn in session["turns"] if turn["dia_id"] in fact["from"]]


EXTENTS: dict[str, Callable[[Session, Session], Chunk]] = {
    "their session": whole_session,
    "their turn and the 1,000 characters before": turn_with_context,
    "their turn alone": turn_alone,
}


def measure_facts(talks: Sequence[Session], prompt: str) -> dict[str, Counter[str]]:
    """Return the origins found for the facts of the conversations, by what they were compared with."""
    origins: dict[str, Counter[str]] = {name: Counter() for name in EXTENTS}
    for talk in talks:
        sessions = {session["session"]: session for session in talk["sessions"]}
        for fact in talk["facts"]:
            session = sessions[fact["session"]]
            if not _source_turns(session, fact):
                continue
            for name, cut in EXTENTS.items():
                conversation = ConversationWords(cut(session, fact))
                origins[name][conversation.find_origin(ExtractedFact(text=fact["text"]), prompt)] += 1
    return origins


def measure_examples(talks: Sequence[Session], prompt: str) -> dict[str, tuple[int, int]]:
    """Return how many examples of the prompt are kept, and of how many: as they are, and with other names."""
    examples = _EXAMPLE.findall(prompt)
    chunks = [build_chunk(each["turns"]) for talk in talks for each in talk["sessions"][:SESSIONS_PER_CONVERSATION]]
    renamed = [_rename(each) for each in examples]
    return {
        "examples of the prompt": (_count_kept(chunks, examples, prompt), len(chunks) * len(examples)),
        "the same with other names": (_count_kept(chunks, renamed, prompt), len(chunks) * len(examples)),
    }


def measure_pairs(prompt: str) -> dict[str, Counter[tuple[str, str]]]:
    """Return the kinds and origins of the pairs by language."""
    origins: dict[str, Counter[tuple[str, str]]] = {}
    for language, kind, said, text in _pairs():
        chunk = build_chunk([{"dia_id": "1", "speaker": "user", "text": said}])
        origin = ConversationWords(chunk).find_origin(ExtractedFact(text=text), prompt)
        origins.setdefault(language, Counter())[kind, origin] += 1
    return origins


def _pairs() -> Iterator[tuple[str, str, str, str]]:
    for language, cases in yaml.safe_load(PAIRS.read_text(encoding="utf-8")).items():
        for case in cases:
            for kind in ("kept", "translated", "dropped"):
                yield from ((language, kind, case["said"], text) for text in case.get(kind, ()))


def _count_kept(chunks: Sequence[Chunk], texts: Sequence[str], prompt: str) -> int:
    return sum(_is_kept(GroundingCheck(chunk), text, prompt) for chunk in chunks for text in texts)


def _is_kept(check: GroundingCheck, text: str, prompt: str) -> bool:
    try:
        return bool(check([ExtractedFact(text=text)], prompt=prompt))
    except BadAnswerError:
        return False


def _rename(text: str) -> str:
    for name, other in OTHER_NAMES.items():
        text = text.replace(name, other)
    return text


def _facts_table(talks: Sequence[Session], prompt: str) -> Iterator[str]:
    yield from ("| facts compared with | facts | dropped | unverified |", "|---|---|---|---|")
    for name, origins in measure_facts(talks, prompt).items():
        total = origins.total()
        dropped, unverified = (f"{origins[each]} ({origins[each] / total:.2%})" for each in ("prompt", "unknown"))
        yield f"| {name} | {total} | {dropped} | {unverified} |"


def _examples_table(talks: Sequence[Session], prompt: str) -> Iterator[str]:
    yield from ("| not from the conversation | kept | of |", "|---|---|---|")
    for name, (kept, count) in measure_examples(talks, prompt).items():
        yield f"| {name} | {kept} ({kept / count:.2%}) | {count} |"


def _pairs_table(prompt: str) -> Iterator[str]:
    columns = (("kept", "prompt"), ("kept", "unknown"), ("translated", "prompt"))
    columns += (("dropped", "conversation"), ("dropped", "unknown"))
    yield "| language | true: dropped | unverified | translated: dropped | false: kept | unverified |"
    yield "|---|---|---|---|---|---|"
    for language, found in measure_pairs(prompt).items():
        totals = {kind: sum(count for (each, _), count in found.items() if each == kind) for kind, _ in columns}
        yield f"| {language} | {' | '.join(f'{found[column]} of {totals[column[0]]}' for column in columns)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="LoCoMo's file, published or reduced")
    given = parser.parse_args(arguments)
    try:
        data = json.loads(given.data.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        parser.error(f"--data: {given.data} cannot be read: {error}")
    os.environ["MEM0_TELEMETRY"] = "False"
    talks = [reduce_sample(each) if "conversation" in each else each for each in data]
    prompt = prompt_text()
    for table in (_facts_table(talks, prompt), _examples_table(talks, prompt), _pairs_table(prompt)):
        print("\n".join(table), end="\n\n")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
