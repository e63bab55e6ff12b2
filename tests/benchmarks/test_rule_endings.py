"""The list of endings is made of facts and messages, by person and as if one user had said them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import rule_endings


def test_each_ending_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ben moved; Ann is another person, unless all is pooled."""
    turns = [{"speaker": "Ben", "text": "I eat meat."}], [{"speaker": "Ben", "text": "I no longer eat meat."}]
    talk = {
        "id": "own",
        "speakers": ["Ann", "Ben"],
        "sessions": [{"session": number, "turns": said} for number, said in enumerate(turns, start=1)],
        "facts": [
            {"session": 1, "about": "Ben", "text": "Ben lives in Oslo."},
            {"session": 2, "about": "Ben", "text": "Ben moved to Rome."},
            {"session": 3, "about": "Ann", "text": "Ann lives in Paris."},
        ],
    }
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([talk]), encoding="utf-8")

    assert rule_endings.main(["--data", str(file)]) == 0
    told = capsys.readouterr().out

    assert (
        "extracted facts: 3 statements, 1 decisions\n  UPDATE home: Ben moved to Rome. | ['Ben lives in Oslo.']" in told
    )
    assert "messages: 2 statements, 1 decisions\n  DELETE no-longer: I no longer eat meat." in told
    assert "extracted facts, as if one user had said all: 3 statements, 2 decisions" in told


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is no traceback."""
    with pytest.raises(SystemExit):
        rule_endings.main(["--data", str(tmp_path / "none.json")])

    assert "none.json cannot be read" in capsys.readouterr().err
