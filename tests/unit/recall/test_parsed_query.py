"""A question is parsed into words with all their forms, and dates."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gaia_memory.language.tokenizer import index_tokens
from gaia_memory.recall.query.dates import DateMentions, parse_dates
from gaia_memory.recall.query.parsed_query import TermMatcher, parse_query, truncate_middle


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("What did she buy?", "bought"),
        ("Which decision was made?", "decided"),
        ("running", "runs"),
        ("children", "kid"),
        ("photography", "pictures"),
        ("каша", "КАША"),
        ("сестрой", "сестра"),
        ("синий", "синего"),
        ("станций", "станции"),
        ("καφέδων", "καφέδες"),
        ("Երևանում", "Երևան"),
        ("قهوة", "القهوة"),
        ("القطة", "قطة"),
        ("ירושלים", "בירושלים"),
        ("הטכניון", "בטכניון"),
        ("כיתה", "שבכיתה"),
        ("cat\u2060nip", "cat\u00adnip"),
        ("\u06a9\u062a\u0627\u0628\u0647\u0627\u06cc\u0645", "\u06a9\u062a\u0627\u0628\u200c\u0647\u0627\u06cc\u0645"),
        ("妹妹の犬", "私の妹妹"),
    ],
)
def test_a_word_is_found_in_its_other_forms(asked, text):
    """Irregular and derived ones, whatever the case or script, and with what a language writes onto a word."""
    assert [place for place in TermMatcher(parse_query(asked).terms).match(index_tokens(text)) if place is not None]


def test_words_of_one_family_are_one_term():
    """Said twice in other forms they are asked for once."""
    assert len(parse_query("buy bought").terms) == 1


@pytest.mark.parametrize(("asked", "text"), [("кот", "который"), ("בית", "בת"), ("بيت", "بنت"), ("בית", "ית")])
def test_another_word_of_the_same_letters_is_not_found(asked, text):
    """Endings are left out, roots are not, and what would be left of a short word is none."""
    assert not [place for place in TermMatcher(parse_query(asked).terms).match(index_tokens(text)) if place is not None]


def test_other_words_are_not_found():
    """Not by a beginning in common."""
    assert TermMatcher(parse_query("painter").terms).match(["pain", "paints", "pan"]) == [None, 0, None]


@given(st.text(max_size=200))
@example("\u00c4\u00d0")
def test_any_text_is_a_question(text):
    """Whatever it holds, each word of it is found in itself or dropped as a function word."""
    question = parse_query(text)
    places = TermMatcher(question.terms).match([word for family in question.words for word in sorted(family)])

    assert None not in places
    assert question.person_name_mask([]) == [False] * len(question.terms)


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("on 7 May 2023", DateMentions(frozenset({5}), frozenset({2023}), frozenset({7}))),
        ("on May 7th, 2023", DateMentions(frozenset({5}), frozenset({2023}), frozenset({7}))),
        ("in June", DateMentions(frozenset({6}))),
        ("in 2022", DateMentions(years=frozenset({2022}))),
        ("on 2023-05-07", DateMentions(frozenset({5}), frozenset({2023}), frozenset({7}))),
        ("2 Aug", DateMentions(frozenset({8}), days=frozenset({2}))),
        ("May I march there?", DateMentions()),
        ("in March", DateMentions(frozenset({3}))),
        ("you may", DateMentions()),
    ],
)
def test_dates_are_read_in_english_and_in_iso(text, dates):
    """ "may" only where it is a month."""
    assert parse_dates(text) == dates


@pytest.mark.parametrize(
    "text",
    [
        "in May 9999",
        "on 7 May 9999",
        "on May 7th, 9999",
        "the battle of Jun. 1815",
        "in June of 12345",
        "99999",
        "on 2023-13-45",
        "on 2023-05-45",
        "on 9999-05-07",
    ],
)
def test_a_date_that_no_talk_can_have_is_none(text):
    """Its month alone would lift what was said in that month of any year."""
    assert parse_dates(text) == DateMentions()


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("in May 2023, 5000 people", DateMentions(frozenset({5}), frozenset({2023}))),
        ("on May 7 2023", DateMentions(frozenset({5}), frozenset({2023}), frozenset({7}))),
        ("in June, and on 2023-13-45", DateMentions(frozenset({6}))),
        ("at the end of 2023-02-30", DateMentions(frozenset({2}), frozenset({2023}), frozenset({30}))),
        ("the season of 2023-24", DateMentions(years=frozenset({2023}))),
    ],
)
def test_numbers_beside_a_date_leave_it_one(text, dates):
    """A day that its month has not is a slip, near the end of it."""
    assert parse_dates(text) == dates


def test_a_name_is_the_same_when_something_is_theirs():
    """The letter behind the apostrophe names nobody."""
    assert parse_query("Who walks Maria's dog?").proper_names == {"maria"}


def test_a_question_behind_a_long_text_is_asked():
    """Of more words than are looked up it is those at both ends, and of a whole page its beginning and its end."""
    told = " ".join(f"word{number}" for number in range(200))
    page = "Dear agent, hello! " + "lorem ipsum dolor " * 5_000

    for text in (f"{told}. Where is the zorblax key?", f"Where is the zorblax key? {told}"):
        assert any("zorblax" in term for term in parse_query(text).words)
    assert any("zorblax" in term for term in parse_query(truncate_middle(f"{page} Where is the zorblax key?")).words)
    assert truncate_middle("Where is the key?") == "Where is the key?"
