"""A store in shards: where documents land on a ring of hashes, and what a question then asks of whom.

Questions, hits, documents and texts are those of the public sets, enlarged: copies of all documents under other names,
and for each document of a question's hits a copy of it at random, so that hits stay together as they were.
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]
POINTS = 128
"""Points of each shard on the ring."""

RADIUS = 2
LAYOUTS = ("document", "chunk")
_BITS = 20  # of a place that number the chunks of a document


def scatter(values: Any) -> Hashes:
    """Return a hash of each whole number (the finalizer of MurmurHash3, by Appleby)."""
    made = np.asarray(values).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53)):
        made = (made ^ (made >> np.uint64(shift))) * np.uint64(factor)
    return made ^ (made >> np.uint64(33))


class Ring:
    """A ring of hashes, on which each shard has points; a value belongs to the next point.

    Parameters
    ----------
    shards : at least 1
    points : of each shard

    Examples
    --------
    >>> documents = np.arange(100_000)
    >>> moved = Ring(9).shard_of(documents) != Ring(8).shard_of(documents)
    >>> bool(np.all(Ring(9).shard_of(documents)[moved] == 8)), bool(0.08 < moved.mean() < 0.14)
    (True, True)
    """

    def __init__(self, shards: int, points: int = POINTS) -> None:
        places = scatter(np.arange(shards * points) + (1 << 40))
        order = np.argsort(places, kind="stable")
        self._places, self._owners = places[order], order // points

    def shard_of(self, values: Any) -> Ints:
        """Return the shard of each whole number."""
        at = np.searchsorted(self._places, scatter(values)) % len(self._places)
        return self._owners[at]


def place_of(documents: Any, chunks: Any) -> Ints:
    """Return one number for each chunk of a document."""
    made: Ints = (np.asarray(documents, np.int64) << _BITS) | np.asarray(chunks, np.int64)
    return made


# ---- the public sets, enlarged


@dataclass(frozen=True, slots=True)
class Sets:
    """What is known of the public sets.

    Parameters
    ----------
    sizes : chunks of each document
    bytes : of each document's chunks, UTF-8
    hits : of each question, (document, chunk) of its hits, the best first
    """

    sizes: Ints
    bytes: tuple[Ints, ...]
    hits: tuple[Ints, ...]

    def windows(self, question: int, radius: int = RADIUS) -> list[tuple[int, int, int]]:
        """Return documents, first and last chunk but one of the windows around a question's hits, merged."""
        made: list[tuple[int, int, int]] = []
        for document, chunk in sorted(map(tuple, self.hits[question].tolist())):
            low, high = max(0, chunk - radius), min(int(self.sizes[document]), chunk + radius + 1)
            if made and made[-1][0] == document and low <= made[-1][2]:
                made[-1] = (document, made[-1][1], max(high, made[-1][2]))
            else:
                made.append((document, low, high))
        return made

    def describe(self) -> dict[str, Any]:
        """Return means over the questions."""
        windows = [self.windows(number) for number in range(len(self.hits))]
        return {
            "documents": len(self.sizes),
            "chunks": int(self.sizes.sum()),
            "size_mean": round(float(self.sizes.mean()), 2),
            "size_cv": round(float(self.sizes.std() / self.sizes.mean()), 3),
            "questions": len(self.hits),
            "hits": round(float(np.mean([len(hits) for hits in self.hits])), 2),
            "documents_of_hits": round(float(np.mean([len(np.unique(hits[:, 0])) for hits in self.hits])), 2),
            "windows": round(float(np.mean([len(some) for some in windows])), 2),
            "chunks_of_windows": round(float(np.mean([sum(high - low for _, low, high in w) for w in windows])), 2),
        }


def expected_asked(shards: int, balls: float) -> float:
    """Return how many of so many shards get at least one of `balls` that fall at random.

    Examples
    --------
    >>> round(expected_asked(16, 20), 2)
    11.6
    """
    return shards * (1 - (1 - 1 / shards) ** balls)


