"""Questions that need two documents: "A? And B?", of two questions of a set whose evidence is one passage each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from benchmarks.evidence.lexical import STOP_WORDS
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question

NAME = "double_questions"
SOURCES = ("squad", "covid_qa", "evidence_inference", "contextual_embeddings", "chunking_evaluation")
"""Sets with questions of one passage."""

COUNT = 200
SEED = 0
_BEGINS = STOP_WORDS - {"i"} | {"whose"}  # words that are written small within a sentence


def double_questions(load: Callable[[str], EvidenceSet], sources: Sequence[str] = SOURCES) -> EvidenceSet:
    """Return `COUNT` questions, equally many of each source; their documents are those of the sources.

    Document ids bear the name of their set, `squad/Normans`, and a question has it as its factor "set". No question of
    a source is used twice.

    Parameters
    ----------
    load : returns a set by its name
    sources : names of sets
    """
    documents: dict[str, str] = {}
    questions: list[Question] = []
    for name in sources:
        found = load(name)
        documents |= {f"{name}/{doc_id}": text for doc_id, text in found.documents.items()}
        pairs = [*_pairs(found.questions, random.Random(f"{SEED} {name}"))][: COUNT // len(sources)]
        for first, second in pairs:
            questions.append(
                Question(
                    f"{name}/{first.question_id}+{second.question_id}",
                    joined(first.text, second.text),
                    tuple(Evidence(f"{name}/{part.doc_id}", part.start, part.end)
                          for part in (*first.evidence, *second.evidence)),
                    factors={"set": name},
                )
            )  # fmt: skip
    return EvidenceSet(NAME, documents, tuple(questions))


def _pairs(questions: Sequence[Question], rng: random.Random) -> Iterator[tuple[Question, Question]]:
    """Yield pairs of questions of different documents, each question once, in a drawn order."""
    single = [question for question in questions if len(question.evidence) == 1]
    left = rng.sample(single, len(single))
    while left:
        first = left.pop(0)
        at = next((at for at, other in enumerate(left) if other.evidence[0].doc_id != first.evidence[0].doc_id), None)
        if at is None:
            return
        yield first, left.pop(at)


def joined(first: str, second: str) -> str:
    """Return two questions as one, "A? And B?".

    Examples
    --------
    >>> joined("Who led the Normans? ", "What is force")
    'Who led the Normans? And what is force?'
    >>> joined("Where is Fresno?", "Newton wrote what?")
    'Where is Fresno? And Newton wrote what?'
    """
    word = second.split(maxsplit=1)[0]
    begin = second.strip()
    if word.lower() in _BEGINS:
        begin = begin[0].lower() + begin[1:]
    return f"{_ended(first)} And {_ended(begin)}"


def _ended(question: str) -> str:
    text = question.strip()
    return text if text.endswith(("?", ".", "!")) else f"{text}?"
