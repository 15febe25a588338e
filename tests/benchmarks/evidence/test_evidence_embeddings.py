"""Two encoders, each text encoded once; the models are stand-ins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.evidence import embeddings
from benchmarks.evidence.embeddings import ENCODERS, embed


class Prefixed:
    """Embeds a text by its length and by what it is, and notes what it was given."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, bool]] = []

    def encode(self, texts: Sequence[str], is_query: bool = False, **_: object) -> NDArray[np.float32]:
        self.seen += [(text, is_query) for text in texts]
        return np.array([[len(text), float(is_query)] for text in texts], dtype=np.float32)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prefixed:
    made = Prefixed()
    monkeypatch.setattr(embeddings, "_e5", lambda: made)
    monkeypatch.setattr(embeddings, "_model", lambda: made)
    monkeypatch.setattr(embeddings, "cache_folder", lambda: tmp_path)
    return made


def test_e5_embeds_a_question_otherwise_than_a_passage(model: Prefixed) -> None:
    for _ in range(2):
        passages = embed(["bees sleep", "bees"], "chunks", "e5")
        questions = embed(["bees"], "questions", "e5", questions=True)
    assert model.seen == [("bees sleep", False), ("bees", False), ("bees", True)], "each is encoded once"
    assert passages[1].tolist() == [1.0, 0.0]
    assert questions[0].tolist() == pytest.approx([4 / 17**0.5, 1 / 17**0.5])


def test_minilm_embeds_both_alike_and_apart_from_e5(model: Prefixed) -> None:
    embed(["bees"], "questions", questions=True)
    embed(["bees"], "chunks")
    embed(["bees"], "chunks", "e5")
    assert model.seen == [("bees", False)] * 2
    assert set(ENCODERS) == {"MiniLM", "e5"}