def copy_of(windows: Sequence[tuple[int, int, int]], copies: int, count: int, rng: np.random.Generator) -> Any:
    """Return windows in a copy of their documents each, by the documents' numbers in the enlarged store."""
    chosen = {document: document + count * int(rng.integers(copies)) for document in sorted({w[0] for w in windows})}
    return [(chosen[document], low, high) for document, low, high in windows]


def requests_of(windows: Sequence[tuple[int, int, int]], ring: Ring, layout: str) -> dict[int, list[Any]]:
    """Return what each shard is asked for: windows where documents stay together, else single chunks."""
    if layout == "document":
        asked: list[Any] = [[document, low, high] for document, low, high in windows]
        owners = ring.shard_of([window[0] for window in windows])
    else:
        asked = [[document, chunk] for document, low, high in windows for chunk in range(low, high)]
        owners = ring.shard_of(place_of(*zip(*asked, strict=True)))
    made: dict[int, list[Any]] = {}
    for owner, one in zip(owners.tolist(), asked, strict=True):
        made.setdefault(owner, []).append(one)
    return made


def check_requests(sets: Sets, shards: int, chunks: int, rounds: int = 4) -> dict[str, Any]:
    """Return how many shards a question asks on paper and in the simulation, and the bytes that go there and back."""
    copies = max(1, round(chunks / int(sets.sizes.sum())))
    ring, rng = Ring(shards), np.random.default_rng(11)
    known = sets.describe()
    made: dict[str, Any] = {"chunks": copies * known["chunks"], "shards": shards}
    back = float(np.mean([_answered(sets, number) for number in range(len(sets.hits))]))
    for layout, balls in (("document", known["documents_of_hits"]), ("chunk", known["chunks_of_windows"])):
        counts, sent = [], []
        for _ in range(rounds):
            for number in range(len(sets.hits)):
                windows = copy_of(sets.windows(number), copies, len(sets.sizes), rng)
                requests = requests_of(windows, ring, layout)
                counts.append(len(requests))
                sent.append(sum(len(json.dumps(part)) for part in requests.values()))
        made[layout] = {
            "paper": round(expected_asked(shards, balls), 2),
            "simulated": round(float(np.mean(counts)), 2),
            "bytes_sent": round(float(np.mean(sent))),
            "bytes_back": round(back),
        }
    return made


def _answered(sets: Sets, number: int) -> int:
    return sum(int(sets.bytes[document][low:high].sum()) for document, low, high in sets.windows(number))


def expected_fullest(shards: int, documents: int, cv: float) -> float:
    """Return how much the fullest shard holds over the mean.

    The shares are taken as normal: the points of a shard make a variance of 1 / `POINTS`, and the documents that fall
    to it, of sizes with a standard deviation of `cv` times their mean, one of (1 + cv^2) * shards / documents. The
    largest of so many normal numbers is that of Blom (1958).

    Examples
    --------
    >>> round(expected_fullest(64, 30_000_000, 0.811), 3)
    1.205
    """
    spread = math.sqrt((1 - 1 / shards) / POINTS + (1 + cv**2) * shards / documents)
    return 1 + NormalDist().inv_cdf((shards - 0.375) / (shards + 0.25)) * spread


def check_balance(sets: Sets, shards: int, chunks: int) -> dict[str, Any]:
    """Return how much the fullest shard holds over the mean, on paper and by placing every document."""
    copies = max(1, round(chunks / int(sets.sizes.sum())))
    sizes = np.tile(sets.sizes, copies)
    load = np.bincount(Ring(shards).shard_of(np.arange(len(sizes))), weights=sizes, minlength=shards)
    cv = float(sets.sizes.std() / sets.sizes.mean())
    return {
        "chunks": int(sizes.sum()),
        "shards": shards,
        "paper": round(expected_fullest(shards, len(sizes), cv), 3),
        "simulated": round(float(load.max() / load.mean()), 3),
    }


def poisson_most(mean: float, share: float) -> int:
    """Return the least k that a Poisson number is above with a chance of at most `share`."""
    term = below = math.exp(-mean)
    k = 0
    while 1 - below > share:
        k += 1
        term *= mean / k
        below += term
    return k


