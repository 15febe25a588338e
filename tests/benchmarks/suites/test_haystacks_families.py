from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.small_data import write_data

from benchmarks.suites.generated import FAMILIES
from benchmarks.suites.haystacks.needles import HELD_OUT, NEEDLE_GROUPS, NEEDLES
from benchmarks.suites.niah.sets import DEPTHS
from benchmarks.suites.ruler.sets import SAMPLES, TASKS
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet

SPECS = (
    "niah/900/3",
    "niah_shuffled/900/3",
    "niah_held_out/900/2",
    "niah_multi/1500/2",
    *(f"ruler/{task}/1500/2" for task in TASKS),
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


def load(spec: str, data: Path) -> EvidenceSet:
    family, *rest = spec.split("/")
    return FAMILIES[family](rest, data)


def digest(data: Path) -> str:
    """What every character of all sets adds up to."""
    made = hashlib.sha256()
    for spec in SPECS:
        found = load(spec, data)
        made.update(repr((found.name, list(found.documents.items()), found.questions)).encode())
    return made.hexdigest()


def test_a_set_has_every_needle_at_every_depth_or_as_many_as_asked_for(small: Path) -> None:
    assert len(load("niah/900", small).questions) == len(NEEDLES) * len(DEPTHS)
    assert len(load("niah/900/3", small).questions) == 3 * len(DEPTHS)
    assert len(load("niah_held_out/900", small).questions) == len(HELD_OUT) * len(DEPTHS)
    assert load("niah_held_out/900/1", small).name == "niah_held_out/900"
    shuffled, in_order = load("niah_shuffled/900", small).questions, load("niah/900", small).questions
    assert [question.factors for question in shuffled] == [question.factors for question in in_order]
    assert [question.within for question in shuffled] != [question.within for question in in_order]
    assert len(load("niah_multi/1500", small).questions) == len(NEEDLE_GROUPS) * len(DEPTHS)
    assert len(load("niah_multi/1500/2", small).questions) == 2 * len(DEPTHS)
    assert len(load("ruler/vt/1500", small).questions) == SAMPLES
    assert len(load("ruler/vt/1500/7", small).questions) == 7


def test_a_smaller_set_is_the_beginning_of_a_larger(small: Path) -> None:
    for few, more in (("niah/900/3", "niah/900/6"), ("ruler/niah_multikey_1/1500/2", "ruler/niah_multikey_1/1500/4")):
        questions = load(few, small).questions
        assert load(more, small).questions[: len(questions)] == questions


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_sets_are_the_same_in_every_process(small: Path, hash_seed: str) -> None:
    code = f"from pathlib import Path; import test_haystacks_families as t; print(t.digest(Path({str(small)!r})))"
    folders = [str(Path(__file__).parent), *sys.path]
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == digest(small)


def test_sets_are_those_that_results_were_published_of(small: Path) -> None:
    # whoever changes this makes all committed results of these sets incomparable: they have to be run again
    found = load("ruler/niah_multikey_2/1500/2", small)
    text = "".join(found.documents.values()) + "".join(question.text for question in found.questions)
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "b2a188d2a3f5abb41fc9885be532d0a2753985bfbf0b739f2d6cdf7042236f47"
    )


@pytest.mark.parametrize(
    "spec",
    [
        "niah",
        "niah/4k",
        "niah/0",
        "niah/900/3/4",
        "niah/-5",
        "niah/900/",
        "niah_multi/x",
        "ruler",
        "ruler/vt",
        "ruler/vt/1e3",
    ],
)
def test_names_of_sets_that_say_nothing(small: Path, spec: str) -> None:
    with pytest.raises(LoadError, match=r"a set is named \w+/.*<tokens>\[/<\w+>\], with whole numbers above 0"):
        load(spec, small)


def test_more_needles_than_there_are(small: Path) -> None:
    with pytest.raises(LoadError, match="29 needles are asked for, but there are 28"):
        load("niah/900/29", small)
    with pytest.raises(LoadError, match="21 needles are asked for, but there are 20"):
        load("niah_held_out/900/21", small)
    with pytest.raises(LoadError, match="9 needles are asked for, but there are 8"):
        load("niah_multi/1500/9", small)
