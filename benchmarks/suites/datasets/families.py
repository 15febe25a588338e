"""Sets by their names: a family, and what of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from benchmarks.suites.datasets.contextual_embeddings import contextual_embeddings
from benchmarks.suites.datasets.formats import first_of
from benchmarks.suites.datasets.hotpotqa import hotpotqa
from benchmarks.suites.datasets.loogle import loogle
from benchmarks.suites.datasets.passages import chunking_evaluation, evidence_inference
from benchmarks.suites.datasets.qmsum import qmsum
from benchmarks.suites.datasets.squad import covid_qa, squad
from benchmarks.suites.generated import FAMILIES as HAYSTACKS
from benchmarks.suites.longbench.reader import longbench
from benchmarks.suites.lost_in_the_middle.reader import key_value, lost_in_the_middle
from benchmarks.suites.ruler.reader import ruler, task_of
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet
from retrivex.evaluation.run.sets import FAMILIES as SETS

Family: TypeAlias = Callable[[Sequence[str], Path], EvidenceSet]
"""Makes a set of the parts of its name behind the family's, and the folder of the data."""

READERS: Mapping[str, tuple[Callable[[Path], EvidenceSet], str]] = {
    "chunking_evaluation": (chunking_evaluation, "chunking_evaluation"),
    "evidence_inference": (evidence_inference, "evidence_inference"),
    "covid_qa": (covid_qa, "covid_qa/200423_covidQA.subset.json"),
    "qmsum": (qmsum, "qmsum/val.jsonl"),
    "squad": (squad, "squad/dev-v2.0.subset.json"),
    "contextual_embeddings": (contextual_embeddings, "contextual_embeddings"),
}
"""The sets with evidence in every question: name -> reader, and where its files lie in the data folder."""

_HOTPOTQA = ("hotpot_dev_distractor_v1.json", "hotpot_dev_distractor_v1.sample.json")
_QA_FOLDERS = ("qa_data", "qa_data_rebuilt")
_RULER_FOLDERS = ("ruler", "ruler_reference")
_TASK_AND_LENGTH = 2  # parts of a name; a third is the number of samples that are generated


def load_sets(data: Path, names: tuple[str, ...] = tuple(READERS)) -> Iterator[EvidenceSet]:
    """Yield the named sets of `READERS` out of a folder that holds each in its published layout.

    Raises
    ------
    LoadError
        If a name is unknown or a file is missing or broken.
    """
    for name in names:
        if name not in READERS:
            raise LoadError(f"evaluation set {name!r} is unknown: choose from {', '.join(READERS)}")
        reader, where = READERS[name]
        yield reader(data / where)


def load_set(spec: str, data: Path) -> EvidenceSet:
    """Return a set by its name, a family and what of it: "squad", "longbench/multifieldqa_zh", "key_value/75".

    Parameters
    ----------
    spec : the name, which the set keeps
    data : the folder that holds the files in their published layout

    Raises
    ------
    LoadError
        If the name is unknown, or a file is missing or broken.
    """
    name, *rest = spec.split("/")
    if name not in FAMILIES:
        raise LoadError(f"evaluation set {spec!r} is unknown: choose from {', '.join(sorted(FAMILIES))}")
    return replace(FAMILIES[name](rest, data), name=spec)


def available(data: Path) -> list[str]:
    """Return the names of the sets whose files lie in a data folder, sorted."""
    return sorted({spec for listing in LISTINGS.values() for spec in listing(data)})


def _fixed(name: str, rest: Sequence[str], data: Path) -> EvidenceSet:
    reader, where = READERS[name]
    if not rest:
        return reader(data / where)
    # another file in the same layout, in the set's folder or wherever an absolute path leads
    return reader(data / name / "/".join(rest))


def _xquad(rest: Sequence[str], data: Path) -> EvidenceSet:
    return squad(data / "squad" / ("/".join(rest) or "xquad.en.json"))


def _hotpotqa(rest: Sequence[str], data: Path) -> EvidenceSet:
    folder = data / "hotpotqa"
    return hotpotqa(folder / "/".join(rest) if rest else first_of(folder / name for name in _HOTPOTQA))


def _task(family: str, reader: Callable[[Path], EvidenceSet], rest: Sequence[str], data: Path) -> EvidenceSet:
    (task,) = _parts(family, rest, "the task, as in {family}/" + _EXAMPLES[family])
    folders = (data / family, data / family / "data")
    return reader(first_of(folder / f"{task}{ending}" for folder in folders for ending in (".jsonl", ".jsonl.gz")))


_EXAMPLES = {"longbench": "multifieldqa_zh", "loogle": "shortdep_qa"}


