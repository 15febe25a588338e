"""Draws the picture of the README: torn chunks of kNN beside the cited passage of RetriVex, same hits, same tokens.

Run: `python -m benchmarks.report.picture` (needs matplotlib); writes `docs/figures/before_after.png`. The text is
`examples/handbook`, cut every 110 characters or so; hits by BM25.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from benchmarks.report.report_figures import COLOURS
from benchmarks.report.suite_figures import png
from retrivex import Composition, Document, SeedHit, SpanComposer
from retrivex.cli.demo import plain_hits
from retrivex.retrieval.local import LocalRetriever
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import resolve_tokenizer
from retrivex.utils import SimpleChunker

ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "examples" / "handbook"
FILE = ROOT / "docs" / "figures" / "before_after.png"
QUESTION = "Which meals are paid on a business trip, and up to what price?"
EVIDENCE = "Breakfast is covered up to 15 euros, lunch up to 25 euros and dinner up to 45 euros a person."
CHUNK_CHARS, HITS, BUDGET = 110, 12, 130
COLUMN, LINE_HEIGHT, CHARS = 4.55, 0.19, 52  # inches, inches, characters in a line
PAPER = "#F4F4F4"


def contexts() -> tuple[list[SeedHit], Composition, int]:
    """Return what kNN and RetriVex show for the question out of the same hits and budget, and kNN's tokens."""
    tokenizer, _ = resolve_tokenizer("estimate")
    chunker = SimpleChunker(chunk_size=CHUNK_CHARS, overlap=0, chars_per_token=1)
    with TemporaryDirectory() as folder, SQLiteStore(Path(folder, "handbook.db")) as store:
        for file in sorted(HANDBOOK.glob("*.md")):
            text = file.read_text(encoding="utf-8")
            store.put(Document(file.name, text), chunker.chunk_text(text, file.name))
        hits = LocalRetriever(store).retrieve(QUESTION, HITS)
        made = SpanComposer(tokenizer=tokenizer).compose(hits, store, query=QUESTION, token_budget=BUDGET)
    plain = plain_hits(hits, BUDGET, tokenizer)
    return plain, made, tokenizer.count("\n\n".join(hit.chunk.text for hit in plain))


def draw() -> Figure:
    """Return the picture."""
    plain, made, tokens = contexts()
    left = [(f"{hit.chunk.metadata.doc_id}, chunk {hit.chunk.metadata.chunk_id}", hit.chunk.text) for hit in plain]
    right = [
        (f"[{number}] {span.doc_id}, characters {span.char_start}–{span.char_end}", span.text)
        for number, span in enumerate(made.spans, start=1)
    ]
    height = 0.95 + max(map(_height, (left, right)))
    figure = Figure(figsize=(2 * COLUMN + 0.6, height))
    panel = figure.add_axes((0, 0, 1, 1))
    panel.set_axis_off()
    panel.set_xlim(0, 2 * COLUMN + 0.6)
    panel.set_ylim(-height, 0)
    panel.text(0.2, -0.27, f"“{QUESTION}”", fontsize=12, weight="bold")
    _column(panel, 0.2, f"kNN: {len(left)} torn chunks, {tokens} tokens", COLOURS["kNN"], left)
    title = f"RetriVex: {len(right)} whole passage{'s' * (len(right) > 1)}, cited, {made.tokens} tokens"
    _column(panel, 0.4 + COLUMN, title, COLOURS["RetriVex"], right)
    return figure


def _height(blocks: Sequence[tuple[str, str]]) -> float:
    return sum(LINE_HEIGHT * (len(_lines(text)) + 1) + 0.22 for _, text in blocks)


def _lines(text: str) -> list[str]:
    parts = [part for part in text.strip().splitlines() if part.strip()]
    return [line for part in parts for line in textwrap.wrap(part, CHARS)]


def _column(panel: Axes, left: float, title: str, colour: str, blocks: Sequence[tuple[str, str]]) -> None:
    panel.text(left, -0.65, title, fontsize=11, weight="bold", color=colour)
    top = -0.8
    for place, text in blocks:
        lines = _lines(text)
        height = LINE_HEIGHT * (len(lines) + 1) + 0.1
        box = FancyBboxPatch((left, top - height), COLUMN, height, boxstyle="round,pad=0,rounding_size=0.05")
        box.set(facecolor=PAPER, edgecolor=colour, linewidth=1)
        panel.add_patch(box)
        panel.text(left + 0.1, top - 0.17, place, fontsize=7.5, color="#555555")
        for number, line in enumerate(lines):
            evidence = _is_evidence(line)
            panel.text(
                left + 0.1, top - 0.17 - LINE_HEIGHT * (number + 1), line, fontsize=9, family="DejaVu Sans Mono",
                color=COLOURS["RetriVex"] if evidence else "#000000", weight="bold" if evidence else "normal",
            )  # fmt: skip
        top -= height + 0.12


def _is_evidence(line: str) -> bool:
    return any(line[start : start + 25] in EVIDENCE for start in range(max(1, len(line) - 24))) and len(line) >= 12


def main() -> None:
    """Draw the picture; what it is meant to show is checked first."""
    plain, made, _ = contexts()
    if EVIDENCE not in made.text or any(EVIDENCE in hit.chunk.text for hit in plain):
        raise SystemExit("the question no longer shows the difference: choose another one")
    FILE.write_bytes(png(draw()))


if __name__ == "__main__":
    main()
