"""The cuts of chunks that an index keeps, so that whoever asks it need neither cut its texts nor count them."""

from __future__ import annotations

import importlib.metadata
import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from operator import lt

from retrivex.merging.cuts import UNIT_BYTES, ChunkCuts
from retrivex.text.structure import Begin, Edges, End
from retrivex.tokens.stored import StoredCount
from retrivex.tokens.tokenizer import Tokenizer

VERSION = 4
"""Of the rules by which texts are cut: raised when they change, so that what was cut by other rules is cut anew."""

_HEAD = struct.Struct("<IBBBBI")  # checksum, how it begins and ends, whether punctuated, cased, and number of cuts
_CHECKED_FROM = 4
_BEGINS, _ENDS, _CASED = tuple(Begin), tuple(End), (None, False, True)


def count_and_cut(texts: Sequence[str], tokenizer: Tokenizer) -> list[StoredCount]:
    """Return the tokens of texts with their cuts, for an index.

    Examples
    --------
    >>> from retrivex.tokens.tokenizer import CallableTokenizer
    >>> words = CallableTokenizer(lambda text: len(text.split()), name="words")
    >>> (stored,) = count_and_cut(["Bees sleep."], words)
    >>> stored.tokens, unpack(stored.cuts, "Bees sleep.").ends
    (2, (11,))
    >>> unpack(stored.cuts, "Bees sleep!") is None
    True
    """
    counts = zip(texts, tokenizer.count_many(texts), strict=True)
    return [
        StoredCount.of(text, tokens, tokenizer.name, pack(ChunkCuts.read(text, ""), text)) for text, tokens in counts
    ]


def pack(cuts: ChunkCuts, text: str) -> bytes:
    """Return the cuts of a text that begins in no fence as bytes, with a checksum of all that they depend on."""
    ends, edges = cuts.ends, cuts.edges
    head = edges.begin, edges.end, edges.punctuated, _CASED.index(edges.cased), len(ends)
    packed = _HEAD.pack(0, *head) + struct.pack(f"<{len(ends)}I", *ends) + cuts.fence.encode()
    return _checksum(packed, text).to_bytes(_CHECKED_FROM, "little") + packed[_CHECKED_FROM:]


def unpack(packed: bytes, text: str) -> ChunkCuts | None:
    """Return the cuts of a text from their bytes; None where they are not those of this text."""
    if len(packed) < _HEAD.size:
        return None
    checksum, begin, end, punctuated, cased, count = _HEAD.unpack_from(packed)
    behind = _HEAD.size + 4 * count
    if len(packed) < behind or checksum != _checksum(packed, text):
        return None
    ends = struct.unpack_from(f"<{count}I", packed, _HEAD.size)
    # a checksum is no proof: what these numbers say must at least be possible
    if not all(map(lt, (0, *ends), ends)) or (ends[-1] if ends else 0) != len(text):
        return None
    if begin >= len(_BEGINS) or end >= len(_ENDS) or cased >= len(_CASED):
        return None
    fence = packed[behind:].decode("ascii", "replace")
    return ChunkCuts.of(ends, Edges(_BEGINS[begin], _ENDS[end], bool(punctuated), _CASED[cased]), fence)


def _checksum(packed: bytes, text: str) -> int:
    data = text.encode("utf-8", "surrogatepass")
    return zlib.crc32(data, zlib.crc32(memoryview(packed)[_CHECKED_FROM:], rules()))


@lru_cache(maxsize=1)
def rules() -> int:
    """Return a checksum of what decides where texts are cut."""
    segmenter = importlib.metadata.version("sentencex")
    return zlib.crc32(f"{VERSION} {UNIT_BYTES} {segmenter}".encode())
