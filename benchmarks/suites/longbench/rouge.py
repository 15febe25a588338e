"""ROUGE-L of summaries, as the package `rouge` 1.0.1 counts it, on which published LongBench figures rest.

Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004, section 3.2, and what that package adds: sentences
end at full stops, words at spaces; words count once however often they occur; a word found for one sentence of the
reference does not count again for the next. The package itself was last released in 2021 and recurses: beyond some 500
words in a sentence it fails, which LongBench scores 0. Here such sentences are scored.
"""

from __future__ import annotations

from collections.abc import Sequence

_EPSILON = 1e-8  # under the fraction, as in the package


def rouge_l(summary: str, reference: str) -> float:
    r"""Return the F1 of recall and precision over the words of the union of longest common subsequences, in [0, 1].

    .. math:: F = \frac{2 P R}{P + R + 10^{-8}},\quad R = \frac{|U|}{m},\ P = \frac{|U|}{n}

    with U the distinct words in the longest common subsequence of any sentence of the reference with any of the
    summary, m and n the distinct words of reference and summary.

    Examples
    --------
    >>> round(rouge_l("Bees live in hives.", "Bees sleep in hives."), 4)
    0.75
    >>> rouge_l("", "Bees sleep.")
    0.0
    """
    given, wanted = _sentences(summary), _sentences(reference)
    if not given or not wanted:
        return 0.0
    united: set[str] = set()
    for sentence in wanted:
        for other in given:
            united.update(common_subsequence(sentence, other))
    recall = len(united) / len(set().union(*wanted))
    precision = len(united) / len(set().union(*given))
    return 2.0 * (precision * recall) / (precision + recall + _EPSILON)


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return a longest common subsequence; of several, the one that keeps to the end of `first`.

    Examples
    --------
    >>> common_subsequence(["a", "b", "c"], ["b", "x", "c"])
    ['b', 'c']
    """
    lengths = [[0] * (len(second) + 1)]
    for word in first:
        above, row = lengths[-1], [0]
        for at, other in enumerate(second):
            row.append(above[at] + 1 if word == other else max(above[at + 1], row[at]))
        lengths.append(row)
    found: list[str] = []
    i, j = len(first), len(second)
    while i and j:
        if first[i - 1] == second[j - 1]:
            found.append(first[i - 1])
            i, j = i - 1, j - 1
        elif lengths[i - 1][j] > lengths[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return found[::-1]


def _sentences(text: str) -> list[list[str]]:
    # a sentence of white space is one empty word there, and counts
    return [" ".join(part.split()).split(" ") for part in text.split(".") if part]
