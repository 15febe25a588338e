"""Windows, the sorted sweep, and the graph it must agree with."""

from __future__ import annotations

import random
from itertools import pairwise

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import windows

from retrivex import Window, interval_graph
from retrivex.merging.intervals import merge_windows, window_coverage


@try_examples(1500)
@given(st.lists(windows, max_size=12))
def test_the_sweep_finds_the_connected_components(some: list[Window]) -> None:
    components = []
    for component in nx.connected_components(interval_graph(some)):
        doc_id = next(iter(component)).doc_id
        components.append(Window(doc_id, min(w.start for w in component), max(w.end for w in component)))
    assert merge_windows(some) == sorted(components, key=lambda w: (w.doc_id, w.start))


@given(st.lists(windows, max_size=12), st.randoms(use_true_random=False))
def test_the_sweep_does_not_depend_on_the_order(some: list[Window], rng: random.Random) -> None:
    shuffled = rng.sample(some, len(some))
    assert merge_windows(shuffled) == merge_windows(some)
    assert merge_windows(merge_windows(some)) == merge_windows(some)


@given(st.lists(windows, max_size=12))
def test_the_sweep_keeps_every_chunk_and_adds_none(some: list[Window]) -> None:
    merged = merge_windows(some)
    inside = [(w.doc_id, i) for w in merged for i in range(w.start, w.end)]
    assert len(inside) == len(set(inside))
    assert set(inside) == {(w.doc_id, i) for w in some for i in range(w.start, w.end)}


@given(st.lists(st.integers(0, 60), max_size=20))
def test_coverage_groups_neighbouring_ids(ids: list[int]) -> None:
    ranges = window_coverage(ids)
    assert {i for first, last in ranges for i in range(first, last + 1)} == set(ids)
    assert all(a[1] + 1 < b[0] for a, b in pairwise(ranges))


def test_edges_say_whether_windows_overlap_or_touch() -> None:
    a, b, c, d = Window("d", 0, 3), Window("d", 2, 5), Window("d", 5, 6), Window("e", 2, 5)
    graph = interval_graph([a, b, c, d])
    assert graph.edges[a, b]["kind"] == "overlap"
    assert graph.edges[b, c]["kind"] == "adjacent"
    assert set(graph.edges) == {(a, b), (b, c)}


def test_a_window_is_half_open() -> None:
    window = Window("d", 2, 5)
    assert (len(window), 2 in window, 4 in window, 5 in window) == (3, True, True, False)
