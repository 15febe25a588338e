"""How far the token estimate lies above the truth, for each kind of text.

Run `python -m benchmarks.speed.token_estimate`. Truth is the larger of the counts by cl100k_base and o200k_base; each
text is cut into pieces of 40 to 900 characters at random places (seed below). The real texts lie in the folder named by
RETRIVEX_DATA or in `../shared/data`; the kinds made here need no data. Results go to
`benchmarks/results/token_estimate.json`.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypedDict

from benchmarks.code import made_by
from retrivex.tokens.estimate import EstimateTokenizer
from retrivex.tokens.tokenizer import TiktokenTokenizer

SEED = 20260101
PIECE = (40, 900)  # characters
LARGE = 50  # tokens, from which on the estimate is meant never to be below the truth
MOST_CHARS = 1_000_000  # of each kind
ENCODINGS = ("cl100k_base", "o200k_base")
ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("RETRIVEX_DATA", ROOT.parent / "shared" / "data"))
RESULTS = ROOT / "benchmarks" / "results" / "token_estimate.json"


class Row(TypedDict):
    """Ratios are estimate / truth, over the pieces of at least `LARGE` tokens where not said otherwise."""

    pieces: int
    mean: float
    lowest: float
    highest: float
    below: int
    small_pieces: int
    small_below: int
    lowest_in_tokens: int


def files(pattern: str) -> Iterator[str]:
    """Yield the texts of the files that match `pattern`."""
    for path in sorted(DATA.glob(pattern)):
        yield path.read_bytes().decode()


def contexts(name: str) -> Iterator[str]:
    """Yield the contexts of a LongBench file."""
    for line in (DATA / "longbench" / f"{name}.jsonl").read_text().splitlines():
        yield json.loads(line)["context"]


def code_chunks() -> Iterator[str]:
    """Yield the source files of the contextual-embeddings set."""
    for document in json.loads((DATA / "contextual_embeddings" / "codebase_chunks.json").read_text()):
        yield document["content"]


def key_values() -> Iterator[str]:
    """Yield JSON objects of random UUIDs."""
    with gzip.open(DATA / "lost_in_the_middle" / "kv_retrieval_data" / "kv-retrieval-75_keys.jsonl.gz", "rt") as lines:
        for line in islice(lines, 60):
            yield json.dumps(dict(json.loads(line)["ordered_kv_records"]))


def meetings() -> Iterator[str]:
    """Yield meeting transcripts."""
    for line in (DATA / "qmsum" / "val.jsonl").read_text().splitlines():
        yield "\n".join(f"{turn['speaker']}: {turn['content']}" for turn in json.loads(line)["meeting_transcripts"])


REAL: dict[str, Callable[[], Iterator[str]]] = {
    "English essays": lambda: files("paul_graham_essays/**/*.txt"),
    "English encyclopedia": lambda: files("chunking_evaluation/corpora/wikitexts.md"),
    "English speech": lambda: files("chunking_evaluation/corpora/state_of_the_union.md"),
    "English chats": lambda: files("chunking_evaluation/corpora/chatlogs.md"),
    "English news": lambda: contexts("multi_news"),
    "English meetings": meetings,
    "English medical articles": lambda: files("evidence_inference/txt_files/*.txt"),
    "Chinese": lambda: contexts("multifieldqa_zh"),
    "Chinese, mixed": lambda: contexts("passage_retrieval_zh"),
    "source code": code_chunks,
    "JSON of UUIDs": key_values,
}


def made() -> Iterator[tuple[str, str]]:
    """Yield kinds of text that can be made up: name, text."""
    source = random.Random(SEED)
    yield "base64", base64.b64encode(source.randbytes(20_000)).decode()
    yield "hexadecimal", source.randbytes(10_000).hex()
    yield "numbers", "\n".join(",".join(f"{source.uniform(-1e4, 1e4):.2f}" for _ in range(8)) for _ in range(300))
    records = [{"id": n, "uuid": str(uuid.UUID(int=source.getrandbits(128))), "ok": n % 3 == 0} for n in range(300)]
    yield "JSON records", json.dumps(records, indent=2)
    yield "emoji", "".join(source.choice("😀😂🥲🎉🔥👍❤🚀✨🌍📄") for _ in range(3_000))
    yield "Chinese characters at random", "".join(chr(source.randrange(0x4E00, 0xA000)) for _ in range(20_000))


def pieces_of(text: str, source: random.Random) -> Iterator[str]:
    """Cut a text into pieces of random length."""
    start = 0
    while start < len(text):
        size = source.randint(*PIECE)
        yield text[start : start + size]
        start += size


def measure(texts: list[str]) -> Row:
    """Compare the estimate with the truth on the pieces of `texts`."""
    source = random.Random(SEED)
    pieces = list(islice((piece for text in texts for piece in pieces_of(text, source)), MOST_CHARS // 400))
    counts = [TiktokenTokenizer(name).count_many(pieces) for name in ENCODINGS]
    truth = [max(pair) for pair in zip(*counts, strict=True)]
    ratios = [got / true for got, true in zip(EstimateTokenizer().count_many(pieces), truth, strict=True)]
    large = [(ratio, true) for ratio, true in zip(ratios, truth, strict=True) if true >= LARGE]
    small = [ratio for ratio, true in zip(ratios, truth, strict=True) if true < LARGE]
    lowest, tokens = min(large)
    return {
        "pieces": len(large),
        "mean": round(statistics.fmean(ratio for ratio, _ in large), 3),
        "lowest": round(lowest, 3),
        "highest": round(max(large)[0], 3),
        "below": sum(ratio < 1 for ratio, _ in large),
        "small_pieces": len(small),
        "small_below": sum(ratio < 1 for ratio in small),
        "lowest_in_tokens": tokens,
    }


def speed(text: str) -> float:
    """Return nanoseconds a character, the best of several runs."""
    best = float("inf")
    for _ in range(7):
        started = time.perf_counter()
        EstimateTokenizer().count(text)
        best = min(best, time.perf_counter() - started)
    return round(best / len(text) * 1e9, 1)


def main() -> None:
    """Measure, print the table, write the results."""
    texts = {name: list(make()) for name, make in REAL.items()} if DATA.is_dir() else {}
    texts |= {name: [text] for name, text in made()}
    rows = {name: measure(found) for name, found in texts.items()}
    print(f"{'kind of text':26}{'pieces':>8}{'mean':>8}{'lowest':>8}{'highest':>9}{'below':>7}{'below, small':>16}")
    for name, row in rows.items():
        small = f"{row['small_below']} of {row['small_pieces']}"
        ratios = f"{row['mean']:8.2f}{row['lowest']:8.2f}{row['highest']:9.2f}"
        print(f"{name:26}{row['pieces']:8}{ratios}{row['below']:7}{small:>16}")
    speeds = {name: speed("".join(found)[:300_000]) for name, found in texts.items()}
    print("nanoseconds a character:", ", ".join(f"{name} {value}" for name, value in speeds.items()))
    result = {
        **made_by(),
        "seed": SEED,
        "encodings": ENCODINGS,
        "large_from_tokens": LARGE,
        "estimate_over_truth": rows,
        "nanoseconds_per_character": speeds,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
