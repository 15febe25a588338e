"""Builds a set of questions, record by record."""

from __future__ import annotations

from collections.abc import Iterable

from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet, Question


class EvidenceSetBuilder:
    """Collects documents, questions and malformed records until the set is complete.

    Parameters
    ----------
    name : of the set

    Examples
    --------
    >>> made = EvidenceSetBuilder("bees")
    >>> made.document("Hives", "Bees live in hives."), made.document("Hives", "Bees live in hives.")
    ('Hives', 'Hives')
    >>> made.document("Hives", "Hives are made of wood.")
    'Hives (2)'
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.odd: list[str] = []
        self._documents: dict[str, str] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._times: dict[str, int] = {}
        self._questions: dict[str, Question] = {}

    def document(self, name: str, text: str) -> str:
        """Add a document, once; another text under the same name gets a number behind it.

        Returns
        -------
        doc_id : what the document is called in this set

        Raises
        ------
        LoadError
            If the text is blank.
        """
        if not text.strip():
            raise LoadError(f"document {name!r} is blank: there is nothing to search")
        known = self._names.get((name, text))
        if known is None:
            known = self._names[name, text] = self._find_free_name(name)
            self._documents[known] = text
        return known

    def _find_free_name(self, name: str) -> str:
        """Return a name that no document has, with a number from 2 on where it must be."""
        doc_id = name
        while doc_id in self._documents:
            self._times[name] = self._times.get(name, 1) + 1
            doc_id = f"{name} ({self._times[name]})"
        return doc_id

    def ask(self, question: Question) -> None:
        """Add a question.

        Raises
        ------
        LoadError
            If its id was used before.
        """
        if question.question_id in self._questions:
            raise LoadError(f"question id {question.question_id!r} was used before: ids are unique in a set")
        self._questions[question.question_id] = question

    @property
    def asked(self) -> int:
        """How many questions there are so far."""
        return len(self._questions)

    def note(self, lines: Iterable[str]) -> None:
        """Take down what was repaired or left out."""
        self.odd.extend(lines)

    def whole(self) -> EvidenceSet:
        """Return the set.

        Raises
        ------
        LoadError
            If no question is left.
        """
        if not self._questions:
            why = (
                f"of {len(self.odd)} malformed records the first is {self.odd[0]}" if self.odd else "there is no record"
            )
            raise LoadError(f"{self.name} has no question that can be used ({why})")
        return EvidenceSet(self.name, self._documents, tuple(self._questions.values()), tuple(self.odd))
