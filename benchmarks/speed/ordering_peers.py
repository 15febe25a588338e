"""What other libraries make of scores: their objects, their calls, and what comes out as places.

A peer that is not installed is left out; `make bench-ordering` installs all of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

with contextlib.suppress(ImportError):
    from langchain_community.document_transformers import LongContextReorder as LangChainReorder
    from langchain_core.documents import Document as LangChainDocument
with contextlib.suppress(ImportError):
    from llama_index.core.postprocessor import LongContextReorder as LlamaIndexReorder
    from llama_index.core.schema import NodeWithScore, TextNode
with contextlib.suppress(ImportError):
    from haystack import Document as HaystackDocument
    from haystack.components.rankers import LostInTheMiddleRanker

from retrivex import Reorderer, ordering

ROOT = Path(__file__).parents[2]
NODE = Path(os.environ.get("RETRIVEX_NODE_FOLDER", ROOT / ".venv" / "node"))


@dataclass(frozen=True)
class System:
    """Something that orders.

    Parameters
    ----------
    name : for people
    make : scores -> its own kind of passages
    order : what is timed: passages -> passages in their order
    place : of a passage that came out, its place in the scores
    """

    name: str
    make: Callable[[Sequence[float]], Any]
    order: Callable[[Any], Any]
    place: Callable[[Any], int]

    def places(self, scores: Sequence[float]) -> list[int]:
        """Return the order as places in `scores`."""
        return [self.place(item) for item in self.order(self.make(scores))]


def plain(scores: Sequence[float]) -> list[Any]:
    """Return the passages that RetriVex gets."""
    return [SimpleNamespace(score=score, place=place, doc=place % 5) for place, score in enumerate(scores)]


def own(name: str, order: Callable[[Any], Any]) -> System:
    """Return one of RetriVex's orders."""
    return System(name, plain, order, lambda item: int(item.place))


def ours() -> list[System]:
    """Return RetriVex's orders."""
    by_document = {"source": "doc", "position": "place"}
    return [
        own("edge_balanced", ordering.edge_balanced),
        own("score_desc", ordering.score_desc),
        own("best_last", ordering.best_last),
        own("alternating", ordering.alternating),
        own("position_weighted", ordering.position_weighted),
        own("relevance_groups", ordering.relevance_groups),
        own("document", lambda items: ordering.document(items, **by_document)),
        own("document_edges", lambda items: ordering.document_edges(items, **by_document)),
        own("chronological", lambda items: ordering.chronological(items, timestamp="place")),
        own("group_by", lambda items: ordering.group_by(items, "doc")),
        own("shuffle", ordering.shuffle),
        own("profile", ordering.profile),
    ]


def flat() -> System:
    """Return the reorderer of flat passages, on what rag-chunk-reorder is timed with."""
    return System(
        "Reorderer, edge_balanced",
        lambda scores: [{"id": str(place), "text": str(place), "score": score} for place, score in enumerate(scores)],
        Reorderer(strategy="edge_balanced").reorder,
        lambda passage: int(passage["id"]),
    )


def floors() -> list[System]:
    """Return what no order in Python can be faster than: reading what it needs; and Python's own shuffle, seeded.

    Grouping and sorting are written out for the passages timed here, with no look at what a score or a field holds.
    """
    readers = [attrgetter(name) for name in ("score", "doc", "place")]

    def read(items: Sequence[Any]) -> Any:
        for reader in readers:
            list(map(reader, items))
        return items

    def grouped(items: Sequence[Any]) -> Any:
        _, documents, places = [list(map(reader, items)) for reader in readers]
        groups: defaultdict[Any, list[int]] = defaultdict(list)
        for i, name in enumerate(documents):
            groups[name].append(i)
        for group in groups.values():
            group.sort(key=places.__getitem__)
        return [items[i] for group in groups.values() for i in group]

    def timely(items: Sequence[Any]) -> Any:
        list(map(readers[0], items))
        return sorted(items, key=readers[2])

    def shuffled(items: Sequence[Any]) -> Any:
        made = list(items)
        random.Random(0).shuffle(made)
        return made

    return [
        own("(reading three fields, no order)", read),
        own("(reading three fields, grouped and sorted, unchecked)", grouped),
        own("(reading two fields, sorted by one, unchecked)", timely),
        own("(random.Random(0).shuffle)", shuffled),
    ]


def peers() -> list[System]:
    """Return the peers that are installed."""
    found = []
    if "LangChainReorder" in globals():
        made = LangChainReorder()
        found.append(
            System(
                f"LangChain LongContextReorder {version('langchain-community')}",
                lambda scores: [LangChainDocument(page_content=str(place)) for place in range(len(scores))],
                made.transform_documents,
                lambda document: int(document.page_content),
            )
        )
    if "LlamaIndexReorder" in globals():
        found.append(
            System(
                f"LlamaIndex LongContextReorder {version('llama-index-core')}",
                lambda scores: [
                    NodeWithScore(node=TextNode(text=str(place)), score=s) for place, s in enumerate(scores)
                ],
                LlamaIndexReorder()._postprocess_nodes,  # without the callbacks and events around it
                lambda node: int(node.node.get_content()),
            )
        )
    if "LostInTheMiddleRanker" in globals():
        ranker = LostInTheMiddleRanker()
        found.append(
            System(
                f"Haystack LostInTheMiddleRanker {version('haystack-ai')}",
                lambda scores: [
                    HaystackDocument(id=str(place), content=str(place), score=s) for place, s in enumerate(scores)
                ],
                lambda documents: ranker.run(documents=documents)["documents"],
                lambda document: int(document.id),
            )
        )
    return found


def npm_times(sizes: Sequence[int]) -> dict[int, float]:
    """Microseconds of rag-chunk-reorder's `reorderSync` by number of passages; empty where it is not installed."""
    if shutil.which("node") is None or not (NODE / "node_modules" / "rag-chunk-reorder").is_dir():
        return {}
    script = Path(__file__).with_name("ordering.mjs")
    answer = subprocess.run(
        ["node", str(script), str(NODE)], input=json.dumps(list(sizes)), capture_output=True, text=True, check=True
    )
    return {int(size): float(time) for size, time in json.loads(answer.stdout).items()}
