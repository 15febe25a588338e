"""Why passages and groups of sentences are shown, and hits are not, in words for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from retrivex.composition.composition import Composition
from retrivex.composition.trace import UnitNote
from retrivex.model.span import Span
from retrivex.scoring.feature_words import describe_feature

MAX_REASONS = 2
"""Features that are named for a group of sentences, and against it."""

DROP_REASONS: Mapping[str, str] = {
    "beyond_k": "below the best k hits",
    "budget": "too long for the token budget",
    "duplicate_id": "another hit has its name and other text",
    "duplicate_text": "the same text is shown elsewhere",
    "excluded": "excluded by the caller",
    "max_spans": "enough better passages are shown (max_spans)",
    "near_duplicate": "almost the same text is shown elsewhere",
    "no_text": "its text is not known",
    "no_value": "worth nothing for the question, or nothing of it is left to read",
    "out_of_scale": "its score is out of the declared range",
    "scope": "this call may not see it",
}
"""`DropReason` in words."""

_FILLER = 0.1  # probability of evidence below which a passage is said to fill the room that is left

_FACTORS = {
    "score of its best hit": "sim_score",
    "distance to a hit": "adjacency_score",
    "continuity with its neighbours": "continuity_score",
    "share of its section that is found": "parent_bonus",
}


class PassageReasons:
    """Says of the passages of a composition why they are there.

    Parameters
    ----------
    composition : with its trace
    """

    def __init__(self, composition: Composition) -> None:
        self._units = [note for note in composition.trace.units if note.selected]
        seeds = [note for note in composition.trace.notes if note.role == "seed"]
        seeds.sort(key=lambda note: -(note.relevance or 0.0))
        self._ranks = {(note.doc_id, note.chunk_id): rank for rank, note in enumerate(seeds, start=1)}
        self._linked = {(note.doc_id, note.chunk_id) for note in composition.trace.notes if note.role == "link"}

    def find_units(self, span: Span) -> list[UnitNote]:
        """Return the groups of sentences that a passage shows."""
        return [note for note in self._units if note.is_in(span)]

    def explain(self, span: Span) -> Iterator[str]:
        """Yield a line for where a passage comes from and what it is worth, and lines for what moved its score."""
        best = max(self.find_units(span), key=lambda note: note.probability, default=None)
        if best is None:
            factors = ", ".join(f"{name} {getattr(span, factor):.2f}" for name, factor in _FACTORS.items())
            yield from (f"{self._origin(span)}; score {span.score:.2f}", f"made of: {factors}")
            return
        value, *reasons = explain_unit(best)
        if best.probability < _FILLER and not best.hedged:
            value += ", so it only fills the room that is left"
        yield from (f"{self._origin(span)}; {value}", *reasons)

    def _origin(self, span: Span) -> str:
        keys = [(span.doc_id, chunk_id) for chunk_id in span.chunk_ids]
        ranks = [self._ranks[key] for key in keys if key in self._ranks]
        if span.pinned:
            return "pinned by the caller"
        if span.parent_id is not None:
            return "the whole section of its hits"
        if ranks:
            named = f"hit {min(ranks)} of {len(self._ranks)}"
            return named if len(ranks) == 1 else f"{named} and {len(ranks) - 1} more"
        return "reached over a link" if any(key in self._linked for key in keys) else "next to a hit"


def explain_unit(note: UnitNote) -> Iterator[str]:
    """Yield a line for what a group of sentences is worth, and lines for what moved its score.

    Examples
    --------
    >>> reasons = (("is a hit", 1.2), ("share of words", -0.3))
    >>> list(explain_unit(UnitNote("bees", (0,), 0, 20, "Bees sleep.", 0.25, 1.0, True, reasons)))
    ['likely to hold evidence: 25%', 'for it: being a hit of the retriever', "against it: the share of the question's
    words that it has"]
    """
    hedged = "kept because it is among the nearest hits, although it shares little with the question's words"
    yield hedged if note.hedged else f"likely to hold evidence: {note.probability:.0%}"
    for word, sign in (("for it", 1), ("against it", -1)):
        # two features may look at the same thing
        names = dict.fromkeys(describe_feature(name) for name, moved in note.reasons if sign * moved > 0)
        if names:
            yield f"{word}: {'; '.join([*names][:MAX_REASONS])}"
    if note.question is not None:
        yield f"for the question: {note.question}"
