"""Scores the candidates of a query, weighted or calibrated, chunk by chunk and unit by unit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retrivex.config import RetrievalConfig, ScorerName
from retrivex.errors import RetrivexError
from retrivex.expansion.continuity import Continuity
from retrivex.expansion.seeds import Seed
from retrivex.merging.cutter import Fineness, UnitCutter
from retrivex.merging.offsets import OffsetIndex
from retrivex.merging.torn import EdgeRules
from retrivex.merging.units import Unit, Units
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.run import Run
from retrivex.rerank.protocol import ScoredSentence
from retrivex.scoring.bm25 import FoundTerms
from retrivex.scoring.calibrated import Coefficients, load_coefficients, probabilities
from retrivex.scoring.confidence import HitKind, describe_question, kind_of_hits
from retrivex.scoring.cosine import share_of_best
from retrivex.scoring.document_match import DocumentMatch, match_names
from retrivex.scoring.effort import OVERLAPPING, expected_shares
from retrivex.scoring.features import UnitTable, unit_features
from retrivex.scoring.hit_signal import hit_signal
from retrivex.scoring.knn_fallback import Capacity, interpolate
from retrivex.scoring.narrowing import FEWEST, MARGIN, choose_fine, chunk_signals
from retrivex.scoring.scores import Scores
from retrivex.scoring.second_hops import lift_named
from retrivex.scoring.sentences import sentence_log_odds
from retrivex.scoring.term_index import TermIndexer
from retrivex.scoring.unit_value import unit_values
from retrivex.scoring.weighted import chunk_values
from retrivex.tokens.sampled import sampled_counts
from retrivex.tokens.stored import CandidateCounts

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class _Candidates(NamedTuple):
    """Runs, and what is known of them; fields as the arguments of `Scorer.score` and `unit_features`."""

    runs: Sequence[Run]
    seeds: Sequence[Seed]
    hits: tuple[Floats, Integers]
    similarity: Mapping[ChunkKey, float]
    capacity: Capacity
    sentences: Sequence[Sequence[ScoredSentence]] | None
    terms: FoundTerms
    match: DocumentMatch | None


class Scorer:
    """Scores candidates the way a call asks for.

    Parameters
    ----------
    config : `scoring`, `coefficients`, `boosts`, `hedge`, `selection_unit`, and the weights of the weighted
        scorer
    question : None without one
    cutter : cuts runs into units
    words : of the chunks
    counts : of tokens, to choose by, and what the store knows of where texts may be cut

    Attributes
    ----------
    values_all : whether all chunks are cut and valued in detail, and not only those that the budget may hold

    Raises
    ------
    RetrivexError
        If the calibrated scorer is asked for without a question, or its coefficients cannot be read.
    """

    def __init__(
        self,
        config: RetrievalConfig,
        question: str | None,
        cutter: UnitCutter,
        words: TermIndexer,
        counts: CandidateCounts,
    ) -> None:
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
        self.counts = counts
        self.values_all = False
        self._match: DocumentMatch | None = None
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
        hits: Collection[ChunkKey] | None = None,
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
        hits : chunks of which nothing is hidden, beside the linked; None for those of the seeds
        """
        axis = OffsetIndex(runs)
        shown = [seed.key for seed in seeds] if hits is None else hits
        rules = EdgeRules(frozenset([*linked, *shown]), absent)
        if self.model is None:
            relevance = {seed.key: seed.relevance for seed in seeds}
            rows = chunk_values(runs, relevance, linked, continuity, self.config, share_of_best(similarity))
            if self.config.selection_unit != "unit":
                return Scores(rows.copy)
            flat = np.array([value for row in rows for value in row])
            units = self._cut(axis, rules, self._fineness(axis, seeds, capacity, lambda _: flat))
            return Scores(rows.copy, units, [max(rows[u.run][u.first : u.last + 1]) for u in units])
        match = self._match_names(axis.chunks) if self.model.reads_documents else None
        signal = hit_signal(axis, seeds, linked)
        terms = FoundTerms.of(self.question, self.words.pool(axis))
        asked = _Candidates(runs, seeds, signal, similarity, capacity, sentences, terms, match)
        glance = partial(chunk_signals, axis, hits=signal, similarity=similarity, terms=terms)
        fineness = self._fineness(axis, seeds, capacity, glance)
        return self._score_calibrated(self.model, asked, self._cut(axis, rules, fineness))

    def find_named(self, chunks: Sequence[Chunk]) -> str | None:
        """Return the document of some chunks that the question names; None where it names none of them."""
        if self.model is None or not self.model.reads_documents:
            return None
        match = self._match_names(chunks)
        if match.meant is None:
            return None
        named = list(match.numbers)[match.meant]
        words = [term for (term, _), names in zip(match.terms, match.name_terms.tolist(), strict=True) if names]
        others = self.words.read([chunk.text for chunk in chunks if chunk.metadata.doc_id != named])
        # a word that others' texts have as well does not name it
        return named if any(not any(word in text for text in others) for word in words) else None

    def _cut(self, axis: OffsetIndex, rules: EdgeRules, fineness: Fineness) -> Units:
        return self.cutter.cut(axis, rules, fineness, self.counts.stored_cuts)

    def _match_names(self, chunks: Sequence[Chunk]) -> DocumentMatch:
        self._match = match_names(self.question, chunks, self.words, self._match)
        return self._match

    def _fineness(
        self, axis: OffsetIndex, seeds: Sequence[Seed], capacity: Capacity, value_chunks: Callable[[Integers], Floats]
    ) -> Fineness:
        """Return which chunks are cut: all, where they are few or where an option may refuse most of the best."""
        config = self.config
        picky = config.diversity or config.near_duplicate_threshold is not None or config.quotas is not None
        tokens = sampled_counts(axis.texts, [seed.chunk.text for seed in seeds] or axis.texts, self.counts)
        few = len(tokens) <= FEWEST or tokens.sum() <= MARGIN * capacity.tokens
        if few or self.values_all or picky or config.selection_unit in ("chunk", "span"):
            return Fineness.full(tokens)
        surely = seeds[: config.keep_top]
        if config.effort == "full" and len(seeds) * float(tokens.mean()) <= OVERLAPPING * capacity.tokens:
            surely = seeds  # all hits are shown where they fit
        return Fineness(choose_fine(axis, tokens, value_chunks(tokens), capacity, surely), tokens)

    def _score_calibrated(self, model: Coefficients, asked: _Candidates, units: Units) -> Scores:
        """Value units: what they and what is around them say, and what other documents name."""
        runs, seeds = asked.runs, asked.seeds
        table = unit_features(units, asked.hits, asked.similarity, asked.terms, asked.match)
        log_odds = model.log_odds(table.values)
        if self.config.boosts:
            log_odds = log_odds + self._boosts(runs, units)
        moved = None if asked.sentences is None else sentence_log_odds(units, asked.sentences)
        if moved is not None:
            log_odds = log_odds + moved
        lifted = lift_named(probabilities(log_odds), units, self.question)
        kind = kind_of_hits(seeds, embedded=bool(asked.similarity))
        value = unit_values(lifted.p, units.joined, units.torn)
        value, hedged = interpolate(value, table, runs, units, seeds, asked.capacity, self._fallback_weight(kind))
        chances: list[float] = lifted.p.tolist()
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
            expected=expected_shares(lifted.p, model.sharpness),
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


