"""RULER's two tasks of counting words: the commonest of a numbered list (cwe), the most frequent coded ones (fwe).

Their samples have no evidence. Every single word of the context counts towards the answer, and no passage holds it: a
retriever can only take words away, and with them what is counted. They are made to be reported with that reason beside
them; contexts that are shorter than the haystack cannot do well here, RetriVex's or anybody's.

Definitions, templates and parameters: Hsieh et al., "RULER", 2024 (arXiv:2404.06654) and its repository NVIDIA/RULER
(Apache-2.0), common_words_extraction.py, freq_words_extraction.py, constants.py and synthetic.yaml. Different from
there: the words of cwe are those of the essays and of our keys, not of the package wonderwords.
"""

from __future__ import annotations

import math
import random
import string
from collections.abc import Iterable, Sequence
from itertools import chain, repeat

from benchmarks.suites.haystacks.essays import vocabulary
from benchmarks.suites.haystacks.key_words import ADJECTIVES, NOUNS
from benchmarks.suites.haystacks.marked import Marked
from benchmarks.suites.ruler.sample import Sample, Task

COMMON = 10
"""Words that are common, and asked for, in cwe."""

ASKED = 3
"""Words that are asked for in fwe."""

_CWE_ROOM = 120
_CWE_BEFORE = (
    "Below is a numbered list of words. In these words, some appear more often than others. Memorize the ones that "
    "appear most often.\n"
)
_CWE_QUESTION = "What are the 10 most common words in the above list?"
_CWE_PREFIX = " Answer: The top 10 words that appear most often in the list are:"

_FWE_ROOM = 50
_FWE_BEFORE = (
    "Read the following coded text and track the frequency of each coded word. Find the three most frequently appeared "
    "coded words. "
)
_FWE_ORDERS = "Do not provide any explanation. Please ignore the dots '....'. "
_FWE_QUESTION = "What are the three most frequently appeared words in the above coded text?"
_FWE_PREFIX = " Answer: According to the coded text above, the three most frequently appeared words are:"
_ZETA_2 = math.pi**2 / 6  # what counts that fall with the square of their rank (alpha = 2) add up to
_LETTERS = 6


def common_words(essays: Iterable[str], tokens: int) -> Task:
    """Return the maker of cwe samples; its hay is counted in different words.

    Parameters
    ----------
    essays : their words are used
    tokens : of a sample; below 4,096 RULER lets words appear less often
    """
    words = sorted({*vocabulary(essays), *ADJECTIVES, *NOUNS})
    example_size, example_times, times = (20, (3, 1), (6, 1)) if tokens < 4096 else (40, (10, 3), (30, 3))

    def build(_: int, size: int, rng: random.Random) -> Sample:
        text, answer = _word_list(words, example_size, example_times, rng)
        numbered = " ".join(f"{number}. {word}" for number, word in enumerate(answer, 1))
        example = f"{_CWE_BEFORE}{text}\nQuestion: {_CWE_QUESTION}{_CWE_PREFIX} {numbered}\n"
        text, answer = _word_list(words, size, times, rng)
        return Sample(
            example + _CWE_BEFORE,
            Marked(text),
            f"\nQuestion: {_CWE_QUESTION}",
            _CWE_QUESTION,
            _CWE_PREFIX,
            tuple(answer),
            _CWE_ROOM,
        )

    return Task(build, smallest=COMMON + 1, largest=len(words))


def _word_list(
    words: Sequence[str], size: int, times: tuple[int, int], rng: random.Random
) -> tuple[str, Sequence[str]]:
    """Return a numbered list, ten of `size` words `times[0]` times, the others `times[1]` times; and the ten."""
    chosen = rng.sample(words, size)
    common, others = chosen[:COMMON], chosen[COMMON:]
    listed = common * times[0] + others * times[1]
    rng.shuffle(listed)
    return " ".join(f"{number}. {word}" for number, word in enumerate(listed, 1)), common


def frequent_words(tokens: int) -> Task:
    """Return the maker of fwe samples: the word of rank k appears n / (zeta(2) k^2) times; the first rank is dots.

    Its hay is counted in n.

    Parameters
    ----------
    tokens : of a sample; a fiftieth of it is the number of different words
    """

    def build(_: int, size: int, rng: random.Random) -> Sample:
        words = ["...", *_codes(max(ASKED, tokens // 50 - 1), rng)]
        counts = (int(size / (rank * rank) / _ZETA_2) for rank in range(1, len(words) + 1))
        text = list(chain.from_iterable(map(repeat, words, counts)))
        rng.shuffle(text)
        return Sample(
            _FWE_BEFORE,
            Marked(" ".join(text)),
            f"\nQuestion: {_FWE_ORDERS}{_FWE_QUESTION}",
            _FWE_QUESTION,
            _FWE_PREFIX,
            tuple(words[1 : 1 + ASKED]),
            _FWE_ROOM,
        )

    return Task(build, smallest=64)  # the fourth rank appears twice then, the fifth once


def _codes(count: int, rng: random.Random) -> list[str]:
    """Return different words without a meaning."""
    made: dict[str, None] = {}
    while len(made) < count:
        made["".join(rng.choice(string.ascii_lowercase) for _ in range(_LETTERS))] = None
    return list(made)
