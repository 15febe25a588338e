"""The cuts of chunks that an index keeps, so that whoever asks it need neither cut its texts nor count them."""

from __future__ import annotations

import importlib.metadata
import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from operator import lt

from retrivex.merging.cuts import UNIT_TOKENS, ChunkCuts, Cuts
from retrivex.text.structure import Begin, Edges, End
from retrivex.tokens.stored import StoredCount
from retrivex.tokens.tokenizer import Tokenizer

VERSION = 3
"""Of the rules by which texts are cut: raised when they change, so that what was cut by other rules is cut anew."""

_HEAD = struct.Struct("<IBBBBI")  # checksum, how it begins and ends, whether punctuated, cased, and number of cuts
_CHECKED_FROM = 4
_LARGEST = 2**32 - 1
_BEGINS, _ENDS, _CASED = tuple(Begin), tuple(End), (None, False, True)


def count_and_cut(texts: Sequence[str], tokenizer: Tokenizer) -> list[StoredCount]:
    """Return the tokens of texts with their cuts, for an index.

    Examples
    --------
    >>> from retrivex.tokens.tokenizer import CallableTokenizer
    >>> words = CallableTokenizer(lambda text: len(text.split()), name="words")
    >>> (stored,) = count_and_cut(["Bees sleep."], words)
    >>> stored.tokens, unpack(stored.cuts, "Bees sleep.", "words").cuts
    (2, Cuts(ends=(11,), tokens=(2,)))
    >>> unpack(stored.cuts, "Bees sleep!", "words") is None
    True
    """
    made = []
    for text, tokens in zip(texts, tokenizer.count_many(texts), strict=True):
        cuts = ChunkCuts.read(text, "", tokens)
        # a tokenizer may count what it likes: what does not fit is not kept
        fits = max((len(text), *cuts.cuts.tokens)) <= _LARGEST
        packed = pack(cuts, text, tokenizer.name) if fits else None
        made.append(StoredCount.of(text, tokens, tokenizer.name, packed))
    return made


def pack(cuts: ChunkCuts, text: str, tokenizer: str) -> bytes:
    """Return the cuts of a text that begins in no fence as bytes, with a checksum of all that they depend on."""
    (ends, tokens), edges = cuts.cuts, cuts.edges
    count = len(ends)
    head = edges.begin, edges.end, edges.punctuated, _CASED.index(edges.cased), count
    packed = _HEAD.pack(0, *head) + struct.pack(f"<{2 * count}I", *ends, *tokens) + cuts.fence.encode()
    return _checksum(packed, text, tokenizer).to_bytes(_CHECKED_FROM, "little") + packed[_CHECKED_FROM:]


def unpack(packed: bytes, text: str, tokenizer: str) -> ChunkCuts | None:
    """Return the cuts of a text from their bytes; None where they are not those of this text by this tokenizer."""
    if len(packed) < _HEAD.size:
        return None
    checksum, begin, end, punctuated, cased, count = _HEAD.unpack_from(packed)
    behind = _HEAD.size + 8 * count
    if len(packed) < behind or checksum != _checksum(packed, text, tokenizer):
        return None
    numbers = struct.unpack_from(f"<{2 * count}I", packed, _HEAD.size)
    ends, tokens = numbers[:count], numbers[count:]
    # a checksum is no proof: what these numbers say must at least be possible
    if not all(map(lt, (0, *ends), ends)) or (ends[-1] if ends else 0) != len(text):
        return None
    if sum(tokens) > 4 * len(text) + count or begin >= len(_BEGINS) or end >= len(_ENDS) or cased >= len(_CASED):
        return None
    fence = packed[behind:].decode("ascii", "replace")
    return ChunkCuts.of(Cuts(ends, tokens), Edges(_BEGINS[begin], _ENDS[end], bool(punctuated), _CASED[cased]), fence)


def _checksum(packed: bytes, text: str, tokenizer: str) -> int:
    data = text.encode("utf-8", "surrogatepass")
    return zlib.crc32(data, zlib.crc32(memoryview(packed)[_CHECKED_FROM:], rules(tokenizer)))


@lru_cache(maxsize=64)
def rules(tokenizer: str) -> int:
    """Return a checksum of what decides where texts are cut, and how they are counted."""
    segmenter = importlib.metadata.version("sentencex")
    return zlib.crc32(f"{VERSION} {UNIT_TOKENS} {segmenter} {tokenizer}".encode("utf-8", "surrogatepass"))
