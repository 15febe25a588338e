"""Second hops: a document that the strongest passages of another one name is a candidate for what is still missing.

"The creator of Wallace and Gromit also created ...?" finds a passage that says "created by Nick Park"; the document
"Nick Park" shares no word with the question. Its name in that passage lifts it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from retrivex.merging.units import Units
from retrivex.scoring.document_match import names_of, split_camel
from retrivex.text.terms import split_words
from retrivex.text.words import read_text

Floats = NDArray[np.float64]

MIN_LETTERS = 5
"""Letters of a name, at least: shorter ones stand in texts that do not mean them."""

STRONGEST = 8
"""Units that are read for names."""

STRONG = 0.5
"""Least probability of a unit that is read, as a share of the best."""

LIFT = 0.2
"""Probability of the best unit of a document that is named, at least, as a share of the best of all."""

_ASIDE = re.compile(r"[(\[][^)\]]*[)\]]|\.\w{1,5}$")


@dataclass(frozen=True, slots=True)
class Lifted:
    """Probabilities after second hops.

    Parameters
    ----------
    p : shape (n,)
    named : documents that were lifted, with those whose strongest units name them
    """

    p: Floats
    named: Mapping[str, tuple[str, ...]]


def lift_named(p: Floats, units: Units, question: str) -> Lifted:
    """Raise the units of documents that the strongest units of others name.

    The best unit of such a document gets `LIFT` of the best probability of all, its others in proportion; what is
    higher already stays. A name counts as a whole: the title, the file name or the one top heading of a document,
    without what stands in brackets. Names that the question itself says are matched elsewhere, and lift nothing.

    Parameters
    ----------
    p : shape (n,), probabilities
    units : n of them
    question : as asked
    """
    runs = units.axis.runs
    if not len(p) or len({run.doc_id for run in runs}) < 2 or p.max() <= 0:
        return Lifted(p, {})
    best = np.argsort(-p, kind="stable")[:STRONGEST]
    texts: dict[str, str] = {}
    for unit in units.pick(best[p[best] >= STRONG * p[best[0]]].tolist()):
        run = runs[unit.run]
        texts[run.doc_id] = texts.get(run.doc_id, "") + _as_words(run.text[unit.start : unit.end])
    asked, said = _as_words(question), "".join(texts.values())
    named: dict[str, tuple[str, ...]] = {}
    lifted = p.copy()
    of_document = np.array([run.doc_id for run in runs], dtype=object)[units.run]
    for doc_id, names in names_of([chunk for run in runs for chunk in run.chunks]).items():
        found = [name for name in map(_as_name, names) if name and name in said and name not in asked]
        sources = tuple(key for key, text in texts.items() if key != doc_id and any(name in text for name in found))
        if sources:
            own = of_document == doc_id
            factor = LIFT * float(p.max()) / max(float(p[own].max()), 1e-12)
            if factor > 1:
                lifted[own] = np.minimum(p[own] * factor, 1.0)
                named[doc_id] = sources
    return Lifted(lifted, named)


@lru_cache(maxsize=16_384)
def _as_words(text: str) -> str:
    """Return the words of a text between blanks, so that whole names can be looked for."""
    return f" {' '.join(word for word, _ in split_words(read_text(text, join=True)))} "


@lru_cache(maxsize=16_384)
def _as_name(text: str) -> str:
    """Return a name as words; empty where it is too short to say anything."""
    words = _as_words(split_camel(_ASIDE.sub(" ", unquote(text).rpartition("/")[2])))
    return words if sum(map(str.isalnum, words)) >= MIN_LETTERS else ""
