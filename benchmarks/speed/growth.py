"""How the time of each step grows with the length of a text, for texts that nobody writes by hand.

Run `python -m benchmarks.speed.growth`; `--largest 100000` stops earlier and writes nothing. Each step reads each kind
of text in lengths from 2,500 characters to 10 million, four times as long each, and stops before a length that would
take more than `MAX_SECONDS`, or `--seconds`: the result says which. The exponent is that of the last two lengths: 1 is
linear, 2 quadratic. Processor time of all threads; a process of its own for each kind. Results go to
`benchmarks/results/growth.json`.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from rich.console import Console

from benchmarks.speed.latency import machine
from retrivex import Chunk, ChunkMetadata, Document, RetrievalConfig, SeedHit, SpanComposer, deduplicate
from retrivex.chunking import CHUNKER_NAMES, get_chunker
from retrivex.encoders.encoder import HashingEncoder
from retrivex.expansion.guards import shape_goes_on
from retrivex.text.leads import lead_at, leads_of
from retrivex.text.sentences import sentence_ranges
from retrivex.text.structure import edges_of, fence_at_start, line_ranges, structure_of
from retrivex.tokens import get_tokenizer

SMALLEST, LARGEST, FACTOR = 2_500, 10_240_000, 4  # characters
MAX_SECONDS = 60.0  # of processor time, expected, for one text
LEAST_SECONDS = 0.02  # less is noise: no exponent is given
MOST = 1.35  # exponent; n log n has 1.1 to 1.2 in these lengths
RESULTS = Path(__file__).parents[1] / "results" / "growth.json"
QUESTION = "When do bees sleep?"


class Row(TypedDict):
    """Processor seconds by number of characters, and the exponent of the last two."""

    step: str
    kind: str
    seconds: dict[str, float]
    exponent: float | None


UNITS = {
    "letters": "e",
    "words": "bees sleep at night and ",
    "sentences": "Bees sleep at night. ",
    "capitals": "B",
    "digits": "7",
    "numbers": "1234.5 ",
    "Chinese": "蜜蜂在夜里睡觉",
    "Chinese sentences": "蜜蜂在夜里睡觉。",
    "Thai": "ผึ้งนอนหลับตอนกลางคืน",
    "combining marks": "\u0301",
    "letters with marks": "e\u0301\u0323",
    "ZWJ emoji": "\U0001f468\u200d",
    "skin tones": "\U0001f44b\U0001f3fd",
    "variation selectors": "\ufe0f",
    "joiners": "\u200d",
    "flags": "\U0001f1e6\U0001f1e8",
    "half surrogates": "\ud83d",
    "nulls": "\0",
    "blanks": " ",
    "tabs": "\t",
    "wide blanks": "\u3000",
    "newlines": "\n",
    "CR": "\r",
    "CR LF": "\r\n",
    "LF CR CR LF": "\n\r\r\n",
    "blank lines": " \n",
    "line separators": "\u2028",
    "lines of a letter": "a\n",
    "lines of a word": "Bees\n",
    "wrapped lines": "and the bees of the hive sleep at night in the\n",
    "dots": ".",
    "dots and blanks": ". ",
    "dots of other scripts": "。",
    "ellipses": "…",
    "exclamation marks": "!?",
    "colons": ":\n",
    "semicolons": "; ",
    "dashes": "-",
    "quotation marks": '"',
    "open quotations": "“",
    "brackets": "[",
    "closed brackets": "[]",
    "parentheses": "(",
    "links": "[a](",
    "citations": "[1]",
    "angles": "<",
    "elements": "<source>",
    "ampersands": "&lt;",
    "braces": "{",
    "backslashes": "\\",
    "backticks": "`",
    "backticks and blanks": "` ",
    "asterisks": "*",
    "asterisks and letters": "*a ",
    "bold": "**a** ",
    "underscores": "_",
    "underscores and letters": "_a ",
    "pipes": "|",
    "rows": "| a | b |\n",
    "delimiter rows": "|---|---|\n",
    "one delimiter row": "-|",
    "hashes": "#",
    "headings": "# Bees\n",
    "deep headings": "###### Bees\n\n",
    "fences": "```\n",
    "open fences": "```python\nx\n",
    "tildes": "~",
    "bullets": "- ",
    "items": "- bees\n",
    "numbered items": "1. bees\n",
    "items after colons": "They need:\n- wax\n",
    "nested items": "- - - - - - - - - - bees\n",
    "quoted lines": "> bees\n",
    "nested quotations": ">",
    "equals signs": "=",
    "rules": "---\n",
    "tables with words": "bees | wax\n",
    "tab rows": "bees\twax\n",
    "JSON": '{"a": [1, 2]}, ',
    "base64": "QmVlcyBzbGVlcCBhdCBuaWdodA",
    "addresses": "https://a.example/b?c=d&e=f/",
}
"""What each kind of text repeats."""


def make_text(kind: str, length: int) -> str:
    """Return a text of a kind."""
    unit = UNITS[kind]
    return (unit * (length // len(unit) + 1))[:length]


def step_of_chunker(name: str) -> Callable[[str], object]:
    """Return what cuts a text into chunks."""
    chunker = get_chunker(name, encoder=HashingEncoder())
    return lambda text: chunker.chunk(Document("d", text, format="plain" if name == "token" else "markdown"))


def cut_plain(text: str) -> object:
    """Cut a plain text."""
    return get_chunker("adaptive").chunk(Document("d", text))


def read_structure(text: str) -> object:
    """Find the parts of a text, and what it begins and ends with."""
    structure = structure_of(text)
    in_fence = structure_of(text, "```")
    return edges_of(text, structure), edges_of(text, in_fence, "```"), fence_at_start(text), line_ranges(text)


def read_leads(text: str) -> object:
    """Find lead-ins."""
    leads = leads_of(text)
    return [lead_at(text, at, leads) for at in range(0, len(text), 1000)]


def look_for_shapes(text: str) -> object:
    """Ask whether shapes go on behind a text, and in it."""
    return [shape_goes_on(text, text, policy) for policy in ("table", "list", "code", "steps")]


def compose(text: str, *, offsets: bool, chunk: int, **options: object) -> object:
    """Compose a context of the chunks of a text, all of them hits."""
    chunks = []
    for number, start in enumerate(range(0, len(text), chunk)):
        part = text[start : start + chunk]
        place = (start, start + len(part)) if offsets else (None, None)
        chunks.append(Chunk(part, ChunkMetadata("d", number, *place)))
    store = {one.key: one for one in chunks}
    hits = [SeedHit(one, 1 - number / len(chunks)) for number, one in enumerate(chunks)]
    composer = SpanComposer(RetrievalConfig(token_budget=2000, **options))
    return composer.compose(hits, store, query=QUESTION)


def compose_long(text: str) -> object:
    """Compose a context of two chunks, without offsets."""
    return compose(text, offsets=False, chunk=len(text) // 2 + 1)


def compose_one(text: str) -> object:
    """Compose a context of one chunk."""
    return compose(text, offsets=True, chunk=len(text))


def compose_small(text: str) -> object:
    """Compose a context of chunks of 800 characters."""
    return compose(text, offsets=True, chunk=800)


def write_prompts(text: str) -> object:
    """Write a prompt, and messages, of all of a text."""
    chunk = Chunk(text, ChunkMetadata("d", 0, 0, len(text)))
    found = SpanComposer(RetrievalConfig(token_budget=100_000_000)).compose([SeedHit(chunk, 1.0)], {chunk.key: chunk})
    templates = ({}, {"template": "{context} :: {question}"})
    return [found.prompt(QUESTION, **options) for options in templates], found.chat(QUESTION)


def compare(text: str) -> object:
    """Look for near-duplicates among parts of a text."""
    return deduplicate([text[start : start + 800] for start in range(0, len(text), 800)], 0.85)


STEPS: dict[str, Callable[[str], object]] = {
    "count tokens": get_tokenizer("auto").count,
    "sentences": sentence_ranges,
    "structure": read_structure,
    "lead-ins": read_leads,
    "shapes": look_for_shapes,
    **{f"chunker {name}": step_of_chunker(name) for name in CHUNKER_NAMES if name != "auto"},
    "chunker adaptive, plain": cut_plain,
    "compose one chunk": compose_one,
    "compose two chunks": compose_long,
    "compose many chunks": compose_small,
    "prompts": write_prompts,
    "near-duplicates": compare,
}


def seconds(work: Callable[[str], object], text: str) -> float:
    """Return the processor time of one call."""
    began = time.process_time()
    work(text)
    return time.process_time() - began


def measure(step: str, kind: str, largest: int, longest: float = MAX_SECONDS) -> Row:
    """Return how the time of a step grows."""
    work, found, length = STEPS[step], {}, SMALLEST
    expected = 0.0
    while length <= largest and expected <= longest:
        found[length] = seconds(work, make_text(kind, length))
        slope = growth(found) or 1.0
        expected = found[length] * FACTOR ** max(1.0, slope)
        length *= FACTOR
    made = growth(found)
    rounded = {str(size): round(took, 4) for size, took in found.items()}
    return Row(step=step, kind=kind, seconds=rounded, exponent=None if made is None else round(made, 2))


def growth(found: dict[int, float]) -> float | None:
    """Return the exponent of the last two lengths; None where the times are too short to tell."""
    if len(found) < 2:
        return None
    (shorter, fast), (longer, slow) = list(found.items())[-2:]
    return math.log(slow / max(fast, 1e-6)) / math.log(longer / shorter) if slow >= LEAST_SECONDS else None


def measure_kind(job: tuple[str, str, int, float]) -> Row:
    """Measure in a process of its own."""
    return measure(*job)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=LARGEST)
    parser.add_argument("--seconds", type=float, default=MAX_SECONDS, help="most for one text")
    parser.add_argument("--steps", nargs="*", default=list(STEPS))
    parser.add_argument("--kinds", nargs="*", default=list(UNITS))
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    console, rows = Console(), []
    jobs = [(step, kind, given.largest, given.seconds) for step in given.steps for kind in given.kinds]
    with multiprocessing.get_context("fork").Pool(given.processes) as pool:
        for row in pool.imap(measure_kind, jobs):
            rows.append(row)
            if row["exponent"] is not None and row["exponent"] > MOST:
                console.print(f"{row['step']}, {row['kind']}: {row['exponent']}  {row['seconds']}", highlight=False)
    if given.largest == LARGEST and given.steps == list(STEPS) and given.kinds == list(UNITS):
        RESULTS.write_text(
            json.dumps({**machine(), "max_seconds": given.seconds, "rows": rows}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
