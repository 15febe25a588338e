"""Fifteen questions on a folder as people have them: the answer is shown, and not a fragment.

`tests/golden/handbook/README.md` says what the folder is. Nothing may be fitted to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from retrivex import Composition, SpanComposer
from retrivex.chunking import get_chunker
from retrivex.loading import load_documents
from retrivex.retrieval.indexing import Indexer
from retrivex.retrieval.local import LocalRetriever
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import get_tokenizer

pytest.importorskip("pypdfium2")

FOLDER = Path(__file__).parents[1] / "golden" / "handbook"
QUESTIONS = [json.loads(line) for line in (FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
HITS = 50  # of `retrivex query`
MOST_BESIDE = 13  # questions that another document is shown for, of 15; what it should be is 0
ANSWERED = 14  # contexts with the answer, at least, of 15
FEWEST_WORDS = 6  # of a passage that can be understood

Asked = list[tuple[dict[str, Any], Composition]]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """Each question with its context: indexed and composed by default, as `retrivex index` and `query` do."""
    with SQLiteStore(tmp_path_factory.mktemp("handbook") / "store.db") as store:
        tokenizer = get_tokenizer("auto")
        Indexer(store, get_chunker("auto", tokenizer=tokenizer), tokenizer).index([FOLDER / "documents"])
        retriever, composer = LocalRetriever(store), SpanComposer()
        yield [
            (
                question,
                composer.compose(retriever.retrieve(question["question"], HITS), store, query=question["question"]),
            )
            for question in QUESTIONS
        ]


def _flat(text: str) -> str:
    return " ".join(text.split())


def test_every_quote_stands_in_a_document_that_may_be_shown() -> None:
    texts = {document.doc_id: _flat(document.text) for document in load_documents([FOLDER / "documents"])[0]}
    assert len(QUESTIONS) == 15
    assert len(texts) == 6
    for question in QUESTIONS:
        allowed = [texts[doc_id] for doc_id in question["documents"]]
        assert all(any(quote in text for text in allowed) for quote in question["quotes"]), question


def test_most_contexts_hold_the_answer(asked: Asked) -> None:
    shown = [all(quote in _flat(made.text) for quote in question["quotes"]) for question, made in asked]
    missed = [question["question"] for (question, _), whole in zip(asked, shown, strict=True) if not whole]
    assert sum(shown) >= ANSWERED, missed


def _beside(asked: Asked) -> dict[str, list[str]]:
    """Documents that are shown beside those of a question."""
    beside = {
        question["question"]: sorted({span.doc_id for span in made.spans} - set(question["documents"]))
        for question, made in asked
    }
    return {question: documents for question, documents in beside.items() if documents}


@pytest.mark.xfail(
    strict=True,
    reason="by words alone a foreign passage looks like a second hop: no share of worth, of expected evidence or of a "
    "document's own tells them apart without losing evidence elsewhere, so a budget with room shows both",
)
def test_no_passage_is_from_a_document_beside_the_question(asked: Asked) -> None:
    assert not _beside(asked)


def test_few_passages_are_from_a_document_beside_the_question(asked: Asked) -> None:
    assert len(_beside(asked)) <= MOST_BESIDE, _beside(asked)


def test_no_passage_is_a_fragment(asked: Asked) -> None:
    short = [span.text for _, made in asked for span in made.spans if len(span.text.split()) < FEWEST_WORDS]
    assert not short
