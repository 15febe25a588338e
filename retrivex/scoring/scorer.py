"""Scores the candidates of a query, weighted or calibrated, chunk by chunk and unit by unit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrivex.config import RetrievalConfig, ScorerName
from retrivex.errors import RetrivexError
from retrivex.expansion.continuity import Continuity
from retrivex.expansion.seeds import Seed
from retrivex.merging.units import EdgeRules, Unit, UnitCutter, Units
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.run import Run
from retrivex.rerank.protocol import ScoredSentence
from retrivex.scoring.calibrated import Coefficients, load_coefficients, probabilities
from retrivex.scoring.confidence import HitKind, describe_question, kind_of_hits
from retrivex.scoring.cosine import share_of_best
from retrivex.scoring.document_match import DocumentMatch, match_names
from retrivex.scoring.effort import expected_shares
from retrivex.scoring.features import UnitTable, name_without_embeddings, unit_features
from retrivex.scoring.knn_fallback import Capacity, interpolate
from retrivex.scoring.second_hops import lift_named
from retrivex.scoring.sentences import sentence_log_odds, with_reason
from retrivex.scoring.term_index import TermIndexer
from retrivex.scoring.unit_value import unit_values
from retrivex.scoring.weighted import chunk_values

Floats = NDArray[np.float64]

MAX_REASONS = 5
"""Features that the trace names for a unit at most."""


@dataclass(frozen=True)
class Scores:
    """Values of the candidates, the best 1, or less where the nearest-neighbour fallback lowers them.

    Parameters
    ----------
    make_chunks : called once, when `chunks` is read; can be pickled, as a composition keeps it
    units : what is picked; None where whole chunks are
    values : of the units, as shares of the best
    probabilities : of each unit that it holds evidence; empty with the weighted scorer
    make_chunk_probabilities : called once, when `chunk_probabilities` is read
    table, log_odds, model : of the calibrated scorer; None with the weighted one
    hedged : of each unit, whether its value is that of the nearest-neighbour fallback
    match : names of the candidates' documents; None where the model does not read them
    named : documents that the strongest units of others name, with those others
    expected : of each unit the share of the evidence that is expected in it; None with the weighted scorer
    described : shape (4,), of `describe_question`
    kind, hits : of the hits, and how many
    sentence_log_odds : what a sentence model added to the log-odds of each unit; None without one
    """

    make_chunks: Callable[[], list[list[float]]]
    units: Units | None = None
    values: list[float] = field(default_factory=list)
    probabilities: list[float] = field(default_factory=list)
    make_chunk_probabilities: Callable[[], list[list[float]]] = list
    table: UnitTable | None = None
    log_odds: NDArray[np.float64] | None = None
    model: Coefficients | None = None
    hedged: NDArray[np.bool_] | None = None
    match: DocumentMatch | None = None
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    expected: NDArray[np.float64] | None = None
    described: NDArray[np.float64] = field(default_factory=lambda: np.zeros(4))
    kind: HitKind = "other"
    hits: int = 0
    sentence_log_odds: NDArray[np.float64] | None = None

    @cached_property
    def chunks(self) -> list[list[float]]:
        """Per run, one value a chunk."""
        return self.make_chunks()

    @cached_property
    def chunk_probabilities(self) -> list[list[float]]:
        """Per run, the best unit's probability of each chunk; empty with the weighted scorer."""
        return self.make_chunk_probabilities()

    @property
    def scorer(self) -> ScorerName:
        """Which scorer gave the values."""
        return "weighted" if self.model is None else "calibrated"

    @property
    def confidence(self) -> float | None:
        """Probability that the candidates hold evidence; None where it is not known, or there are none."""
        if self.model is None or self.log_odds is None or not len(self.log_odds):
            return None
        if self.hits < self.model.fewest_hits:
            return None
        return self.model.confidence_of(float(self.log_odds.max()), self.described, self.kind)

    def reasons(self, unit: int) -> tuple[tuple[str, float], ...]:
        """Return the features that moved a unit's log-odds most; empty with the weighted scorer."""
        if self.model is None or self.table is None:
            return ()
        reasons = self.model.reasons(self.table.values[unit], MAX_REASONS)
        if self.kind != "embeddings":
            reasons = tuple((name_without_embeddings(name), moved) for name, moved in reasons)
        if self.sentence_log_odds is None or not self.sentence_log_odds[unit]:
            return reasons
        return with_reason(reasons, float(self.sentence_log_odds[unit]))[:MAX_REASONS]


