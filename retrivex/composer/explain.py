"""Explains an answer: why hits were dropped, and notes on every chunk and unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from retrivex.composer.budget_fit import Fitted
from retrivex.composer.score import ScoredCandidates
from retrivex.composer.select import token_cap
from retrivex.composition.trace import ChunkNote, ChunkRole
from retrivex.config import RetrievalConfig
from retrivex.expansion.seeds import Seed
from retrivex.merging.units import Units
from retrivex.model.chunk import Chunk, ChunkKey
from retrivex.model.hit import DroppedHit, DropReason
from retrivex.model.run import Run
from retrivex.model.span import Span
from retrivex.selection.candidates import CandidateSet
from retrivex.text.ranges import merge_ranges, remaining
from retrivex.text.sentences import sentence_ranges


@dataclass
class Explainer:
    """Explains what became of every chunk that a query touched, when somebody asks.

    Parameters
    ----------
    scored : hits, what they grew to, and the values of the candidates
    fitted : what is shown, and what the selection saw
    config : the options
    """

    scored: ScoredCandidates
    fitted: Fitted
    config: RetrievalConfig
    _parts: dict[ChunkKey, list[str]] = field(default_factory=dict)

    @property
    def seeds(self) -> Sequence[Seed]:
        """Hits that were used."""
        return self.scored.expanded.seeds

    @property
    def candidates(self) -> CandidateSet:
        """What the selection saw."""
        return self.fitted.candidates

    @property
    def spans(self) -> Sequence[Span]:
        """What is shown."""
        return self.fitted.layout.spans

    @property
    def runs(self) -> Sequence[Run]:
        """The candidates."""
        return self.scored.runs

    @property
    def found(self) -> Mapping[ChunkKey, Chunk]:
        """Chunks by key, as they were used."""
        return self.scored.expanded.found

    @cached_property
    def shown(self) -> set[ChunkKey]:
        """Chunks of which the context holds any text; that of replaced spans is in the parent's."""
        shown: set[ChunkKey] = set()
        for span in [*self.spans, *(replaced for replaced, _ in self.fitted.layout.swaps)]:
            shown.update((span.doc_id, segment.chunk_id) for segment in span.segments)
            if len(span.segments) < len(span.chunks):
                # a chunk that lies within others has no segment of its own
                shown.update(chunk.key for chunk in span.chunks if chunk.text in span.text)
        unseen = [seed.key for seed in self.seeds if seed.key not in shown]
        return shown.union([key for key in unseen if not self._list_unshown_parts(key)])

    @cached_property
    def _spans(self) -> dict[str, list[str]]:
        """Texts of the spans, by document."""
        made: dict[str, list[str]] = {}
        for span in self.spans:
            made.setdefault(span.doc_id, []).append(span.text)
        return made

    @cached_property
    def _texts(self) -> dict[str, list[tuple[int, str]]]:
        """Shown texts whose place is known, with their document offsets, by document."""
        made: dict[str, list[tuple[int, str]]] = {}
        for span in self.spans:
            for segment in span.segments:
                if segment.char_start is not None:
                    text = span.text[segment.start : segment.end]
                    made.setdefault(span.doc_id, []).append((segment.char_start, text))
        return made

    def _list_unshown_parts(self, key: ChunkKey) -> list[str]:
        """Parts of a chunk that no other chunk of its document shows; all of it where its place is not known."""
        parts = self._parts.get(key)
        if parts is None:
            parts = self._parts[key] = _list_unshown(self.found[key], self._texts.get(key[0], ()))
        return parts

    def dropped(self) -> tuple[DroppedHit, ...]:
        """Hits that are not shown, or not all of them, in the order of their scores."""
        gone = [
            hit
            for hit in self.scored.expanded.dropped
            if hit.reason == "duplicate_id" or (hit.doc_id, hit.chunk_id) not in self.shown
        ]
        shares = {seed.key: self._share_shown(seed.key) if seed.key in self.shown else 0.0 for seed in self.seeds}
        lost = [seed for seed in self.seeds if shares[seed.key] < 1]
        places = self._find_pieces({seed.key for seed in lost})
        for seed in lost:
            share = shares[seed.key]
            reason, detail = self._explain_drop(seed.key, places.get(seed.key, ()))
            if share:
                detail = f"{share:.0%} of it is shown; of the rest: {detail}"
            gone.append(DroppedHit(*seed.key, seed.score, reason, detail, share))
        return tuple(gone)

    def _share_shown(self, key: ChunkKey) -> float:
        """Share of a shown chunk's letters and digits that the context holds."""
        chunk = self.found[key]
        start = chunk.metadata.char_start
        unshown = self._list_unshown_parts(key)
        if start is None or chunk.metadata.char_end != start + len(chunk.text):  # its place is not known
            texts = self._spans.get(key[0], ())
            if start is not None or any(chunk.text.strip() in text for text in texts):
                return 1.0  # of offsets that contradict the text nothing is known
            parts = Counter(text[low:high].strip() for text in [chunk.text] for low, high in sentence_ranges(text))
            times = {part: sum(text.count(part) for text in texts) for part in parts if part}
            unshown = [part * max(0, parts[part] - found) for part, found in times.items()]
            pieces = [piece for span in self.spans if span.doc_id == key[0] for piece in span.segments]
            own = sum(piece.end - piece.start for piece in pieces if piece.chunk_id == key[1])
            return max(1.0 - _readable(unshown) / max(1, _readable([chunk.text])), min(1.0, own / len(chunk.text)))
        return 1.0 - _readable(unshown) / max(1, _readable([chunk.text]))

    def _find_pieces(self, wanted: Collection[ChunkKey]) -> Mapping[ChunkKey, Sequence[int]]:
        """Numbers of the candidates that each of the wanted chunks is part of."""
        pieces = self.candidates.pieces
        if isinstance(pieces, Units):
            return {key: pieces.touching(at) for key, at in pieces.axis.numbers.items() if key in wanted}
        places: dict[ChunkKey, list[int]] = {}
        looked_for = [
            {at: key for at, chunk in enumerate(run.chunks) if (key := chunk.key) in wanted} for run in self.runs
        ]
        for number, piece in enumerate(pieces):
            here = looked_for[piece.run]
            if here:
                for at in range(piece.first, piece.last + 1):
                    if at in here:
                        places.setdefault(here[at], []).append(number)
        return places

    def _explain_drop(self, key: ChunkKey, own: Sequence[int]) -> tuple[DropReason, str]:
        """Why a chunk is not shown, that `own` candidates hold."""
        candidates, config, tokens = self.candidates, self.config, self.fitted.layout.tokens
        if key in candidates.excluded:
            return "excluded", "pinned, or shown in an earlier turn"
        if key in candidates.repeated:
            other, alike = candidates.repeated[key], candidates.near.get(key)
            if alike is not None:
                return "near_duplicate", f"almost the same text stands in {other!r}: similarity {alike:.2f}"
            return "duplicate_text", f"the same text stands in {other!r}"
        problem = candidates.problem
        if not "".join(self._list_unshown_parts(key)).strip():
            return "no_value", "nothing of it is left to read"
        if not own:
            return "budget", "others, which are worth more at a first glance, hold several times the budget"
        left_out = self._list_left_out(key, own)
        if not left_out:
            return "no_value", "what can be shown of it stands in passages of its document"
        valuable = [i for i in left_out if problem.values[i] > 0]
        if not valuable:
            return "no_value", f"its value is not above min_value={config.min_value:g}"
        cheapest = min([int(problem.costs[i] + problem.openings[i]) for i in valuable])
        if cheapest > config.token_budget:
            return "budget", f"{cheapest} tokens, more than the {config.token_budget} of the budget"
        if config.max_spans is not None and cheapest <= config.token_budget - tokens:
            spans = sum(not span.pinned for span in self.spans)
            if spans >= config.max_spans:
                return "max_spans", f"max_spans={config.max_spans} better spans are shown"
        cap = token_cap(config)
        if cap is not None and cheapest <= config.token_budget - tokens:
            return "budget", f"{cheapest} tokens; {cap[0]}={cap[1]} of {key[0]!r} hold better text"
        if self.fitted.stopped:
            return "no_value", f"all that is left out is expected to hold next to nothing, by effort={config.effort!r}"
        return "budget", f"{cheapest} tokens; the {config.token_budget} of the budget hold better text"

    def _list_left_out(self, key: ChunkKey, own: Sequence[int]) -> Sequence[int]:
        """Candidates of a hit whose text is not shown: of one that others overlap, some can be."""
        texts, chunk = self._spans.get(key[0]), self.found[key]
        if texts is None:
            return own
        stretches = [self.runs[p.run].text[p.start : p.end].strip() for p in self.candidates.some(own)]
        left = [i for i, part in zip(own, stretches, strict=True) if not any(part in text for text in texts)]
        is_unshown = chunk.metadata.char_start is not None and self._list_unshown_parts(key) == [chunk.text]
        # where nothing of it is shown, the same words stand elsewhere; a shown one may touch it with white space alone
        return left or own if is_unshown else left

    def notes(self) -> tuple[ChunkNote, ...]:
        """Return what became of every chunk that was touched, by document and position."""
        expanded = self.scored.expanded
        dropped = {(hit.doc_id, hit.chunk_id): hit.reason for hit in self.dropped()}
        places = self._find_pieces(self.found)
        relevance = {seed.key: seed.relevance for seed in self.seeds}
        made: dict[ChunkKey, ChunkNote] = {}
        for run, row in zip(self.runs, self.scored.scores.chunks, strict=True):
            for chunk, value in zip(run.chunks, row, strict=True):
                key = chunk.key
                role: ChunkRole = "seed" if key in relevance else "link" if key in expanded.linked else "neighbour"
                flow = expanded.expansion.continuity.get(key)
                made[key] = ChunkNote(
                    *key,
                    role=role,
                    outcome="selected" if key in self.shown else "dropped",
                    reason=None
                    if key in self.shown
                    else dropped.get(key) or self._explain_drop(key, places.get(key, ()))[0],
                    value=value,
                    relevance=relevance.get(key),
                    continuity=None if flow is None else flow.value,
                )
        for key, reason in expanded.expansion.refused.items():
            if key not in made:
                made[key] = ChunkNote(*key, role="beyond", outcome="refused", reason=reason)
        return tuple(made[key] for key in sorted(made))


def _list_unshown(chunk: Chunk, texts: Sequence[tuple[int, str]]) -> list[str]:
    """Parts of a chunk that are not among the texts of its document, which are given with their offsets."""
    start, text = chunk.metadata.char_start, chunk.text
    if not texts or start is None or chunk.metadata.char_end != start + len(text):
        return [text]
    covered: list[tuple[int, int]] = []
    for place, other in texts:
        low, high = max(start, place), min(start + len(text), place + len(other))
        # offsets may lie: only the same text counts
        if low < high and text[low - start : high - start] == other[low - place : high - place]:
            covered.append((low - start, high - start))
    return [text[low:high] for low, high in remaining(0, len(text), merge_ranges(covered))]


def _readable(texts: Sequence[str]) -> int:
    """How many letters and digits some texts have."""
    return sum(map(str.isalnum, "".join(texts)))
