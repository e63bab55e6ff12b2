"""The grounding benchmark runs on a small conversation; of LoCoMo's facts, hardly any may be dropped."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks import grounding

TALK = {
    "id": "own",
    "sessions": [
        {
            "session": 1,
            "turns": [
                {"dia_id": "D1:1", "speaker": "Ann", "text": "Which film did you see?"},
                {"dia_id": "D1:2", "speaker": "Ben", "text": "Solaris, with my sister."},
            ],
        }
    ],
    "facts": [
        {"session": 1, "text": "Ben saw Solaris with his sister", "from": ["D1:2"]},
        {"session": 1, "text": "The orchestra rehearses Mahler", "from": ["D1:2"]},
        {"session": 1, "text": "Ann rehearses Mahler", "from": ["D1:1"]},
        {"session": 1, "text": "Left out", "from": ["D9:9"]},
    ],
    "qa": [],
}


def test_the_benchmark_counts_what_is_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fact of which no word was said is unverified; copies of the prompt are dropped."""
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([TALK]), encoding="utf-8")

    assert grounding.main(["--data", str(file)]) == 0
    told = capsys.readouterr().out

    assert "| their session | 3 | 0 (0.00%) | 2 (66.67%) |" in told
    assert "| examples of the prompt | 0 (0.00%) |" in told
    assert "| de | 0 of" in told


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is no traceback."""
    with pytest.raises(SystemExit):
        grounding.main(["--data", str(tmp_path / "none.json")])

    assert "none.json cannot be read" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif("GAIA_LOCOMO_FILE" not in os.environ, reason="set GAIA_LOCOMO_FILE to LoCoMo's file")
def test_hardly_any_reference_fact_is_dropped_and_hardly_any_echo_is_kept() -> None:
    """At most 0.5 % of the facts, and at most 1 % of the prompt's examples."""
    talks = json.loads(Path(os.environ["GAIA_LOCOMO_FILE"]).read_text(encoding="utf-8"))
    talks = [grounding.reduce_sample(each) if "conversation" in each else each for each in talks]
    prompt = grounding.prompt_text()

    for name, origins in grounding.measure_facts(talks, prompt).items():
        assert origins["prompt"] <= 0.005 * origins.total(), name
    kept, count = grounding.measure_examples(talks, prompt)["examples of the prompt"]
    assert kept <= 0.01 * count
