"""Estimated token counts, rather too high than too low, for machines without a tokenizer's vocabulary."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from functools import cache

# Prices are hundredths of a token, fitted as upper bounds for cl100k_base and o200k_base by linear programming;
# `benchmarks/speed/token_estimate.py` measures how far above the truth they lie.

# Characters beyond ASCII cost by the first byte of their UTF-8 form: its range, a name, the price.
_WIDE: tuple[tuple[range, str, int], ...] = (
    (range(0xC0, 0xC1), "general punctuation, see `_RECODED`", 200),
    (range(0xC1, 0xC2), "full-width forms, see `_RECODED`", 120),
    (range(0xF5, 0xF6), "emoji, see `_RECODED`", 300),
    (range(0xC2, 0xC3), "Latin-1 signs", 200),
    (range(0xC3, 0xCE), "accented Latin, phonetic letters, combining marks", 260),
    (range(0xCE, 0xD0), "Greek", 105),
    (range(0xD0, 0xD2), "Cyrillic", 73),
    (range(0xD2, 0xD4), "Cyrillic letters of other languages", 260),
    (range(0xD4, 0xD6), "Armenian", 300),
    (range(0xD6, 0xD8), "Hebrew", 115),
    (range(0xD8, 0xDC), "Arabic", 95),
    (range(0xDC, 0xE0), "Syriac, Thaana, N'Ko", 300),
    (range(0xE0, 0xE1), "scripts of India, Thai, Lao", 200),
    (range(0xE1, 0xE3), "Georgian, Khmer, Ethiopic; arrows, mathematics, boxes, dingbats", 300),
    (range(0xE3, 0xE4), "kana, Chinese and Japanese punctuation", 117),
    (range(0xE4, 0xEA), "Chinese characters; rare ones see `_rare_price`", 175),
    (range(0xEA, 0xEE), "Hangul", 140),
    (range(0xEE, 0xF0), "private use, presentation forms", 300),
    (range(0xF0, 0xF5), "rare Chinese characters, ancient scripts, styled letters", 400),
)
# Common signs that share their first byte with high-cost ones; 0xC0, 0xC1 and 0xF5 occur in no UTF-8 text.
_RECODED = ((b"\xe2\x80", b"\xc0"), (b"\xef\xbc", b"\xc1"), (b"\xf0\x9f", b"\xf5"))

# Of the Chinese characters, 64 share their first two bytes. A vocabulary that knows the two as one token spells each of
# the 64 in two tokens at most, the others need three: bit i stands for the block from U+4E00 + 64 i. The characters
# below lie in high-cost blocks and still have a low cost, being common.
_HIGH_COST_BLOCKS = 0xB7FFFDB0C003EF701F001831FDFE407083C90009C1CE3CEDE0000FD4000900E400781F404784001400
_CHEAP = "储催傭和噂器型如妬峻您悬慌慧搜操概模潔炬炭点烁烽煌照状知石码系続编獲藏蚌西謁蹄身酌配鞋音饿验高鵜"
_HIGH_COST = 125  # on top of the price of the script
_HIGH_COST_SIGN = 185  # bopomofo, signs in circles, the first half of extension A: priced as kana above
_RARE_PRICE = 35  # neither among the 3,755 of GB 2312's first level nor among the 2,965 of JIS X 0208's

# ASCII costs by shape, found after each byte is replaced by the letter of its class: a word, lower case or
# capitalised, and a run of capitals, each with the one sign or space before it that tokenizers join to it; spaces but
# the last; up to three digits; signs; line ends; tabs; control characters. `u` stands for what `_WIDE` prices.
_SHAPE = re.compile(rb"[ .]?A?a{1,20}|[ .]?A{1,12}(?!a)| +(?= )| ?\.{1,8}|0{1,3}|\n{1,4}|\t{1,8}| |c")
_LOWER = (100, 100, 100, 100, 100, 105, 147, 150, 192, 222, 225, 230, 240, 267, 270, 312, 320, 330, 340, 350, 360)
_NAME = (100, 100, 100, 100, 100, 100, 145, 190, 235, 280, 325, 370, 375, 380, 385, 390, 395, 400, 405, 410, 415)
_GLUED = (96, 118, 118, 118, 147, 150, 167, 212, 257, 302, 310, 320, 330, 340, 350, 360, 392, 400, 410, 420, 430)
_CAPITALS = (100, 110, 135, 180, 225, 230, 245, 270, 306, 342, 378, 414)
_GLUED_CAPITALS = (96, 140, 140, 165, 210, 252, 255, 297, 342, 387, 432, 477)
_SIGNS = (128, 130, 171, 216, 261, 306, 351, 396)

# Signs of other languages, ciphers and random letters, which are rare in English: rare letters, longer
# words that end in a, i, o or u, doubled vowels and the like, four consonants in a row.
_COMMON_BYTES = bytes(byte for byte in range(256) if chr(byte) not in "jkqxzJKQXZ")
_RARE_LETTER = 119
_VOWEL_END = re.compile(rb"[aiou](?![a-z])(?<=[a-z]{4})")
_VOWEL_END_PRICE = 346
_FOREIGN_PAIRS = (b"aa", b"ii", b"uu", b"ij", b"cz", b"sz", b"dz")
_FOREIGN_PAIR_PRICE = 730
_CONSONANTS = bytes(ord("c") if chr(byte) in "bcdfghjklmnpqrstvwxz" else ord(" ") for byte in range(256))
_FOUR_CONSONANTS_PRICE = 208

# Signs of regular expressions, which rarely form one token with each other.
_PATTERN_PRICES = ((b"\\", 50), (b"(?", 100), (b"?P<", 100), (b"[^", 60))
_BAR_PRICE = 80  # with no space at either side, as there is in the cells of a table


def _class_table() -> bytes:
    """Return the class of each byte, for `bytes.translate`."""
    table = bytearray(b"c" * 0x20 + b"." * 0x5F + b"c" + b"u" * 0x80)
    for name, characters in (
        (b"a", string.ascii_lowercase),
        (b"A", string.ascii_uppercase),
        (b"0", string.digits),
        (b" ", " "),
        (b"\n", "\r\n"),
        (b"\t", "\t\v\f"),
    ):
        for character in characters:
            table[ord(character)] = name[0]
    return bytes(table)


def _shape_prices() -> Iterator[tuple[bytes, int]]:
    """Yield every shape that `_SHAPE` finds (runs of spaces aside) with its price."""
    for length, (lower, name, glued) in enumerate(zip(_LOWER, _NAME, _GLUED, strict=True), 1):
        for prefix in (b" ", b".", b""):
            yield prefix + b"a" * length, lower if prefix else glued
            yield prefix + b"A" + b"a" * (length - 1), name if prefix else glued
    for length, (capitals, glued) in enumerate(zip(_CAPITALS, _GLUED_CAPITALS, strict=True), 1):
        for prefix in (b" ", b".", b""):
            yield prefix + b"A" * length, capitals if prefix else glued
    for length, price in enumerate(_SIGNS, 1):
        yield b"." * length, price
        yield b" " + b"." * length, price
    for unit, longest, price in ((b"0", 3, 110), (b"\n", 4, 85), (b"\t", 8, 85), (b" ", 1, 105), (b"c", 1, 150)):
        yield from ((unit * length, price) for length in range(1, longest + 1))


class _Prices(dict[bytes, int]):
    """Price of each shape; only runs of spaces are not listed, as they can be of any length."""

    def __missing__(self, shape: bytes) -> int:
        return 105 * -(-len(shape) // 80)


_CLASSES = _class_table()
_CONTINUATION = bytes(range(0x80, 0xC0))
_PRICES = _Prices(_shape_prices())
# one class a range, so that a text is scanned once for each range and not for each byte
_WIDE_CLASSES = bytes(next((i for i, (members, _, _) in enumerate(_WIDE) if byte in members), 0) for byte in range(256))
_NARROW = bytes(range(0xC0))
_CHINESE = tuple(_WIDE_CLASSES[byte] for byte in (0xE3, 0xE4))


class EstimateTokenizer:
    """Estimates token counts from the shapes of words and the scripts of characters, on the high side.

    It knows no vocabulary. Measured against the larger of the counts by cl100k_base and o200k_base, it lies some 20 to
    35 % above the truth on English prose, 35 to 45 % on Chinese and on source code, 10 to 15 % on identifiers and
    base64. From 50 tokens on it falls below the truth in about one piece of a thousand: those dense with rare terms
    (drug names), by a tenth at most; text enciphered letter by letter may fall lower still.
    `benchmarks/results/token_estimate.json` has the figures for each kind of text.

    Examples
    --------
    >>> EstimateTokenizer().count("A span is a passage of one document.")
    11
    """

    name = "estimate"
    exact = False

    def __repr__(self) -> str:
        return "EstimateTokenizer()"

    def count(self, text: str) -> int:
        """Return an estimate of the number of tokens of `text`; 0 for an empty text."""
        data = text.encode("utf-8", "surrogatepass")
        hundredths = _letter_prices(data)
        if len(data) != len(text):
            for sign, code in _RECODED:
                data = data.replace(sign, code)
            wide = data.translate(_WIDE_CLASSES, _NARROW)
            hundredths += sum(price * wide.count(place) for place, (_, _, price) in enumerate(_WIDE))
            if any(place in wide for place in _CHINESE):
                hundredths += sum(map(_rare_price, _rare_characters().findall(text)))
        shapes = _SHAPE.findall(data.translate(_CLASSES, _CONTINUATION))
        return -(-(hundredths + sum(map(_PRICES.__getitem__, shapes))) // 100)

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return an estimate for each text."""
        return [self.count(text) for text in texts]


