"""The benchmark of recall runs, and ranks a talk of our own as it should be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import recall
from benchmarks.recall import BM25, OURS

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


def data() -> list[object]:
    sessions = [
        {
            "session": number,
            "date_time": when,
            "turns": [
                {"dia_id": f"D{number}:{place}", "speaker": line.split(": ")[0], "text": line.split(": ", 1)[1]}
                for place, line in enumerate(lines, 1)
            ],
        }
        for number, (when, lines) in enumerate(SAID, 1)
    ]
    questions = [{"question": question, "evidence": evidence, "category": 1} for question, evidence in ASKED]
    left_out = [{"question": "?", "evidence": ["D9:9"], "category": 1}, {**questions[0], "category": 5}]
    facts = [{"session": 1, "text": "Ben saw Solaris with his sister", "from": ["D1:2"]}]
    return [{"id": "own", "sessions": sessions, "qa": [*questions, *left_out], "facts": facts}]


@pytest.mark.parametrize(("shape", "questions"), [("turns", 3), ("facts", 1)])
def test_ours_ranks_above_plain_bm25(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shape: str, questions: int
) -> None:
    """All of it first, and not without knowing who spoke; told in a table and a file."""
    source, figures = tmp_path / "talk.json", tmp_path / "figures.json"
    source.write_text(json.dumps(data()), encoding="utf-8")

    assert recall.main(["--data", str(source), "--shape", shape, "--json", str(figures)]) == 0

    told = json.loads(figures.read_text(encoding="utf-8"))
    assert told["questions"] == questions
    gains = {system: each["nDCG@10"] for system, each in told["systems"].items()}
    assert gains[OURS] == 1
    assert (gains[BM25] < 1) == (gains[f"{OURS}, no speaker"] < 1) == (shape == "turns")
    assert f"| {OURS} | 1.000 |" in capsys.readouterr().out
