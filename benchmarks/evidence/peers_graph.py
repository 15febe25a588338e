r"""SpectRAG, re-built: hits are widened along a graph of the chunks and ranked by how near the hits they are in it.

SpectRAG ("Spectral Graph-Augmented Retrieval", GitHub SightAndCite/SpectRAG, MIT) is a program and no package: it wants
Ollama, OpenAI and Neo4j. This is its selection from hits to chunks, written anew from `project_pipeline.md` (commit
db98dab9), `rag_system/indexing/{graph_builder,spectral,weight_calibrator}.py`, `rag_system/indexing/edges` and
`rag_system/query` (commits 28881416, 37e19c73, b3d6e5fa, db98dab9), with the defaults of `config.py` (commit 56e417a0;
the weights that the pipeline document names are others).

The graph, once for an index. Of its six kinds of edges only those are made that need no language model and no
recognition of names:

- adjacency, weight .1: 1 between a chunk and the next of its document;
- section, weight .2: the number of titles that two heading paths share from the top, over the length of the longer
  path; the first 100 chunks below a heading. The benchmark's chunks have no heading paths, so that there are none;
- semantic, weight .15: the cosine of a chunk and each of its 7 nearest, from .75.

The scores of a kind are scaled to [0, 1] by their least and greatest, all to 1 if they are equal. An edge weighs the
sum of weight times score, and is dropped below .1. Each chunk has coordinates: the 32 eigenvectors of the normalised
Laplacian with the smallest eigenvalues after the first. Where the graph falls into more than 32 parts, and without the
missing edges nearly every document is a part of its own, all these eigenvalues are 0 and any vectors of their space
are as good: a seeded draw stands for the ones that ARPACK would come upon, slowly. Chunks of a part then have the same
direction, and others a random one.

A question:

1. The hits are the seeds, all of them; its own retrieval (20 seeds, dense, BM25 and generated questions fused) is not
   made. Candidates are what can be reached from them in 2 steps, 200 at most, hits first.
2. Relevance is .7 cosine / greatest cosine + .3 BM25 / greatest BM25; the cosine alone where no word is shared.
3. Score, with the coordinates z, the seeds S and the personalised PageRank p of the candidates' graph from the seeds
   (damping .85):

   .. math:: \tfrac12 r_c + \tfrac12\left(\tfrac12 \max_{s \in S} \cos(z_c, z_s) + \tfrac12 p_c / \max p\right)

4. Best first, where of chunks within 2 % of the best one left, those of documents not shown yet come first. Beyond five
   chunks a score must be .55 of the best; those below follow at the end, down to .3.

Left out: edges by entities or concepts (.25), generated questions (.28) and citations (.02, too little to make an edge
alone); its clusters of the coordinates, which its default selection does not read; its own budget of 12,000 tokens, for
which the benchmark's stands: that skips what does not fit where SpectRAG stops. Otherwise than there, neighbours are
visited in document order (there in that of a set), PageRank is solved exactly, and the idf of BM25 is never negative.

The weights were made for six kinds of edges. Its mode "calibrate" makes them anew from the edges that there are:
adjacency keeps its own, the others share the rest by the root of their number times the spread of their scaled scores.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import eigsh

from benchmarks.code import digest
from benchmarks.evidence.ranges import RangeSystem
from retrivex.evaluation.metrics import Range
from retrivex.evaluation.run import Case, Index
from retrivex.evaluation.run.bm25 import BM25

COMMIT = "56e417a0"

# ---- defaults of config.py
WEIGHTS: Mapping[str, float] = {"adjacency": 0.1, "section": 0.2, "semantic": 0.15}
NEIGHBOURS = 7  # chunks
LEAST_COSINE = 0.75
LEAST_WEIGHT = 0.1
SECTION_MEMBERS = 100  # chunks
DEEPEST = 3  # titles of a heading path that count
LEAST_SHARE = 0.01  # of a kind of edge, where weights are calibrated
COMPONENTS = 32
SHIFT = -1e-3  # below the spectrum, so that the shifted Laplacian has an inverse
HOPS = 2
CANDIDATES = 200
LEXICAL = 0.3  # weight of BM25 in relevance
ALPHA = 0.5  # weight of the graph in the score
DAMPING = 0.85
TIE_BAND = 0.02
HEAD = 5  # chunks
HEAD_FLOOR, TAIL_FLOOR = 0.3, 0.55  # shares of the best score

_BLOCK = 512  # rows of cosines at once
_TERMS = re.compile(r"[a-z0-9]+")


def terms(text: str) -> list[str]:
    """Return the lower-case words of a text, of plain letters and digits."""
    return _TERMS.findall(text.lower())


# ---- edges


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of one kind between the chunks of an index, each pair once.

    Parameters
    ----------
    pairs : shape (m, 2), places of chunks, the lower first
    scores : shape (m,)
    """

    pairs: NDArray[np.int64]
    scores: NDArray[np.float64]

    @classmethod
    def of(cls, scores: Mapping[tuple[int, int], float]) -> Edges:
        """Return the edges of pairs and their scores."""
        pairs = np.array(list(scores), dtype=np.int64).reshape(-1, 2)
        return cls(pairs, np.array(list(scores.values()), dtype=np.float64))

    def scaled(self) -> NDArray[np.float64]:
        """Return the scores between the least, 0, and the greatest, 1; all 1 where they are equal."""
        if not len(self.scores) or self.scores.min() == self.scores.max():
            return np.ones(len(self.scores))
        least, greatest = self.scores.min(), self.scores.max()
        return np.asarray((self.scores - least) / (greatest - least), dtype=np.float64)


