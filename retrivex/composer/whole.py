"""Short documents, shown whole: fetched whole, and taken whole where one of their pieces would be."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from retrivex.composer.call import Call
from retrivex.composer.fetch import Fetched
from retrivex.composer.select import Selected, limits_of
from retrivex.expansion.seeds import Seed
from retrivex.expansion.windows import Expansion, growing_seeds
from retrivex.merging.runs import merge
from retrivex.model.run import Run
from retrivex.model.span import Span
from retrivex.model.window import Window
from retrivex.selection.candidates import CandidateSet
from retrivex.selection.problem import fits

SHORTER = 4
"""How much shorter the chunks of a document may be, on the mean, than those of its hits."""

_OVERLAP = 2  # times that chunks may repeat their document


def plan_documents(call: Call, seeds: Sequence[Seed], planned: Sequence[Window], limit: int) -> list[Window]:
    """Widen the windows of seeds that may grow to their documents, where those may have at most `limit` tokens."""
    tokens: dict[str, list[int]] = {}
    for seed, count in zip(seeds, call.candidate_counts.count_many([seed.chunk.text for seed in seeds]), strict=True):
        tokens.setdefault(seed.key[0], []).append(count)
    made = []
    for seed, window, grows in zip(seeds, planned, growing_seeds(seeds, call.config), strict=True):
        doc_id, chunk_id = seed.key
        most = SHORTER * (1 + limit * len(tokens[doc_id]) // max(1, sum(tokens[doc_id])))
        end = seed.chunk.metadata.chunk_count or most
        wide = grows and chunk_id < end <= most
        made.append(Window(doc_id, 0, max(end, window.end)) if wide else window)
    return made


def find_documents(
    call: Call, seeds: Sequence[Seed], planned: Sequence[Window], fetched: Fetched, expansion: Expansion, limit: int
) -> frozenset[str]:
    """Return the documents that were fetched whole and have at most `limit` tokens; their hits grow to them."""
    hidden = {doc_id for doc_id, _ in fetched.out_of_scope}
    ends: dict[str, int] = {}
    last: dict[str, int] = {}
    for doc_id, number in (*fetched.found, *(seed.key for seed in seeds)):
        last[doc_id] = max(number, last.get(doc_id, number))
    for seed, window in zip(seeds, planned, strict=True):
        doc_id, count = seed.key[0], seed.chunk.metadata.chunk_count
        if window.start or doc_id in ends or doc_id in hidden or not fetched.complete:
            continue
        texts: list[str] = []
        while len(texts) < window.end and (chunk := fetched.found.get((doc_id, len(texts)))) is not None:
            texts.append(chunk.text)
        # without a count, the first place without a chunk is the end, where it was asked for and nothing is behind it
        whole = len(texts) == (count or last[doc_id] + 1) and (count is not None or len(texts) < window.end)
        if whole and sum(call.candidate_counts.count_many(texts)) <= _OVERLAP * limit:
            runs, _ = merge([Window(doc_id, 0, len(texts))], fetched.found, call.config)
            if sum(call.counter.count(run.text) for run in runs) <= limit:
                ends[doc_id] = len(texts)
    for at, seed in enumerate(seeds):
        end = ends.get(seed.key[0])
        if end is not None:
            expansion.windows[at] = Window(seed.key[0], 0, end)
            expansion.refused.setdefault((seed.key[0], end), "document end")
    return frozenset(ends)


def keep_documents(
    call: Call,
    candidates: CandidateSet,
    runs: Sequence[Run],
    found: Collection[str],
    kept: Selected,
    ranked: Sequence[int],
    allowance: int,
) -> Selected:
    """Keep, beside what is kept, all of the short documents of ranked pieces, best first as far as they fit."""
    doc_ids = [runs[number].doc_id for number in candidates.places(range(len(candidates.problem)))[0].tolist()]
    limits, order = limits_of(call, allowance), list(kept.order)
    for doc_id in dict.fromkeys([doc_ids[number] for number in ranked]):
        own = [number for number, name in enumerate(doc_ids) if name == doc_id and number not in order]
        if doc_id in found and fits(candidates.problem, sorted([*order, *own]), limits):
            order += own
    return replace(kept, order=tuple(order))


def shown_whole(runs: Sequence[Run], spans: Sequence[Span], found: Collection[str]) -> list[str]:
    """Return which of some documents spans show whole."""
    parts = {doc_id: [run.text.strip() for run in runs if run.doc_id == doc_id] for doc_id in sorted(found)}
    texts = {doc_id: [span.text for span in spans if span.doc_id == doc_id] for doc_id in parts}
    return [doc_id for doc_id, own in parts.items() if all(any(part in text for text in texts[doc_id]) for part in own)]
