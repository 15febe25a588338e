"""Measures of a context for its question that need no model."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from retrivex.composition.composition import Citation
from retrivex.evaluation.metrics import Range, covered, score_context, united
from retrivex.evaluation.metrics.evidence import COMPLETE
from retrivex.evaluation.metrics.words import finder
from retrivex.evaluation.questions.evidence import Evidence, Question
from retrivex.evaluation.run.context import Context
from retrivex.evaluation.run.results import Excerpt
from retrivex.evaluation.run.sentence_edges import SentenceEdges
from retrivex.model.span import Span
from retrivex.tokens.tokenizer import Tokenizer

RECALL_AT = (1, 3, 5, 10)
"""Numbers of best spans whose evidence is counted."""

MOST_SHOWN = 3
"""Passages that are written down where evidence is missing."""

MOST_EXCERPT = 160
"""Characters of an excerpt at most."""

MEASURES = (
    "evidence_recall",
    "complete",
    "answer_in_context",
    "evidence_precision",
    "evidence_iou",
    "rescued_by_neighbours",
    "lost",
    *(f"recall_at_{k}" for k in RECALL_AT),
    "reciprocal_rank",
    "evidence_position",
    "evidence_tokens_per_1000",
    "broken_sentences",
    "spans",
    "tokens",
    "ms",
)
"""Every measure, in the order of the tables."""


def measure(
    question: Question, context: Context, hits: Sequence[Range], edges: SentenceEdges, tokenizer: Tokenizer
) -> dict[str, float]:
    """Return the measures of a context; one that the question does not allow is left out.

    Parameters
    ----------
    question : what was asked
    context : what a model would read
    hits : where the retriever's chunks stand
    edges : the sentences of the documents
    tokenizer : the one that budgets are counted with
    """
    tokens = tokenizer.count(context.text)
    made = {"tokens": float(tokens), "spans": float(len(context.spans)), "ms": round(context.ms, 3)}
    if context.spans:
        made["broken_sentences"] = sum(_is_broken(span, edges) for span in context.spans) / len(context.spans)
    if any(answer.strip() for answer in question.answers):
        made["answer_in_context"] = float(holds_answer(context.text, question))
    if question.evidence:
        made |= _of_evidence(question.evidence, context, hits, tokens, tokenizer)
        made |= _of_ranks(question.evidence, context.spans)
    return {name: made[name] for name in MEASURES if name in made}


def missing_evidence(question: Question, context: Context, documents: Mapping[str, str]) -> tuple[Excerpt, ...]:
    """Return the passages of evidence that a context does not hold whole, as `complete` has it.

    Parameters
    ----------
    question : what was asked
    context : what a model would read
    documents : doc_id -> text
    """
    shown = united(cited_ranges(context.citations))
    return tuple(
        Excerpt(part.doc_id, _beginning(documents[part.doc_id][part.start : part.end]))
        for part in question.evidence
        if covered((part.doc_id, part.start, part.end), shown) < COMPLETE * (part.end - part.start)
    )


def shown_passages(context: Context) -> tuple[Excerpt, ...]:
    """Return the best passages of a context, at most `MOST_SHOWN`."""
    return tuple(Excerpt(span.doc_id, _beginning(span.text)) for span in context.spans[:MOST_SHOWN])


def evidence_ranges(question: Question, context: Context) -> tuple[tuple[int, int], ...]:
    """Return where in the text of a context evidence stands, ascending."""
    return tuple(_find_shown(question.evidence, context.citations))


def _beginning(text: str) -> str:
    """Return the first words of a text, on one line, as far as UTF-8 can write them."""
    line = " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
    if len(line) <= MOST_EXCERPT:
        return line
    cut = line[:MOST_EXCERPT]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut else cut} …"


def holds_answer(text: str, question: Question) -> bool:
    """Return whether an answer stands in a text, or all of them where all are needed.

    Case, the width of characters, white space and punctuation around an answer do not matter. Words have to be whole
    ones; in scripts that are written without spaces any characters will do. An answer that is right in other words is
    not seen.

    Examples
    --------
    >>> asked = Question("1", "Who?", (), answers=("The Queen", "nobody"))
    >>> holds_answer("It was the\\nqueen.", asked), holds_answer("It was the queens.", asked)
    (True, False)
    """
    plain = _normalize(text)
    found = (finder(_strip_punctuation(_normalize(answer)))(plain) for answer in question.answers if answer.strip())
    return all(found) if question.needed == "all" else any(found)


def _normalize(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _strip_punctuation(answer: str) -> str:
    """Return an answer without punctuation around it; one that is nothing else stays."""
    kept = [at for at, letter in enumerate(answer) if letter != " " and unicodedata.category(letter)[0] != "P"]
    return answer[kept[0] : kept[-1] + 1] if kept else answer


def _of_evidence(
    evidence: Sequence[Evidence], context: Context, hits: Sequence[Range], tokens: int, tokenizer: Tokenizer
) -> dict[str, float]:
    scores = score_context(list(cited_ranges(context.citations)), evidence, hits, tokens=tokens)
    made = {
        "evidence_recall": scores.recall,
        "complete": float(scores.complete),
        "evidence_precision": scores.precision,
        "evidence_iou": scores.iou,
        "rescued_by_neighbours": scores.rescued,
        "lost": scores.lost,
        "evidence_tokens_per_1000": 0.0,
    }
    pieces = list(_find_shown(evidence, context.citations))
    if pieces and tokens:
        found = sum(tokenizer.count_many([context.text[start:end] for start, end in pieces]))
        made["evidence_tokens_per_1000"] = 1000 * found / tokens
        made["evidence_position"] = _position(pieces, context.text, tokens, tokenizer)
    return made


def _position(pieces: Sequence[tuple[int, int]], text: str, tokens: int, tokenizer: Tokenizer) -> float:
    """Return where in the context the evidence stands: 0 for its first token, 1 for its last; the mean of all of it."""
    middles = tokenizer.count_many([text[: (start + end) // 2] for start, end in pieces])
    sizes = [end - start for start, end in pieces]
    return min(1.0, sum(a * b for a, b in zip(middles, sizes, strict=True)) / sum(sizes) / tokens)


def _of_ranks(evidence: Sequence[Evidence], spans: Sequence[Span]) -> dict[str, float]:
    """Return how much of the evidence the best spans show, and how good the first is that shows any."""
    gold = [(doc_id, *part) for doc_id, parts in united(_gold(evidence)).items() for part in parts]
    wanted = sum(end - start for _, start, end in gold)
    places = [ranges_of(span) for span in spans]
    made = {}
    for k in RECALL_AT:
        shown = united(part for some in places[:k] for part in some)
        made[f"recall_at_{k}"] = sum(covered(part, shown) for part in gold) / wanted
    ranks = (rank for rank, some in enumerate(places, 1) if any(covered(part, united(some)) for part in gold))
    return {**made, "reciprocal_rank": 1 / next(ranks, float("inf"))}


def _gold(evidence: Sequence[Evidence]) -> Iterator[Range]:
    return ((part.doc_id, part.start, part.end) for part in evidence)


def _is_broken(span: Span, edges: SentenceEdges) -> bool:
    places = ranges_of(span)
    return bool(places) and edges.breaks(span.doc_id, places[0][1], places[-1][2], span.prefix)


def ranges_of(span: Span) -> list[Range]:
    """Return where a span's text stands in its document, piece by piece where its source has gaps."""
    parts = (
        (span.doc_id, segment.char_start, segment.char_start + segment.end - segment.start)
        for segment in span.segments
        if segment.char_start is not None
    )
    return [(doc_id, *part) for doc_id, joined in united(parts).items() for part in joined]


def cited_ranges(citations: Sequence[Citation]) -> Iterator[Range]:
    """Yield the characters that citations stand for, where these are known."""
    for cited in citations:
        if cited.char_start is not None and cited.char_end is not None:
            yield cited.doc_id, cited.char_start, cited.char_end


def _find_shown(evidence: Sequence[Evidence], citations: Sequence[Citation]) -> Iterator[tuple[int, int]]:
    """Yield where evidence stands in the context, ascending; evidence that overlaps counts once."""
    gold = united(_gold(evidence))
    for cited in citations:
        if cited.char_start is None or cited.char_end is None:
            continue
        for start, end in gold.get(cited.doc_id, ()):
            low, high = max(start, cited.char_start), min(end, cited.char_end)
            if low < high:
                yield low - cited.char_start + cited.start, high - cited.char_start + cited.start
