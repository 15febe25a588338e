"""What orders cost, and how much of the best possible they reach under measured position profiles.

Run: `make bench-ordering` (or `python -m benchmarks.speed.ordering`); writes `results/ordering.json`. Peers that are
not installed are left out, real scores where RETRIVEX_DATA (`../shared/data`) does not lie.

*Speed*: microseconds of processor time of one call, and as a multiple of LangChain's: the medians of many slices of a
millisecond, each beside one of LangChain's. Passages come best first, as retrievers give them; RetriVex reads all
scores, checks them, and sorts. Orders that need more (documents, times) cannot be faster than reading it, which stands
beside them; a shuffle of up to 1,000 passages is remembered by number and seed, as Python needs longer to seed a
generator than to use it.

*Effect*: sum of score x mean attention over the tokens that a passage occupies, as a share of the best order's (of the
bound where the best is not known), mean over lists. No model is asked: the figures say what an order is worth if
attention is as the profile says. `real` are BM25 scores of 20 passages for each question of Natural Questions; which of
them holds the answer is known, and *answer* is the accuracy that the profile has where that one stands.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
import os
import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.code import made_by
from benchmarks.evidence.lexical import words
from benchmarks.speed.ordering_peers import NODE, System, flat, floors, npm_times, ours, peers, plain
from retrivex.evaluation.run.bm25 import BM25
from retrivex.ordering import PROFILES, PositionProfile, place

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parents[1] / "results" / "ordering.json"
DATA = Path(os.environ.get("RETRIVEX_DATA", ROOT.parent / "shared" / "data"))
REAL = "lost_in_the_middle/qa_data_rebuilt/20_total_documents/nq-open-20_total_documents_gold_at_0.jsonl.gz"

SIZES = (10, 100, 1_000, 10_000)
ROUNDS = 25
LISTS = 100
# the profile order stands for itself, and lists have no times
NO_EFFECT = ("profile", "chronological")
PROFILE_NAMES = ("lost_in_the_middle", "u_curve")

List = tuple[list[float], list[float], int | None]
"""Scores, lengths in tokens, and which passage holds the answer, best first."""


# ---- speed


def timed(call: Callable[[], Any], calls: int) -> float:
    """Microseconds of processor time of one call."""
    began = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - began) / calls * 1e6


def speed(systems: Sequence[System]) -> list[dict[str, Any]]:
    """Time every system on every size, each slice of it beside one of LangChain's, so that both meet the same noise."""
    rows: list[dict[str, Any]] = [{"name": system.name, "us": {}, "ratio": {}} for system in systems]
    base = next((system for system in systems if system.name.startswith("LangChain")), None)
    for size in SIZES:
        scores = [1 - i / size for i in range(size)]
        beside = None if base is None else partial(base.order, base.make(scores))
        for row, system in zip(rows, systems, strict=True):
            call = partial(system.order, system.make(scores))
            rounds = [(slice_of(call), slice_of(beside) if beside else math.nan) for _ in range(ROUNDS)]
            row["us"][size] = statistics.median(own for own, _ in rounds)
            if beside is not None:
                row["ratio"][size] = statistics.median(own / other for own, other in rounds)
    return rows


def slice_of(call: Callable[[], Any]) -> float:
    """Microseconds of one call, over about a millisecond; what warms up is left out."""
    once = timed(call, 1)
    return timed(call, max(1, min(2_000, int(1_000 / max(once, 0.5)))))


def profile_speed() -> list[dict[str, Any]]:
    """Time the profile order by the number of passages and their lengths."""
    rows = []
    for count, kind in ((8, "unequal"), (20, "equal"), (20, "unequal"), (100, "unequal"), (10_000, "unequal")):
        rng = random.Random(count)
        items = plain([rng.random() for _ in range(count)])
        for item in items:
            item.tokens = 200 if kind == "equal" else rng.randint(20, 600)
        call = partial(place, items, tokens="tokens")
        call()
        times = [slice_of(call) for _ in range(ROUNDS)]
        rows.append({"count": count, "lengths": kind, "us": statistics.median(times), "gap": call().gap})
    return rows


# ---- effect


def lists_of(kind: str, count: int, lengths: str) -> list[List]:
    """Return generated lists, best first."""
    rng = np.random.default_rng(count)
    made: list[List] = []
    for _ in range(LISTS):
        scores = np.sort(rng.random(count) ** (3 if kind == "skewed" else 1))[::-1]
        tokens = rng.integers(20, 600, count) if lengths == "unequal" else np.full(count, 200)
        made.append((scores.tolist(), tokens.astype(float).tolist(), None))
    return made


