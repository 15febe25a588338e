"""What each measure means, in one sentence: for reports and comparisons, where the measure stands."""

from __future__ import annotations

from collections.abc import Iterable

_RECALL_AT = "recall_at_"

_EXPLANATIONS = {
    "evidence_recall": "share of the evidence's characters that stand in the context",
    "complete": "share of the questions with all of their evidence in the context",
    "answer_in_context": "share of the questions with an expected answer, word for word, in the context",
    "evidence_precision": "share of the context's characters that are evidence",
    "evidence_iou": "evidence shown, as a share of everything that is evidence or shown",
    "rescued_by_neighbours": "share of the evidence that is shown although no hit held it",
    "lost": "share of the evidence that the hits held and the context does not show",
    "reciprocal_rank": "1 / rank of the first passage with evidence, best passage first; 0 where there is none",
    "evidence_position": "where in the context the evidence stands: 0 is the beginning, 1 the end",
    "evidence_tokens_per_1000": "tokens of evidence in 1,000 tokens of context",
    "broken_sentences": "share of the passages that cut a sentence, row or fence, or lack what they belong to",
    "spans": "passages in the context",
    "tokens": "tokens of the context",
    "ms": "processor time to make a context",
    "score": "the set's own score of the model's answers",
    "f1": "words that the answer shares with the reference (F1)",
    "em": "share of the answers that equal a reference, apart from case, articles and punctuation",
    "faithfulness": "share of the answer's informative words that stand in the context",
    "answerable": "share of the questions where the model answers, or declines, as it should",
}
_LABELS = {"ms": "milliseconds", "em": "exact match", "f1": "F1 of the words", "evidence_iou": "evidence IoU"}
_DIGITS = {"spans": 1, "tokens": 1, "ms": 2, "evidence_tokens_per_1000": 1}  # of others, mostly shares, three


def write_measure(name: str, value: float | None, sign: str = "") -> str:
    """Return a figure of a measure, with the same digits wherever it stands; a dash where there is none.

    Examples
    --------
    >>> write_measure("tokens", 1234.56), write_measure("complete", 0.25, "+"), write_measure("ms", None)
    ('1,234.6', '+0.250', '–')
    """
    if value is None:
        return "–"
    digits = _DIGITS.get(name, 3)
    return f"{round(value, digits) + 0.0:{sign},.{digits}f}"  # no minus before zero


def label_measure(name: str) -> str:
    """Return a measure's name in words.

    Examples
    --------
    >>> label_measure("evidence_recall"), label_measure("ms")
    ('evidence recall', 'milliseconds')
    """
    return _LABELS.get(name, name.replace("_", " "))


def explain_measure(name: str) -> str:
    """Return what a measure is; an empty text for one that RetriVex does not know.

    Examples
    --------
    >>> explain_measure("recall_at_3")
    'share of the evidence in the 3 best passages'
    """
    number = name.removeprefix(_RECALL_AT)
    if name.startswith(_RECALL_AT) and number.isdecimal():
        return f"share of the evidence in the {'best passage' if number == '1' else f'{number} best passages'}"
    return _EXPLANATIONS.get(name, "")


def explain_measures(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return label and explanation of each measure that has one, each once."""
    known = {label_measure(name): explain_measure(name) for name in names}
    return [(label, said) for label, said in known.items() if said]