class Scorer:
    """Scores candidates the way a call asks for.

    Parameters
    ----------
    config : `scoring`, `coefficients`, `boosts`, `hedge`, `selection_unit`, and the weights of the weighted
        scorer
    question : None without one
    cutter : cuts runs into units
    words : of the chunks

    Raises
    ------
    RetrivexError
        If the calibrated scorer is asked for without a question, or its coefficients cannot be read.
    """

    def __init__(self, config: RetrievalConfig, question: str | None, cutter: UnitCutter, words: TermIndexer) -> None:
        asked = bool(question and question.strip())
        if config.scoring == "calibrated" and not asked:
            raise RetrivexError(
                "scoring='calibrated' without a question: pass query=..., or leave scoring at 'auto', which takes "
                "the weighted scorer where there is none"
            )
        self.config = config
        self.question = question or ""
        self.cutter = cutter
        self.words = words
        calibrated = asked and config.scoring != "weighted"
        self.model = load_coefficients(config.coefficients) if calibrated else None

    @property
    def name(self) -> ScorerName:
        """Which scorer gives the values."""
        return "weighted" if self.model is None else "calibrated"

    def score(
        self,
        runs: Sequence[Run],
        seeds: Sequence[Seed],
        linked: Mapping[ChunkKey, float],
        continuity: Mapping[ChunkKey, Continuity],
        similarity: Mapping[ChunkKey, float],
        absent: Collection[ChunkKey],
        capacity: Capacity,
        sentences: Sequence[Sequence[ScoredSentence]] | None = None,
    ) -> Scores:
        """Return the values of the candidates.

        Parameters
        ----------
        runs : of candidates
        seeds : the hits, best first, with their relevance
        linked : strength in [0, 1] with which links reach a chunk
        continuity : of each chunk with the one before it
        similarity : cosine with the question, where it is known
        absent : keys behind the last chunks of documents
        capacity : what the nearest hits would fill
        sentences : of each run, what a sentence model says of them; only the calibrated scorer reads it
        """
        if self.model is None:
            relevance = {seed.key: seed.relevance for seed in seeds}
            rows = chunk_values(runs, relevance, linked, continuity, self.config, share_of_best(similarity))
            if self.config.selection_unit != "unit":
                return Scores(rows.copy)
            units = self.cutter.units(runs, _edge_rules(seeds, linked, absent))
            return Scores(rows.copy, units, [max(rows[u.run][u.first : u.last + 1]) for u in units])
        units = self.cutter.units(runs, _edge_rules(seeds, linked, absent))
        return self._score_calibrated(self.model, runs, units, seeds, linked, similarity, capacity, sentences)

    def find_named(self, chunks: Sequence[Chunk]) -> str | None:
        """Return the document of some chunks that the question names; None where it names none of them."""
        if self.model is None or not self.model.reads_documents:
            return None
        match = match_names(self.question, chunks, self.words)
        if match.meant is None:
            return None
        named = list(match.numbers)[match.meant]
        words = [term for (term, _), names in zip(match.terms, match.name_terms.tolist(), strict=True) if names]
        others = self.words.read([chunk.text for chunk in chunks if chunk.metadata.doc_id != named])
        # a word that others' texts have as well does not name it
        return named if any(not any(word in text for text in others) for word in words) else None

    def _score_calibrated(
        self,
        model: Coefficients,
        runs: Sequence[Run],
        units: Units,
        seeds: Sequence[Seed],
        linked: Mapping[ChunkKey, float],
        similarity: Mapping[ChunkKey, float],
        capacity: Capacity,
        sentences: Sequence[Sequence[ScoredSentence]] | None,
    ) -> Scores:
        match = match_names(self.question, units.axis.chunks, self.words) if model.reads_documents else None
        table = unit_features(self.question, units, seeds, similarity, linked, self.words.pool(units.axis), match)
        log_odds = model.log_odds(table.values)
        if self.config.boosts:
            log_odds = log_odds + self._boosts(runs, units)
        moved = None if sentences is None else sentence_log_odds(units, sentences)
        if moved is not None:
            log_odds = log_odds + moved
        lifted = lift_named(probabilities(log_odds), units, self.question)
        p = lifted.p
        value = unit_values(p, units.joined, units.torn)
        kind = kind_of_hits(seeds, embedded=bool(similarity))
        value, hedged = interpolate(value, table, runs, units, seeds, capacity, self._fallback_weight(kind))
        chances: list[float] = p.tolist()
        values: list[float] = value.tolist()
        whole = self.config.selection_unit in ("chunk", "span")
        return Scores(
            make_chunks=partial(_chunk_means, runs, units, values),
            units=None if whole else units,
            values=values,
            probabilities=chances,
            make_chunk_probabilities=partial(_chunk_bests, runs, units, chances),
            table=table,
            log_odds=log_odds,
            model=model,
            hedged=hedged,
            match=table.match,
            named=lifted.named,
            expected=expected_shares(p, model.sharpness),
            described=describe_question(table, seeds),
            kind=kind,
            hits=len(seeds),
            sentence_log_odds=moved,
        )

    def _fallback_weight(self, kind: HitKind) -> float:
        """Weight of the nearest hits where the question's words are missing; none where words alone led to the hits.

        Such hits share its small words: they would fill the budget with what has nothing to do with the question.
        """
        return 0.0 if kind == "words" and self.config.effort != "full" else self.config.hedge

    def _boosts(self, runs: Sequence[Run], units: Sequence[Unit]) -> NDArray[np.float64]:
        """Log-odds that the caller's own features add, shape (n,)."""
        rows = [
            [sum(self._boost(boost, chunk) for boost in self.config.boosts) for chunk in run.chunks] for run in runs
        ]
        return np.array([max(rows[u.run][u.first : u.last + 1]) for u in units])

    @staticmethod
    def _boost(boost: object, chunk: Chunk) -> float:
        made: Any = boost(chunk) if callable(boost) else None
        a_number = isinstance(made, (int, float, np.integer, np.floating)) and not isinstance(made, bool)
        if not a_number or not np.isfinite(made):
            raise RetrivexError(
                f"a boost gave {made!r} for chunk {chunk.key!r}: it must be a finite number, added to the log-odds; "
                "return 0.0 where there is nothing to say"
            )
        return float(made)