def _letter_prices(data: bytes) -> int:
    """Return what letters that are rare in English add, in hundredths of a token."""
    return (
        _RARE_LETTER * len(data.translate(None, _COMMON_BYTES))
        + _VOWEL_END_PRICE * len(_VOWEL_END.findall(data))
        + _FOREIGN_PAIR_PRICE * sum(map(data.count, _FOREIGN_PAIRS))
        + _FOUR_CONSONANTS_PRICE * data.translate(_CONSONANTS).count(b"cccc")
        + _pattern_price(data)
    )


def _pattern_price(data: bytes) -> int:
    """Return what the signs of regular expressions add, in hundredths of a token."""
    if b"\\" not in data and b"|" not in data:
        return 0
    bars = data.count(b"|") - data.count(b" |") - data.count(b"| ")
    return sum(price * data.count(sign) for sign, price in _PATTERN_PRICES) + _BAR_PRICE * max(bars, 0)


@cache
def _rare_characters() -> re.Pattern[str]:
    """Return what finds the characters from U+3100 to U+9FFF that `_rare_price` prices; made when first needed."""
    rows = [(lead, trail) for lead in range(0xB0, 0xD8) for trail in range(0xA1, 0xFF)]
    simplified = bytes(byte for pair in rows for byte in pair).decode("gb2312", "ignore")
    japanese = bytes(byte for pair in rows if pair[0] < 0xD0 for byte in pair).decode("euc_jp", "ignore")
    common = {char for char in simplified + japanese if not _has_high_cost(char)} | set(_CHEAP)
    return re.compile(f"[\u3100-\u4dbf{''.join(map(chr, _rare_codes(common)))}]")


def _rare_codes(common: set[str]) -> list[int]:
    return [code for code in range(0x4E00, 0xA000) if chr(code) not in common]


def _has_high_cost(char: str) -> bool:
    return bool(_HIGH_COST_BLOCKS >> (ord(char) - 0x4E00) // 64 & 1)


def _rare_price(char: str) -> int:
    """Return what a rare character of the Chinese blocks adds to the price of its script, in hundredths of a token."""
    if char < "\u4e00":
        return _HIGH_COST_SIGN if char < "\u4000" else _HIGH_COST
    return _HIGH_COST if _has_high_cost(char) else _RARE_PRICE
