"""Where the text of an answer comes from: citations of all of it, and how much of each document it shows."""

from __future__ import annotations

from collections.abc import Sequence

from retrivex.composition.composition import Citation
from retrivex.composition.documents import Coverage
from retrivex.expansion.seeds import Seed
from retrivex.merging.intervals import window_coverage
from retrivex.model.media import media_between
from retrivex.model.span import Span
from retrivex.rendering.render import Rendered


def citations_of(spans: Sequence[Span], rendered: Rendered) -> tuple[Citation, ...]:
    """One citation for every stretch of source text in the context, in order."""
    made: list[Citation] = []
    for number, (span, start) in enumerate(zip(spans, rendered.starts, strict=True), start=1):
        places = {chunk.metadata.chunk_id: chunk for chunk in span.chunks}
        for segment in span.segments:
            chunk, source = places[segment.chunk_id], segment.char_start
            metadata, end = chunk.metadata, None if source is None else source + segment.end - segment.start
            # a parent that was swapped in also shows text between the chunks that are known
            own = source is None or metadata.char_end is None or source < metadata.char_end
            made.append(
                Citation(
                    number=number,
                    start=start + segment.start,
                    end=start + segment.end,
                    doc_id=span.doc_id,
                    chunk_id=segment.chunk_id,
                    char_start=source,
                    char_end=end,
                    page=metadata.page if own else None,
                    heading_path=tuple(metadata.heading_path or ()) if own else (),
                    media=media_between([chunk], source, end),
                )
            )
    return tuple(made)


def coverage_of(spans: Sequence[Span], seeds: Sequence[Seed]) -> tuple[Coverage, ...]:
    """Return what is shown of each document, those with the best hits first."""
    shown: dict[str, set[int]] = {}
    counts: dict[str, int] = {}
    for span in spans:
        shown.setdefault(span.doc_id, set()).update(span.chunk_ids)
        for chunk in span.chunks:
            if chunk.metadata.chunk_count is not None:
                counts[span.doc_id] = chunk.metadata.chunk_count
    matched: dict[str, list[Seed]] = {doc_id: [] for doc_id in shown}
    for seed in seeds:
        doc_id, chunk_id = seed.key
        if chunk_id in shown.get(doc_id, ()):
            matched[doc_id].append(seed)
    made = [
        Coverage(
            doc_id=doc_id,
            ranges=tuple(window_coverage(shown[doc_id])),
            chunk_count=counts.get(doc_id),
            matched=tuple(sorted((seed.key[1], seed.score) for seed in hits)),
            max_score=max((seed.score for seed in hits), default=None),
            mean_score=sum(seed.score / len(hits) for seed in hits) if hits else None,
        )
        for doc_id, hits in matched.items()
    ]
    best = {doc_id: max((seed.relevance for seed in hits), default=-1.0) for doc_id, hits in matched.items()}
    return tuple(sorted(made, key=lambda coverage: (-best[coverage.doc_id], coverage.doc_id)))
