"""Text features contain everything that recall compares."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.language.stems import stem_code, word_code
from gaia_memory.language.text_features import extract_features, has_current_version, unpack_features
from gaia_memory.language.tokenizer import compound_tokens, index_tokens

ANY = st.text(st.characters(), max_size=200)


def codes(packed):
    return list(struct.unpack(f"<{len(packed) // 4}i", packed))


@given(ANY, st.one_of(st.none(), ANY))
def test_packed_features_are_unpacked_unchanged(text, said_by):
    """This includes broken characters, emoji and empty texts."""
    packed = extract_features(text, said_by)
    traits = unpack_features(packed)

    assert has_current_version(packed)
    assert codes(traits.compounds) == [stem_code(word) for word in compound_tokens(text)]
    assert 0 <= traits.question_share <= 1
    if said_by:
        assert traits.speaker == said_by.casefold()
    if traits.speaker is None:
        assert codes(traits.words) == [stem_code(word) for word in index_tokens(text)]


@given(st.sampled_from(["Anna: ", "Dr. Anna Bell: ", "\u05d3\u05e0\u05d4: ", "J\u00e9an-Luc: "]), ANY)
def test_the_words_of_a_leading_speaker_name_are_not_words_of_the_text(name, text):
    """The text is treated as if the name were absent."""
    text = text.strip()
    said = unpack_features(extract_features(name + text, None))

    assert said.speaker == name[:-2].casefold()
    assert codes(said.words) == [stem_code(word) for word in index_tokens(text)]
    assert said.leading_names == b""


def test_only_a_text_without_a_speaker_has_leading_names():
    """A speaker who starts with a name is addressing that person."""
    names = [word_code("maria"), word_code("lopez")]

    assert codes(unpack_features(extract_features("Maria Lopez volunteers", None)).leading_names) == names
    assert unpack_features(extract_features("Maria Lopez volunteers", "John")).leading_names == b""


def test_word_codes_are_equal_in_every_process():
    """They are stored, and Python's own hash differs between processes."""
    assert word_code("tea") == 0xE86D7B2
    assert stem_code("volunteers") == word_code("volunt")


@pytest.mark.parametrize("packed", [None, b"\x00old"])
def test_features_of_another_version_are_outdated(packed):
    """They are computed again."""
    assert not has_current_version(packed)
