"""A needle in a haystack: facts hidden in essays, at every depth, in haystacks of a given number of tokens.

The essays are taken in the order of their names until the length is reached; the last is cut. Each is a document of its
own, and a fact goes into the one essay that covers its depth. So questions share the whole essays that hold no needle,
and their embeddings. Source of the test: G. Kamradt, "Needle In A Haystack", 2023.

In one order a depth is one place: all facts of a length stand between the same two sentences there, and what a depth
seems to do may be the doing of these. With the essays shuffled anew for each fact, a depth is many places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from benchmarks.suites.haystacks.haystack import Haystack, add_documents, build_haystack, measure_essay
from benchmarks.suites.haystacks.needles import NEEDLE_GROUPS, NEEDLES, Needle
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet, Factor, Question
from retrivex.tokens.tokenizer import Tokenizer, TokenizerSpec, get_tokenizer

DEPTHS = tuple(range(0, 101, 10))
"""Where needles go, in percent of the haystack's tokens."""

# A needle changes how its neighbours are cut into tokens, by this much at most.
_SEAM = 4

_FACTS = 4
"""Facts of a group."""


def niah(
    essays: Mapping[str, str],
    tokens: int,
    *,
    needles: Sequence[Needle] = NEEDLES,
    depths: Sequence[int] = DEPTHS,
    tokenizer: TokenizerSpec = "cl100k_base",
    name: str = "niah",
    shuffle_seed: int | None = None,
) -> EvidenceSet:
    """Return the questions for every needle at every depth, one needle in a haystack.

    Parameters
    ----------
    essays : name -> text, in order
    tokens : of a haystack with its needle, at most
    needles, depths : what is hidden, and where in percent; fewer make a smaller set
    tokenizer : counts the tokens
    name : of the set, before its tokens
    shuffle_seed : draws for each needle an order of the essays of its own, which it keeps at all depths; None leaves
        them in order for all

    Returns
    -------
    EvidenceSet
        Each question is asked `within` the documents of its haystack, in order. Factors: depth, tokens, needle,
        shares_words.

    Raises
    ------
    LoadError
        If a haystack of that length cannot be made, or nothing is to be hidden, or outside of it.
    """
    placements = [(depth,) for depth in depths]
    return _hidden(f"{name}/{tokens}", essays, tokens, needles, placements, get_tokenizer(tokenizer), shuffle_seed)


def niah_multi(
    essays: Mapping[str, str],
    tokens: int,
    *,
    groups: Sequence[Needle] = NEEDLE_GROUPS,
    depths: Sequence[int] = DEPTHS,
    tokenizer: TokenizerSpec = "cl100k_base",
) -> EvidenceSet:
    """Return the questions that need four facts each, hidden at four different depths of one haystack.

    For every depth there is a question of every group: its first fact lies there, each next one nearly a third of the
    depths on (of eleven, three), round the end. So every fact visits every depth.

    Parameters
    ----------
    essays : name -> text, in order
    tokens : of a haystack with its needles, at most
    groups, depths : what is hidden, and where in percent, four depths at least
    tokenizer : counts the tokens

    Returns
    -------
    EvidenceSet
        As of `niah`; the factor depth is that of the first fact, depths of all four.

    Raises
    ------
    LoadError
        If a haystack of that length cannot be made, or nothing is to be hidden, or outside of it.
    """
    if len(depths) < _FACTS:
        raise LoadError(f"four facts cannot lie at {len(depths)} depths: give at least {_FACTS}")
    apart = (len(depths) - 1) // (_FACTS - 1)
    placements = [
        tuple(depths[(first + apart * fact) % len(depths)] for fact in range(_FACTS)) for first in range(len(depths))
    ]
    return _hidden(f"niah_multi/{tokens}", essays, tokens, groups, placements, get_tokenizer(tokenizer))


def _hidden(
    set_name: str,
    essays: Mapping[str, str],
    tokens: int,
    needles: Sequence[Needle],
    placements: Sequence[tuple[int, ...]],
    tokenizer: Tokenizer,
    shuffle_seed: int | None = None,
) -> EvidenceSet:
    if not needles or not placements:
        raise LoadError("nothing is to be hidden: give at least one needle and one depth")
    for depth in {depth for depths in placements for depth in depths}:
        if not 0 <= depth <= 100:
            raise LoadError(f"depth {depth} is outside of the haystack: it must be 0 to 100, in percent")
    room = max(sum(tokenizer.count(f" {text}") + _SEAM for text in needle.texts) for needle in needles)
    haystack_of = _haystacks(essays, tokens, tokens - room, tokenizer, shuffle_seed)
    documents: dict[str, str] = {}
    questions = []
    for needle in needles:
        haystack = haystack_of(needle.name)
        add_documents(documents, haystack.documents.items())
        for depths in placements:
            name = f"{needle.name}@{depths[0]}"
            held, evidence = haystack.hide(needle.texts, depths, name)
            add_documents(documents, held.items())
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


def _haystacks(
    essays: Mapping[str, str], tokens: int, room: int, tokenizer: Tokenizer, shuffle_seed: int | None
) -> Callable[[str], Haystack]:
    """Return what gives the haystack of a needle, by its name: the same for all, or one of its own."""
    measured = [measure_essay(name, text, tokenizer) for name, text in essays.items()]
    if shuffle_seed is None:
        shared = build_haystack(measured, room, tokenizer)
        return lambda _: shared

    def shuffled(needle: str) -> Haystack:
        order = Random(f"{shuffle_seed} {tokens} {needle}").sample(measured, len(measured))
        return build_haystack(order, room, tokenizer, cut_name="{name}[:{length}]")

    return shuffled
