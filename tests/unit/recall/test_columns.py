"""The graph of facts that were said near each other."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gaia_memory.recall.index.fact_columns import build_neighbour_graph


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
