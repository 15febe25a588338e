"""Haystacks that are made, not read: needles in essays (NIAH) and the thirteen tasks of RULER.

All is drawn from seeds, and the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.suites.haystacks.essays import ESSAYS, read_essays
from benchmarks.suites.haystacks.needles import NEEDLE_GROUPS, SINGLE_NEEDLES, Needle
from benchmarks.suites.niah.sets import niah, niah_multi
from benchmarks.suites.ruler.sets import SAMPLES, ruler, ruler_samples
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet

_SHUFFLE_SEEDS = {"niah_shuffled": 0}  # of the sets whose needles have an order of the essays of their own each


def _niah(name: str, needles: Sequence[Needle], rest: Sequence[str], data: Path) -> EvidenceSet:
    tokens, count = _numbers(rest, f"{name}/<tokens>[/<needles>]", len(needles))
    some, seed = _first(needles, count), _SHUFFLE_SEEDS.get(name)
    return niah(read_essays(data / ESSAYS), tokens, needles=some, name=name, shuffle_seed=seed)


def _niah_multi(rest: Sequence[str], data: Path) -> EvidenceSet:
    tokens, count = _numbers(rest, "niah_multi/<tokens>[/<groups>]", len(NEEDLE_GROUPS))
    return niah_multi(read_essays(data / ESSAYS), tokens, groups=_first(NEEDLE_GROUPS, count))


def _ruler(rest: Sequence[str], data: Path) -> EvidenceSet:
    task, *numbers = rest or ("",)
    tokens, count = _numbers(numbers, "ruler/<task>/<tokens>[/<samples>]", SAMPLES)
    return ruler(task, tokens, ruler_samples(task, tokens, data, samples=count))


def _numbers(parts: Sequence[str], form: str, usual: int) -> tuple[int, int]:
    """Return a length and how much of the set is taken, `usual` where nobody says."""
    if not 1 <= len(parts) <= 2 or not all(part.isdecimal() and int(part) for part in parts):
        raise LoadError(f"a set is named {form}, with whole numbers above 0; this has {'/'.join(parts)!r} there")
    return int(parts[0]), int(parts[1]) if len(parts) > 1 else usual


def _first(needles: Sequence[Needle], count: int) -> Sequence[Needle]:
    if count > len(needles):
        raise LoadError(f"{count} needles are asked for, but there are {len(needles)}: leave the number out for all")
    return needles[:count]


FAMILIES: Mapping[str, Callable[[Sequence[str], Path], EvidenceSet]] = {
    **{name: partial(_niah, name, needles) for name, needles in SINGLE_NEEDLES.items()},
    "niah_multi": _niah_multi,
    "ruler": _ruler,
}
"""Sets by name: what stands behind the name in a spec, and the folder of the data -> the set."""
