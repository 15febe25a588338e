"""Options of the windows: how far they go, what stops them, and how their chunks are joined."""

from __future__ import annotations

import threading
from typing import Any

from support.option_builders import TEN, made, windows
from support.strategies import bare, compose, hits_of, make_chunk, make_store, sentences, shown_ids


def test_window() -> None:
    assert windows({5: 1.0}, window=0) == [(5, 5)]
    assert windows({5: 1.0}, window=3) == [(2, 8)]
    assert windows({5: 1.0}, window=(0, 2)) == [(5, 7)]
    assert windows({5: 1.0}, window=(2, 4)) == [(3, 9)]


def test_expand_top() -> None:
    assert windows({2: 0.9, 7: 0.5}, window=1, expand_top=1) == [(1, 3), (7, 7)]


def test_expand_top_documents() -> None:
    store = {**TEN, **bare("e", sentences("e", 9))}
    hits = [*hits_of(store, {2: 0.9}), *hits_of(store, {4: 0.5}, "e")]
    sizes = [len(w) for w in compose(hits, store, window=1, expand_top_documents=1).trace.windows]
    assert sizes == [3, 1]


LIST = bare("d", ["Prose.", "- a", "- b", "- c", "- d", "- e", "Prose."])


def test_pool_factor() -> None:
    asked: dict[str, Any] = {"query": "anything", "token_budget": 20, "window": 1}
    narrow, wide = windows({4: 1.0}, **asked), windows({4: 1.0}, **asked, pool_factor=2)
    assert narrow == [(3, 5)]
    assert wide[0][0] < 3
    assert wide[0][1] > 5


def test_grow_until() -> None:
    assert windows({2: 1.0}, LIST, window=0) == [(2, 2)]
    assert windows({2: 1.0}, LIST, window=0, grow_until="list") == [(1, 5)]


def test_max_window() -> None:
    assert windows({2: 1.0}, LIST, window=0, grow_until=["list"], max_window=2) == [(1, 4)]


def test_follow_links() -> None:
    store = make_store(make_chunk("d", 0, "See there.", links=[("e", 4)]), make_chunk("e", 4, "There."))
    assert {span.doc_id for span in made({0: 1.0}, store, run_cost=0.0).spans} == {"d"}
    assert {span.doc_id for span in made({0: 1.0}, store, run_cost=0.0, follow_links=1).spans} == {"d", "e"}


def test_store_timeout_s() -> None:
    go_on = threading.Event()

    class Slow:
        def fetch(self, windows: Any, scope: Any = None) -> Any:
            go_on.wait()
            return [TEN["d", 4]]

    hits = hits_of(TEN, {5: 1.0})
    assert shown_ids(compose(hits, Slow(), store_timeout_s=0.02).spans) == [5]
    go_on.set()
    assert shown_ids(compose(hits, Slow(), store_timeout_s=None).spans) == [4, 5]


HEADED = make_store(*(make_chunk("d", i, f"t{i}", heading_path=("A", "xy"[i // 2])) for i in range(4)))


def test_stop_on_heading_change() -> None:
    assert windows({1: 1.0}, HEADED) == [(0, 1)]
    assert windows({1: 1.0}, HEADED, stop_on_heading_change=False) == [(0, 3)]


VECTORS = [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]
EMBEDDED = make_store(
    *(make_chunk("d", i, f"t{i}", heading_path=(f"H{i}",), embedding=vector) for i, vector in enumerate(VECTORS))
)


WORDS = make_store(
    make_chunk("d", 0, "Honey bees store nectar.", heading_path=("A",)),
    make_chunk("d", 1, "Nectar makes honey sweet.", heading_path=("B",)),
)


def test_min_continuity() -> None:
    # cosines 0.8 and 0.6
    assert windows({0: 1.0}, EMBEDDED, min_continuity=0.5) == [(0, 2)]
    assert windows({0: 1.0}, EMBEDDED, min_continuity=0.7) == [(0, 1)]
    assert windows({0: 1.0}, EMBEDDED, min_continuity=0.9) == [(0, 0)]
    # without embeddings 0.7 of it: honey, nectar of four words each: 0.5
    assert windows({0: 1.0}, WORDS, min_continuity=0.71) == [(0, 1)]
    assert windows({0: 1.0}, WORDS, min_continuity=0.72) == [(0, 0)]


def test_stop_on_change() -> None:
    store = make_store(*(make_chunk("d", i, f"t{i}", page=i // 2) for i in range(4)))
    assert windows({1: 1.0}, store) == [(0, 3)]
    assert windows({1: 1.0}, store, stop_on_change="page") == [(0, 1)]


GAPPED = make_store(make_chunk("d", 0, "The bird", 0), make_chunk("d", 1, "sings.", 10))


def test_max_gap_chars() -> None:
    assert len(made({0: 0.9, 1: 0.8}, GAPPED, max_gap_chars=2).spans) == 1
    assert len(made({0: 0.9, 1: 0.8}, GAPPED, max_gap_chars=1).spans) == 2