def adjacency(index: Index) -> Edges:
    """Return the edges between each chunk and the next of its document."""
    keys = [chunk.key for chunk in index.chunks]
    following = [place for place in range(len(keys) - 1) if keys[place + 1] == (keys[place][0], keys[place][1] + 1)]
    return Edges.of({(place, place + 1): 1.0 for place in following})


def section(index: Index) -> Edges:
    """Return the edges between chunks that share titles of their heading paths, from the outermost on."""
    paths = [tuple(chunk.metadata.heading_path or ())[-DEEPEST:] for chunk in index.chunks]
    below: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, path in enumerate(paths):
        for depth in range(1, len(path) + 1):
            below[path[:depth]].append(place)
    scores: dict[tuple[int, int], float] = {}
    for shared, places in below.items():
        for pair in combinations(places[:SECTION_MEMBERS], 2):
            score = len(shared) / max(len(paths[place]) for place in pair)
            scores[pair] = max(score, scores.get(pair, 0.0))
    return Edges.of(scores)


def semantic(index: Index) -> Edges:
    """Return the edges between each chunk and those nearest to it by their vectors.

    Raises
    ------
    ValueError
        If the index has no vectors.
    """
    vectors = index.vectors
    if vectors is None:
        raise ValueError("the index has no vectors, and SpectRAG compares those of chunks: give it an encoder")
    most = min(NEIGHBOURS, len(vectors) - 1)
    scores: dict[tuple[int, int], float] = {}
    for start in range(0, len(vectors) if most > 0 else 0, _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ vectors.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf
        best = np.argpartition(cosines, -most, axis=1)[:, -most:]
        found = np.take_along_axis(cosines, best, axis=1)
        for row, at in np.argwhere(found >= LEAST_COSINE).tolist():
            place, other = start + row, int(best[row, at])
            scores[min(place, other), max(place, other)] = float(found[row, at])
    return Edges.of(scores)


def calibrated(kinds: Mapping[str, Edges]) -> dict[str, float]:
    """Return weights by what each kind of edge tells apart; the fixed ones where none tells anything apart.

    Their sum is that of all six kinds, 1, as the kinds that are missing get none.
    """
    importance = {
        name: sqrt(len(edges.scores)) * float(edges.scaled().std())
        for name, edges in kinds.items()
        if name != "adjacency" and len(edges.scores) > 1
    }
    live = {name: value for name, value in importance.items() if value > 0}
    if not live:
        return dict(WEIGHTS)
    left, whole = 1 - WEIGHTS["adjacency"], sum(live.values())
    shares = {name: max(left * value / whole, LEAST_SHARE) for name, value in live.items()}
    scale = left / sum(shares.values())
    return {
        **dict.fromkeys(kinds, 0.0),
        "adjacency": WEIGHTS["adjacency"],
        **{name: share * scale for name, share in shares.items()},
    }


def combine(kinds: Mapping[str, Edges], weights: Mapping[str, float], size: int) -> sparse.csr_array:
    """Return the weights of the edges that are kept, symmetric, shape (size, size)."""
    pairs = np.concatenate([edges.pairs for edges in kinds.values()])
    scores = np.concatenate([weights[name] * edges.scaled() for name, edges in kinds.items()])
    upper = sparse.coo_array((scores, (pairs[:, 0], pairs[:, 1])), shape=(size, size)).tocsr()
    upper.data[upper.data < LEAST_WEIGHT] = 0.0
    upper.eliminate_zeros()
    both = (upper + upper.T).tocsr()
    both.sort_indices()
    return both


# ---- graph


def coordinates(edges: sparse.csr_array, ordinals: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return where the chunks stand in the eigenspace of the graph, as directions: rows of unit length or zero.

    Parameters
    ----------
    edges : shape (n, n), symmetric weights
    ordinals : shape (n,), of each chunk in its document; chunks without coordinates are spread by them
    """
    size = edges.shape[0]
    wanted = min(COMPONENTS + 1, size - 1)
    if wanted < 2:
        return np.ones((size, 1))
    parts, part_of = sparse.csgraph.connected_components(edges, directed=False)
    if parts >= wanted:
        drawn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((parts, wanted - 1)))
        return _directions(drawn[part_of])
    laplacian = sparse.csgraph.laplacian(edges, normed=True).tocsc()
    start = np.full(size, size**-0.5)
    values, vectors = eigsh(laplacian, k=wanted, sigma=SHIFT, which="LM", v0=start, rng=0)
    made: NDArray[np.float64] = vectors[:, np.argsort(values)[1:]].astype(np.float32).astype(np.float64)
    standing = made.any(axis=1)
    if standing.any() and not standing.all():
        low, high = made[standing].min(axis=0), made[standing].max(axis=0)
        apart = np.where(high > low, high - low, 1.0)
        made[~standing] = low + (ordinals[~standing] / (size - 1))[:, None] * apart
    return _directions(made)


def _directions(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)


class Graph:
    """The chunks of an index as a graph.

    Parameters
    ----------
    index : with vectors
    calibrate : whether the weights of the kinds of edges are made from the index; the fixed ones otherwise
    """

    def __init__(self, index: Index, *, calibrate: bool = False) -> None:
        self.index = index
        kinds = {"adjacency": adjacency(index), "section": section(index), "semantic": semantic(index)}
        self.weights = calibrated(kinds) if calibrate else WEIGHTS
        self.edges = combine(kinds, self.weights, len(index.chunks))
        ordinals = np.array([chunk.metadata.chunk_id for chunk in index.chunks], dtype=np.int64)
        self.coordinates = coordinates(self.edges, ordinals)

    def expand(self, seeds: Sequence[int]) -> list[int]:
        """Return the seeds and what is a few edges from them, nearest first, up to a number."""
        found = dict.fromkeys(seeds)
        frontier = list(found)
        for _ in range(HOPS):
            reached: list[int] = []
            for place in frontier:
                for other in self.edges.indices[slice(*self.edges.indptr[place : place + 2])].tolist():
                    if len(found) >= CANDIDATES:
                        return list(found)
                    if other not in found:
                        found[other] = None
                        reached.append(other)
            frontier = reached
        return list(found)

    def proximity(self, candidates: Sequence[int], seeds: Sequence[int]) -> NDArray[np.float64]:
        """Return how near candidates are to the seeds, of which they hold all; shape of the candidates."""
        near = (self.coordinates[candidates] @ self.coordinates[seeds].T).max(axis=1)
        walked = self._pagerank(candidates, seeds)
        return np.asarray(near if walked is None else (near + walked) / 2, dtype=np.float64)

    def _pagerank(self, candidates: Sequence[int], seeds: Sequence[int]) -> NDArray[np.float64] | None:
        """Return PageRank from the seeds in the graph of the candidates, the highest as 1; None without edges."""
        weights = self.edges[candidates][:, candidates].toarray()
        if not weights.any():
            return None
        degrees = weights.sum(axis=1, keepdims=True)
        steps = weights / np.where(degrees > 0, degrees, 1.0)
        restart = np.isin(candidates, seeds) / len(set(seeds))
        # a chunk without edges leads back to the seeds: that scales all ranks alike and needs no term
        ranks = np.linalg.solve(np.eye(len(candidates)) - DAMPING * steps.T, restart)
        return np.asarray(ranks / ranks.max(), dtype=np.float64)


@lru_cache(maxsize=40)
def _graph_for(index: Index, calibrate: bool) -> Graph:
    return Graph(index, calibrate=calibrate)


@lru_cache(maxsize=40)
def _words_for(index: Index) -> BM25:
    return BM25([chunk.text for chunk in index.chunks], terms=terms)


# ---- a question


def relevance(case: Case, candidates: Sequence[int]) -> NDArray[np.float64]:
    """Return how near candidates are to the question by vectors and words; shape of the candidates."""
    cosines = np.asarray(case.index.vectors @ np.asarray(case.embedding), dtype=np.float64)
    words = _words_for(case.index).scores(case.question)
    if words.max() <= 0:
        return cosines[candidates]
    greatest = float(cosines.max())
    return np.asarray(
        (1 - LEXICAL) * cosines[candidates] / (greatest if greatest > 0 else 1.0)
        + LEXICAL * words[candidates] / words.max(),
        dtype=np.float64,
    )


def by_coverage(scores: Mapping[int, float], documents: Mapping[int, str]) -> list[int]:
    """Return places best first; of those nearly as good as the best left, the first of a document not shown yet."""
    left = sorted(scores, key=lambda place: -scores[place])
    covered: set[str] = set()
    order: list[int] = []
    while left:
        least = (1 - TIE_BAND) * scores[left[0]]
        near = left[: bisect_right(left, -least, key=lambda place: -scores[place])]
        pick = next((place for place in near if documents[place] not in covered), left[0])
        order.append(pick)
        covered.add(documents[pick])
        left.remove(pick)
    return order


def gate(order: Sequence[int], scores: Mapping[int, float]) -> list[int]:
    """Return places with those that fall short of the best moved to the end, and left out where they fall far short."""
    best = max(scores.values(), default=0.0)
    kept: list[int] = []
    short: list[int] = []
    for place in order:
        floor = HEAD_FLOOR if len(kept) < HEAD else TAIL_FLOOR
        (kept if scores[place] >= floor * best else short).append(place)
    short.sort(key=lambda place: -scores[place])
    return kept + [place for place in short if scores[place] >= HEAD_FLOOR * best]


def selected(*, calibrate: bool = False) -> Callable[[Case], list[Range]]:
    """Return SpectRAG's selection, with fixed or with calibrated weights of the edges."""

    def ranges(case: Case) -> list[Range]:
        if not case.places:
            return []
        graph = _graph_for(case.index, calibrate)
        candidates = graph.expand(case.places)
        near = graph.proximity(candidates, case.places)
        blended = (1 - ALPHA) * relevance(case, candidates) + ALPHA * near
        scores = dict(zip(candidates, blended.tolist(), strict=True))
        documents = {place: case.index.chunks[place].metadata.doc_id for place in candidates}
        return [case.index.range_of(place) for place in gate(by_coverage(scores, documents), scores)]

    return ranges


def prepared(*, calibrate: bool = False) -> Callable[[Case], object]:
    """Return what makes the graph and the index of words before a question comes."""
    return lambda case: (_graph_for(case.index, calibrate), _words_for(case.index))


def versions() -> dict[str, str]:
    """Return what was re-built, and a digest of this module, which stands for the code."""
    return {"SpectRAG": f"re-built from {COMMIT}, {digest([Path(__file__)])}"}


def graph_systems() -> list[RangeSystem]:
    """Return every system of this module."""
    version = f"SpectRAG {versions()['SpectRAG']}"
    return [
        RangeSystem("SpectRAG-like", selected(), version, prepared()),
        RangeSystem("SpectRAG-like, calibrated", selected(calibrate=True), version, prepared(calibrate=True)),
    ]
