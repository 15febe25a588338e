"""How the time of each step grows with the length of a text, for texts that nobody writes by hand.

Run `make bench-growth`, or `PYTHONPATH=tests python -m benchmarks.speed.growth`. Each step reads each kind of text in
lengths from 2,500 characters to 10 million, four times as long each, until one takes more than `--seconds`. Times are
processor time of all threads, in a process of its own for each step and kind. What is measured is entered in
`benchmarks/results/growth.json` at once: a run that was stopped goes on where it was, one with more `--seconds` goes on
to longer texts, and what was measured of other code is measured again. `--largest 100000` enters nothing.

The exponent is the slope between the last two lengths, both in logarithms: 1 is linear, 2 quadratic. A time can also
take a step upwards, as where a text is first long enough to be cut, and be linear below and above. While the exponent
is above `MOST`, the last two lengths are measured twice again, the least time of each counts, and one length more is
read where it would take no more than `STEP_SECONDS` if time were a square: behind the steps the exponent is 1.
Exits with 1 where an exponent is above `MOST`.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypedDict

from rich.console import Console

from benchmarks.code import code_digest, digest
from benchmarks.speed.latency import machine
from retrivex import Chunk, ChunkMetadata, Document, RetrievalConfig, SeedHit, SpanComposer, deduplicate
from retrivex.chunking import CHUNKER_NAMES, get_chunker
from retrivex.encoders.encoder import HashingEncoder
from retrivex.errors import ConfigError
from retrivex.expansion.guards import shape_goes_on
from retrivex.model.run import overlap_length
from retrivex.ordering import question_type
from retrivex.text.leads import lead_at, leads_of
from retrivex.text.sentences import sentence_ranges
from retrivex.text.structure import edges_of, fence_at_start, line_ranges, structure_of
from retrivex.tokens import get_tokenizer

SMALLEST, LARGEST, FACTOR = 2_500, 10_240_000, 4  # characters
MAX_SECONDS = 0.5  # of processor time: no longer text is read behind one that takes more
STEP_SECONDS, SQUARE = 60.0, 2  # a length more is read if a square takes no longer, to tell a step from growth
LEAST_SECONDS = 0.02  # less is noise: no exponent is given
MOST = 1.35  # exponent; n log n has 1.1 to 1.2 in these lengths
RESULTS = Path(__file__).parents[1] / "results" / "growth.json"
QUESTION = "When do bees sleep?"


class Row(TypedDict):
    """Processor seconds by number of characters, the exponent, and the code that was measured."""

    step: str
    kind: str
    seconds: dict[str, float]
    exponent: float | None
    code: str


UNITS = {
    "letters": "e",
    "words": "bees sleep at night and ",
    "sentences": "Bees sleep at night. ",
    "capitals": "B",
    "digits": "7",
    "numbers": "1234.5 ",
    "Chinese": "蜜蜂在夜里睡觉",
    "Chinese sentences": "蜜蜂在夜里睡觉。",
    "Chinese quotations": "他说：“蜜蜂睡觉吧！好不好？”",
    "questions": "how do I choose between ",
    "dates": "in March 3rd of ",
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
    "Markdown": "**Bees.** They need `wax`. And\nAnna:\n\n- one\n- two\n\n| a |\n|---|\n| b |\n\n",
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


def look_for_overlap(text: str) -> object:
    """Look for the end of a text at the beginning of another."""
    return overlap_length(f"{text}x", f"{text}y")


def refuse(text: str) -> object:
    """Make the message of an error that quotes a text."""
    return str(ConfigError(f"https://x?{text}"))


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
    "overlaps": look_for_overlap,
    "types of questions": question_type,
    "errors": refuse,
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


def measure(
    work: Callable[[str], object], kind: str, largest: int, longest: float, known: Mapping[int, float]
) -> dict[int, float]:
    """Return the time of each length, up to the first that takes longer than `longest` seconds, from known ones on."""
    found = dict(known)
    while (following := _next(found)) <= largest and max(found.values(), default=0.0) <= longest:
        found[following] = seconds(work, make_text(kind, following))
    while grows_too_fast(found):
        for length in list(found)[-2:]:
            found[length] = min(found[length], *[seconds(work, make_text(kind, length)) for _ in range(2)])
        following, expected = _next(found), found[max(found)] * FACTOR**SQUARE
        if not grows_too_fast(found) or following > largest or expected > STEP_SECONDS:
            break
        found[following] = seconds(work, make_text(kind, following))
    return found


def _next(found: Mapping[int, float]) -> int:
    return FACTOR * max(found) if found else SMALLEST


def growth(found: Mapping[int, float]) -> float | None:
    """Return the exponent of the last two lengths; None where the times are too short to tell."""
    if len(found) < 2:
        return None
    (shorter, fast), (longer, slow) = list(found.items())[-2:]
    return math.log(slow / max(fast, 1e-6)) / math.log(longer / shorter) if slow >= LEAST_SECONDS else None


def grows_too_fast(found: Mapping[int, float]) -> bool:
    """Whether times grow faster than they may, as far as can be told."""
    exponent = growth(found)
    return exponent is not None and exponent > MOST


def measure_row(job: tuple[str, str, int, float, Row | None]) -> Row:
    """Measure a step on a kind of text, on from what is known."""
    step, kind, largest, longest, row = job
    known = {int(length): took for length, took in row["seconds"].items()} if row else {}
    found = measure(STEPS[step], kind, largest, longest, known)
    exponent = growth(found)
    rounded = {str(length): round(took, 4) for length, took in found.items()}
    made = None if exponent is None else round(exponent, 2)
    return Row(step=step, kind=kind, seconds=rounded, exponent=made, code=code_digest())


class Account:
    """What has been measured so far, kept in a file.

    Rows of another benchmark than this one do not count; those of other code stay until they are measured again.
    """

    def __init__(self, path: Path = RESULTS) -> None:
        self.path = path
        self.head = {**machine(), "drawn_by": digest([Path(__file__)])}
        del self.head["code"]  # which each row names
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        rows: list[Row] = found["rows"] if found.get("drawn_by") == self.head["drawn_by"] else []
        self.rows = {(row["step"], row["kind"]): row for row in rows}

    def known(self, step: str, kind: str) -> Row | None:
        """Return what was measured of this code."""
        row = self.rows.get((step, kind))
        return row if row and row["code"] == code_digest() else None

    def enter(self, row: Row) -> None:
        """Write a row beside the others."""
        self.rows[row["step"], row["kind"]] = row
        order = [(step, kind) for step in STEPS for kind in UNITS]
        rows = ",\n".join(json.dumps(self.rows[job], ensure_ascii=False) for job in order if job in self.rows)
        head = json.dumps(self.head, indent=1).removesuffix("\n}")
        beside = self.path.with_suffix(f".{os.getpid()}.part")
        beside.write_text(f'{head},\n "rows": [\n{rows}\n]}}\n', encoding="utf-8")
        beside.replace(self.path)


def is_done(row: Row | None, longest: float) -> bool:
    """Whether a row has reached the largest length, or one that takes longer than `longest`."""
    return row is not None and (str(LARGEST) in row["seconds"] or max(row["seconds"].values()) > longest)


def main() -> int:
    """Measure what is missing, enter it, print what grows too fast."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=LARGEST, help="characters; enters nothing")
    parser.add_argument("--seconds", type=float, default=MAX_SECONDS, help="a text behind which no longer one is read")
    parser.add_argument("--steps", nargs="*", default=list(STEPS), choices=list(STEPS), metavar="STEP")
    parser.add_argument("--kinds", nargs="*", default=list(UNITS), choices=list(UNITS), metavar="KIND")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    console, keep = Console(), given.largest >= LARGEST
    account = Account()
    wanted = [(step, kind) for kind in given.kinds for step in given.steps]
    known = {job: account.known(*job) if keep else None for job in wanted}
    rows = [row for row in known.values() if row and is_done(row, given.seconds)]
    jobs = [(*job, given.largest, given.seconds, row) for job, row in known.items() if not is_done(row, given.seconds)]
    console.print(f"{len(jobs):,} of {len(wanted):,} are left to measure")
    with multiprocessing.get_context("fork").Pool(given.processes, maxtasksperchild=1) as pool:
        for row in pool.imap_unordered(measure_row, jobs):
            rows.append(row)
            if keep:
                account.enter(row)
            if len(rows) % 100 == 0:
                console.print(f"{len(rows):,} of {len(wanted):,}")
    fast = [row for row in rows if row["exponent"] is not None and row["exponent"] > MOST]
    for row in fast:
        console.print(f"{row['step']}, {row['kind']}: {row['exponent']}  {row['seconds']}", highlight=False)
    console.print(f"{len(fast)} of {len(rows):,} grow faster than {MOST}")
    return 1 if fast else 0


if __name__ == "__main__":
    sys.exit(main())
