"""What must hold of every composition, whatever the input: the invariants of the design, one function each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, get_args

from fuzz.cases import Case
from fuzz.growth import expected_windows
from fuzz.stores import OddStore
from fuzz.tally import expect

from retrivex import Chunk, Composition, RetrievalConfig, SeedHit, Span
from retrivex.composition.trace import UnitNote
from retrivex.merging.exclusions import MIN_SENTENCE
from retrivex.model.chunk import ChunkKey
from retrivex.model.hit import DropReason
from retrivex.model.span import ids_without_place
from retrivex.scoring.effort import SPARED
from retrivex.text.ranges import merge_ranges, remaining

Count = Callable[[str], int]
REASONS = frozenset(get_args(DropReason))


def check_composition(case: Case, config: RetrievalConfig, made: Composition, count: Count) -> None:
    """Check everything that one composition shows."""
    expect(made.tokens == count(made.text), "tokens is not the count of the text", made.tokens, count(made.text))
    expect(made.tokens <= config.token_budget, "budget exceeded", made.tokens, config.token_budget)
    expect(made.text or not made.spans, "spans without text")
    check_spans(case, config, made.spans, count)
    check_citations(case, made)
    check_hits(case, made)
    check_windows(case, config, made, count)
    check_coverage(made)
    check_units(case, made)
    check_top(case, config, made)
    check_waste(case, config, made, count)


def check_retrieved(case: Case, config: RetrievalConfig, spans: Sequence[Span], count: Count) -> None:
    """Check what `retrieve` returned."""
    joined = "\n\n".join(span.text for span in spans)
    expect(count(joined) <= config.token_budget, "budget of joined spans exceeded", count(joined), config.token_budget)
    check_spans(case, config, spans, count)


def check_spans(case: Case, config: RetrievalConfig, spans: Sequence[Span], count: Count) -> None:
    """Check spans one by one and together."""
    scopes = case.scopes()
    known = {hit.key: hit.chunk for hit in case.all_hits()}
    given = case.store.given if isinstance(case.store, OddStore) else set()
    # JSON may have joined halves of pairs in what an earlier turn did not show of its chunks
    pinned = {(c.key, c.text) for item in config.pinned if isinstance(item, Span) for c in item.chunks}
    for span in spans:
        expect(span.text, "empty span")
        expect(span.token_count == count(span.text), "token_count is not of the text", span.token_count, span.text)
        ids = span.chunk_ids
        expect(ids == list(range(ids[0], ids[0] + len(ids))), "hole in a span", ids)
        expect(ids == [chunk.metadata.chunk_id for chunk in span.chunks], "chunk_ids are not of the chunks", ids)
        for chunk in span.chunks:
            expect(chunk.metadata.doc_id == span.doc_id, "documents mixed", span.doc_id, chunk.key)
            expect(chunk.metadata.scope in scopes, "scope leaked", chunk.key, chunk.metadata.scope)
            stored, hit = case.world.chunks.get(chunk.key), known.get(chunk.key)
            texts = {c.text for c in (stored, hit) if c is not None} | {h.chunk.text for h in case.all_hits()}
            is_pinned = span.pinned and (chunk.key, chunk.text) in pinned
            expect(is_pinned or chunk.text in texts | given, "chunk nobody gave", chunk.key)
        check_factors(case, config, span)
        check_source(case, config, span)
    check_nothing_twice(case, spans)
    check_caps(case, config, spans)
    check_order(config, spans)
    check_pinned(config, spans)
    check_excluded(case, config, spans)
    check_parents(case, spans)
    check_passages_of_parents(case, config, spans)


def check_factors(case: Case, config: RetrievalConfig, span: Span) -> None:
    """Check the range of the factors, and that the score is the published formula or a probability."""
    factors = (span.sim_score, span.adjacency_score, span.continuity_score, span.parent_bonus)
    expect(all(0.0 <= factor <= 1.0 for factor in factors), "factor outside [0, 1]", factors)
    expect(math.isfinite(span.score) and math.isfinite(span.value), "score is not finite", span.score, span.value)
    weights = (config.weights.similarity, config.weights.adjacency, config.weights.continuity, config.weights.parent)
    if span.pinned:
        return
    if case.calibrated():
        expect(0.0 <= span.score <= 1.0, "score is no probability", span.score)
    else:
        expected = sum(weight * factor for weight, factor in zip(weights, factors, strict=True))
        expect(math.isclose(span.score, expected, abs_tol=1e-9), "score is not the formula's", span.score, expected)


def check_source(case: Case, config: RetrievalConfig, span: Span) -> None:
    """Check that every character is its chunk's and, where offsets are true, the document's; seams are marked."""
    source = case.world.sources.get(span.doc_id, "")
    truthful = span.doc_id in case.world.truthful
    if span.exact:
        expect(span.char_start is not None and span.char_end is not None, "exact without offsets", span)
        if truthful:
            expect(span.text == source[span.char_start : span.char_end], "exact text is not the source's", span)
    elif truthful and span.parent_id is None and span.segments:
        whole = all(s.char_start is not None for s in span.segments)
        seamless = all(
            a.end == b.start and a.char_start is not None and b.char_start == a.char_start + a.end - a.start
            for a, b in pairwise(span.segments)
        )
        shown_chunks = [segment.chunk_id for segment in span.segments]
        ends_shown = {span.chunk_ids[0], span.chunk_ids[-1]} <= set(shown_chunks)
        located = span.doc_id in case.world.located
        expect(not (whole and seamless and located and ends_shown), "exact span is called inexact", span)
    check_segments(case, config, span, source if truthful else None)


def check_segments(case: Case, config: RetrievalConfig, span: Span, source: str | None) -> None:
    """Check the map from a span's text back to chunks and document."""
    chunks = {chunk.metadata.chunk_id: chunk for chunk in span.chunks}
    joiners = (" ", "\n", "\n\n")
    reached = 0
    for segment in span.segments:
        text = span.text[segment.start : segment.end]
        expect(reached <= segment.start < segment.end <= len(span.text), "segments out of place", span.segments)
        between = span.text[reached : segment.start]
        expect(not between or between in joiners or span.pinned, "text of unknown origin", between, span)
        chunk = chunks[segment.chunk_id]
        expect(span.parent_id is not None or text in chunk.text, "segment is not of its chunk", text, chunk)
        if segment.char_start is not None:
            if source is not None:
                place = source[segment.char_start : segment.char_start + len(text)]
                expect(place == text, "segment is not what the document holds there", text, place)
            if span.parent_id is None:
                at = segment.char_start - (chunk.metadata.char_start or 0)
                expect(at >= 0 and chunk.text[at : at + len(text)] == text, "offset is not its chunk's", span)
        reached = segment.end
    expect(reached == len(span.text), "end of a span has no source", span)
    for left, right in pairwise(span.segments):
        if left.char_start is None or right.char_start is None or span.parent_id is not None or span.pinned:
            continue
        left_end = left.char_start + left.end - left.start
        neighbours = right.chunk_id == left.chunk_id + 1
        if source is not None and neighbours and right.char_start > left_end:
            expect(right.char_start - left_end <= config.max_gap_chars, "wide gap closed", span)
            expect(span.text[left.end : right.start] in joiners, "gap closed without a mark", span)


