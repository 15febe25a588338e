"""What an article on chunking shows: its cuts, parents over a store, a reranker before an order, before and after.

Its needles by depth are in tests/benchmarks/suites/test_haystacks_niah.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from support.passages import passage

from retrivex import Document, Reorderer, RetrievalConfig, SeedHit, SpanComposer
from retrivex.chunking import AdaptiveChunker, ParentChildChunker, SemanticChunker, TokenChunker
from retrivex.evaluation.questions.evidence import EvidenceSet, Question
from retrivex.evaluation.run import Plan, evaluate


def quarter(text: str) -> int:
    """Four characters a token, so that 64 tokens are 256 characters."""
    return -(-len(text) // 4)


SENTENCE = "The bees of the hive fly out to collect nectar and pollen from flowers all day. "
OTHER = "The ants of the hill carry leaves and dig long tunnels under the garden every day. "
TEXT = SENTENCE * 6 + "\n\n" + OTHER * 6


class Topics:
    """Texts about bees are alike, and so are those about ants."""

    name = "topics"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[text.count("bees"), text.count("ants"), 0.1] for text in texts], dtype=float)


def test_fixed_and_recursive_cuts() -> None:
    fixed = TokenChunker(size=50, overlap=10, tokenizer=quarter).chunk(Document("d", TEXT))
    assert all(quarter(chunk.text.rstrip()) <= 50 for chunk in fixed)
    recursive = AdaptiveChunker(50, 150, tokenizer=quarter).chunk(Document("d", TEXT))
    assert "".join(chunk.text for chunk in recursive).split() == TEXT.split()
    assert not any("bees" in chunk.text and "ants" in chunk.text for chunk in recursive)


def test_semantic_cuts_at_a_similarity_of_85_percent_with_256_characters_at_least() -> None:
    chunker = SemanticChunker(Topics(), "threshold", 1 - 0.85, min_size=64, max_size=400, tokenizer=quarter)
    made = [chunk.text for chunk in chunker.chunk(Document("d", TEXT))]
    assert ["bees" in text for text in made] == [True, False]
    assert all(len(text) >= 256 for text in made)


def test_small_pieces_are_found_and_their_parents_shown() -> None:
    chunker = ParentChildChunker(AdaptiveChunker(100, 200, tokenizer=quarter), TokenChunker(25, tokenizer=quarter))
    children, parents = chunker.chunk_with_parents(Document("d", TEXT))
    store = {child.key: child for child in children}
    hits = [SeedHit(child, 0.9) for child in children if "bees" in child.text][:4]
    config = RetrievalConfig(window=0, token_budget=2000, return_parents=0.1)
    spans = SpanComposer(config, tokenizer=quarter).retrieve(hits, store, parents, query="Where do bees fly?")
    assert spans[0].text.strip() == parents[str(hits[0].chunk.metadata.parent_id)].text.strip()


def test_twenty_are_reranked_five_kept_and_then_ordered() -> None:
    twenty = [passage(f"p{number}", 1 - number / 20, f"Passage number {number}") for number in range(20)]

    def score(query: str, texts: Sequence[str]) -> list[float]:
        return [float(text.split()[-1]) for text in texts]  # the last of the retriever's are the best

    made = Reorderer(reranker=score, top_k=5).reorder_with_diagnostics(twenty, "Which passage?")
    assert [one["id"] for one in made.passages] == ["p19", "p17", "p15", "p16", "p18"]
    assert made.diagnostics.input_count == 20


def test_contexts_are_compared_before_and_after_by_the_answers_that_stand_in_them(tmp_path: Path) -> None:
    facts = [
        f"The pump of plant {number} is number {number} of its kind. It runs on oil{number}." for number in range(8)
    ]
    questions = tuple(
        Question(str(number), f"What does the pump of plant {number} run on?", (), (), (f"oil{number}",))
        for number in range(8)
    )
    plants = EvidenceSet("plants", {"plants": " ".join(facts)}, questions)
    plan = Plan(composers=["knn", "balanced"], budgets=30, chunk_tokens=12, hits=5)
    rows = evaluate(plan, [plants], cache=tmp_path)
    found = {
        composer: [row.measures["answer_in_context"] for row in rows if row.way.composer == composer]
        for composer in ("knn", "balanced")
    }
    assert [len(measures) for measures in found.values()] == [8, 8]
    assert sum(found["balanced"]) > sum(found["knn"])  # the answer stands in the neighbour of what is found
