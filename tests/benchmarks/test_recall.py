"""The recall benchmark runs, and ours ranks above its peers on a small conversation and on long messages."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from benchmarks import mixed_conversations, recall
from benchmarks.recall import (
    OURS,
    RECALL_DEPTHS,
    VECTORS_ONLY,
    WEIGHTS,
    measure,
)
from benchmarks.recall_baselines import BASELINES
from benchmarks.recall_data import Conversation, load_conversations, locomo_conversations, reduce_sample

MEM0, BM25 = BASELINES["mem0"][0], BASELINES["bm25"][0]
SAID = [
    ("2:00 pm on 8 May, 2023", ["Ann: Which film did you see?", "Ben: Solaris, with my sister.", "Ann: Nice."]),
    ("2:00 pm on 9 June, 2023", ["Ben: I bought a red bike.", "Ann: I painted a lake.", "Ben: I painted a bike."]),
    ("2:00 pm on 1 July, 2023", [f"Ann: the film number {number} about a bike and a lake" for number in range(20)]),
]
ASKED = [
    ("Which film did Ben see?", ["D1:2"]),
    ("What did Ann paint?", ["D2:2"]),
    ("What did Ben buy in June 2023?", ["D2:1"]),
]
FIGURES = {
    "first",
    *(f"R@{depth}" for depth in RECALL_DEPTHS),
    "any@10",
    "all@10",
    "nDCG@10",
    "p50 ms",
    "p95 ms",
    "written/s",
}


def turns(number: int, lines: list[str]) -> list[dict[str, str]]:
    return [
        {"dia_id": f"D{number}:{place}", "speaker": line.split(": ")[0], "text": line.split(": ", 1)[1]}
        for place, line in enumerate(lines, 1)
    ]


def questions() -> list[dict[str, Any]]:
    told = [{"question": question, "evidence": evidence, "category": 1} for question, evidence in ASKED]
    left_out = [{"question": "?", "evidence": ["D9:9"], "category": 1}, {**told[0], "category": 5}]
    return [*told, *left_out]


def data() -> list[Any]:
    sessions = [
        {"session": number, "date_time": when, "turns": turns(number, lines)}
        for number, (when, lines) in enumerate(SAID, 1)
    ]
    facts = [{"session": 1, "text": "Ben saw Solaris with his sister", "from": ["D1:2"]}]
    return [{"id": "own", "sessions": sessions, "qa": questions(), "facts": facts}]


def published() -> list[Any]:
    """Return the same conversation in the form in which LoCoMo was published."""
    talk: dict[str, Any] = {"speaker_a": "Ann", "speaker_b": "Ben"}
    for number, (when, lines) in enumerate(SAID, 1):
        talk |= {f"session_{number}": turns(number, lines), f"session_{number}_date_time": when}
    talk["session_1"][1] |= {"img_url": ["https://images.invalid/1.jpg"], "blip_caption": "a photo of a bike"}
    seen = {"Ben": [["Ben saw Solaris with his sister", "D1:2"]], "Ann": []}
    observed = {"session_1_observation": seen}
    return [{"sample_id": "own", "conversation": talk, "qa": questions(), "observation": observed}]


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "count"), [pytest.param("turns", 3, marks=pytest.mark.slow), ("facts", 1)])
def test_ours_ranks_above_its_peers(tmp_path: Path, capsys: pytest.CaptureFixture[str], shape: str, count: int) -> None:
    """The right answer comes first, but not without the speaker; results go to a table and a file."""
    source, figures = tmp_path / "talk.json", tmp_path / "figures.json"
    source.write_text(json.dumps(data()), encoding="utf-8")

    asked = ["--data", str(source), "--shape", shape, "--json", str(figures)]
    assert recall.main(asked) == 0

    told = json.loads(figures.read_text(encoding="utf-8"))
    assert told["questions"] == count
    off = {f"{OURS}, no {stage}" for stage in WEIGHTS if stage != "vectors"}
    assert set(told["systems"]) == {OURS, VECTORS_ONLY, *off, *(name for name, _ in BASELINES.values())}
    for system, each in told["systems"].items():
        assert set(each) == FIGURES, system
        assert all(value is not None for value in each.values()), system
        assert told["conversations"][system] == {"own": each["R@10"]}
    gains = {system: each["nDCG@10"] for system, each in told["systems"].items()}
    assert gains[OURS] == 1
    assert gains[OURS] > max(gains[MEM0], gains[BM25]) or shape == "facts"
    assert (gains[f"{OURS}, no speaker"] < 1) == (shape == "turns")
    assert f"| {OURS} | 1.000 |" in capsys.readouterr().out


async def shares(talks: list[Conversation]) -> dict[str, float]:
    figures = await measure(
        talks, [OURS, "mem0", "bm25"], {"provider": "offline"}, ablation=False, weights={}, tell=print
    )
    return {name: fmean(each.at(10)) for name, each in figures.items()}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ours_finds_more_in_long_messages_than_its_peers() -> None:
    """Details are mentioned in passing between answers of thousands of characters."""
    told = asyncio.run(shares(load_conversations(None, "mixed")[:1]))

    assert told[OURS] > max(told[MEM0], told[BM25])


@pytest.mark.slow
def test_ours_finds_more_in_long_messages_without_speaker_names() -> None:
    """This covers all users, and no message starts with a name."""
    told = asyncio.run(shares(load_conversations(None, "mixed-bare")))

    assert told[OURS] > max(told[MEM0], told[BM25])


def test_the_published_and_the_reduced_form_give_the_same_conversations() -> None:
    """Memories, dates, places and questions are equal, so anyone can use the public file."""
    for shape in ("turns", "facts"):
        assert list(locomo_conversations(published(), shape)) == list(locomo_conversations(data(), shape))
    assert reduce_sample(published()[0])["facts"] == data()[0]["facts"]


def test_mixed_conversations_are_deterministic_and_complete() -> None:
    """There are enough messages, and every question has its answer."""
    first, again = list(mixed_conversations.mixed_conversations()), list(mixed_conversations.mixed_conversations())

    assert first == again
    assert sum(len(talk.messages) for talk in first) >= 400
    assert sum(len(talk.questions) for talk in first) >= 60
    for talk in load_conversations(None, "mixed"):
        there = set().union(*(held for _, held in talk.memories))
        assert all(evidence <= there for _, evidence in talk.questions)
        assert max(len(fact.text) for fact, _ in talk.memories) > 3_000