def _edge_rules(seeds: Sequence[Seed], linked: Collection[ChunkKey], absent: Collection[ChunkKey]) -> EdgeRules:
    return EdgeRules(frozenset([*linked, *(seed.key for seed in seeds)]), absent)


def _chunk_bests(runs: Sequence[Run], units: Sequence[Unit], scores: Sequence[float]) -> list[list[float]]:
    rows: list[list[float]] = [[0.0] * len(run) for run in runs]
    for unit, score in zip(units, scores, strict=True):
        row = rows[unit.run]
        for at in range(unit.first, unit.last + 1):
            row[at] = max(row[at], score)
    return rows


def _chunk_means(runs: Sequence[Run], units: Sequence[Unit], shares: Sequence[float]) -> list[list[float]]:
    """Value of every chunk: of its units, by the characters each has in it."""
    rows: list[list[float]] = [[0.0] * len(run) for run in runs]
    sizes: list[list[int]] = [[0] * len(run) for run in runs]
    for unit, share in zip(units, shares, strict=True):
        for at, inside in _overlaps(unit, runs[unit.run]):
            rows[unit.run][at] += share * inside
            sizes[unit.run][at] += inside
    made = [
        [v / n if n else 0.0 for v, n in zip(row, size, strict=True)] for row, size in zip(rows, sizes, strict=True)
    ]
    best = max((max(row, default=0.0) for row in made), default=0.0)
    return [[value / best for value in row] for row in made] if best > 0 else made


def _overlaps(unit: Unit, run: Run) -> Iterator[tuple[int, int]]:
    """Yield the position of each chunk that a unit has text of, and how many characters."""
    for at in range(unit.first, unit.last + 1):
        inside = min(unit.end, run.ranges[at][1]) - max(unit.start, run.ranges[at][0])
        if inside > 0:
            yield at, inside