def check_merge(sets: Sets, shards: int, copies: int, lost: float = 0.01, rounds: int = 4) -> dict[str, Any]:
    """Return how many hits each shard has to give so that the best ones of all are among them.

    On paper the hits fall to shards one by one where chunks are placed by themselves: the number in one shard is
    Poisson, and `lost` of all questions lack a hit. Where documents stay together, all hits may be of one of them: on
    paper each shard gives as many as are wanted. The simulation counts what is too few.
    """
    ring, rng = Ring(shards), np.random.default_rng(12)
    known = sets.describe()
    made: dict[str, Any] = {"shards": shards, "share": lost}
    for layout in LAYOUTS:
        wanted = math.ceil(known["hits"])
        asked = min(wanted, poisson_most(wanted / shards, lost / shards)) if layout == "chunk" else wanted
        fullest = []
        for _ in range(rounds):
            for hits in sets.hits:
                copy = rng.integers(copies, size=len(sets.sizes))
                documents = hits[:, 0] + len(sets.sizes) * copy[hits[:, 0]]
                owners = ring.shard_of(documents if layout == "document" else place_of(documents, hits[:, 1]))
                fullest.append(int(np.bincount(owners).max()))
        made[layout] = {
            "paper": asked,
            "questions_short": round(float(np.mean(np.array(fullest) > asked)), 4),
            "simulated": int(np.quantile(fullest, 1 - lost, method="higher")),
        }
    return made


# ---- neighbours out of files


def write_shards(folder: Path, sets: Sets, chunks: int, shards: int, layout: str) -> int:
    """Write rows of 64 characters for all chunks into a file for each shard; return how many there are."""
    copies = max(1, round(chunks / int(sets.sizes.sum())))
    sizes = np.tile(sets.sizes, copies)
    documents = np.repeat(np.arange(len(sizes)), sizes)
    numbers = np.arange(len(documents)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = place_of(documents, numbers)
    owners = Ring(shards).shard_of(documents if layout == "document" else places)
    text = "x" * 64
    for shard in range(shards):
        path = folder / f"{layout}-{shard}.shard"
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TABLE chunks (place INTEGER PRIMARY KEY, text TEXT NOT NULL)")
        with connection:
            connection.executemany(
                "INSERT INTO chunks VALUES (?, ?)", ((place, text) for place in places[owners == shard].tolist())
            )
        connection.close()
    return len(places)


_WINDOWS = """
SELECT chunks.place, text FROM json_each(?) AS asked
JOIN chunks ON place BETWEEN json_extract(asked.value, '$[0]') AND json_extract(asked.value, '$[1]')
"""


def time_shards(folder: Path, sets: Sets, copies: int, shards: int, layout: str, questions: int) -> dict[str, Any]:
    """Return what a question's neighbours cost: processor milliseconds of all its requests, and of the longest one."""
    connections = [
        sqlite3.connect(f"file:{folder / f'{layout}-{shard}.shard'}?mode=ro", uri=True) for shard in range(shards)
    ]
    ring, rng = Ring(shards), np.random.default_rng(13)
    whole, longest, requests, rows = [], [], [], []
    for number in range(questions):
        windows = copy_of(sets.windows(number % len(sets.hits)), copies, len(sets.sizes), rng)
        spent, found = [], 0
        for shard, asked in requests_of(windows, ring, layout).items():
            ranges = [_range(one) for one in asked]
            began = time.thread_time()
            found += len(connections[shard].execute(_WINDOWS, (json.dumps(ranges),)).fetchall())
            spent.append(1e3 * (time.thread_time() - began))
        assert found == sum(high - low for _, low, high in windows), "a shard lacks chunks"
        whole.append(sum(spent))
        longest.append(max(spent))
        requests.append(len(spent))
        rows.append(found)
    for connection in connections:
        connection.close()
    warm = slice(questions // 10, None)
    return {
        "requests": round(float(np.mean(requests)), 2),
        "rows": round(float(np.mean(rows)), 1),
        "cpu_p50_ms": round(float(np.median(whole[warm])), 4),
        "longest_p50_ms": round(float(np.median(longest[warm])), 4),
    }


def _range(asked: Sequence[int]) -> list[int]:
    document, low, high = asked if len(asked) == 3 else (*asked, asked[1] + 1)
    return place_of(document, [low, high - 1]).tolist()
