"""A needle in a haystack: facts hidden in essays, at every depth, in haystacks of a given number of tokens.

The essays are taken in the order of their names until the length is reached; the last is cut. Each is a document of its
own, and a fact goes into the one essay that covers its depth. So all questions share the essays that hold no needle,
and their embeddings. Source of the test: G. Kamradt, "Needle In A Haystack", 2023.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from retrivex.errors import LoadError
from retrivex.evaluation.evidence import Evidence, EvidenceSet, Factor, Question
from retrivex.evaluation.haystacks.marked import Marked, join
from retrivex.evaluation.haystacks.needles import NEEDLE_GROUPS, NEEDLES, Needle
from retrivex.sentences import sentence_ranges
from retrivex.tokens import Tokenizer, TokenizerSpec, get_tokenizer

DEPTHS = tuple(range(0, 101, 10))
"""Where needles go, in percent of the haystack's tokens."""

# A needle changes how its neighbours are cut into tokens, by this much at most.
_SEAM = 4

# How far apart the four facts of a group lie, in steps of depth: 30 % where there are 11 depths.
_SPREAD = 3


@dataclass(frozen=True, slots=True)
class Border:
    """A place between two sentences, where a needle may go.

    Parameters
    ----------
    tokens : of the haystack before it
    doc_id : the essay
    at : offset in its text, in characters
    """

    tokens: int
    doc_id: str
    at: int


@dataclass(frozen=True, slots=True)
class Haystack:
    """Essays of a given length together, and the places in them.

    Parameters
    ----------
    documents : doc_id -> text, in order
    borders : in order, from the first sentence's start to the last one's end
    """

    documents: Mapping[str, str]
    borders: tuple[Border, ...]

    def border(self, depth: float) -> Border:
        """Return the place nearest to a depth.

        Parameters
        ----------
        depth : in percent of the tokens, 0 to 100
        """
        wanted = depth / 100 * self.borders[-1].tokens
        right = bisect_left(self.borders, wanted, key=lambda border: border.tokens)
        near = self.borders[max(0, right - 1) : right + 1]
        return min(near, key=lambda border: abs(border.tokens - wanted))

    def hide(self, texts: Sequence[str], depths: Sequence[float], name: str) -> tuple[dict[str, str], list[Evidence]]:
        """Put facts at depths, each into the essay that covers its own.

        Parameters
        ----------
        texts, depths : the facts and where they go, in percent
        name : what was hidden and where; the essays that hold it are called by it

        Returns
        -------
        documents : of this haystack with the facts in it, in order; essays without a fact keep their names
        evidence : of each fact, in the order of `texts`
        """
        placed: dict[str, list[tuple[int, int]]] = {}
        for number, depth in enumerate(depths):
            border = self.border(depth)
            placed.setdefault(border.doc_id, []).append((border.at, number))
        documents: dict[str, str] = {}
        found: dict[int, Evidence] = {}
        for doc_id, text in self.documents.items():
            places = sorted(placed.get(doc_id, ()))
            made = _with_needles(text, [(at, texts[number]) for at, number in places])
            new_id = f"{doc_id}+{name}" if places else doc_id
            documents[new_id] = made.text
            for (_, number), mark in zip(places, made.marks, strict=True):
                found[number] = Evidence(new_id, *mark)
        return documents, [found[number] for number in range(len(texts))]


def _with_needles(text: str, needles: Sequence[tuple[int, str]]) -> Marked:
    """Return a text with sentences put in at offsets, in order, each set off by spaces."""
    parts: list[Marked] = []
    done = 0
    for at, needle in needles:
        parts.append(Marked(text[done:at]))
        if at and not text[at - 1].isspace():
            parts.append(Marked(" "))
        parts.append(Marked.whole(needle))
        if text[at : at + 1].strip():
            parts.append(Marked(" "))
        done = at
    return join("", [*parts, Marked(text[done:])])


def build_haystack(essays: Mapping[str, str], tokens: int, tokenizer: Tokenizer) -> Haystack:
    """Return the haystack of the first essays, of at most `tokens` tokens and as near to that as sentences allow.

    Parameters
    ----------
    essays : name -> text, in order
    tokens : of all its documents together, at most
    tokenizer : counts them

    Raises
    ------
    LoadError
        If the essays have fewer tokens, or their first sentence more.
    """
    documents: dict[str, str] = {}
    left = max(0, tokens)
    for name, text in essays.items():
        if not text.strip():
            continue  # no sentence, so no place for a needle
        count = tokenizer.count(text)
        if count > left:
            start_of_it = _beginning(text, left, tokenizer)
            if start_of_it:
                documents[name] = start_of_it
            break
        documents[name] = text
        left -= count
    else:
        raise LoadError(
            f"a haystack of {tokens} tokens cannot be made of {len(essays)} essays with {tokens - left} together: ask "
            "for fewer tokens or add essays"
        )
    borders = tuple(_borders(documents, tokenizer))
    if not borders:
        raise LoadError(f"{tokens} tokens besides the needles hold no sentence of the essays: ask for more")
    return Haystack(documents, borders)


