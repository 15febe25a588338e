"""Character ranges of the scripts written without spaces between words, for the brackets of a regular expression.

Each set that a part of the package needs is named here once; the sets differ on purpose, for the reason beside each.
"""

from __future__ import annotations

THAI, LAO = "\u0e00-\u0e7f", "\u0e80-\u0eff"
MYANMAR, KHMER = "\u1000-\u109f", "\u1780-\u17ff"
SOUTH_EAST_ASIAN = THAI + LAO + MYANMAR + KHMER

KANA = "\u3040-\u30ff"  # Hiragana and Katakana
BOPOMOFO = "\u3100-\u312f"
HANGUL = "\uac00-\ud7af"  # Korean syllables; Korean has spaces, but its words carry their particles
HAN_BASE, HAN_EXTENSION_A = "\u4e00-\u9fff", "\u3400-\u4dbf"
HAN_COMPATIBILITY = "\uf900-\ufaff"
HAN_ITERATION = "\u3005"
HAN_SUPPLEMENTARY = "\U00020000-\U0003ffff"  # planes 2 and 3: all later extensions

IDEOGRAPHS = KANA + HAN_EXTENSION_A + HAN_BASE + HAN_COMPATIBILITY
"""Kana and the Han of plane 0: every character of a Chinese or Japanese question is a word for its cues."""

UNSPACED_TERMS = SOUTH_EAST_ASIAN + IDEOGRAPHS
"""What the lexical features look for anywhere in a text. Of plane 0 without Hangul: Korean words have spaces."""

UNSPACED_INDEX = (
    SOUTH_EAST_ASIAN + HAN_ITERATION + KANA + BOPOMOFO + HAN_EXTENSION_A + HAN_BASE + HANGUL + HAN_COMPATIBILITY
) + HAN_SUPPLEMENTARY
"""What full-text search cuts into pairs: Hangul too, so that a word is found whatever particle follows it."""

CJK_WORDS = "\u2e80-\u9fff" + HANGUL + HAN_COMPATIBILITY + HAN_SUPPLEMENTARY
"""Radicals to Han without a gap: words with one of these are compared by pairs of characters."""

CJK = "\u2e80-\u2fff\u3005-\u3007\u3041-\u30ff\u31f0-\u9fff" + HANGUL + HAN_COMPATIBILITY + HAN_SUPPLEMENTARY
"""Characters that are tokens of an answer by themselves: as `CJK_WORDS`, less punctuation and Bopomofo."""

UNSPACED_ANSWERS = CJK + SOUTH_EAST_ASIAN
"""Characters of answers that no space parts from the next word."""

HAN = HAN_EXTENSION_A + HAN_BASE + "\U00020000-\U0003134f"
"""Han up to extension G, without compatibility forms: marks a question as Chinese."""
