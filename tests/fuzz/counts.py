"""Stores that keep token counts and cuts of their chunks, honest ones and those that somebody forged.

What is not signed, or cannot be, changes nothing. What is signed and wrong may change what is chosen, but no promise;
and nothing that one store says is used for another.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzz.cases import Case, make_case
from fuzz.checks import without_times
from fuzz.compositions import Bench, real_tokenizer, run_case
from fuzz.planted_counts import PLANTED as PLANTED
from fuzz.stores import OddStore
from fuzz.tally import expect
from fuzz.trial import Trial
from fuzz.worlds import make_world

from retrivex import Chunk, Window
from retrivex.merging import stored_cuts
from retrivex.merging.cuts import ChunkCuts
from retrivex.model.chunk import ChunkKey, Scope
from retrivex.text.structure import Begin, Edges, End
from retrivex.tokens import StoredCount, get_tokenizer
from retrivex.tokens.tokenizer import CallableTokenizer

KIND = "counts"
TOTAL, SHORT = 20_000, 500
BLOCK = 50
WORLDS_TO_CATCH = 1000
SECONDS = 60.0
"""Most processor time of one case, which composes five times."""
_HERE = Path(__file__).parent
DRAWN_BY = [_HERE / f"{name}.py" for name in ("worlds", "cases", "stores", "turns", "guards", "trial", "counts")]
CHECKED_BY = [_HERE / "checks.py"]

OTHER = CallableTokenizer(len, name="characters")

Say = Callable[[random.Random, str, str], Any]
"""What a store says of a text, by a tokenizer of this name."""


def _honest(_: random.Random, text: str, tokenizer: str) -> StoredCount:
    return stored_cuts.count_and_cut([text], get_tokenizer(tokenizer))[0]


# ---- what can be told from honest counts


def _nothing(*_: Any) -> None:
    return None


def _no_count(rng: random.Random, text: str, _: str) -> Any:
    values: Sequence[Any] = (0, 1, -5, "x", (), [1], (1, 2), True, 2.5, 10**30, StoredCount)
    return rng.choice((*values, *(StoredCount(value, 1) for value in values)))


def _unsigned(rng: random.Random, text: str, _: str) -> StoredCount:
    return StoredCount(rng.choice((0, 1, len(text))), rng.choice((None, 0, rng.randrange(2**32))))


def _signed_elsewhere(rng: random.Random, text: str, tokenizer: str) -> StoredCount:
    """Sign a count, and honest cuts, of another text or by another tokenizer."""
    if rng.random() < 0.5:
        middle = len(text) // 2
        return _honest(rng, rng.choice((f"{text}x", "bees", text[middle:] + text[:middle])), tokenizer)
    return stored_cuts.count_and_cut([text], OTHER)[0]


def _impossible(rng: random.Random, text: str, tokenizer: str) -> StoredCount:
    size = len(text.encode("utf-8", "surrogatepass"))
    return StoredCount.of(text, rng.choice((-1, -5, -(10**30), size + 1, 10**30)), tokenizer)


def _damaged_cuts(rng: random.Random, text: str, tokenizer: str) -> StoredCount:
    honest = _honest(rng, text, tokenizer)
    packed = bytearray(honest.cuts or b"")
    damaged: Any
    if packed and rng.random() < 0.5:
        packed[rng.randrange(len(packed))] ^= 1 << rng.randrange(8)
        damaged = bytes(packed)
    else:
        damaged = rng.choice((b"", b"\xff" * 60, bytes(packed[:-3]), "x", 7, packed, bytes(packed) + b"```"))
    return honest._replace(cuts=damaged)


def _impossible_cuts(rng: random.Random, text: str, tokenizer: str) -> StoredCount:
    """Sign cuts that no text of this length can have."""
    ends = _cut_anywhere(rng, text)
    begin, end, cased = 0, 0, 0
    match rng.randrange(4):
        case 0:
            ends = ends[:-1]
        case 1:
            ends = (*ends, len(text) + 7)
        case 2:
            ends = (*ends, len(text))
        case _:
            begin, end, cased = rng.choice(((200, 0, 0), (0, 200, 0), (0, 0, 200)))
    packed = struct.pack("<IBBBBI", 0, begin, end, 0, cased, len(ends)) + struct.pack(f"<{len(ends)}I", *ends)
    return _honest(rng, text, tokenizer)._replace(cuts=_sign(packed, text))


def _sign(packed: bytes, text: str) -> bytes:
    return stored_cuts._checksum(packed, text).to_bytes(4, "little") + packed[4:]


# ---- what cannot


def _signed_count(rng: random.Random, text: str, tokenizer: str) -> StoredCount:
    size = len(text.encode("utf-8", "surrogatepass"))
    return StoredCount.of(text, rng.choice((0, 1, size, rng.randint(0, size))), tokenizer)


def _signed_cuts(rng: random.Random, text: str, tokenizer: str) -> StoredCount:
    edges = Edges(
        rng.choice(list(Begin)),
        rng.choice(list(End)),
        punctuated=rng.random() < 0.5,
        cased=rng.choice((None, False, True)),
    )
    made = ChunkCuts.of(_cut_anywhere(rng, text), edges, rng.choice(("", "", "```", "~~~~", "x" * 50)))
    count = get_tokenizer(tokenizer).count(text) if rng.random() < 0.5 else rng.randint(0, len(text))
    return StoredCount.of(text, count, tokenizer, stored_cuts.pack(made, text))


def _cut_anywhere(rng: random.Random, text: str) -> tuple[int, ...]:
    """Return ends of parts, the last at the end of the text."""
    inner = sorted(rng.sample(range(1, len(text)), min(rng.choice((0, 1, 3, 20)), len(text) - 1)))
    return (*inner, len(text))


TELLTALE: Mapping[str, Say] = {
    "honest": _honest,
    "nothing": _nothing,
    "no count": _no_count,
    "unsigned": _unsigned,
    "signed elsewhere": _signed_elsewhere,
    "impossible": _impossible,
    "damaged cuts": _damaged_cuts,
    "impossible cuts": _impossible_cuts,
}
SIGNED: Mapping[str, Say] = {"signed counts": _signed_count, "signed cuts": _signed_cuts}
KINDS = {**TELLTALE, **SIGNED}


class CountStore(OddStore):
    """A store that gives the chunks asked for, and with each what a kind says of it, each time alike."""

    lies = True

    def __init__(self, chunks: Mapping[ChunkKey, Chunk], kinds: Sequence[str], seed: int) -> None:
        super().__init__(chunks, f"counts: {', '.join(kinds)}", None, seed)
        self.kinds = kinds
        self.steady = set(kinds) <= set(TELLTALE)

    def fetch_counted(
        self, windows: Sequence[Window], scope: Scope = None, *, tokenizer: str
    ) -> Iterator[tuple[Chunk, Any]]:
        """Return chunks with counts."""
        for chunk in self.fetch(windows, scope):
            rng = random.Random(f"{self.seed}:{zlib.crc32(repr(chunk.key).encode())}")
            yield chunk, KINDS[rng.choice(self.kinds)](rng, chunk.text, tokenizer)


def make_counted(rng: random.Random, covered: list[str]) -> Case:
    """Draw a call on a store with counts."""
    case = make_case(rng, make_world(rng), rng.choice(("estimate", "estimate", real_tokenizer())))
    kinds = rng.sample(list(TELLTALE if rng.random() < 0.5 else KINDS), rng.choice((1, 1, 2, 3)))
    covered += kinds
    case.options.pop("strict", None)  # a call that is refused has no counts to compare
    return replace(case, store=CountStore(case.world.store, kinds, rng.randrange(1000)))


def run_counted(case: Case, rng: random.Random) -> None:
    """Compose with the counts twice, then without them; and the same without them on a composer that never saw them."""
    used, fresh = Bench(), Bench()
    for _ in range(2):  # the second time out of caches
        case.store.calls.clear()
        run_case(case, used, rng)
    said = {"query": case.query, "query_embedding": case.query_embedding, "scope": case.scope, **case.options}

    def compose(bench: Bench, store: Any) -> dict[str, Any]:
        return without_times(bench(case.tokenizer)[0].compose(case.hits, store, case.parent_store, **said))

    plain = OddStore(case.world.store, "memory", None)
    honest = compose(fresh, plain)
    if case.store.steady:
        counted = compose(used, case.store)
        expect(counted == honest, "counts that are not signed change something", *_first_difference(counted, honest))
    after = compose(used, plain)
    expect(after == honest, "counts of one store are used for another", *_first_difference(after, honest))


def _first_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[Any, ...]:
    return next(((name, one[name], other[name]) for name in one if one[name] != other[name]), ())


TRIAL = Trial(KIND, make_counted, run_counted, SECONDS)
fuzz, repeat = TRIAL.fuzz, TRIAL.repeat
