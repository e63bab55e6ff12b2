"""Columns of lists and of repeated texts behave like plain lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.recall.index.columns import NO_CATEGORY, CategoryColumn, RaggedColumn
from gaia_memory.recall.index.neighbours import build_neighbour_graph

CODES = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=4), max_size=8)
LABELS = st.lists(st.sampled_from([None, "a", "b", "\u05d3", ""]), max_size=8)


def column(facts):
    return RaggedColumn.from_packed([np.array(each, dtype="<i4").tobytes() for each in facts])


def lists(codes):
    return [codes.values[first:after].tolist() for first, after in zip(codes.starts, codes.starts[1:], strict=False)]


def texts(labels):
    return [None if code == NO_CATEGORY else labels.categories[code] for code in labels.codes.tolist()]


@given(CODES, CODES, st.data())
def test_code_columns_are_selected_and_concatenated_like_lists(one, other, data):
    """Rows may be selected in any order, repeatedly or not at all."""
    both = column(one).concat(column(other))
    rows = data.draw(st.lists(st.integers(0, len(one + other) - 1), max_size=6)) if one + other else []

    assert lists(both) == one + other
    assert lists(both.select(np.array(rows, dtype=np.intp))) == [(one + other)[row] for row in rows]
    assert both.rows.tolist() == [row for row, each in enumerate(one + other) for _ in each]


@given(LABELS, LABELS, st.data())
def test_label_columns_are_selected_and_concatenated_like_lists(one, other, data):
    """Unused labels are dropped."""
    both = CategoryColumn.from_texts(one).concat(CategoryColumn.from_texts(other))
    rows = data.draw(st.lists(st.integers(0, len(one + other) - 1), max_size=6)) if one + other else []
    taken = both.select(np.array(rows, dtype=np.intp))

    assert texts(both) == one + other
    assert texts(taken) == [(one + other)[row] for row in rows]
    assert set(taken.categories) == {(one + other)[row] for row in rows} - {None}


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=10), st.data())
def test_neighbours_are_up_to_three_turns_apart(places, data):
    """Edges go both ways within one conversation, each pair once."""
    places.sort()
    talks, turns = (np.array(each, dtype=np.int64) for each in ([p[0] for p in places], [p[1] for p in places]))
    links = build_neighbour_graph(talks, turns, np.ones(len(places)), np.zeros(len(places), dtype=bool))
    chosen = sorted(data.draw(st.sets(st.integers(0, len(places) - 1)))) if places else []
    number, link = links.find_edges(np.array(chosen, dtype=np.int64))
    found = sorted(
        (chosen[each], int(links.targets[at])) for each, at in zip(number.tolist(), link.tolist(), strict=True)
    )

    assert found == sorted(
        (one, other)
        for one in chosen
        for other in range(len(places))
        if one != other and places[one][0] == places[other][0] and abs(places[one][1] - places[other][1]) <= 3
    )