def _lost_in_the_middle(rest: Sequence[str], data: Path) -> EvidenceSet:
    """Read "oracle", the passages and the place of the gold one ("20/9"), or all places that are there ("20")."""
    folders = [data / "lost_in_the_middle" / name for name in _QA_FOLDERS]
    if list(rest) == ["oracle"]:
        return lost_in_the_middle([_plain_or_packed(folders[:1], "nq-open-oracle")])
    count, *place = _parts(
        "lost_in_the_middle", rest, "'oracle', or the documents and the place, as in {family}/20/9", 2
    )
    inside = [folder / f"{count}_total_documents" for folder in folders]
    stem = f"nq-open-{count}_total_documents_gold_at_"
    if place:
        return lost_in_the_middle([_plain_or_packed(inside, stem + place[0])])
    every = next((files for folder in inside if (files := list(folder.glob(f"{stem}*.jsonl*")))), [])
    once = {path.name.partition(".")[0]: path for path in every}  # a file may lie there packed and unpacked
    in_order = [once[name] for name in sorted(once, key=lambda name: (len(name), name))]
    return lost_in_the_middle(in_order or [_plain_or_packed(inside, f"{stem}0")])


def _key_value(rest: Sequence[str], data: Path) -> EvidenceSet:
    """Read the keys ("75"), each at its own place, or all moved to one ("75/37")."""
    keys, *place = _parts("key_value", rest, "the keys, and a place where it is moved, as in {family}/75/37", 2)
    if place and not place[0].isdecimal():
        raise LoadError(f"key_value has the place {place[0]!r}: it counts keys from 0")
    path = _plain_or_packed([data / "lost_in_the_middle" / "kv_retrieval_data"], f"kv-retrieval-{keys}_keys")
    return key_value(path, int(place[0]) if place else None)


def _plain_or_packed(folders: Sequence[Path], stem: str) -> Path:
    return first_of(folder / f"{stem}.jsonl{ending}" for folder in folders for ending in (".gz", ""))


def ruler_files(folder: str, rest: Sequence[str], data: Path) -> list[Path]:
    """Return where RULER's file of a task and length ("niah_single_2/4096") may lie, the likeliest first."""
    task, length = _parts(folder, rest, "the task and the length, as in {family}/niah_single_2/4096", 2, least=2)
    folders = (data / folder / length, data / folder / length / "data")
    return [inside / name for inside in folders for name in (f"{task}.jsonl", f"{task}/validation.jsonl")]


def _ruler(folder: str, rest: Sequence[str], data: Path) -> EvidenceSet:
    """Read RULER's file of a task and length; where "ruler" has none, it is generated."""
    files = ruler_files(folder, rest, data) if folder != "ruler" or len(rest) == _TASK_AND_LENGTH else []
    if folder == "ruler" and not any(file.exists() for file in files):
        return HAYSTACKS["ruler"](rest, data)
    return ruler(first_of(files))


def _parts(family: str, rest: Sequence[str], wanted: str, most: int = 1, *, least: int = 1) -> Sequence[str]:
    if not least <= len(rest) <= most or not all(rest):
        given = "/".join((family, *rest))
        raise LoadError(
            f"evaluation set {given!r} cannot be read: behind {family} stand {wanted.format(family=family)}"
        )
    return rest


FAMILIES: dict[str, Family] = {
    **{name: partial(_fixed, name) for name in READERS},
    "xquad": _xquad,
    "hotpotqa": _hotpotqa,
    "longbench": partial(_task, "longbench", longbench),
    "loogle": partial(_task, "loogle", loogle),
    "lost_in_the_middle": _lost_in_the_middle,
    "key_value": _key_value,
    **HAYSTACKS,
    **{folder: partial(_ruler, folder) for folder in _RULER_FOLDERS},
}
"""What makes the sets of a name."""


def _listed_readers(data: Path) -> Iterable[str]:
    yield from (name for name, (_, where) in READERS.items() if (data / where).exists())
    yield from ["xquad"] * (data / "squad" / "xquad.en.json").exists()
    yield from ["hotpotqa"] * any((data / "hotpotqa" / name).exists() for name in _HOTPOTQA)


def _listed_tasks(data: Path) -> Iterable[str]:
    for family in _EXAMPLES:
        files = [*(data / family).glob("*.jsonl*"), *(data / family / "data").glob("*.jsonl*")]
        yield from (f"{family}/{file.name.partition('.')[0]}" for file in files)


def _listed_passages(data: Path) -> Iterable[str]:
    root = data / "lost_in_the_middle"
    yield from ("lost_in_the_middle/oracle" for _ in (root / _QA_FOLDERS[0]).glob("nq-open-oracle.jsonl*"))
    for folder in _QA_FOLDERS:
        for file in (root / folder).glob("*_total_documents/nq-open-*_gold_at_*.jsonl*"):
            place = file.name.partition(".")[0].rpartition("_")[2]
            yield f"lost_in_the_middle/{file.parent.name.partition('_')[0]}/{place}"
    for file in (root / "kv_retrieval_data").glob("kv-retrieval-*_keys.jsonl*"):
        yield f"key_value/{file.name.removeprefix('kv-retrieval-').partition('_')[0]}"


def _listed_ruler(data: Path) -> Iterable[str]:
    for folder in _RULER_FOLDERS:
        for path in sorted((data / folder).glob("**/*.jsonl")):
            length = path.relative_to(data / folder).parts[0]
            yield f"{folder}/{task_of(path)}/{length}"


LISTINGS: dict[str, Callable[[Path], Iterable[str]]] = {
    "readers": _listed_readers,
    "tasks": _listed_tasks,
    "passages": _listed_passages,
    "ruler": _listed_ruler,
}
"""What lists the names of sets whose files are there."""

SETS.update(FAMILIES)