def real_lists(lengths: str) -> list[List]:
    """Return the BM25 scores of 20 passages for each question, best first; empty without the data."""
    if not (DATA / REAL).is_file():
        return []
    made = []
    with gzip.open(DATA / REAL, "rt", encoding="utf-8") as lines:
        questions = [json.loads(line) for line in lines]
    for row in questions:
        texts = [f"{passage['title']} {passage['text']}" for passage in row["ctxs"]]
        scores = BM25(texts, terms=words).scores(row["question"])
        order = np.argsort(-scores, kind="stable").tolist()
        gold = next(i for i, passage in enumerate(row["ctxs"]) if passage["isgold"])
        tokens = [float(len(texts[i].split())) if lengths == "unequal" else 200.0 for i in order]
        made.append(([float(scores[i]) for i in order], tokens, order.index(gold)))
    return made


def effect(systems: Sequence[System], lists: Sequence[List], curve: PositionProfile) -> list[dict[str, Any]]:
    """Share of the best possible that each system reaches, and the accuracy at the answer."""
    best = [placed(scores, tokens, curve) for scores, tokens, _ in lists]
    rows = []
    for system in [*systems, None]:
        shares, answers = [], []
        for (scores, tokens, gold), (_, bound, order) in zip(lists, best, strict=True):
            places = order if system is None else system.places(scores)
            attention = attention_of(places, tokens, curve)
            shares.append(sum(scores[i] * a for i, a in zip(places, attention, strict=True)) / bound)
            if gold is not None:
                answers.append(attention[places.index(gold)])
        row = {"name": "profile" if system is None else system.name, "share": statistics.fmean(shares)}
        row["least"] = min(shares)
        if answers:
            row["answer"] = statistics.fmean(answers)
        rows.append(row)
    return rows


def placed(scores: list[float], tokens: list[float], curve: PositionProfile) -> tuple[float, float, list[int]]:
    """Value, bound and places of the profile order."""
    made = place(range(len(scores)), score=scores.__getitem__, tokens=tokens.__getitem__, profile=curve)
    return made.value, made.bound, made.items


def attention_of(places: Sequence[int], tokens: Sequence[float], curve: PositionProfile) -> list[float]:
    """Mean attention over the tokens of each passage, in reading order."""
    ends = np.cumsum([tokens[i] for i in places])
    shares = np.concatenate([[0.0], ends / ends[-1]])
    return (np.diff(curve.area(shares)) / np.diff(shares)).tolist()


def effects(systems: Sequence[System]) -> list[dict[str, Any]]:
    """Measure the effect on every kind of lists."""
    made = []
    for name, lengths in itertools.product(PROFILE_NAMES, ("equal", "unequal")):
        kinds = [
            (kind, count, lists_of(kind, count, lengths)) for kind in ("uniform", "skewed") for count in (10, 20, 50)
        ]
        for kind, count, lists in [*kinds, ("real", 20, real_lists(lengths))]:
            if lists:
                block = {"profile": name, "lengths": lengths, "scores": kind, "count": count, "lists": len(lists)}
                made.append({**block, "rows": effect(systems, lists, PROFILES[name])})
    return made


def main() -> None:
    others = peers()
    mine = ours()
    written: dict[str, Any] = {**made_by(), "seed": "count of passages"}
    written["speed"] = speed([*others, *mine, flat(), *floors()])
    written["npm"] = {"name": "rag-chunk-reorder 0.1.7", "us": npm_times(SIZES)} if NODE else {}
    written["profile"] = profile_speed()
    written["effect"] = effects([*others, *[system for system in mine if system.name not in NO_EFFECT]])
    RESULTS.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    for row in written["speed"]:
        print(
            row["name"], {size: (round(us, 2), round(row["ratio"].get(size, 0), 2)) for size, us in row["us"].items()}
        )
    print(written["npm"])
    print(written["profile"])
    for block in written["effect"]:
        print(block["profile"], block["lengths"], block["scores"], block["count"])
        print("   ", {row["name"]: (round(row["share"], 4), round(row.get("answer", 0), 2)) for row in block["rows"]})


if __name__ == "__main__":
    main()
