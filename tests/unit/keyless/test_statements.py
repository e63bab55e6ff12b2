"""What a message teaches without a model."""

from __future__ import annotations

import pytest

from gaia_memory.keyless.statements import find_statements, is_question


@pytest.mark.parametrize(
    ("message", "learned"),
    [
        ("I live in Rome. My dog is called Rex!", ["I live in Rome.", "My dog is called Rex!"]),
        ("I like tea\n- and figs with honey\nI like tea", ["I like tea", "and figs with honey"]),
        ("My dentist is Dr. Smith, see J. Doe.", ["My dentist is Dr. Smith, see J. Doe."]),
        ("私は東京に住んでいます。どこに住んでいますか\uff1f", ["私は東京に住んでいます。"]),
        ("Hi, I am Ada from Graz", ["Hi, I am Ada from Graz"]),
        ("Good news, I got the job", ["Good news, I got the job"]),
        ("remember that I like teal", ["I like teal"]),
        ("Note this:\n```\nx = open(path)\n```\nI work on parsers.", ["I work on parsers."]),
        ("I wrote this:\n  print(x);\n> I live in Bonn\nIt works well.", ["I wrote this:", "It works well."]),
    ],
)
def test_each_sentence_is_kept_as_written(message: str, learned: list[str]) -> None:
    """In any script, once, without the questions, code and quoted lines around it."""
    assert find_statements(message) == learned


@pytest.mark.parametrize(
    "message",
    [
        *("", "Yes, please", "Hi there!", "Ok thanks"),
        "Please write me a poem about tea",
        *("Where do I live?", '"Where do I live?"', "Where do I live?!", "Πού μένω τώρα εγώ;"),
        *("```\nI live in Rome\n```", "```\nI live in Rome", "~~~\nI live in Rome\n~~~\nok"),
    ],
)
def test_questions_requests_greetings_short_remarks_and_code_teach_nothing(message: str) -> None:
    """The Greek question mark is a code point of its own, which looks like a semicolon."""
    assert find_statements(message.replace("εγώ;", "εγώ\u037e")) == []


@pytest.mark.parametrize("mark", ["?", "\uff1f", "\u037e", "፧"])
def test_a_question_ends_with_the_mark_of_any_script(mark: str) -> None:
    """Whatever closes it."""
    assert is_question(f"x{mark}")
    assert is_question(f"(x{mark})")
    assert not is_question(f"x{mark} y")
