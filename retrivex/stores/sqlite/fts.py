"""The full-text search terms of texts and of questions, built in one place so that they match.

Words are those of `retrivex.text.words`. FTS5's own tokenizer (`porter unicode61`) splits them at spaces, folds the
accents that are left on Latin letters and stems English words. Scripts that are written without spaces would become one
token a sentence; here their runs are cut into overlapping pairs of characters first. The last character of a run stands
alone as well, so that every character begins some token and a question of one character can be answered by prefix.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from retrivex.text.scripts import UNSPACED_INDEX
from retrivex.text.words import read, read_text

TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
"""FTS5 `tokenize` option. Marks (`M*`) belong to words: Hindi and Thai vowels are marks."""

MAX_QUERY_TERMS = 256
"""Distinct terms of a question that are searched, the first ones; more than that is a pasted document."""

_UNSPACED_RUN = re.compile(f"([{UNSPACED_INDEX}]+)")

# Left out of questions, not of the index: in an OR query they match most of the corpus and rank nothing.
_STOP_WORDS_TEXT = (
    "a about after all also am an and any are as at be because been before being between but by can could did do does "
    "doing each for from had has have he her him his how i if in into is it its me more most my no not of on or other "
    "our out over own same she should so some such than that the their them then there these they this those through "
    "to too under up very was we were what when where which while who whom whose why will with would you your"
)
_STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())


def index_terms(text: str) -> str | None:
    """Return `text` as full-text search should read it, or None where the text itself will do.

    Examples
    --------
    >>> index_terms("The bird sings.")
    >>> index_terms("SQLite 全文检索").split()
    ['sqlite', '全文', '文检', '检索', '索']
    """
    made, offsets = read(text)
    if offsets is None and (text.isascii() or all(map(_is_read_by_fts5, set(text)))):
        return None
    return _UNSPACED_RUN.sub(lambda run: f" {' '.join(_pairs(run.group()))} ", made)


def match_terms(question: str) -> list[str]:
    """Return the terms of `question`, each quoted for an FTS5 query; a row matches where it holds any of them.

    Terms hold only letters, digits and marks, so nothing a user types can reach FTS5's query syntax.

    Examples
    --------
    >>> match_terms('What does "NEAR(bees*" mean?')
    ['"near"', '"bees"', '"mean"']
    >>> match_terms("全文检索")
    ['"全文"', '"文检"', '"检索"']
    >>> match_terms("???")
    []
    """
    terms = list(dict.fromkeys(term for word in _words(question) for term in _query_terms(word)))
    telling = [term for term in terms if term.strip('"') not in _STOP_WORDS]
    return (telling or terms)[:MAX_QUERY_TERMS]


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run))]


def _words(question: str) -> list[str]:
    read_as = read_text(question).lower()
    return "".join(char if unicodedata.category(char)[0] in "LNM" else " " for char in read_as).split()


@lru_cache(maxsize=4096)
def _is_read_by_fts5(character: str) -> bool:
    """Whether the tokenizer itself reads a character as `retrivex.text.words` does."""
    if _UNSPACED_RUN.match(character):
        return False
    base, made = unicodedata.normalize("NFD", character)[0], read_text(character)
    return made == character.lower() or (base.isascii() and unicodedata.normalize("NFD", made)[:1] == base.lower())


def _query_terms(word: str) -> list[str]:
    """Return the quoted terms of a word: itself, or the pairs of its unspaced runs."""
    terms: list[str] = []
    # re.split with one group alternates between what lies outside the runs (even) and the runs (odd)
    for i, part in enumerate(_UNSPACED_RUN.split(word)):
        if i % 2 == 0:
            terms += [f'"{part}"'] if part else []
        elif len(part) == 1:
            terms.append(f'"{part}" *')
        else:
            terms += [f'"{pair}"' for pair in _pairs(part)[:-1]]
    return terms