def shown_ranges(spans: Iterable[Span], doc_id: str) -> list[tuple[int, int]]:
    """Source ranges of a document that are shown, in order."""
    return sorted(
        (segment.char_start, segment.char_start + segment.end - segment.start)
        for span in spans
        if span.doc_id == doc_id
        for segment in span.segments
        if segment.char_start is not None
    )


def check_nothing_twice(case: Case, spans: Sequence[Span]) -> None:
    """Check that no character of a document is shown twice."""
    for doc_id in case.world.located & {span.doc_id for span in spans}:
        ranges = shown_ranges(spans, doc_id)
        for (_, end), (start, _) in pairwise(ranges):
            expect(start >= end, "source characters twice", doc_id, ranges)


def check_caps(case: Case, config: RetrievalConfig, spans: Sequence[Span]) -> None:
    """Check that no document has more tokens than its cap; whole parents and pinned passages aside."""
    cap = config.max_tokens_per_document
    # of other tokenizers' counts, those of the parts do not add up to that of the whole
    if cap is None or case.tokenizer != "words":
        return
    for doc_id in {span.doc_id for span in spans}:
        own = [s for s in spans if s.doc_id == doc_id and not s.pinned and s.parent_id is None]
        expect(sum(span.token_count for span in own) <= cap, "document above its cap", doc_id, cap)


