"""Chinese words, cut as jieba 0.42.1 cuts them, on which published LongBench figures rest (dependency group `chinese`).

jieba was last released in 2020; rjieba carries its dictionary and its hidden Markov model on. It differs in what is
not Chinese, where it keeps "2014-2016" whole: such words are cut again, as jieba does.
"""

from __future__ import annotations

import re

try:
    import rjieba
except ImportError as error:
    hint = "pip install --group chinese, in the checkout"
    raise ImportError(f"cutting Chinese into words needs rjieba: {hint}") from error

_LATIN_WORD = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)")
_KNOWN = frozenset({"AT&T", "c#", "C#", "c++", "C++"})
"""The words of the dictionary that have nothing Chinese in them."""


def chinese_words(text: str) -> list[str]:
    """Return the words of a text; together they are the text.

    Examples
    --------
    >>> chinese_words("蜜蜂2014-2016年住在蜂箱里。")
    ['蜜蜂', '2014', '-', '2016', '年', '住', '在', '蜂箱', '里', '。']
    """
    words: list[str] = []
    for word in rjieba.cut(text):
        whole = not word.isascii() or word in _KNOWN
        words += [word] if whole else filter(None, _LATIN_WORD.split(word))
    return words
