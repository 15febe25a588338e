"""Passages that the caller pins: made to spans that come first, as far as they fit the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from retrivex.composer.call import Call
from retrivex.composer.spans import tokens_of_text
from retrivex.errors import RetrivexError
from retrivex.merging.exclusions import Exclusions
from retrivex.model.chunk import Chunk
from retrivex.model.run import Segment
from retrivex.model.span import Span, cut_span
from retrivex.rendering.render import render
from retrivex.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Pinned:
    """Pinned spans, and what they leave to the others.

    Parameters
    ----------
    spans : in the order given
    exclusions : what may not be shown: the spans, and what the caller excludes
    tokens_left : of the budget, separators and headers not counted
    """

    spans: list[Span]
    exclusions: Exclusions
    tokens_left: int


def without_pins(call: Call) -> Pinned:
    """Return the budget and the caller's exclusions with nothing pinned."""
    return Pinned([], Exclusions.of(call.config.exclude), call.config.token_budget)


def pin_passages(call: Call) -> Pinned:
    """Return the pinned spans that fit the budget; the others stay candidates, with a warning."""
    exclusions = Exclusions.of(call.config.exclude)
    spans, warnings = pin(call.config.pinned, call.allowed, call.counter.cache)
    call.log.warnings += warnings
    spans = _drop_unaffordable(call, spans)
    for span in spans:
        exclusions.add(span)
    return Pinned(spans, exclusions, call.config.token_budget - sum(span.token_count for span in spans))


def _drop_unaffordable(call: Call, pinned: Sequence[Span]) -> list[Span]:
    budget = call.config.token_budget

    def fits(spans: list[Span]) -> bool:
        return tokens_of_text(render(spans, call.style), spans, call.counter) <= budget

    # one by one only where something has to go: what is kept is then no longer than the budget
    if fits(list(pinned)):
        return list(pinned)
    kept: list[Span] = []
    for span in pinned:
        if fits([*kept, span]):
            kept.append(span)
        else:
            call.log.warn(f"pinned passage of {span.doc_id!r} not pinned: it does not fit token_budget={budget}")
    return kept


def pin(items: Sequence[Any], allowed: frozenset[str | None], tokenizer: Tokenizer) -> tuple[list[Span], list[str]]:
    """Make pinned spans, each character once.

    Returns
    -------
    spans
        In the order given.
    warnings
        What was left out because of its scope.
    """
    spans: list[Span] = []
    warnings: list[str] = []
    taken = Exclusions()
    for item in items:
        span = pinned_span(item, tokenizer)
        if any(chunk.metadata.scope not in allowed for chunk in span.chunks):
            warnings.append(f"pinned passage of {span.doc_id!r} left out: its scope may not be seen by this call")
            continue
        spans += [
            span if part == (0, len(span.text)) else cut_span(span, *part, tokenizer.count(span.text[slice(*part)]))
            for part in taken.left_of(span)
        ]
        taken.add(span)
    return spans, warnings


def pinned_span(item: Any, tokenizer: Tokenizer) -> Span:
    """Make a pinned span of what the caller pinned.

    Raises
    ------
    RetrivexError
        If it is neither a Chunk nor a Span.
    """
    if isinstance(item, Span):  # counted by whoever made it, which says nothing about this call's tokenizer
        return replace(item, pinned=True, token_count=tokenizer.count(item.text))
    if not isinstance(item, Chunk):
        raise RetrivexError(f"pinned holds {type(item).__name__}: pin chunks or spans; wrap a text in a Chunk")
    metadata, text = item.metadata, item.text
    start = metadata.char_start
    exact = start is not None and metadata.char_end == start + len(text)
    return Span(
        doc_id=metadata.doc_id,
        chunk_ids=[metadata.chunk_id],
        chunks=[item],
        score=0.0,
        char_start=start if exact else None,
        char_end=metadata.char_end if exact else None,
        token_count=tokenizer.count(text),
        text=text,
        exact=exact,
        segments=(Segment(0, len(text), metadata.chunk_id, start if exact else None),),
        pinned=True,
        prefix=metadata.prefix,
    )
