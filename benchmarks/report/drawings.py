"""Draws the pictures of the documentation as SVG, each from a real run: `docs/figures/drawn/*.svg`.

Run: `python -m benchmarks.report.drawings` (needs nothing beside RetriVex). The text is `examples/handbook`, hits by
BM25; recall against tokens is that of the committed results. Colours follow the reader's light or dark scheme, and the
paper comes with them, so that a page of the other scheme changes nothing. Sizes hold from 360 to 1,280 pixels.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import log2
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from benchmarks.evidence.systems import DEFAULT, KNN
from benchmarks.report.evidence_tables import BEST_PEER, curve, figures_of, mean_and_worst
from retrivex import Chunk, Composition, Document, SpanComposer
from retrivex.chunking import MarkdownChunker
from retrivex.cli.chunk_map import chunk_maps, legend
from retrivex.cli.terminal import counted
from retrivex.retrieval.local import LocalRetriever
from retrivex.stores import SQLiteStore

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "figures" / "drawn"
QUESTION = "Which meals are paid on a business trip?"
DOCUMENT = "travel.md"
HITS, CHUNK_TOKENS = 6, 30
BUDGET = 60
"""Tokens: enough for a part of the passage, so that the selection shows."""

WIDTH, EDGE = 480, 20
STYLE = """
svg{--paper:#fff;--ink:#1f2328;--dim:#59636e;--line:#c8d1da;--hit:#0072b2;--kept:#00875f;--stop:#b84e00}
@media(prefers-color-scheme:dark){
svg{--paper:#161b22;--ink:#e6edf3;--dim:#9da7b1;--line:#4b535d;--hit:#6cb6ff;--kept:#56d3a0;--stop:#ff9d5c}}
text{font:14px system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
.small{font-size:13px}.dim{fill:var(--dim)}.bold{font-weight:600}.end{text-anchor:end}.middle{text-anchor:middle}
.paper{fill:var(--paper);stroke:var(--line)}.box{fill:none;stroke:var(--line)}
.hit{fill:var(--hit);fill-opacity:.28;stroke:var(--hit)}.near{fill:var(--hit);fill-opacity:.09;stroke:var(--hit)}
.kept{fill:var(--kept);fill-opacity:.28;stroke:var(--kept)}.marks{fill:var(--dim);fill-opacity:.5;stroke:none}
.stop{stroke:var(--stop);stroke-width:2;stroke-dasharray:5 4}text.stop{stroke:none;fill:var(--stop)}
.arrow{stroke:var(--dim);fill:none}.grid{stroke:var(--line)}
.retrivex{stroke:var(--hit);stroke-width:3;fill:none}text.retrivex{stroke:none;fill:var(--hit)}
.peer{stroke:var(--stop);stroke-width:2;fill:none;stroke-dasharray:7 4}text.peer{stroke:none;fill:var(--stop)}
.knn{stroke:var(--dim);stroke-width:2;fill:none}text.knn{stroke:none;fill:var(--dim)}
""".strip()

TERMINAL = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="600" role="img">
<title>Chunks of each document: hits and neighbours that are shown, left out, or stopped</title>
<style>
.{unique_id}-matrix{{font:{char_height}px/{line_height}px "DejaVu Sans Mono",Menlo,Consolas,monospace}}
.{unique_id}-title{{font:600 18px system-ui,"DejaVu Sans",sans-serif}}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g>
</svg>
"""
"""Rich's own frame without its fonts, which would come from elsewhere."""


def svg(title: str, height: float, parts: Sequence[str]) -> str:
    """Return a picture on its own paper, with a title for those who cannot see it."""
    paper = rect(0.5, 0.5, WIDTH - 1, height - 1, "paper", 8)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="600" '
        f'height="{height * 600 / WIDTH:g}" role="img">\n<title>{escape(title)}</title>\n<style>\n{STYLE}\n</style>\n'
        + "\n".join([paper, *parts])
        + "\n</svg>\n"
    )


def rect(x: float, y: float, width: float, height: float, kind: str, radius: float = 3) -> str:
    """Return a box."""
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:.5g}" height="{height:.5g}" rx="{radius:g}"/>'


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Return a line of text."""
    return f'<text class="{kind}" x="{x:.5g}" y="{y:.5g}">{escape(words, quote=False)}</text>'


def path(kind: str, *points: tuple[float, float]) -> str:
    """Return a line through points."""
    return f'<path class="{kind}" d="M{" L".join(f"{x:.5g} {y:.5g}" for x, y in points)}"/>'


def compose(budget: int) -> tuple[Composition, Mapping[int, Chunk]]:
    """Return the context of the question within a budget, and all chunks of its document."""
    chunker = MarkdownChunker(CHUNK_TOKENS, tokenizer="estimate")
    with TemporaryDirectory() as folder, SQLiteStore(Path(folder, "handbook.db")) as store:
        for file in sorted((ROOT / "examples" / "handbook").glob("*.md")):
            document = Document(file.name, file.read_text(encoding="utf-8"))
            store.put(document, chunker.chunk(document))
            if file.name == DOCUMENT:
                chunks = {chunk.metadata.chunk_id: chunk for chunk in chunker.chunk(document)}
        hits = LocalRetriever(store).retrieve(QUESTION, HITS)
        made = SpanComposer(tokenizer="estimate").compose(hits, store, query=QUESTION, token_budget=budget)
        assert made.trace.notes  # made while the store is open
    return made, chunks


def pipeline() -> str:
    """Draw the steps from hits to context, with what came out of each."""
    made, _ = compose(2 * BUDGET)
    counts = {step.name: step for step in made.trace.steps}
    refused = sum(note.outcome == "refused" for note in made.trace.notes)
    rows = [
        ("Hits", counted(counts["seeds"].n_out, "hit"), "from the retriever you have"),
        ("Expand", counted(counts["score"].n_in, "chunk"), f"neighbours; headings stop it {refused} times"),
        ("Merge", counted(counts["merge"].n_out, "run"), "what touches is joined, nothing twice"),
        ("Score", counted(counts["score"].n_out, "unit"), "how probable is evidence in each?"),
        ("Select", counted(counts["select"].n_out, "unit"), f"that are worth most in {made.token_budget} tokens"),
        ("Order", counted(len(made.spans), "passage"), "the best at the edges"),
        ("Render", counted(made.tokens, "token"), "text with numbers; the budget holds"),
    ]
    parts = [text(EDGE, 34, f"“{QUESTION}”", "bold")]
    for number, (step, count, why) in enumerate(rows):
        top = 52 + 50 * number
        kind = "hit" if number == 0 else "kept" if number == len(rows) - 1 else "near"
        parts += [rect(EDGE, top, 178, 36, kind, 6), text(EDGE + 12, top + 23, step, "bold")]
        parts += [text(EDGE + 168, top + 23, count, "end"), text(EDGE + 190, top + 23, why, "small dim")]
        if number:
            parts.append(path("arrow", (EDGE + 89, top - 13), (EDGE + 89, top - 2)))
            parts.append(path("arrow", (EDGE + 85, top - 6), (EDGE + 89, top - 1), (EDGE + 93, top - 6)))
    return svg("From hits to a context: what each step makes of one question", 52 + 50 * len(rows) + 2, parts)


def expansion() -> str:
    """Draw a window as it grows from its hits to the chunks at which a guard stops it."""
    made, chunks = compose(BUDGET)
    notes = sorted((note for note in made.trace.notes if note.doc_id == DOCUMENT), key=lambda note: note.chunk_id)
    first = next((at for at, note in enumerate(notes) if note.role == "seed"), 0) - 1
    last = next((at for at, note in enumerate(notes) if at > first and note.outcome == "refused"), len(notes) - 1)
    parts = [
        text(EDGE, 34, DOCUMENT, "bold"),
        text(WIDTH - EDGE, 34, "each hit asks for 2 chunks on either side", "small dim end"),
    ]
    top = 50.0
    for at, note in enumerate(notes[first : last + 1]):
        refused = note.outcome == "refused"
        if refused and at:
            parts.append(path("stop", (EDGE, top + 9), (WIDTH - EDGE, top + 9)))
            top += 22
        kind = "box" if refused else "hit" if note.role == "seed" else "near"
        words = {"box": f"stopped by its {note.reason}", "hit": "hit", "near": "neighbour"}[kind]
        said = " ".join(chunks[note.chunk_id].text.split())
        parts += [rect(EDGE, top, WIDTH - 2 * EDGE, 46, kind, 5)]
        parts += [text(EDGE + 12, top + 19, f"chunk {note.chunk_id}", "small bold")]
        parts += [text(WIDTH - EDGE - 12, top + 19, words, f"small end{' stop' if refused else ''}")]
        parts += [text(EDGE + 12, top + 37, textwrap.shorten(said, 62, placeholder=" …"), "small")]
        top += 54
        if refused and not at:
            parts.append(path("stop", (EDGE, top + 1), (WIDTH - EDGE, top + 1)))
            top += 14
    return svg("A window grows from its hits until a heading stops it", top + 12, parts)


def span_life() -> str:
    """Draw a span from its hits to the text that is shown, all on one axis of the document's characters."""
    made, chunks = compose(BUDGET)
    span = made.spans[0]
    inside = {note.chunk_id: note for note in made.trace.notes if note.doc_id == DOCUMENT}
    stops = [key for key, note in inside.items() if note.outcome == "refused"]
    first = max(key for key in stops if key < span.chunk_ids[0]) + 1
    last = min(key for key in stops if key > span.chunk_ids[-1]) - 1
    low, high = _start(chunks[first - 1]), _end(chunks[last + 1])

    def across(place: int) -> float:
        return EDGE + (WIDTH - 2 * EDGE) * (place - low) / (high - low)

    def block(start: int, end: int, top: float, height: float, kind: str) -> str:
        return rect(across(start) + 1, top, across(end) - across(start) - 2, height, kind)

    units = [unit for unit in made.trace.units if unit.doc_id == DOCUMENT and first <= unit.chunk_ids[0] <= last]
    tallest = max(unit.value for unit in units)
    hits = [key for key in range(first, last + 1) if inside[key].role == "seed"]
    parts = [text(EDGE, 34, f"1. Hits: {counted(len(hits), 'chunk')} of {DOCUMENT}", "bold")]
    parts += [
        block(_start(chunks[key]), _end(chunks[key]), 44, 24, "hit" if key in hits else "box")
        for key in range(first - 1, last + 2)
    ]
    parts += [text(EDGE, 100, f"2. Window: chunks {first}-{last}, from heading to heading", "bold")]
    parts += [block(_start(chunks[first]), _end(chunks[last]), 110, 24, "near")]
    parts += [text(EDGE, 166, "3. Units of sentences, with the value of each", "bold")]
    for unit in units:
        start, height = unit.char_start or 0, max(3.0, 60 * unit.value / tallest)
        parts.append(block(start, start + unit.length, 244 - height, height, "kept" if unit.selected else "box"))
        middle = (across(start) + across(start + unit.length)) / 2
        parts.append(text(middle, 262, f"{unit.value:.2f}", "small dim middle"))
    parts += [
        text(
            EDGE,
            294,
            f"4. Span within {made.token_budget} tokens: characters {span.char_start}-{span.char_end}",
            "bold",
        )
    ]
    parts += [block(span.char_start or 0, span.char_end or 0, 304, 24, "kept")]
    parts += [text(EDGE, 360, f"5. What the model reads: {made.tokens} tokens", "bold")]
    lines = [line for part in made.text.splitlines() if part for line in textwrap.wrap(part, 62)]
    parts += [text(EDGE, 382 + 20 * at, line) for at, line in enumerate(lines)]
    return svg("A span's life: hits, window, units, span, text", 382 + 20 * len(lines) + 2, parts)


def _start(chunk: Chunk) -> int:
    return chunk.metadata.char_start or 0


def _end(chunk: Chunk) -> int:
    return chunk.metadata.char_end or 0


def budgets() -> str:
    """Draw what fills budgets of several sizes: passages, their numbers and marks, and what is left."""
    sizes = (40, 60, 90, 130, 180)
    parts = [
        rect(EDGE, 20, 14, 14, "kept"),
        text(EDGE + 22, 32, "passages", "small"),
        rect(EDGE + 100, 20, 14, 14, "marks"),
    ]
    parts += [
        text(EDGE + 122, 32, "numbers, marks, separators", "small"),
        rect(EDGE + 328, 20, 14, 14, "box"),
        text(EDGE + 350, 32, "left over", "small"),
    ]
    for row, size in enumerate(sizes):
        made, _ = compose(size)
        top, scale = 50 + 62 * row, (WIDTH - 2 * EDGE) / sizes[-1]
        parts.append(
            text(EDGE, top + 14, f"{size} tokens: {counted(len(made.spans), 'passage')}, {made.tokens} used", "small")
        )
        left = float(EDGE)
        for span in made.spans:
            parts += [rect(left, top + 20, span.token_count * scale, 26, "kept")]
            if span.token_count * scale > 24:
                parts += [text(left + span.token_count * scale / 2, top + 38, str(span.token_count), "small middle")]
            left += span.token_count * scale
        parts += [
            rect(left, top + 20, EDGE + made.tokens * scale - left, 26, "marks"),
            rect(EDGE, top + 20, size * scale, 26, "box"),
        ]
    return svg("What fills a token budget", 50 + 62 * len(sizes), parts)


def recall() -> str:
    """Draw the share of the evidence that is shown against the tokens that it takes, from the committed results."""
    left, bottom, right, top = 58, 300, WIDTH - EDGE, 56

    def at(tokens: float, share: float) -> tuple[float, float]:
        return left + (right - left) * (log2(tokens) - log2(400)) / log2(20), bottom - (bottom - top) * (
            share - 0.4
        ) / 0.5

    parts = [text(EDGE, 32, "Share of the evidence in the context", "bold")]
    for percent in range(40, 91, 10):
        _, y = at(400, percent / 100)
        parts += [path("grid", (left, y), (right, y)), text(left - 8, y + 4, f"{percent} %", "small dim end")]
    parts += [
        text(at(tokens, 0.4)[0], bottom + 18, f"{tokens:,}", "small dim middle") for tokens in (500, 1000, 2000, 4000)
    ]
    parts.append(text(right, bottom + 18, "8,000", "small dim end"))
    parts.append(text(right, bottom + 38, "tokens used, mean of eight public sets", "small dim end"))
    parts.append(rect(right - 204, bottom - 82, 204, 66, "paper", 5))
    names = {KNN.name: ("knn", "kNN"), BEST_PEER: ("peer", "best peer of each set"), DEFAULT: ("retrivex", "RetriVex")}
    for row, (system, (kind, name)) in enumerate(names.items()):
        means = [mean_and_worst([each for each in figures_of(cell, system).values() if each])[0] for cell in curve()]
        parts.append(path(kind, *(at(mean["tokens"], mean["recall"]) for mean in means)))
        y = bottom - 64 + 22 * row
        parts += [path(kind, (right - 196, y - 4), (right - 164, y - 4)), text(right - 156, y, name, f"small {kind}")]
    return svg("Recall of the evidence against tokens used", bottom + 54, parts)


def explained() -> str:
    """Draw the strip of `retrivex query --explain`, as rich does for a terminal."""
    made, _ = compose(BUDGET)
    screen = Console(width=56, record=True, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    maps = chunk_maps(made)
    screen.print(legend(maps))
    for one in maps:
        screen.print()
        screen.print(one)
    return screen.export_svg(title="retrivex query … --explain", unique_id="explain", code_format=TERMINAL)


FILES: Mapping[str, Callable[[], str]] = {
    "pipeline.svg": pipeline,
    "expansion.svg": expansion,
    "span_life.svg": span_life,
    "budget.svg": budgets,
    "explain.svg": explained,
    "recall_tokens.svg": recall,
}


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, draw in FILES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()
