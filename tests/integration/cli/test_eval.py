"""`gaia eval`: questions whose answers are known, asked of facts, of a user and of talks, ours beside plain mem0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.checkout import ROOT
from support.cli.cli_runner import CommandResult, gaia_home, run_gaia, write_offline_config
from support.cli.docs_pages import run_page
from support.servers.fake_gemini import facts

if TYPE_CHECKING:
    from support.servers.fake_gemini import FakeGemini

QUESTIONS = """\
facts:
  - I'm allergic to nuts.
  - {id: home, text: "I live in Lyon.", said_at: 2026-03-01, key: user/home}
  - My sister Noa likes jasmine tea, and to sit at home.
questions:
  - {ask: "What am I allergic to?", expect: nuts}
  - {ask: "Where do I live?", expect: home}
  - {ask: "Which tea does my sister Noa like?", expect: green tea | Jasmine}
  - {ask: "Where does my sister Noa live?", expect: Oslo}
  - {ask: "Which tea does Noa like?", expect: home}
  - {ask: "Quel âge a mon chien?", nothing: true}
"""
TALK = """\
talks:
  - conversations:
      - {date: 2026-01-05, messages: [{role: user, content: "I live in Geneva, and I am a nurse."}]}
      - {date: 2026-03-05, messages: [{role: user, content: "I have moved to Lyon."}]}
    truth: [Lyon, nurse, two cats]
    questions:
      - {ask: "Where do I live?", expect: Lyon, was: Geneva}
"""


def evaluate(folder: Path, content: str, *arguments: str, name: str = "questions.yaml") -> CommandResult:
    config, file = write_offline_config(folder), folder / name
    file.write_text(content, encoding="utf-8")
    return run_gaia("eval", str(file), "--config", str(config), *arguments)


def test_facts_of_a_file_are_asked_about_in_a_temporary_home(tmp_path: Path) -> None:
    """A miss names what it lost to; a fact is expected by its words, one of two spellings, or its id."""
    report = evaluate(tmp_path, QUESTIONS, "--json").json_output
    ours: dict[str, Any] = report["systems"]["gaia"]
    wrong = report["wrong"]["gaia"]

    assert [ours["right first"], ours["silence"]] == [0.6, 1.0]
    assert 0 < ours["precision"] < 1
    assert 0 < ours["p50 ms"] <= ours["p95 ms"]
    assert [each["expected"] for each in wrong] == [["Oslo"], ["home"]]
    assert (wrong[0]["place"], wrong[0]["first"]) == (None, "My sister Noa likes jasmine tea, and to sit at home.")
    assert not gaia_home().exists()


@pytest.mark.slow
def test_a_user_of_the_home_is_asked_about_beside_plain_mem0(tmp_path: Path) -> None:
    """Lines of JSON may hold the questions; the user's facts stay as they are."""
    config = str(write_offline_config(tmp_path))
    assert run_gaia("memory", "add", "-u", "ada", "-c", config, "I like green tea.").code == 0
    lines = '{"ask": "What do I like?", "expect": "tea"}\n\n{"ask": "What do I drive?", "nothing": true}\n'
    done = evaluate(tmp_path, lines, "--user", "ada", "--against", "mem0", name="questions.jsonl")
    stranger = evaluate(tmp_path, lines, "--user", "bob", name="questions.jsonl")

    assert done.code == 0, done.err
    assert done.out.splitlines()[0].split() == ["gaia", "mem0"]
    assert "mem0 was wrong about 1 question" in done.out
    assert (stranger.code, "bob has no facts to ask about" in stranger.err) == (1, True)


@pytest.mark.slow
def test_talks_are_learned_first_by_the_configured_model(tmp_path: Path, gemini: FakeGemini) -> None:
    """The report says which true facts are kept, what is outdated and invented, and what the model took."""
    gemini.add("extractor", facts("User lives in Geneva", "User is a nurse"), facts("User lives in Lyon", "User sails"))
    report = evaluate(tmp_path, TALK, "--json").json_output
    learned = report["learned"]

    assert (learned["kept"], learned["true"], learned["facts"]) == (2, 3, 4)
    assert (learned["outdated"], learned["invented"]) == (1, ["User sails"])
    assert learned["tokens"]["input"] > 0
    assert report["systems"]["gaia"]["current first"] in (0.0, 1.0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("questions: [{ask: a, expect: b}]", "there is nothing to ask about: write `facts` or `talks` into it"),
        (
            "facts: [{text: a, id: '1'}, {text: b, id: '1'}]\nquestions: [{ask: a, expect: a}]",
            "two facts have the id '1': give each one of its own",
        ),
        ("user: ada\nfacts: [a]\nquestions: [{ask: a, expect: b}]", "ada is to be asked: leave out one of the two"),
        ("facts: [a]", "pass `questions` beside facts or a user"),
        ("facts: [a]\nquestions: [{ask: a}]", "questions 1: pass `expect: TEXT` for what should come"),
        ("facts: [a]\nquestions: [{ask: a, expects: b}]", "questions 1, expects: 'b': this key is unknown"),
        (
            "facts: [{text: a, key: b}]\nquestions: [{ask: a, expect: b}]",
            "facts 1: NewFact.key is 'b': pass whose/what",
        ),
        ("facts: [a]\nquestions: [{ask: a?, expect: b}]", "line 2 is not YAML"),
        ("talks: [{conversations: [{date: 1}], questions: [{ask: a, expect: b}]}]", "conversation 1 has no messages"),
    ],
)
def test_an_unclear_file_is_refused_with_the_place_and_the_fix(tmp_path: Path, content: str, message: str) -> None:
    """Nothing is asked."""
    done = evaluate(tmp_path, content)

    assert (done.code, message in done.err) == (1, True), done.err


def test_an_unclear_line_is_refused_by_its_number(tmp_path: Path) -> None:
    """Each line is a question, a fact or a talk; a file that is not there is a wrong argument."""
    wrong_lines = ["{", json.dumps({"ask": "a", "text": "b"}), json.dumps({"ask": "a"})]
    told = [evaluate(tmp_path, f'{{"text": "a"}}\n{line}', name="a.jsonl").err for line in wrong_lines]

    assert ["line 2" in each for each in told] == [True] * 3
    assert run_gaia("eval", str(tmp_path / "none.yaml")).code == 2


@pytest.mark.slow
def test_the_page_works_as_printed(tmp_path: Path) -> None:
    """Without a key, with the twenty talks of the repository."""
    talks = "docs/examples/talks.yaml"
    shown, _ = run_page("how-to/evaluate.md", tmp_path, replacements={talks: str(ROOT / talks)}, environment={})

    assert [(each.missing_lines, each.printed) for each in shown if each.missing_lines] == []
    assert len(shown) == 2