def _beginning(text: str, tokens: int, tokenizer: Tokenizer) -> str:
    """Return the first sentences of a text, as many as `tokens` allow; empty where the first has more."""
    ends = [0, *(end for _, end in sentence_ranges(text))]
    counts = accumulate(tokenizer.count_many([text[start:end] for start, end in pairwise(ends)]), initial=0)
    fitting = sum(count <= tokens for count in counts) - 1
    while tokenizer.count(text[: ends[fitting]]) > tokens:  # parts have other tokens than their whole
        fitting -= 1
    return text[: ends[fitting]]


def _borders(documents: Mapping[str, str], tokenizer: Tokenizer) -> Iterator[Border]:
    before = 0
    for doc_id, text in documents.items():
        ranges = sentence_ranges(text)
        starts = [start for start, _ in ranges]
        counts = tokenizer.count_many([text[start:stop] for start, stop in pairwise([*starts, len(text)])])
        for start, count in zip(starts, counts, strict=True):
            yield Border(before, doc_id, start)
            before += count
    if documents:
        yield Border(before, doc_id, ranges[-1][1])


def niah(
    essays: Mapping[str, str],
    tokens: int,
    *,
    needles: Sequence[Needle] = NEEDLES,
    depths: Sequence[int] = DEPTHS,
    tokenizer: TokenizerSpec = "cl100k_base",
) -> EvidenceSet:
    """Return the questions for every needle at every depth, one needle in a haystack.

    Parameters
    ----------
    essays : name -> text, in order
    tokens : of a haystack with its needle, at most
    needles, depths : what is hidden, and where in percent; fewer make a smaller set
    tokenizer : counts the tokens

    Returns
    -------
    EvidenceSet
        Each question is asked `within` the documents of its haystack, in order. Factors: depth, tokens, needle,
        shares_words.

    Raises
    ------
    LoadError
        If a haystack of that length cannot be made.
    """
    return _hidden(f"niah/{tokens}", essays, tokens, needles, [(depth,) for depth in depths], get_tokenizer(tokenizer))


def niah_multi(
    essays: Mapping[str, str],
    tokens: int,
    *,
    groups: Sequence[Needle] = NEEDLE_GROUPS,
    depths: Sequence[int] = DEPTHS,
    tokenizer: TokenizerSpec = "cl100k_base",
) -> EvidenceSet:
    """Return the questions that need four facts each, hidden at four different depths of one haystack.

    For every depth there is a question of every group: its first fact lies there, each next one three depths on, round
    the end. So every fact visits every depth.

    Parameters
    ----------
    essays : name -> text, in order
    tokens : of a haystack with its needles, at most
    groups, depths : what is hidden, and where in percent; at least 10 depths keep the facts of a group apart
    tokenizer : counts the tokens

    Returns
    -------
    EvidenceSet
        As of `niah`; the factor depth is that of the first fact, depths of all four.

    Raises
    ------
    LoadError
        If a haystack of that length cannot be made.
    """
    placements = [
        tuple(depths[(first + _SPREAD * fact) % len(depths)] for fact in range(4)) for first in range(len(depths))
    ]
    return _hidden(f"niah_multi/{tokens}", essays, tokens, groups, placements, get_tokenizer(tokenizer))


def _hidden(
    set_name: str,
    essays: Mapping[str, str],
    tokens: int,
    needles: Sequence[Needle],
    placements: Sequence[tuple[int, ...]],
    tokenizer: Tokenizer,
) -> EvidenceSet:
    room = max(sum(tokenizer.count(f" {text}") + _SEAM for text in needle.texts) for needle in needles)
    haystack = build_haystack(essays, tokens - room, tokenizer)
    documents = dict(haystack.documents)
    questions = []
    for needle in needles:
        for depths in placements:
            name = f"{needle.name}@{depths[0]}"
            held, evidence = haystack.hide(needle.texts, depths, name)
            documents |= held
            factors: dict[str, Factor] = {
                "depth": depths[0],
                "tokens": tokens,
                "needle": needle.name,
                "shares_words": needle.shares_words,
            }
            if len(depths) > 1:
                factors["depths"] = " ".join(map(str, depths))
            questions.append(
                Question(
                    name,
                    needle.question,
                    tuple(sorted(evidence)),
                    within=tuple(held),
                    answers=needle.answers,
                    needed="all",
                    factors=factors,
                )
            )
    return EvidenceSet(set_name, documents, tuple(questions))
