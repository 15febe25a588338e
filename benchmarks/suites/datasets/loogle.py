"""LooGLE: very long documents; the evidence is quoted, not always to the letter."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.suites.datasets.letters import LetterIndex
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question
from retrivex.evaluation.questions.fields import object_of, strings_of, words_of
from retrivex.evaluation.questions.files import AnyRecord, Record, read_each, read_lines
from retrivex.evaluation.questions.set_builder import EvidenceSetBuilder
from retrivex.text.sentences import sentence_ranges


def loogle(path: Path) -> EvidenceSet:
    """Read a file of LooGLE's questions (shortdep_qa, longdep_qa), JSON Lines as published.

    A quote is looked for as it is, then by its letters and digits alone, then sentence by sentence. A question of which
    one quote is not found so keeps its answer, has no evidence, and is told in `odd`: part of the evidence would
    punish contexts that show the rest. Source: Li et al., "LooGLE", ACL 2024.
    """
    return loogle_records(read_lines(path), path.name.partition(".")[0])


def loogle_records(records: Iterable[AnyRecord], task: str) -> EvidenceSet:
    """Make a set of records in LooGLE's layout: a document with all its questions, or one question with its document.

    Parameters
    ----------
    records : `input`, `title` and `qa_pairs` (a Python literal), or `context`, `title`, `question`, `answer` and
        `evidence`
    task : "shortdep_qa" or "longdep_qa"
    """
    made = EvidenceSetBuilder(f"loogle/{task}")
    finders: dict[str, QuoteFinder] = {}

    def read(record: Record) -> None:
        fields = record.fields
        text = words_of(fields, "input" if "input" in fields else "context")
        doc_id = made.document(str(fields.get("title") or record.place), text)
        finder = finders.setdefault(doc_id, QuoteFinder(doc_id, text))
        for number, asked in enumerate(_asked(fields), 1):
            name = f"{record.place}, question {number}"
            try:
                _ask(made, name, finder, object_of(asked, "question"), task)
            except LoadError as error:
                made.note([f"{name}: {error}; left out"])

    made.note(read_each(records, read))
    return made.whole()


def _asked(fields: Mapping[str, Any]) -> Sequence[Any]:
    """Return the questions as objects with "Q", "A" and "S", whichever layout they are in."""
    if "qa_pairs" not in fields:
        names = {"question": "Q", "answer": "A", "evidence": "S", "type": "type"}
        return [{short: fields[long] for long, short in names.items() if fields.get(long) is not None}]
    pairs = _literal(fields["qa_pairs"])
    if not isinstance(pairs, list) or not pairs:
        raise LoadError(f"qa_pairs is {str(fields['qa_pairs'])[:40]!r}: it must be a list of questions")
    return pairs


def _literal(value: Any) -> Any:
    """Return what a Python literal in a text says; anything else as it is."""
    try:
        return ast.literal_eval(value) if isinstance(value, str) else value
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value


def _ask(made: EvidenceSetBuilder, name: str, finder: QuoteFinder, asked: Mapping[str, Any], task: str) -> None:
    listed = _literal(asked.get("S"))
    quotes = strings_of({"S": listed if isinstance(listed, list) else asked.get("S")}, "S")
    lost = [quote for quote in quotes if not finder.find(quote)]
    if lost:
        missing = f"{len(lost)} of {len(quotes)} quotes are not in the document, as {lost[0][:60]!r}"
        made.note([f"{name}: {missing}; kept without evidence"])
    parts = () if lost else {part for quote in quotes for part in finder.find(quote)}
    factors = {"task": task, **({"type": asked["type"]} if isinstance(asked.get("type"), str) else {})}
    made.ask(
        Question(
            name.replace(", question ", "/").replace(" ", "-"),
            words_of(asked, "Q"),
            tuple(Evidence(finder.doc_id, start, end) for start, end in sorted(parts)),
            within=(finder.doc_id,),
            answers=strings_of(asked, "A"),
            factors=factors,
        )
    )


class QuoteFinder:
    """Finds quotes of a document in three ways, the strictest first; remembers what it found.

    Parameters
    ----------
    doc_id : the document
    text : its text

    Examples
    --------
    >>> finder = QuoteFinder("bees", "Bees sleep, mostly. Ants work. They all eat.")
    >>> finder.find("Bees sleep mostly."), finder.find("Bees sleep, mostly. They all eat."), finder.find("Bee")
    (((0, 18),), ((0, 19), (31, 44)), ((0, 3),))
    """

    def __init__(self, doc_id: str, text: str) -> None:
        self.doc_id = doc_id
        self._text = text
        self._letters: LetterIndex | None = None
        self._found: dict[str, tuple[tuple[int, int], ...]] = {}

    def find(self, quote: str) -> tuple[tuple[int, int], ...]:
        """Return the ranges that a quote covers; none where any part of it is not there."""
        if quote not in self._found:
            ways: tuple[Callable[[str], tuple[tuple[int, int], ...]], ...] = (
                self._whole,
                self._by_letters,
                self._apart,
            )
            self._found[quote] = next((found for way in ways if (found := way(quote))), ())
        return self._found[quote]

    def _whole(self, quote: str) -> tuple[tuple[int, int], ...]:
        at = self._text.find(quote)
        return ((at, at + len(quote)),) if quote and at >= 0 else ()

    def _by_letters(self, quote: str) -> tuple[tuple[int, int], ...]:
        self._letters = self._letters or LetterIndex(self._text)
        place = self._letters.find(quote)
        return () if place is None else (place,)

    def _apart(self, quote: str) -> tuple[tuple[int, int], ...]:
        joined = " ".join(quote.split())
        sentences = [joined[start:end] for start, end in sentence_ranges(joined)]
        if len(sentences) < 2:
            return ()
        found = [self._whole(sentence) or self._by_letters(sentence) for sentence in sentences]
        return tuple(part for place in found for part in place) if all(found) else ()