def check_order(config: RetrievalConfig, spans: Sequence[Span]) -> None:
    """Check the order by its definition, and the number of spans."""
    free = [span for span in spans if not span.pinned]
    expect(config.max_spans is None or len(free) <= config.max_spans, "more than max_spans", len(free))
    strategy = config.ordering_strategy.value
    scores = [span.score for span in free]
    if strategy in BY_SCORE:
        by_counts = strategy == "edge_balanced" and config.edge_counts is not None
        best_first = _from_counts(scores, config) if by_counts else BY_SCORE[strategy](scores)
        expect(all(a >= b for a, b in pairwise(best_first)), f"order is not {strategy}", scores)
    if strategy in ("document", "document_edges"):
        check_documents(strategy, free)
    if strategy == "chronological":
        times = [next((c.metadata.timestamp for c in s.chunks if c.metadata.timestamp is not None), None) for s in free]
        newest_first = config.chronological_order == "desc"
        keys = [(-math.inf if newest_first else math.inf) if time is None else time for time in times]
        expect(keys == sorted(keys, reverse=newest_first), "not by time", times)
    if strategy == "custom" and config.order_key is not None:
        keys = [config.order_key(span) for span in free]
        expect(keys == sorted(keys), "not by the caller's key", keys)
    if strategy == "relevance_groups":
        check_groups(config, scores)
    if strategy == "group_by" and config.group_by == "doc_id":
        runs = sum(a.doc_id != b.doc_id for a, b in pairwise(free)) + bool(free)
        expect(runs == len({span.doc_id for span in free}), "a group is torn apart", [s.doc_id for s in free])


def check_groups(config: RetrievalConfig, scores: list[float]) -> None:
    """Check that half of the highly relevant spans come first, the others last, and the medium ones before the low."""
    high = [score >= config.relevance_levels[0] for score in scores]
    half = (sum(high) + 1) // 2
    rest = scores[half : len(scores) - (sum(high) - half)]
    expect(all(high[:half]) and sum(high[half : half + len(rest)]) == 0, "highly relevant spans in the middle", scores)
    best = scores[:half] + scores[half + len(rest) :]
    expect(best == sorted(best, reverse=True), "highly relevant spans are not sorted", scores)
    medium = [score >= config.relevance_levels[1] for score in rest]
    expect(medium == sorted(medium, reverse=True), "spans of low relevance before those of medium", scores)


def check_documents(strategy: str, free: Sequence[Span]) -> None:
    """Check that documents stand by their best span, or with those at the edges, and go from front to back."""
    best = {span.doc_id: max(s.score for s in free if s.doc_id == span.doc_id) for span in free}
    names = list(dict.fromkeys(span.doc_id for span in free))
    order = BY_SCORE["edge_balanced" if strategy == "document_edges" else "score_desc"]([best[name] for name in names])
    expect(all(a >= b for a, b in pairwise(order)), "documents not by their best span", order)
    expect(sum(a.doc_id != b.doc_id for a, b in pairwise(free)) == max(len(names) - 1, 0), "a document is torn apart")
    for a, b in pairwise(free):
        # a span cut short by an exclusion may share a chunk with the next
        expect(a.doc_id != b.doc_id or a.chunk_ids[0] <= b.chunk_ids[0], "not in document order", a, b)


