"""SpectRAG re-built: its edges, its nearness in the graph and its order, each worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.evidence.ranges import RangeSystem
from retrivex import Chunk, ChunkMetadata, SeedHit
from retrivex.evaluation.run import Case, Index

pytest.importorskip("scipy")  # it comes with what benchmarks/requirements.txt installs

from benchmarks.evidence import peers_graph
from benchmarks.evidence.peers_graph import Edges, Graph, by_coverage, calibrated, combine, gate, section

pytestmark = pytest.mark.integration

FIXED, CALIBRATED = peers_graph.graph_systems()


def index_of(documents: Sequence[Sequence[str]], vectors: Sequence[Sequence[float]] | None = None) -> Index:
    chunks = []
    for doc, texts in enumerate(documents):
        start = 0
        for number, text in enumerate(texts):
            chunks.append(Chunk(text, ChunkMetadata(str(doc), number, start, start + len(text))))
            start += len(text)
    # without vectors, each chunk is unlike all others
    rows = np.eye(len(chunks), dtype=np.float32) if vectors is None else np.array(vectors, dtype=np.float32)
    whole = {str(doc): "".join(texts) for doc, texts in enumerate(documents)}
    return Index(whole, tokenizer=lambda text: len(text.split()), chunks=chunks, vectors=rows)


def shown(
    system: RangeSystem, index: Index, question: str, embedding: Sequence[float], hits: Sequence[int]
) -> list[str]:
    found = [SeedHit(index.chunks[place], 0.5) for place in hits]
    case = Case(question, found, index, 100, "dense", np.array(embedding, dtype=np.float32))
    return [index.documents[doc_id][start:end] for doc_id, start, end in system.answer(case).ranges]


def test_next_chunks_and_near_ones_are_linked() -> None:
    index = index_of([["a0 ", "a1 "], ["b0 ", "b1 "]], [(1, 0), (0, 1), (0.8, 0.6), (-0.6, 0.8)])
    expected = np.zeros((4, 4))
    expected[0, 1] = expected[2, 3] = 0.1  # next to each other
    expected[0, 2] = expected[1, 3] = 0.15  # cosine 0.8; that of a1 and b0, 0.6, is too low
    assert Graph(index).edges.toarray() == pytest.approx(expected + expected.T)


def test_weak_edges_are_dropped_unless_the_weights_are_calibrated() -> None:
    near = Edges.of({(0, 1): 0.8, (1, 2): 0.9, (0, 2): 1.0})  # scaled: 0, 1/2, 1
    kinds = {"adjacency": Edges.of({}), "section": Edges.of({}), "semantic": near}
    assert combine(kinds, peers_graph.WEIGHTS, 3)[[0, 1, 0], [1, 2, 2]].tolist() == pytest.approx([0, 0, 0.15])
    weights = calibrated(kinds)
    assert weights == pytest.approx({"adjacency": 0.1, "section": 0, "semantic": 0.9})
    assert combine(kinds, weights, 3)[[0, 1, 0], [1, 2, 2]].tolist() == pytest.approx([0, 0.45, 0.9])


def test_weights_are_shared_by_number_and_spread() -> None:
    four = Edges.of({(0, 1): 0.0, (0, 2): 1.0, (1, 2): 0.0, (0, 3): 1.0})  # root of 4, spread 1/2
    sixteen = Edges.of({(0, at): at % 2 for at in range(1, 17)})  # root of 16, spread 1/2
    weights = calibrated({"adjacency": Edges.of({}), "section": four, "semantic": sixteen})
    assert weights == pytest.approx({"adjacency": 0.1, "section": 0.3, "semantic": 0.6})
    alike = Edges.of({(0, 1): 0.8, (0, 2): 0.8})
    assert calibrated({"adjacency": Edges.of({}), "semantic": alike}) == peers_graph.WEIGHTS


def test_chunks_below_the_same_headings_are_linked() -> None:
    paths = [("A", "B"), ("A", "B"), ("A",), ("C",)]
    chunks = [Chunk("x", ChunkMetadata("d", at, at, at + 1, heading_path=path)) for at, path in enumerate(paths)]
    found = section(Index({"d": "xxxx"}, tokenizer=len, chunks=chunks))
    scores = dict(zip(map(tuple, found.pairs.tolist()), found.scores.tolist(), strict=True))
    assert scores == {(0, 1): 1.0, (0, 2): 0.5, (1, 2): 0.5}


def test_coordinates_of_a_chain_of_four() -> None:
    # Eigenvalues 0, 1/2, 3/2 and 2. The first goes, and the last as one less than the chunks is asked for: what is left
    # of the identity is -sqrt(d_i d_j)/3 between chunks two apart (degrees 1, 2, 2, 1), and nothing between neighbours.
    rows = Graph(index_of([["a ", "b ", "c ", "d "]])).coordinates
    assert rows @ rows.T == pytest.approx(np.array([[1, 0, -1, 0], [0, 1, 0, -1], [-1, 0, 1, 0], [0, -1, 0, 1]]))


def test_chunks_of_one_of_many_parts_have_one_direction() -> None:
    index = index_of([["a ", "b "]] * 40)
    rows = Graph(index).coordinates
    cosines = rows @ rows.T
    parts = np.arange(80) // 2
    same = parts[:, None] == parts[None, :]
    assert cosines[same] == pytest.approx(1)
    assert np.abs(cosines[~same]).max() < 0.95
    assert (Graph(index).coordinates == rows).all()


def test_chunks_are_reached_in_two_steps_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(index_of([[f"{at} " for at in range(8)]]))
    assert graph.expand([3]) == [3, 2, 4, 1, 5]
    assert graph.expand([7, 0]) == [7, 0, 6, 1, 5, 2]
    monkeypatch.setattr(peers_graph, "CANDIDATES", 3)
    assert graph.expand([3]) == [3, 2, 4]


def test_nearness_to_a_seed_of_two_chunks() -> None:
    # p0 = .15 + .85 p1 and p1 = .85 p0; two chunks have no eigenspace and count as near in it
    assert Graph(index_of([["a ", "b "]])).proximity([0, 1], [0]).tolist() == pytest.approx([1, (1 + 0.85) / 2])


def test_without_edges_only_the_coordinates_count() -> None:
    assert Graph(index_of([["a "], ["b "]])).proximity([0, 1], [0]).tolist() == [1, 1]


@pytest.mark.parametrize("system", [FIXED, CALIBRATED], ids=lambda system: system.name)
def test_a_neighbour_that_answers_comes_before_the_hit(system: RangeSystem) -> None:
    index = index_of([["Bees sleep. ", "Ants work. "]], [(0.6, 0.8), (1, 0)])
    # no shared word: .5 * .6 + .5 = .8 of the hit, .5 * 1 + .5 * .925 = .9625 of the other
    assert shown(system, index, "Why?", (1, 0), [0]) == ["Ants work. ", "Bees sleep. "]
    # .5 (.7 * .6 + .3) + .5 = .86 of the hit, .5 * .7 + .5 * .925 = .8125 of the other
    assert shown(system, index, "Why do bees?", (1, 0), [0]) == ["Bees sleep. ", "Ants work. "]


def test_chunks_that_no_edge_reaches_are_not_shown() -> None:
    index = index_of([["Bees. ", "Ants. "], ["Moths. "]])
    assert set(shown(FIXED, index, "Moths?", (1, 0, 0), [0])) == {"Bees. ", "Ants. "}
    assert shown(FIXED, index, "Moths?", (1, 0, 0), []) == []


def test_of_nearly_equal_chunks_that_of_a_new_document_comes_first() -> None:
    documents = {0: "a", 1: "a", 2: "b", 3: "a"}
    assert by_coverage({0: 1.0, 1: 0.99, 2: 0.975, 3: 0.5}, documents) == [0, 2, 1, 3]
    assert by_coverage({0: 1.0, 1: 0.99, 2: 0.965, 3: 0.5}, documents) == [0, 1, 2, 3]  # .98 * .99 = .9702


def test_beyond_the_fifth_weak_chunks_go_to_the_end_or_out() -> None:
    scores = dict(enumerate([1.0, 0.9, 0.8, 0.7, 0.4, 0.5, 0.6, 0.2]))
    assert gate(list(scores), scores) == [0, 1, 2, 3, 4, 6, 5]


def test_an_index_without_vectors_is_refused() -> None:
    with pytest.raises(ValueError, match="give it an encoder"):
        Graph(Index({"d": "Bees. Ants."}, tokenizer=len, size=6))
