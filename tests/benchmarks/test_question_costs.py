"""Learning a session asks fewer questions than mem0's `add` for each of its turns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import question_costs


@pytest.mark.slow
def test_the_costs_of_both_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two sessions of two turns, and one fact that is similar to an earlier one."""
    said = ["I love pizza from Napoli.", "Nice!", "I live in Oslo.", "Cool!"], ["I hate pizza from Napoli.", "Oh."]
    sessions = [
        {
            "session": number,
            "turns": [
                {"dia_id": f"D{number}:{place}", "speaker": ("Ann", "Ben")[place % 2], "text": text}
                for place, text in enumerate(texts)
            ],
        }
        for number, texts in enumerate(said, start=1)
    ]
    facts = [
        {"session": number, "about": "Ann", "text": f"Ann {verb} pizza from Napoli.", "from": [f"D{number}:0"]}
        for number, verb in enumerate(("loves", "hates"), start=1)
    ]
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([{"id": "own", "speakers": ["Ann", "Ben"], "sessions": sessions, "facts": facts}]))

    assert question_costs.main(["--data", str(file)]) == 0
    rows = [line.split("|")[1:3] for line in capsys.readouterr().out.splitlines()[2:]]

    assert [(name.strip(), questions.strip()) for name, questions in rows] == [
        ("ours, extracting", "0.67"),
        ("ours, comparing", "0.33"),
        ("mem0's `add`", "1.00"),
    ]
