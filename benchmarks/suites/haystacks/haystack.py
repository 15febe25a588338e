"""Essays of a given length together, with the places between sentences where a fact can be hidden."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from benchmarks.suites.haystacks.marked import Marked, join
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import Evidence
from retrivex.text.sentences import sentence_ranges
from retrivex.tokens.tokenizer import Tokenizer


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


@dataclass(frozen=True, slots=True)
class Essay:
    """A text for haystacks, measured once however many hold it.

    Parameters
    ----------
    name, text : of it
    tokens : of the whole text
    sentences : (start, end) of each in the text, in characters
    counts : tokens of each sentence together with the white space after it
    """

    name: str
    text: str
    tokens: int
    sentences: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]


def measure_essay(name: str, text: str, tokenizer: Tokenizer) -> Essay:
    """Return a text with its sentences found and its tokens counted."""
    sentences = tuple(sentence_ranges(text))
    starts = [start for start, _ in sentences]
    counts = tokenizer.count_many([text[start:stop] for start, stop in pairwise([*starts, len(text)])])
    return Essay(name, text, tokenizer.count(text), sentences, tuple(counts))


def build_haystack(essays: Sequence[Essay], tokens: int, tokenizer: Tokenizer, *, cut_name: str = "{name}") -> Haystack:
    """Return the haystack of the first essays, of at most `tokens` tokens and as near to that as sentences allow.

    Parameters
    ----------
    essays : in order
    tokens : of all its documents together, at most
    tokenizer : counts them
    cut_name : what the essay that is cut is called, with {name} and {length}, the characters that are left of it;
        haystacks that cut the same essay at different places need the length

    Raises
    ------
    LoadError
        If the essays have fewer tokens, or their first sentence more.
    """
    taken: list[Essay] = []
    left = max(0, tokens)
    for essay in essays:
        if not essay.sentences:
            continue  # so no place for a needle
        if essay.tokens > left:
            text = _beginning(essay, left, tokenizer)
            if text:
                name = cut_name.format(name=essay.name, length=len(text))
                taken.append(measure_essay(name, text, tokenizer))
            break
        taken.append(essay)
        left -= essay.tokens
    else:
        raise LoadError(
            f"a haystack of {tokens} tokens cannot be made of {len(essays)} essays with "
            f"{sum(essay.tokens for essay in taken)} together: ask for fewer tokens or add essays"
        )
    if not taken:
        raise LoadError(f"{tokens} tokens besides the needles hold no sentence of the essays: ask for more")
    documents: dict[str, str] = {}
    add_documents(documents, [(essay.name, essay.text) for essay in taken])
    return Haystack(documents, tuple(_borders(taken)))


def add_documents(documents: dict[str, str], more: Iterable[tuple[str, str]]) -> None:
    """Add documents by their names.

    Raises
    ------
    LoadError
        If one has the name of another with a different text.
    """
    for doc_id, text in more:
        if documents.setdefault(doc_id, text) != text:
            raise LoadError(
                f"two documents of the haystacks would be called {doc_id!r}: essays that are cut are called "
                "essay[:characters], those with a needle essay+needle@depth; give the essays other names"
            )


def _beginning(essay: Essay, tokens: int, tokenizer: Tokenizer) -> str:
    """Return the first sentences of an essay, as many as `tokens` allow; empty where the first has more."""
    text = essay.text
    ends = [0, *(end for _, end in essay.sentences)]
    counts = accumulate(tokenizer.count_many([text[start:end] for start, end in pairwise(ends)]), initial=0)
    fitting = sum(count <= tokens for count in counts) - 1
    while tokenizer.count(text[: ends[fitting]]) > tokens:  # parts have other tokens than their whole
        fitting -= 1
    return text[: ends[fitting]]


def _borders(essays: Sequence[Essay]) -> Iterator[Border]:
    before = 0
    for essay in essays:
        for (start, _), count in zip(essay.sentences, essay.counts, strict=True):
            yield Border(before, essay.name, start)
            before += count
    yield Border(before, essay.name, essay.sentences[-1][1])
