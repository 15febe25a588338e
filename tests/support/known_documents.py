"""Documents whose structure is known: what of them has to be shown whole, and what belongs in front of what."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field

from retrivex import Chunk, ChunkMetadata, Span
from retrivex.model.document import Document

_TEXT = """the bees honey queen winter hive flower nectar colony swarm drone brood pollen wax comb larva worker keeper
forest meadow river bridge tower garden window letter market engine voyage harvest lantern whisper into from Anna Paris
1999 of and with under"""
_WORDS = _TEXT.split()


@dataclass
class KnownDocument:
    """A text and its structure.

    Parameters
    ----------
    text : Markdown or plain
    parts : `(start, end, kind)` of sentences, headings, rows and fences, ascending
    heads : offsets of the heads of tables, by the offset of each row
    """

    text: str = ""
    parts: list[tuple[int, int, str]] = field(default_factory=list)
    heads: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add(self, text: str, kind: str, after: str) -> None:
        """Append a part and the white space behind it."""
        self.parts.append((len(self.text), len(self.text) + len(text), kind))
        self.text += text + after

    def problems(self, start: int, end: int, prefix: str) -> list[str]:
        """Return what is wrong with a passage."""
        shown = self.text[start:end]
        low, high = start + len(shown) - len(shown.lstrip()), start + len(shown.rstrip())
        inside = [part for part in self.parts if part[0] < high and part[1] > low]
        if not inside:
            return ["nothing"]
        first, last = inside[0], inside[-1]
        found = []
        if first[0] < low and not (first[2] == "fence" and prefix.startswith("```")):
            found.append(f"begins inside a {first[2]}")
        if last[1] > high:
            found.append(f"ends inside a {last[2]}")
        if all(kind == "heading" for _, _, kind in inside):
            found.append("heading alone")
        elif last[2] in ("heading", "head"):
            found.append(f"ends in a {last[2]}")
        head = self.heads.get(first[0])
        if head and self.text[slice(*head)].strip() not in prefix:
            found.append("row without head")
        if len((prefix + shown).split()) < 6 and (low, high) not in [part[:2] for part in inside]:
            found.append("few words")
        return found


def make_document(seed: int, blocks: int = 30) -> KnownDocument:
    """Return a document of headings, paragraphs (wrapped or not), lists, tables and fences."""
    rng = random.Random(seed)
    made = KnownDocument()
    for number in range(blocks):
        if number % 5 == 0:
            made.add(f"{'#' * rng.randint(1, 3)} {_phrase(rng, 3)}".rstrip("."), "heading", "\n\n")
        rng.choice((_paragraph, _paragraph, _paragraph, _list, _table, _fence))(made, rng)
    return made


def _phrase(rng: random.Random, words: int) -> str:
    chosen = rng.choices(_WORDS, k=words)
    return chosen[0][0].upper() + chosen[0][1:] + "".join(f" {word}" for word in chosen[1:])


def _sentence(rng: random.Random) -> str:
    text = _phrase(rng, rng.randint(5, 30))
    if rng.random() < 0.3:
        at = text.index(" ")
        text = f"{text[:at]} of Dr. Lee,{text[at:]}"
    return text + rng.choice("...?!")


def _paragraph(made: KnownDocument, rng: random.Random) -> None:
    sentences = [_sentence(rng) for _ in range(rng.randint(1, 7))]
    if rng.random() < 0.3:
        sentences[0] = f"**{_phrase(rng, 2)}.** {sentences[0]}"
    text = " ".join(sentences)
    if rng.random() < 0.5:
        text = textwrap.fill(text, rng.randint(60, 100), break_long_words=False, break_on_hyphens=False)
    at = 0
    for sentence in sentences:
        end = at + len(sentence)  # wrapping only turns spaces into line breaks
        made.add(text[at:end], "sentence", text[end : end + 1] if end < len(text) else "\n\n")
        at = end + 1


def _list(made: KnownDocument, rng: random.Random) -> None:
    made.add(f"{_phrase(rng, 6)}:", "lead", "\n\n" if rng.random() < 0.5 else "\n")
    items = rng.randint(2, 6)
    for number in range(items):
        text = _sentence(rng)
        if rng.random() < 0.3:
            text = f"**{_phrase(rng, 1)}.** {text}"
        mark = f"{number + 1}. " if items % 2 else "- "
        made.add(mark + text, "item", "\n" if number + 1 < items else "\n\n")


def _table(made: KnownDocument, rng: random.Random) -> None:
    columns = rng.randint(2, 4)
    head = len(made.text)
    rows = "\n".join(["| " + " | ".join(_phrase(rng, 1) for _ in range(columns)) + " |", "|" + "---|" * columns])
    made.add(rows, "head", "\n")
    count = rng.randint(2, 25)
    for number in range(count):
        made.heads[len(made.text)] = (head, head + len(rows))
        row = "| " + " | ".join(_phrase(rng, rng.randint(2, 5)) for _ in range(columns)) + " |"
        made.add(row, "row", "\n" if number + 1 < count else "\n\n")


def _fence(made: KnownDocument, rng: random.Random) -> None:
    lines = [
        f"{'    ' * rng.randint(0, 1)}{_phrase(rng, 2).lower()} = {number}" for number in range(rng.randint(1, 30))
    ]
    made.add("\n".join(["```python", *lines, "```"]), "fence", "\n\n")


def fixed_chunks(document: Document, size: int, overlap: int = 0) -> list[Chunk]:
    """Return chunks of so many characters, wherever that cuts."""
    text, starts = document.text, range(0, len(document.text), size - overlap)
    return [
        Chunk(
            text[at : at + size],
            ChunkMetadata(document.doc_id, number, at, min(len(text), at + size), chunk_count=len(starts)),
        )
        for number, at in enumerate(starts)
    ]


Splitter = Callable[[Document], list[Chunk]]


def problems_of(span: Span, known: KnownDocument) -> list[str]:
    """Return what is wrong with a span of a known document."""
    assert span.char_start is not None
    assert span.char_end is not None
    return known.problems(span.char_start, span.char_end, span.prefix or "")
