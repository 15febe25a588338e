"""Filters that every store must answer as the embedded store does, and what that store answers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import strategies as st

from retrivex import Chunk, Document
from retrivex.adapters.base.where import Dialect
from retrivex.stores import SQLiteStore
from retrivex.testing import contract_chunks, odd_ids

AUTHORS = ["François Huber", "it's", 'say "hi"; DROP TABLE x; --', "{brace} $where %(x)s", "100%", "*", "3"]


NS = 1_700_000_000_000_000_001
"""Nanoseconds: doubles hold every 256th of these numbers."""


def where_chunks(*, wide: bool = True) -> list[Chunk]:
    """Return chunks that differ in all that can be filtered by, and some that lack it.

    Parameters
    ----------
    wide : with whole numbers beyond 2**53
    """
    chunks = [*contract_chunks(3, 8), *contract_chunks(2, 4, "acme", "acme")]
    made = []
    for n, chunk in enumerate(chunks):
        own: dict[str, Any] = {"author": AUTHORS[n % 7], "year": 1790 + n % 4, "weight": n / 4, "draft": n % 2 == 0}
        own |= {"ratio": n / 10, **({"ns": NS + n} if wide else {})}
        for at, name in enumerate(list(own)):
            if n % 9 == at:
                del own[name]
        known = replace(
            chunk.metadata,
            custom_metadata=own,
            page=None if n % 5 == 0 else chunk.metadata.page,
            timestamp=None if n % 6 == 0 else chunk.metadata.timestamp,
            heading_path=None if n % 8 == 3 else chunk.metadata.heading_path,
        )
        made.append(replace(chunk, metadata=known))
    return made


@contextmanager
def embedded(chunks: Sequence[Chunk]) -> Iterator[SQLiteStore]:
    """Give the embedded store with the same chunks, as what is right."""
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "right.db") as store:
        for doc_id in dict.fromkeys(chunk.metadata.doc_id for chunk in chunks):
            own = [chunk for chunk in chunks if chunk.metadata.doc_id == doc_id]
            document = Document(doc_id, "".join(chunk.text for chunk in own), scope=own[0].metadata.scope)
            vectors: Any = [chunk.embedding for chunk in own]
            store.put(document, own, embeddings=vectors, encoder="test")
        yield store


WHERES: list[dict[str, Any]] = [
    {},
    {"doc_id": "doc-1"},
    {"doc_id": ["doc-0", "acme-1", "nowhere"]},
    {"doc_id": []},
    {"doc_id": {"starts": "doc"}},
    {"page": 2},
    {"page": "2"},
    {"page": {"min": 2}},
    {"page": [None, 1]},
    {"page": {"above": 1.5, "max": 7}},
    {"page": {"below": 1.5}},
    {"metadata.year": {"below": 1791.5}},
    {"not": {"metadata.year": [1790.5]}},
    {"timestamp": {"min": 1_700_000_002, "below": 1_700_000_005.5}},
    {"timestamp": None},
    {"heading": "Guide"},
    {"heading": ["Guide", "Part 1"]},
    {"heading": ["Part 1"]},
    {"metadata.author": "François Huber"},
    {"metadata.author": ["it's", '"', 3]},
    {"metadata.author": {"contains": '"hi"'}},
    {"metadata.author": {"min": "F", "max": "j"}},
    {"metadata.author": {"starts": "100", "ends": "%"}},
    {"metadata.year": [1790, 1791.0]},
    {"metadata.year": "1790"},
    {"metadata.year": {"above": 1790, "max": 1792.5}},
    {"metadata.year": {"min": "a"}},
    {"metadata.weight": 0.75},
    {"metadata.weight": {"min": 2}},
    {"metadata.ratio": [0.1, 0.7]},
    {"metadata.ratio": {"max": 0.3}},
    {"metadata.ratio": {"above": 0.3}},
    {"not": {"metadata.ratio": {"below": 0.7}}},
    {"not": {"metadata.ratio": 0.3}},
    {"page": {"max": 2**40}},
    {"not": {"page": {"above": -(2**40)}}},
    {"page": {"min": 2**40}},
    {"metadata.draft": True},
    {"metadata.draft": 0},
    {"metadata.draft": [None, False]},
    {"metadata.year": True},
    {"metadata.nowhere": 1},
    {"metadata.nowhere": None},
    {"source": None},
    {"any": [{"page": 1}, {"metadata.author": "100%"}]},
    {"all": [{"page": {"min": 2}}, {"metadata.draft": True}]},
    {"not": {"metadata.year": 1790}},
    {"not": {"metadata.author": {"contains": "a"}}},
    {"not": {"any": [{"page": None}, {"not": {"doc_id": ["doc-0", "acme-0"]}}]}},
    {"not": {"page": {"min": 2}, "metadata.draft": True}},
]
"""One of each kind; what `scope` allows comes on top."""

WIDE: list[dict[str, Any]] = [
    {"metadata.ns": NS + 5},
    {"metadata.ns": [NS + 5, NS + 6.5, "x"]},
    {"not": {"metadata.ns": NS + 5}},
    *({"metadata.ns": {op: NS + 5}} for op in ("min", "max", "above", "below")),
    *({"not": {"metadata.ns": {op: NS + 5}}} for op in ("min", "max", "above", "below")),
    {"metadata.ns": {"min": float(NS)}},
    {"metadata.ratio": {"below": NS}},
    {"metadata.year": {"above": 2**53 + 1}},
]
"""Whole numbers that no double holds."""

HOSTILE = [
    *odd_ids(nul=True), "'", "\\", '\\"', "') OR TRUE --", '" or pk != "', "{v0}", "%(where_0)s", "$meta", "_", "%",
    "a" * 20_000, "蜜蜂", "\u200b", "é", "true", "null", "NaN",
]  # fmt: skip
"""Values and keys that come out of a text where something is pasted into it."""

ODD: list[Any] = [
    None, True, False, 0, 1, -1, 1.5, 0.1, 300, 2**53 + 1, 1e18, "a", "A", "1", "é", "", "true", "a ", "2024-01-01",
    "0.1", ["a", 1], [1, None], [True, 0.1], [],
    *({op: bound} for op in ("min", "max", "above", "below") for bound in (0, 0.1, 1, -0.5, 256, 2**53 + 1, -1e18)),
    *({op: text} for op in ("min", "max", "starts", "contains", "ends") for text in ("a", "é", "1", " ")),
]  # fmt: skip
"""What a field is asked for, of whatever type it is."""


def check_pushed(retriever: Any, field: str) -> None:
    """Check that what the store is asked finds what the check of all records does."""
    for wanted in ODD:
        for where in ({field: wanted}, {"not": {field: wanted}}, {"any": [{field: wanted}, {"doc_id": "none"}]}):
            found = sorted(hit.key for hit in retriever.retrieve("x", 50, None, where))
            with mock.patch.object(Dialect, "translate", return_value=None):
                assert found == sorted(hit.key for hit in retriever.retrieve("x", 50, None, where)), where


_values = st.sampled_from([None, True, False, 0, 1, 1.0, 2, 2.5, 1790, 1791, "1", "it's", "é", *AUTHORS[:3]])
_numbers = st.sampled_from([0, 1, 1.5, 2, 1791, -1, 1_700_000_003, 2**53 + 1, NS + 5, 0.3])
_texts = st.sampled_from(["a", "F", "i", '"', "%", "doc", "é", "it's"])
_ranges = st.sampled_from(["min", "max", "above", "below"])
_either = _values | st.lists(_values, max_size=3)
_bounds = st.dictionaries(_ranges, _numbers, min_size=1, max_size=2)
_parts = st.dictionaries(_ranges | st.sampled_from(["contains", "starts", "ends"]), _texts, min_size=1, max_size=2)
_fields: list[Any] = [
    st.tuples(st.sampled_from(["page", "timestamp"]), _either | _bounds),
    st.tuples(st.just("doc_id"), st.sampled_from(["doc-0", "acme-0", ["doc-1", "acme-1"], 3]) | _parts),
    st.tuples(st.just("heading"), st.sampled_from(["Guide", ["Guide", "Part 0"], ["Part 0"], "x"])),
    st.tuples(
        st.sampled_from(
            [f"metadata.{name}" for name in ("author", "year", "weight", "draft", "ratio", "ns", "nowhere")]
        ),
        _either | _bounds | _parts,
    ),
]
wheres = st.recursive(
    st.lists(st.one_of(_fields), max_size=2).map(dict),
    lambda inner: st.one_of(
        inner.map(lambda one: {"not": one}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"any": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"all": parts}),
    ),
    max_leaves=4,
)
"""Any filter over these chunks."""
