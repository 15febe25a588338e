from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrivex.merging import stored_cuts
from retrivex.merging.cuts import ChunkCuts
from retrivex.merging.stored_cuts import VERSION, count_and_cut, pack, unpack
from retrivex.tokens.tokenizer import CallableTokenizer, TiktokenTokenizer, Tokenizer

WORDS = CallableTokenizer(lambda text: len(text.split()), name="words")
FIXED = (
    'Bees sleep at night. They rest in the hive, e.g. on combs.\n\nDr. Lee saw it! She wrote: "Quiet." It was true',
    "# Bees\n**At night.** They sleep in\nhives.\n- one item\n- two items\n\n| a | b |\n|---|---|\n| c | d |\n",
    "```python\nx = 1\n",
    "in the middle of a sentence. 蜜蜂住在蜂巢里。蜂王产卵。",
    "Bees rest. So did Dr.",
    "",
)
PIECES = (*FIXED, "A short one. ", "word ", "\n\n", "```\n", "| a |\n", "\ud83d", "a" * 300, " ", "1. item\n")
texts = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@given(texts, st.sampled_from([WORDS, TiktokenTokenizer("cl100k_base")]))
def test_cuts_come_back_as_they_were(text: str, tokenizer: Tokenizer) -> None:
    (stored,) = count_and_cut([text], tokenizer)
    made = ChunkCuts.read(text, "")
    assert stored.tokens == tokenizer.count(text)
    assert stored.cuts is not None
    assert unpack(stored.cuts, text) == made


@given(texts, st.data())
def test_cuts_hold_for_one_text(text: str, data: st.DataObject) -> None:
    packed = pack(ChunkCuts.read(text, ""), text)
    assert unpack(packed, data.draw(texts.filter(lambda drawn: drawn != text))) is None


@given(texts, st.binary(max_size=60), st.booleans())
def test_any_bytes_are_cuts_or_none(text: str, data: bytes, signed: bool) -> None:
    if signed and len(data) > 4:
        data = stored_cuts._checksum(data, text).to_bytes(4, "little") + data[4:]
    found = unpack(data, text)
    if found is not None:
        assert (*found.ends, 0)[-2:][0] == len(text) or not text
        assert list(found.ends) == sorted(set(found.ends))


def test_the_rules_of_this_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this fails because texts are cut in another way, raise `VERSION`: indexes keep what was cut before."""
    monkeypatch.setattr(stored_cuts, "rules", lambda: 0)
    packed = [pack(ChunkCuts.read(text, ""), text) for text in FIXED]
    assert (VERSION, zlib.crc32(b"".join(packed))) == (4, 1433967084)
