"""The orders of other libraries on the same scores: what is the same, and which of their faults are not shared.

LongContextReorder of LangChain and of LlamaIndex and LostInTheMiddleRanker of Haystack all mean edge balancing.
rag-chunk-reorder is compared in tests/reorder.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from retrivex.ordering import edge_balanced

pytest.importorskip("langchain_community")
pytest.importorskip("haystack")
from haystack import Document as HaystackDocument
from haystack.components.rankers import LostInTheMiddleRanker
from langchain_community.document_transformers import LongContextReorder as LangChainReorder
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.postprocessor import LongContextReorder as LlamaIndexReorder
from llama_index.core.schema import NodeWithScore, TextNode

pytestmark = pytest.mark.integration

Order = Callable[[Sequence[float]], list[float]]
"""Scores in the order given -> the same in reading order."""

SIZES = [1, 2, 3, 8, 9, 20, 21]


def ours(scores: Sequence[float]) -> list[float]:
    return edge_balanced(scores, score=float)


def langchain(scores: Sequence[float]) -> list[float]:
    documents = [LangChainDocument(page_content=str(score)) for score in scores]
    return [float(made.page_content) for made in LangChainReorder().transform_documents(documents)]


def llamaindex(scores: Sequence[float]) -> list[float]:
    nodes = [NodeWithScore(node=TextNode(text=str(score)), score=score) for score in scores]
    return [made.score or 0.0 for made in LlamaIndexReorder().postprocess_nodes(nodes)]


def haystack(scores: Sequence[float]) -> list[float]:
    documents = [HaystackDocument(content=str(score), score=score) for score in scores]
    return [made.score or 0.0 for made in LostInTheMiddleRanker().run(documents=documents)["documents"]]


def ranked(n: int) -> list[float]:
    return [1 - i / 100 for i in range(n)]


def shuffled(n: int) -> list[float]:
    return random.Random(n).sample(ranked(n), n)


@pytest.mark.parametrize("n", SIZES)
def test_haystack_agrees_on_what_comes_best_first(n: int) -> None:
    assert haystack(ranked(n)) == ours(ranked(n))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("peer", [langchain, llamaindex])
def test_the_others_agree_where_the_number_is_odd_and_mirror_where_it_is_even(peer: Order, n: int) -> None:
    """Fault: the best stands first or last, depending on the parity of the number of passages."""
    made = peer(ranked(n))
    assert (made if n % 2 else made[::-1]) == ours(ranked(n))
    assert made.index(max(made)) == (0 if n % 2 else n - 1)


@pytest.mark.parametrize("n", [n for n in SIZES if n > 3])
@pytest.mark.parametrize("peer", [langchain, haystack])
def test_these_take_the_order_given_for_the_order_of_scores(peer: Order, n: int) -> None:
    """Fault: unsorted input is spread by its places, whatever the scores are."""
    assert peer(shuffled(n)) != peer(ranked(n))
    assert max(peer(shuffled(n))) not in (peer(shuffled(n))[0], peer(shuffled(n))[-1])
    assert ours(shuffled(n)) == ours(ranked(n))


@pytest.mark.parametrize("n", SIZES)
def test_llamaindex_sorts_by_itself(n: int) -> None:
    assert llamaindex(shuffled(n)) == llamaindex(ranked(n))


def test_llamaindex_takes_a_missing_score_for_zero_and_nan_for_anything() -> None:
    """Fault: a missing score beats every negative one, and NaN makes the order depend on where it stood."""
    scored = {"a": None, "b": -0.5, "c": -1.0}
    nodes = [NodeWithScore(node=TextNode(text=name), score=score) for name, score in scored.items()]
    assert LlamaIndexReorder().postprocess_nodes(nodes)[0].node.get_content() == "a"
    nan = float("nan")
    assert [repr(s) for s in llamaindex([nan, 0.1, 0.9, 0.5])] != [repr(s) for s in llamaindex([0.1, 0.9, 0.5, nan])]
    with pytest.raises(ValueError, match="it must be a finite number"):
        ours([nan, 0.1])


def test_a_word_threshold_of_haystack_is_reached_by_the_budget_of_a_context() -> None:
    documents = [HaystackDocument(content="one two three", score=score, id=str(score)) for score in ranked(9)]
    made = LostInTheMiddleRanker(word_count_threshold=12).run(documents=documents)["documents"]
    assert [document.score for document in made] == ours(ranked(4))
