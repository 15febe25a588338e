"""Passages that the caller pins: made to spans that come first, as far as they fit the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from retrivex.composer.call import Call
from retrivex.errors import RetrivexError
from retrivex.merging.exclusions import Exclusions
from retrivex.model.chunk import Chunk
from retrivex.model.run import Segment
from retrivex.model.span import Span, cut_span
from retrivex.rendering.render import render
from retrivex.tokens.tokenizer import Tokenizer

_JOINED_TOKENS, _JOINED_SHARE = 4, 16
"""Tokens, and one in so many, that a text may have less behind others: what exceeds the budget by more is not tried."""

_TRIES = 16
"""Spans of one count that are tried beside the same others: of some tokenizers, rounding makes one fit and one not."""


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
    spans, warnings = pin(call.config.pinned, call.allowed, call.counter)
    call.log.warnings += warnings
    spans = _drop_unaffordable(call, spans)
    for span in spans:
        exclusions.add(span)
    return Pinned(spans, exclusions, call.config.token_budget - sum(span.token_count for span in spans))


def _drop_unaffordable(call: Call, pinned: Sequence[Span]) -> list[Span]:
    """Return the spans that fit, each beside the earlier ones that do.

    As many are written and counted at once as may fit by their own counts: where all of them do, each does. What takes
    more than one that did not fit is not tried. So what is counted does not grow with the number of spans times the
    budget.
    """
    budget = call.config.token_budget

    def count(spans: Sequence[Span], first: int = 1) -> int:
        return call.counter.count_joined(render(spans, call.style, range(first, first + len(spans))).text)

    if not pinned or count(pinned) <= budget:
        return list(pinned)
    kept: list[Span] = []
    refused: list[int] = []  # tokens of the last span that is kept together with each that did not fit behind it
    used, at, most = 0, 0, len(pinned)
    while at < len(pinned):
        batch, end = _next_batch(pinned, at, budget - used, most)
        more = [pinned[number] for number in batch]
        last = count([*kept[-1:], *more], max(1, len(kept))) if len(batch) == 1 else 0
        if not batch or (refused and (last > min(refused) or refused.count(last) == _TRIES)):
            batch = []
        elif (tokens := count([*kept, *more])) <= budget:
            kept += more
            used, refused = tokens, []
        elif len(batch) > 1:
            most = len(batch) // 2
            continue
        else:
            refused.append(last)
            batch = []
        for number in sorted(set(range(at, end)).difference(batch)):
            name = pinned[number].doc_id
            call.log.warn(f"pinned passage of {name!r} not pinned: it does not fit token_budget={budget}")
        at, most = end, 2 * most
    return kept


def _next_batch(pinned: Sequence[Span], at: int, left: int, most: int) -> tuple[list[int], int]:
    """Return the numbers of the next spans that may fit together, one at least, and up to where the others do not."""
    batch: list[int] = []
    total = 0
    for number in range(at, len(pinned)):
        tokens = pinned[number].token_count
        if tokens - tokens // _JOINED_SHARE - _JOINED_TOKENS > left:
            continue
        if batch and (len(batch) == most or total + tokens > left):
            return batch, number
        batch.append(number)
        total += tokens
    return batch, len(pinned)


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
