"""A question is parsed into words with all their forms, and dates."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gaia_memory.language.stems import stem
from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.recall.query.dates import DateMentions, parse_dates
from gaia_memory.recall.query.parsed_query import parse_query, truncate_middle


def finds(asked, text):
    """Say whether a word of `text` is a form of a word of the question."""
    return not set().union(*parse_query(asked).terms).isdisjoint(map(stem, index_tokens(text)))


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("What did she buy?", "bought"),
        ("Which decision was made?", "decided"),
        ("running", "runs"),
        ("photography", "pictures"),
        ("сестрой", "сестра"),
        ("καφέδων", "καφέδες"),
        ("قهوة", "القهوة"),
        ("ירושלים", "בירושלים"),
        ("כיתה", "שבכיתה"),
        ("cat\u2060nip", "cat\u00adnip"),
        ("\u06a9\u062a\u0627\u0628\u0647\u0627\u06cc\u0645", "\u06a9\u062a\u0627\u0628\u200c\u0647\u0627\u06cc\u0645"),
        ("妹妹の犬", "私の妹妹"),
    ],
)
def test_a_word_matches_its_other_forms(asked, text):
    """This covers irregular and derived forms, case, scripts, and prefixes and suffixes of many languages."""
    assert finds(asked, text)


def test_forms_of_one_word_are_one_term():
    """Repeating a word in another form does not count twice."""
    assert len(parse_query("buy bought").terms) == 1


@pytest.mark.parametrize(("asked", "text"), [("кот", "который"), ("בית", "בת"), ("بيت", "بنت"), ("בית", "ית")])
def test_a_different_word_with_similar_letters_does_not_match(asked, text):
    """Endings are removed, but not from short words, and roots are kept."""
    assert not finds(asked, text)


def test_unrelated_words_do_not_match():
    """A common prefix is not enough."""
    assert [finds("painter", text) for text in ("pain", "paints", "pan")] == [False, True, False]


@given(st.text(max_size=200))
@example("\u00c4\u00d0")
def test_any_text_can_be_parsed_as_a_question(text):
    """Each of its words matches itself or is dropped as a function word."""
    question = parse_query(text)

    for term, family in zip(question.terms, question.words, strict=True):
        assert term == {stem(word) for word in family}
    assert question.person_name_mask([]) == [False] * len(question.terms)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("on 7 May 2023", DateMentions(frozenset({5}), frozenset({2023}), frozenset({7}))),
        ("on May 7th, 2023", DateMentions(frozenset({5}), frozenset({2023}), frozenset({7}))),
        ("in June", DateMentions(frozenset({6}))),
        ("in 2022", DateMentions(years=frozenset({2022}))),
        ("on 2023-05-07", DateMentions(frozenset({5}), frozenset({2023}), frozenset({7}))),
        ("May I march there?", DateMentions()),
        ("you may", DateMentions()),
        ("05/07/2023", DateMentions(frozenset({5}), frozenset({2023}), frozenset({7}))),
    ],
)
def test_dates_are_recognised(text, dates):
    """The word "may" counts only as a month."""
    assert parse_dates(text) == dates


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("What did I do yesterday?", DateMentions(frozenset({11}), frozenset({2026}), frozenset({21}))),
        ("last week", DateMentions(frozenset({11}), frozenset({2026}), frozenset(range(9, 16)))),
        ("last year", DateMentions(years=frozenset({2025}))),
        ("last summer", DateMentions(frozenset({6, 7, 8}), frozenset({2026}))),
        ("What do I have tomorrow?", DateMentions()),
        ("every Monday", DateMentions()),
    ],
)
def test_a_relative_date_is_counted_from_the_day_of_the_question(text, dates):
    """What is still to come was not talked about on that day."""
    assert parse_dates(text, datetime(2026, 11, 22, 15, tzinfo=UTC)) == dates
    assert parse_dates(text) == DateMentions()


def test_last_week_next_to_a_full_date_is_not_counted_from_the_question():
    """It is the week before that date, which is not resolved."""
    dates = parse_dates("his issue last week, as told on November 6, 2023", datetime(2026, 11, 22, 15, tzinfo=UTC))

    assert dates == DateMentions(frozenset({11}), frozenset({2023}), frozenset({6}))


@pytest.mark.parametrize("text", ["in May 9999", "on 7 May 9999", "in June of 12345", "99999", "on 2023-13-45"])
def test_an_impossible_date_is_ignored_completely(text):
    """Its month alone would favour facts from that month of any year."""
    assert parse_dates(text) == DateMentions()


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("in May 2023, 5000 people", DateMentions(frozenset({5}), frozenset({2023}))),
        ("on May 7,2023", DateMentions(frozenset({5}), frozenset({2023}), frozenset({7}))),
        ("on May 7 2023", DateMentions(frozenset({5}), frozenset({2023}), frozenset({7}))),
        ("in June, and on 2023-13-45", DateMentions(frozenset({6}))),
    ],
)
def test_numbers_next_to_a_date_do_not_spoil_it(text, dates):
    """What is no date of its own is left out."""
    assert parse_dates(text) == dates


def test_a_possessive_name_is_recognised():
    """The letter after the apostrophe is not part of the name."""
    assert parse_query("Who walks Maria's dog?").proper_names == {"maria"}


def test_a_question_before_or_after_a_long_text_is_searched_for():
    """Of too many words, those at both ends are used."""
    told = " ".join(f"word{number}" for number in range(200))
    page = "Dear agent, hello! " + "lorem ipsum dolor " * 5_000

    for text in (f"{told}. Where is the zorblax key?", f"Where is the zorblax key? {told}"):
        assert any("zorblax" in term for term in parse_query(text).words)
    assert any("zorblax" in term for term in parse_query(truncate_middle(f"{page} Where is the zorblax key?")).words)
    assert truncate_middle("Where is the key?") == "Where is the key?"