def best_of(parts: Mapping[str, tuple[Scores, Sequence[bool]]], runs: Sequence[Run]) -> Scores:
    """Return the scores of the question that makes most of each unit, of those that led to its run.

    Parameters
    ----------
    parts : by question, what the calibrated scorer says of the same units, and which runs its hits led to
    runs : the candidates
    """
    questions, scores = list(parts), [part for part, _ in parts.values()]
    tables = [part.table for part in scores if part.table is not None]
    units, led = tables[0].units, [led for _, led in parts.values()]
    run_of = [unit.run for unit in units]
    rows = np.array([part.values for part in scores]) * np.array(led, dtype=np.bool_)[:, run_of]
    # the best of each question is worth as much as that of any other: each is to be answered
    rows /= np.maximum(rows.max(axis=1, keepdims=True, initial=0.0), 1e-12)
    best = rows.argmax(axis=0)

    def pick(columns: Sequence[Any]) -> NDArray[Any]:
        return np.asarray(np.array(columns)[best, np.arange(len(units))])

    values: list[float] = rows.max(axis=0).tolist()
    chances: list[float] = pick([part.probabilities for part in scores]).tolist()
    moved = [part.sentence_log_odds for part in scores]
    return replace(
        scores[0],
        make_chunks=partial(_chunk_means, runs, units, values),
        values=values,
        probabilities=chances,
        make_chunk_probabilities=partial(_chunk_bests, runs, units, chances),
        table=UnitTable(units, pick([table.values for table in tables])),
        log_odds=pick([part.log_odds for part in scores]),
        hedged=pick([part.hedged for part in scores]),
        match=None,
        named={doc_id: others for part in scores for doc_id, others in part.named.items()},
        expected=np.mean([part.expected for part in scores if part.expected is not None], axis=0),
        sentence_log_odds=None if moved[0] is None else pick(moved),
        parts=scores,
        questions=[questions[number] for number in best.tolist()],
    )


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