def _from_edges(scores: list[float]) -> list[float]:
    front, back = scores[: (len(scores) + 1) // 2], scores[(len(scores) + 1) // 2 :][::-1]
    return [score for pair in zip(front, [*back, -math.inf], strict=False) for score in pair][: len(scores)]


def _from_counts(scores: list[float], config: RetrievalConfig) -> list[float]:
    head, tail = config.edge_counts or (0, 0)
    if head + tail >= len(scores):
        return _from_edges(scores)
    middle = len(scores) - tail
    return scores[:head] + scores[middle:] + scores[head:middle]


BY_SCORE: dict[str, Callable[[list[float]], list[float]]] = {
    "score_desc": list,
    "front_first": list,
    "back_first": lambda scores: scores[::-1],
    "best_last": lambda scores: scores[::-1],
    "edge_balanced": _from_edges,
    "alternating": lambda scores: scores[0::2] + scores[1::2][::-1],
}
"""From the scores in an order back to what must be best first."""


def check_pinned(config: RetrievalConfig, spans: Sequence[Span]) -> None:
    """Check that pinned spans come first, and that nothing else is pinned."""
    flags = [span.pinned for span in spans]
    expect(flags == sorted(flags, reverse=True), "pinned spans do not come first", flags)
    given = [_text_of_passage(item) for item in config.pinned]
    at = 0
    for span in spans:
        if span.pinned:
            # one that repeats part of another is shown in parts
            while at < len(given) and span.text not in given[at]:
                at += 1
            expect(at < len(given), "pinned spans are not in the order given", span.text)


def _text_of_passage(item: Chunk | Span) -> str:
    return item.text


def check_parents(case: Case, spans: Sequence[Span]) -> None:
    """Check that no parent shows what a chunk in it may not show, whether the store says whose it is or keeps it back.

    A chunk that begins before the parent is not known of, unless it is near.
    """
    scopes = case.scopes()
    for span in spans:
        if span.parent_id is None or span.pinned or span.doc_id not in case.world.located:
            continue
        own = {key: chunk for key, chunk in case.world.store.items() if key[0] == span.doc_id}
        # what any chunk that may be seen says is no secret, whichever parent it names, and whether stored or a hit
        hits = {hit.key: hit.chunk for hit in case.all_hits() if hit.key in case.world.places}
        open_keys = [
            key for key, c in [*own.items(), *hits.items()] if key[0] == span.doc_id and c.metadata.scope in scopes
        ]
        seen = {at for key in open_keys for at in range(*case.world.places[key])}
        shown = {at for low, high in shown_ranges([span], span.doc_id) for at in range(low, high)}
        for key, chunk in own.items():
            start, end = case.world.places[key]
            if chunk.metadata.scope in scopes or not shown or start < min(shown):
                continue
            source = case.world.sources[span.doc_id]
            leaked = [at for at in range(start, end) if at in shown and at not in seen and not source[at].isspace()]
            expect(not leaked, "a parent shows what a chunk of it hides", key, span.parent_id)


def check_passages_of_parents(case: Case, config: RetrievalConfig, spans: Sequence[Span]) -> None:
    """Check that no parent repeats a chunk that is excluded, pinned or shown beside it, where places do not tell."""
    earlier = [span for item in config.exclude for span in getattr(item, "spans", [item]) if isinstance(span, Span)]
    excluded = {item.key for item in config.exclude if isinstance(item, Chunk)}
    texts = {item.strip() for item in config.exclude if isinstance(item, str)}
    shown = Counter((span.doc_id, at) for span in [*spans, *earlier] for at in ids_without_place(span))
    for span in spans:
        if span.parent_id is None or span.pinned or span.doc_id not in case.world.truthful:
            continue
        own = ids_without_place(span)
        for chunk in span.chunks:
            start, end = chunk.metadata.char_start, chunk.metadata.char_end
            if span.exact and start is not None and end is not None and not _meet((start, end), span):
                continue  # it stands between those that the parent replaced, beside it
            expect(chunk.key not in excluded, "a parent shows an excluded chunk", chunk.key)
            expect(chunk.text.strip() not in texts, "a parent shows an excluded text", chunk.text)
            elsewhere = shown[chunk.key] - (chunk.metadata.chunk_id in own)
            expect(elsewhere == 0, "a parent shows a chunk twice", chunk.key)


def _meet(place: tuple[int, int], span: Span) -> bool:
    return place[0] < (span.char_end or 0) and place[1] > (span.char_start or 0)


def check_excluded(case: Case, config: RetrievalConfig, spans: Sequence[Span]) -> None:
    """Check that nothing excluded is shown."""
    free = [span for span in spans if not span.pinned]
    for item in config.exclude:
        if isinstance(item, str):
            # a short text repeats only what is the same as a whole: "cat" must not cut "concatenate"
            found = any(
                item in span.text
                if len(item) >= MIN_SENTENCE
                else item == span.text and any(_text_of(span, segment.chunk_id) == item for segment in span.segments)
                for span in free
            )
            expect(not found, "excluded text is shown", item)
            continue
        for doc_id, start, end in _places_of(case, item):
            if doc_id in case.world.located:
                for low, high in shown_ranges(free, doc_id):
                    expect(high <= start or low >= end, "excluded range is shown", (doc_id, start, end), (low, high))


def _text_of(span: Span, chunk_id: int) -> str:
    return next(chunk.text for chunk in span.chunks if chunk.metadata.chunk_id == chunk_id)


def _places_of(case: Case, item: Any) -> list[tuple[str, int, int]]:
    if isinstance(item, tuple):
        return [item]
    if isinstance(item, Chunk):
        start, end = case.world.places[item.key]
        return [(item.metadata.doc_id, start, end)]
    earlier = [item] if isinstance(item, Span) else item.spans
    return [(span.doc_id, low, high) for span in earlier for low, high in shown_ranges([span], span.doc_id)]


def check_citations(case: Case, made: Composition) -> None:
    """Check that every shown character of a span is cited, and maps to the right place."""
    reached, at = 0, 0
    total = sum(segment.end - segment.start for span in made.spans for segment in span.segments)
    cited_characters = 0
    for cited in made.citations:
        expect(reached <= cited.start < cited.end <= len(made.text), "citations out of place", cited)
        reached = cited.end
        cited_characters += cited.end - cited.start
        span = made.spans[cited.number - 1]
        text = made.text[cited.start : cited.end]
        expect(cited.doc_id == span.doc_id and text in span.text, "citation is not of its span", cited)
        if cited.char_start is not None and cited.doc_id in case.world.truthful:
            place = case.world.sources[cited.doc_id][cited.char_start : cited.char_end]
            expect(place == text, "citation points to other text", cited, text, place)
    expect(cited_characters == total, "uncited characters", cited_characters, total)
    for number, span in enumerate(made.spans, start=1):
        at = made.text.find(span.text, at)
        expect(at >= 0, "span text is not in the context", span.text)
        at += len(span.text)
        expect(made.resolve(number), "number does not resolve", number)


def check_hits(case: Case, made: Composition) -> None:
    """Check that every hit is shown or listed with its reason, never both."""
    dropped = {(hit.doc_id, hit.chunk_id): hit for hit in made.dropped}
    expect(all(hit.reason in REASONS and hit.detail for hit in made.dropped), "drop without a reason", made.dropped)
    cited = {(citation.doc_id, citation.chunk_id) for citation in made.citations}
    for hit in case.all_hits():
        gone = dropped.get(hit.key)
        same_key = [other for other in case.all_hits() if other.key == hit.key]
        texts = [other.chunk.text for other in same_key]
        if gone is None:
            expect(any(shown_share(case, made, other) > 0 for other in same_key), "hit lost", hit.key)
        elif gone.shown and len({case.world.store.get(hit.key, hit.chunk).text, *texts}) > 1:
            continue  # it is said that one is shown in part; which of them, or the store's, was used is not
        elif gone.reason != "duplicate_id" and hit.key in cited and case.honest():
            # what others show of it does not count: chunks overlap
            expect(shown_share(case, made, hit) < 1, "hit is shown whole and dropped", hit.key, gone.reason)


def shown_share(case: Case, made: Composition, hit: SeedHit) -> float:
    """How much of a hit's text is shown, in [0, 1]; 0.5 where it is some and cannot be said exactly."""
    (doc_id, chunk_id), chunk = hit.key, case.world.store.get(hit.key, hit.chunk)
    start, end = chunk.metadata.char_start, chunk.metadata.char_end
    if doc_id in case.world.truthful and chunk is case.world.chunks.get(hit.key):
        start, end = case.world.places[hit.key]  # it may carry no offsets itself
    if start is not None and end == start + len(chunk.text):
        ranges = shown_ranges(made.spans, doc_id)
        share = sum(max(0, min(end, high) - max(start, low)) for low, high in ranges) / len(chunk.text)
        if share > 0:
            return share if doc_id in case.world.located else 0.5
    texts = [text.strip() for text in (chunk.text, hit.chunk.text)]
    for span in made.spans:
        if span.doc_id == doc_id:
            if any(segment.chunk_id == chunk_id for segment in span.segments):
                return 0.5
            # what one chunk says another may say as well: not enough to call it shown whole
            if any(text in span.text or span.text in text for text in texts):
                return 0.5
    return 0.0


def check_waste(case: Case, config: RetrievalConfig, made: Composition, count: Count) -> None:
    """Check that no hit is dropped for the budget which leaves ample room for it.

    Nor for its value, where that is above what the effort asks for and a passage costs.
    """
    if not case.honest():
        return
    cut = any("was cut" in warning for warning in made.warnings)
    limited = config.max_spans or config.max_tokens_per_document or config.selection_unit == "span"
    if cut or config.exclude or config.pinned or limited:
        return
    gap = "\n\n[... 100,000 characters omitted ...]"
    spare = config.token_budget - made.tokens - 2 * count(gap + "x " * 75)
    dropped = {(hit.doc_id, hit.chunk_id) for hit in made.dropped if hit.reason == "budget"}
    for hit in case.all_hits():
        if hit.key in dropped and hit.key[0] in case.world.truthful and shown_share(case, made, hit) == 0:
            # its passage may have to name the document
            least = count(hit.chunk.text) + 2 * count(hit.key[0])
            expect(least > spare, "budget left unused", hit, spare)
    if made.trace.units and config.selection_unit in ("auto", "unit") and config.quotas is None:
        check_earned(case, config, made, spare, count)


def check_earned(case: Case, config: RetrievalConfig, made: Composition, spare: int, count: Count) -> None:
    """Check that what the effort leaves out holds little, and that other hits with a value are shown if they fit."""
    units, selection = made.trace.units, made.trace.selection
    stopped = bool(selection.get("stopped"))  # empty where nothing is worth anything, or the best one is cut
    expect(not stopped or selection["left_out"] < SPARED[config.effort], "too much is left out", selection)
    if stopped or any(unit.length > len(unit.beginning) + 1 for unit in units):
        return  # what a unit costs is not known
    tokens = [max(count(unit.beginning), 1) for unit in units]
    for hit in made.dropped:
        own = [i for i, unit in enumerate(units) if (hit.doc_id, hit.chunk_id) in _keys_of(unit)]
        if hit.reason != "no_value" or len(own) != 1 or units[own[0]].selected:
            continue  # of several units, those at the edges may be torn
        if not units[own[0]].beginning:
            continue  # the store's text of the hit is white space alone, which is not shown
        if _is_read_elsewhere(case, made, (hit.doc_id, hit.chunk_id)):
            continue
        worth = units[own[0]].value > config.min_value + 1e-9 and tokens[own[0]] <= spare
        expect(not worth, "budget left unused by a hit that is worth it", hit, spare)


def _is_read_elsewhere(case: Case, made: Composition, key: ChunkKey) -> bool:
    """Whether other chunks show all of one, by the offsets that it gives; white space aside."""
    given = [hit.chunk for hit in case.all_hits() if hit.key == key]
    chunk = case.world.store.get(key, given[0])
    start, end = chunk.metadata.char_start, chunk.metadata.char_end
    if start is None or end != start + len(chunk.text):
        return False
    rest = remaining(start, end, merge_ranges(shown_ranges(made.spans, key[0])))
    return not "".join(chunk.text[low - start : high - start] for low, high in rest).strip()


def _keys_of(unit: UnitNote) -> set[ChunkKey]:
    return {(unit.doc_id, chunk_id) for chunk_id in unit.chunk_ids}


def check_coverage(made: Composition) -> None:
    """Check that coverage tells what the spans show."""
    for coverage in made.coverage:
        shown = {i for span in made.spans if span.doc_id == coverage.doc_id for i in span.chunk_ids}
        told = {i for first, last in coverage.ranges for i in range(first, last + 1)}
        expect(shown == told, "coverage is not what is shown", coverage, shown)
        expect({i for i, _ in coverage.matched} <= shown, "matched chunk is not shown", coverage)
    expect({c.doc_id for c in made.coverage} == {s.doc_id for s in made.spans}, "document without coverage")


def check_units(case: Case, made: Composition) -> None:
    """Check that units show all that was touched, once, and that probabilities are some."""
    units = made.trace.units
    expect(bool(units) <= case.calibrated(), "units without the calibrated scorer", len(units))
    expect(made.confidence is None or bool(units), "confidence without units", made.confidence)
    if not case.calibrated():
        return
    expect(made.confidence is None or 0.0 <= made.confidence <= 1.0, "confidence is no probability", made.confidence)
    for unit in units:
        expect(0.0 <= unit.probability <= 1.0 and 0.0 <= unit.value <= 1.0, "value outside [0, 1]", unit)
        expect(all(math.isfinite(moved) for _, moved in unit.reasons), "reason is not finite", unit)
    named = {(unit.doc_id, chunk_id) for unit in units for chunk_id in unit.chunk_ids}
    touched = {(note.doc_id, note.chunk_id) for note in made.trace.notes if note.outcome != "refused"}
    expect(named == touched, "chunks without a unit, or units without a chunk", named ^ touched)
    for doc_id in case.world.located & {unit.doc_id for unit in units} if case.honest() else ():
        check_tiling(case, made, doc_id)


def check_tiling(case: Case, made: Composition, doc_id: str) -> None:
    """Check that the units of a document whose chunks leave no gaps hold each of their characters once."""
    numbers = {note.chunk_id for note in made.trace.notes if note.doc_id == doc_id and note.outcome != "refused"}
    if any((doc_id, i) not in case.world.places or not _as_indexed(case, (doc_id, i)) for i in numbers):
        return
    if max(numbers) - min(numbers) + 1 != len(numbers):
        return  # several runs, which may overlap
    places = [case.world.places[doc_id, i] for i in sorted(numbers)]
    reached = places[0][1]
    for (before, _), (start, end) in pairwise(places):
        if not before <= start <= reached:
            return
        reached = max(reached, end)
    reached = 0
    for start, end in sorted(
        (unit.char_start, unit.char_start + unit.length)
        for unit in made.trace.units
        if unit.doc_id == doc_id and unit.char_start is not None
    ):
        expect(start >= reached, "units overlap", doc_id, start, reached)
        reached = end
    total = sum(unit.length for unit in made.trace.units if unit.doc_id == doc_id)
    said = {at for i in numbers for at in range(*case.world.places[doc_id, i])}
    expect(total == len(said), "units do not hold what the chunks say", doc_id, total, len(said))


def _as_indexed(case: Case, key: tuple[str, int]) -> bool:
    """Whether a chunk was used with the text that its document has."""
    hits = [hit.chunk for hit in case.all_hits() if hit.key == key]
    return all(chunk.text == case.world.chunks[key].text for chunk in hits)


def check_top(case: Case, config: RetrievalConfig, made: Composition) -> None:
    """Check that the best hits are shown whole, or that a warning says which are not."""
    if config.exclude or config.pinned or not case.honest():
        return
    seeds = [note for note in made.trace.notes if note.role == "seed"]
    for note in seeds:
        key = note.doc_id, note.chunk_id
        # equal relevance does not say which of them are the best
        among = sum(other.relevance >= note.relevance for other in seeds) <= config.keep_top  # type: ignore[operator]
        told = any(f"hit {key!r} is not shown whole" in warning for warning in made.warnings)
        if not among or told or note.reason == "duplicate_text" or note.doc_id not in case.world.located:
            continue
        if not _as_indexed(case, key) or any(s.doc_id == key[0] and s.parent_id for s in made.spans):
            continue  # a parent may be without offsets
        start, end = case.world.places[key]
        shown = merge_ranges([part for part in shown_ranges(made.spans, note.doc_id) if part[0] < part[1]])
        source = case.world.sources[note.doc_id]
        rest = [source[low:high].strip() for low, high in remaining(start, end, shown)]
        # what another document says as well is shown once
        lost = [text for text in rest if not any(text in span.text for span in made.spans)]
        expect(not lost, "one of the best hits is not shown whole", key, lost)


# ---- growth


def check_windows(case: Case, config: RetrievalConfig, made: Composition, count: Count) -> None:
    """Check that what seeds grew to is what a plain walk reaches, and that nothing else is shown."""
    windows = [(w.doc_id, w.start, w.end) for w in made.trace.windows]
    expected = expected_windows(case, config, count if made.trace.scorer == "calibrated" else None)
    expect(expected in (None, sorted(windows)), "windows are not what the guards allow", windows, expected)
    inside = {(doc_id, i) for doc_id, start, end in windows for i in range(start, end)}
    linked = {target for _, target in made.trace.links}
    for span in made.spans:
        if not span.pinned and span.parent_id is None:
            extra = {(span.doc_id, i) for i in span.chunk_ids} - inside - linked
            expect(not extra, "shown chunk is in no window", extra)
    expect(not made.trace.links or config.follow_links, "links followed unasked", made.trace.links)


# ---- the call as a whole


def check_requests(case: Case, config: RetrievalConfig) -> None:
    """Check one neighbour request per query, one more a hop of links and one for parents' other chunks.

    They are split only where the store has a limit.
    """
    if not isinstance(case.store, OddStore) or case.store.behaviour == "odd limit":
        return
    calls = case.store.calls
    limit = case.store.batch_limit
    sizes = [sum(len(window) for window in call) for call in calls]
    siblings = config.return_parents != "never"
    allowed = 1 + config.follow_links + siblings
    if limit is None:
        expect(len(calls) <= allowed, "more than one neighbour request", len(calls))
        return
    expect(max(sizes, default=0) <= limit, "batch_limit exceeded", sizes)
    if not config.follow_links and not siblings:
        expect(len(calls) == math.ceil(sum(sizes) / limit), "not ceil(n / limit) requests", sizes, limit)


def snapshot(case: Case) -> Any:
    """Note what a query must leave as it is."""
    chunks = [(key, id(chunk), id(chunk.embedding)) for key, chunk in case.world.store.items()]
    hits = [(id(hit), hit.similarity_score, id(hit.chunk.embedding)) for hit in case.all_hits()]
    return chunks, hits, list(case.world.parents)


def without_times(made: Composition) -> dict[str, Any]:
    """Return everything in a composition but how long it took."""
    data = made.to_dict(trace=True)
    for step in data["trace"]["steps"]:
        del step["microseconds"]
    return data
