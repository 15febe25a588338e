"""Sentences are embedded once, before the processes of a run begin; the model is a stand-in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.evidence import sentence_vectors
from benchmarks.evidence.ranges import RangeSystem
from benchmarks.evidence.sentence_vectors import SentenceSystem, encode_for, vectors_of
from retrivex.evaluation.run import Case, Index


class Lengths:
    """Embeds a text by its length, and notes what it was given."""

    name = "lengths"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.seen += texts
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lengths:
    made = Lengths()
    monkeypatch.setattr(sentence_vectors, "MiniLM", lambda: made)
    monkeypatch.setattr(sentence_vectors, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(sentence_vectors, "_KNOWN", {})
    return made


def words_of(case: Case) -> Iterator[str]:
    yield from case.question.split()


def asked(question: str) -> Case:
    return Case(question, [], Index({"d": "Bees sleep."}), 10)


def test_texts_are_encoded_once_and_come_out_in_their_order(model: Lengths) -> None:
    systems = [
        RangeSystem("plain", lambda _: [], "1"),
        SentenceSystem("one", lambda _: [], "1", texts=words_of),
        SentenceSystem("two", lambda _: [], "1", texts=words_of),
    ]
    encode_for(systems, [asked("bees sleep"), asked("bees fly")])
    assert model.seen == ["bees", "sleep", "fly"]
    rows = vectors_of(["fly", "bees", "fly"])
    assert model.seen == ["bees", "sleep", "fly"]
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1])
    assert (rows[:, 0] / rows[:, 1]).tolist() == pytest.approx([3, 4, 3])
    assert vectors_of(["hum"]).shape == (1, 2)
    assert model.seen[3:] == ["hum"]


def test_systems_that_embed_nothing_need_no_model(model: Lengths) -> None:
    encode_for([RangeSystem("plain", lambda _: [], "1")], [asked("bees sleep")])
    assert model.seen == []
