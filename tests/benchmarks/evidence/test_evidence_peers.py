"""Other packages as peers: their answers mapped to characters; run where benchmarks/requirements.txt is installed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.evidence import sentence_vectors
from benchmarks.evidence.ranges import RangeSystem, take
from retrivex import Chunk, ChunkMetadata, SeedHit
from retrivex.evaluation.run import Case, Index

pytestmark = pytest.mark.integration

for package in ("langchain_community", "llama_index.core", "ragcompress", "haystack_integrations.components.rankers"):
    pytest.importorskip(package)

from benchmarks.evidence.peers_compressors import compressor_systems, locate  # noqa: E402 - where they are installed
from benchmarks.evidence.peers_haystack import SLOW, haystack_systems  # noqa: E402

ANIMALS = ["Ants", "Bees", "Wasps", "Moths"]
CHUNKS = [
    "Ants dig in the sand. Bees sleep at night.\n",
    "Moths love bright lamps. Wasps sting at noon. Ants never rest.\n",
    "Bees hum all day. Bees hum all day long.\n",
]
SYSTEMS = {s.name: s for s in [*compressor_systems(), *haystack_systems()] if s.name not in SLOW}


class ByAnimal:
    """Embeds a text by the animals in it."""

    name = "animals"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[0.1, *[text.count(animal) for animal in ANIMALS]] for text in texts], dtype=np.float32)


@pytest.fixture
def case(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Case:
    folder = tmp_path_factory.mktemp("vectors")
    monkeypatch.setattr(sentence_vectors, "MiniLM", ByAnimal)
    monkeypatch.setattr(sentence_vectors, "cache_folder", lambda: folder)
    monkeypatch.setattr(sentence_vectors, "_KNOWN", {})
    chunks, start = [], 0
    for number, text in enumerate(CHUNKS):
        chunks.append(Chunk(text, ChunkMetadata("d", number, start, start + len(text))))
        start += len(text)
    rows = ByAnimal().encode([*CHUNKS, "Bees"])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    index = Index({"d": "".join(CHUNKS)}, tokenizer=lambda text: len(text.split()), chunks=chunks, vectors=rows[:-1])
    hits = [SeedHit(chunks[at], score) for at, score in ((2, 0.9), (0, 0.6), (1, 0.1))]
    return Case("Bees", hits, index, 20, "dense", rows[-1])


def shown(system: RangeSystem, case: Case) -> list[str]:
    return [case.index.documents[doc_id][start:end] for doc_id, start, end in system.answer(case).ranges]


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_a_peer_shows_is_text_of_the_hits_and_begins_with_its_best(name: str, case: Case) -> None:
    texts = shown(SYSTEMS[name], case)
    assert texts
    assert all(any(text in chunk for chunk in CHUNKS) for text in texts)
    assert "Bees" in texts[0]
    context = take(SYSTEMS[name].answer(case).ranges, case.index, case.budget)
    assert 0 < context.tokens <= case.budget


@pytest.mark.parametrize("name", [name for name in SYSTEMS if "ragcompress" in name or "alone" in name])
def test_compressors_show_whole_sentences(name: str, case: Case) -> None:
    sentences = {part.strip() + "." for chunk in CHUNKS for part in chunk.strip().rstrip(".").split(". ")}
    assert {text.strip() for text in shown(SYSTEMS[name], case)} <= sentences


def test_the_default_of_the_optimizer_drops_nothing(case: Case) -> None:
    assert {text.strip() for text in shown(SYSTEMS["SentenceEmbeddingOptimizer"], case)} >= {"Ants dig in the sand."}


def test_the_orders_of_haystack(case: Case) -> None:
    assert shown(SYSTEMS["Haystack MetaFieldGroupingRanker"], case) == CHUNKS
    assert shown(SYSTEMS["Haystack LostInTheMiddleRanker"], case) == [CHUNKS[2], CHUNKS[0]]


def test_equal_parts_are_found_one_behind_the_other() -> None:
    assert locate("Bees. Bees. Ants.", ["Bees.", "Bees.", "Ants."]) == [(0, 5), (6, 11), (12, 17)]
    with pytest.raises(ValueError, match="'Wasps' is not a part"):
        locate("Bees.", ["Bees", "Wasps"])
