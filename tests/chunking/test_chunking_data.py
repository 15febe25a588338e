"""Every chunker over real text: essays, Markdown, chat logs, Chinese articles."""

import json
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from retrivex.chunking import CHUNKER_NAMES, get_chunker
from retrivex.model.document import Document
from retrivex.utils import SentenceChunker, SimpleChunker

DATA = Path(os.environ.get("RETRIVEX_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"no development data at {DATA}: set RETRIVEX_DATA to its folder"
)
SIZE = 120
ESSAYS, ARTICLES, CHARACTERS = 6, 6, 20_000


def read(path: Path) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def documents() -> Iterator[Document]:
    for path in sorted((DATA / "paul_graham_essays").glob("*.txt"))[:ESSAYS]:
        yield Document(path.name, read(path)[:CHARACTERS])
    for path in sorted((DATA / "chunking_evaluation" / "corpora").glob("*.md")):
        yield Document(path.name, read(path)[:CHARACTERS], format="markdown")
    with open(DATA / "longbench" / "multifieldqa_zh.jsonl", encoding="utf-8", newline="") as lines:
        for number, line in enumerate(islice(lines, ARTICLES)):
            yield Document(f"zh-{number}", json.loads(line)["context"][:CHARACTERS])


def count(text: str) -> int:
    """Roughly what vocabularies do: four letters of Latin, one character of anything else."""
    wide = sum(character > "\u2000" for character in text)
    return wide + (len(text) - wide + 3) // 4


class CharacterEncoder:
    name = "characters"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[text.count(letter) for letter in "etaoin的，。"] for text in texts], dtype=np.float32)


@pytest.mark.parametrize("name", CHUNKER_NAMES)
def test_offsets_coverage_and_size_on_real_text(name: str) -> None:
    size = None if name == "sentence" else SIZE
    chunker = get_chunker(name, size=size, tokenizer=count, encoder=CharacterEncoder())
    for document in documents():
        covered = 0
        for chunk in chunker.chunk(document):
            start, end = chunk.metadata.char_start, chunk.metadata.char_end
            assert document.text[start:end] == chunk.text
            assert start <= covered or chunk.metadata.chunk_id == 0
            assert not document.text[covered:start].strip()
            assert size is None or count(chunk.text.rstrip()) <= size or "|" in chunk.text
            covered = max(covered, end)
        assert covered == len(document.text.rstrip())


@pytest.mark.parametrize("chunker", [SimpleChunker(), SentenceChunker()], ids=["simple", "sentence"])
def test_published_chunkers_on_real_text(chunker: SimpleChunker | SentenceChunker) -> None:
    for document in documents():
        covered = 0
        for chunk in chunker.chunk_text(document.text, document.doc_id):
            start, end = chunk.metadata.char_start, chunk.metadata.char_end
            assert document.text[start:end] == chunk.text
            assert not document.text[covered:start].strip()
            covered = max(covered, end)
        assert covered == len(document.text.rstrip())
