"""The cuts of chunks that an index keeps, so that whoever asks it need neither cut its texts nor count them."""

from __future__ import annotations

import importlib.metadata
import struct
import zlib
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from retrivex.merging.cuts import UNIT_TOKENS, ChunkCuts, Cuts
from retrivex.text.structure import Begin, Edges, End
from retrivex.tokens.cache import TokenCache
from retrivex.tokens.stored import StoredCount
from retrivex.tokens.tokenizer import Tokenizer

VERSION = 1
"""Of the rules by which texts are cut: raised when they change, so that what was cut by other rules is cut anew."""

_HEAD = struct.Struct("<IBBBBI")  # checksum, how it begins and ends, whether punctuated, cased, and number of cuts
_LARGEST = 2**32 - 1
_CASED = (None, False, True)
_MAX_CHARS = 1_000_000  # of texts whose counts are kept while an index is made


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
    counts = TokenCache(tokenizer, _MAX_CHARS)
    made = []
    for text in texts:
        cuts = ChunkCuts.read(text, "", counts)
        # a tokenizer may count what it likes: what does not fit is not kept
        fits = max((len(text), *cuts.cuts.tokens)) <= _LARGEST
        packed = pack(cuts, text, tokenizer.name) if fits else None
        made.append(StoredCount.of(text, counts.count(text), tokenizer.name, packed))
    return made


def pack(cuts: ChunkCuts, text: str, tokenizer: str) -> bytes:
    """Return the cuts of a text that begins in no fence as bytes, with a checksum of all that they depend on."""
    (ends, tokens), edges = cuts.cuts, cuts.edges
    count = len(ends)
    body = struct.pack(f"<{2 * count}I", *ends, *tokens) + cuts.fence.encode()
    head = edges.begin, edges.end, edges.punctuated, _CASED.index(edges.cased), count
    checked = _HEAD.pack(0, *head) + body
    return _HEAD.pack(_checksum(checked, text, tokenizer), *head) + body


def unpack(packed: bytes, text: str, tokenizer: str) -> ChunkCuts | None:
    """Return the cuts of a text from their bytes; None where they are not those of this text by this tokenizer."""
    if len(packed) < _HEAD.size:
        return None
    checksum, begin, end, punctuated, cased, count = _HEAD.unpack_from(packed)
    numbers = _HEAD.size + 8 * count
    if len(packed) < numbers or checksum != _checksum(bytes(4) + packed[4:], text, tokenizer):
        return None
    ends, tokens = (struct.unpack_from(f"<{count}I", packed, _HEAD.size + at * count) for at in (0, 4))
    # a checksum is no proof: what is asked of the text with these numbers must at least be possible
    if any(low >= high for low, high in pairwise((0, *ends))) or (ends or (0,))[-1] != len(text):
        return None
    if sum(tokens) > 4 * len(text) + count or end not in _ENDS or begin not in _BEGINS or cased >= len(_CASED):
        return None
    try:
        fence = packed[numbers:].decode("ascii")
    except UnicodeDecodeError:
        return None
    return ChunkCuts.of(Cuts(ends, tokens), Edges(Begin(begin), End(end), bool(punctuated), _CASED[cased]), fence)


_BEGINS, _ENDS = frozenset(Begin), frozenset(End)


def _checksum(data: bytes, text: str, tokenizer: str) -> int:
    rules = f"{_rules()} {tokenizer}".encode("utf-8", "surrogatepass")
    return zlib.crc32(text.encode("utf-8", "surrogatepass"), zlib.crc32(data, zlib.crc32(rules)))


@cache
def _rules() -> str:
    """Return what decides where texts are cut: the rules here, the size of groups, and the version of the segmenter."""
    return f"{VERSION} {UNIT_TOKENS} {importlib.metadata.version('sentencex')}"
