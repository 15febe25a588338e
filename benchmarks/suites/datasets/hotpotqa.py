"""HotpotQA: questions that need sentences of two paragraphs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any

from benchmarks.suites.datasets.formats import pair_of, place_in, read_list
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question
from retrivex.evaluation.questions.fields import list_of, strings_of, words_of
from retrivex.evaluation.questions.files import AnyRecord, Record, read_each
from retrivex.evaluation.questions.set_builder import EvidenceSetBuilder
from retrivex.model.serialization import as_string, listing
from retrivex.text.sentences import trim_range


def hotpotqa(path: Path) -> EvidenceSet:
    """Read a file of HotpotQA in its distractor setting: ten paragraphs to a question, sentences as evidence.

    A document is a paragraph with its title in the line above; paragraphs that come again are one document. Sentences
    are joined as they stand in the file, which has the spaces between them. A question of which a supporting fact
    cannot be found keeps its answer and has no evidence. Source: Yang et al., "HotpotQA", 2018.
    """
    return hotpotqa_records(read_list(path))


def hotpotqa_records(records: Iterable[AnyRecord]) -> EvidenceSet:
    """Make a set of records in HotpotQA's layout; see `hotpotqa`."""
    made = EvidenceSetBuilder("hotpotqa")

    def read(record: Record) -> None:
        fields = record.fields
        paragraphs = [_Paragraph(part) for part in list_of(fields, "context")]
        names = [made.document(paragraph.title, paragraph.text) for paragraph in paragraphs]
        question_id = str(fields.get("_id") or record.name)
        known = {paragraph.title: (name, paragraph) for name, paragraph in zip(names, paragraphs, strict=True)}
        facts = list_of(fields, "supporting_facts") if fields.get("supporting_facts") is not None else []
        evidence: set[Evidence] = set()
        for title, number in (pair_of(fact, "supporting_facts") for fact in facts):
            try:
                name, paragraph = known[title]
                evidence.add(Evidence(name, *paragraph.sentence(number)))
            except (KeyError, TypeError, LoadError) as error:
                missing = f"sentence {number!r} of {title!r} is not there ({error})"
                made.note([f"{record.place}: {missing}; kept without evidence"])
                evidence.clear()
                break
        made.ask(
            Question(
                question_id,
                words_of(fields, "question"),
                tuple(sorted(evidence)),
                within=tuple(dict.fromkeys(names)),
                answers=strings_of(fields, "answer"),
                factors={key: fields[key] for key in ("type", "level") if isinstance(fields.get(key), str)},
            )
        )

    made.note(read_each(records, read))
    return made.whole()


class _Paragraph:
    """A paragraph under its title, and where its sentences stand."""

    def __init__(self, part: Any) -> None:
        title, sentences = pair_of(part, "context")
        self.title = as_string(title, "title", LoadError)
        parts = [
            f"{self.title}\n",
            *(as_string(sentence, "sentence", LoadError) for sentence in listing(sentences, "sentences", LoadError)),
        ]
        self.text = "".join(parts)
        self._edges = list(accumulate(map(len, parts)))

    def sentence(self, number: Any) -> tuple[int, int]:
        """Return the range of a sentence without the white space around it."""
        place = place_in(number, "sentence", len(self._edges) - 1)
        start, end = trim_range(self.text, self._edges[place], self._edges[place + 1])
        if start == end:
            raise LoadError("it is blank")
        return start, end
