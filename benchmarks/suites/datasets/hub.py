"""The same sets over the network, from the Hugging Face hub, through its `datasets` package.

Hub rows are brought back into the official layouts and handed to the same readers. Needs the extra `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.suites.datasets.formats import number_records
from benchmarks.suites.datasets.hotpotqa import hotpotqa_records
from benchmarks.suites.datasets.loogle import loogle_records
from benchmarks.suites.datasets.squad import covid_qa_articles, squad_articles
from benchmarks.suites.longbench.reader import longbench_records
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet
from retrivex.evaluation.questions.fields import list_of, object_of, words_of
from retrivex.evaluation.questions.files import AnyRecord, BrokenRecord, Record

try:
    import datasets
    from datasets.exceptions import DatasetsError
except ImportError as error:
    hint = "pip install --group hub, in the checkout"
    raise ImportError(f"benchmarks.suites.datasets.hub needs the package datasets: {hint}") from error

# where the hub keeps a Parquet copy of every set: the package no longer runs the scripts that some sets are read by
_PARQUET = "refs/convert/parquet"


@dataclass(frozen=True, slots=True)
class HubSource:
    """Where the rows of a set are.

    Parameters
    ----------
    path : repository on the hub, or whatever else `datasets.load_dataset` takes
    config : of the repository; None for its only one
    split : of the rows
    parquet : read the hub's Parquet copy in place of the files of the repository
    """

    path: str
    config: str | None = None
    split: str = "test"
    parquet: bool = False

    def rows(self) -> Iterable[Any]:
        """Return the rows.

        Raises
        ------
        LoadError
            If the hub cannot be reached, or does not have them.
        """
        asked: dict[str, Any] = {"name": self.config}
        if self.parquet:
            files = f"{self.config or 'default'}/{self.split}/*.parquet"
            asked = {"data_files": {self.split: files}, "revision": _PARQUET}
        try:
            return datasets.load_dataset(self.path, split=self.split, **asked)  # type: ignore[no-any-return]
        except (OSError, DatasetsError, ValueError, RuntimeError) as error:
            raise LoadError(
                f"{self.path} cannot be had from the Hugging Face hub ({error}): check the network and the name, or "
                "download the files and read them from disk with load_set"
            ) from error


SOURCES: Mapping[str, HubSource] = {
    "squad": HubSource("rajpurkar/squad_v2", split="validation"),
    "squad_v1": HubSource("rajpurkar/squad", split="validation"),
    "xquad": HubSource("google/xquad", "xquad.en", "validation"),
    "covid_qa": HubSource("deepset/covid_qa_deepset", "covid_qa_deepset", "train", parquet=True),
    "hotpotqa": HubSource("hotpotqa/hotpot_qa", "distractor", "validation"),
    "longbench": HubSource("THUDM/LongBench", parquet=True),
    "loogle": HubSource("bigai-nlco/LooGLE"),
}
"""Where each family is looked for; the part of the name behind it ("longbench/hotpotqa") is the config."""


def from_hub(spec: str, *, source: HubSource | None = None) -> EvidenceSet:
    """Return a set by its name out of the hub.

    Parameters
    ----------
    spec : a name of `SOURCES`; for LongBench and LooGLE with the task behind it, "longbench/hotpotqa"
    source : another place of the same columns, as a mirror

    Raises
    ------
    LoadError
        If the name is unknown, the hub cannot be reached, or no row can be used.
    """
    family, task = _known(spec)
    if source is None:
        source = replace(SOURCES[family], config=task) if task else SOURCES[family]
    return from_rows(spec, source.rows())


def from_rows(spec: str, rows: Iterable[Any]) -> EvidenceSet:
    """Make a set of rows with the columns that the hub has for it; parameters and errors as for `from_hub`."""
    family, task = _known(spec)
    return replace(_MAKERS[family](rows, task), name=spec)


def _known(spec: str) -> tuple[str, str]:
    """Return the family and the task of a name."""
    family, _, task = spec.partition("/")
    if family not in SOURCES or (family in _TASKS) != bool(task):
        named = [f"{name}/<task>" if name in _TASKS else name for name in SOURCES]
        raise LoadError(f"evaluation set {spec!r} is not known on the hub: choose from {', '.join(named)}")
    return family, task


def _hotpotqa_record(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return columns of titles and sentences as pairs."""
    context, facts = (
        object_of(row.get("context"), "context"),
        object_of(row.get("supporting_facts"), "supporting_facts"),
    )
    return {
        **row,
        "_id": row.get("id"),
        "context": _paired(context, "title", "sentences"),
        "supporting_facts": _paired(facts, "title", "sent_id"),
    }


def _paired(columns: Mapping[str, Any], first: str, second: str) -> list[list[Any]]:
    left, right = list_of(columns, first), list_of(columns, second)
    if len(left) != len(right):
        raise LoadError(f"{first} has {len(left)} members and {second} {len(right)}: they must be as many")
    return [[a, b] for a, b in zip(left, right, strict=True)]


def _hotpotqa_records(rows: Iterable[Any]) -> Iterator[AnyRecord]:
    for record in number_records(rows):
        try:
            yield record if isinstance(record, BrokenRecord) else Record(record.place, _hotpotqa_record(record.fields))
        except LoadError as error:
            yield BrokenRecord(record.place, str(error))


def _articles(rows: Iterable[Any]) -> Iterator[AnyRecord]:
    """Yield rows of one question each as articles in SQuAD's layout; rows of an article follow each other."""
    articles = _Articles()
    for record in number_records(rows):
        if isinstance(record, BrokenRecord):
            yield record
            continue
        try:
            whole = articles.add(record)
        except LoadError as error:
            yield BrokenRecord(record.place, str(error))
            continue
        if whole:
            yield whole
    if articles.open:
        yield articles.open


class _Articles:
    """Collects rows into articles; `open` is the one that further rows may belong to."""

    def __init__(self) -> None:
        self.open: Record | None = None
        self._key = ""

    def add(self, record: Record) -> Record | None:
        """Take a row; return the article before it if that is whole."""
        row = record.fields
        context = words_of(row, "context")
        columns = object_of(row.get("answers"), "answers")
        answers = [{"text": text, "answer_start": at} for text, at in _paired(columns, "text", "answer_start")]
        named = row.get("title") or row.get("document_id")
        key = str(named or context)  # rows without either, as XQuAD's: every paragraph is an article
        done = None
        if self.open is None or key != self._key:
            done, self._key = self.open, key
            self.open = Record(record.place, {"title": named, "paragraphs": []})
        paragraphs = self.open.fields["paragraphs"]
        if not paragraphs or paragraphs[-1]["context"] != context:
            paragraphs.append({"context": context, "document_id": key, "qas": []})
        paragraphs[-1]["qas"].append({**row, "answers": answers})
        return done


def _longbench(rows: Iterable[Any], task: str) -> EvidenceSet:
    return longbench_records(number_records(rows), task)


def _loogle(rows: Iterable[Any], task: str) -> EvidenceSet:
    return loogle_records(number_records(rows), task)


def _hotpotqa(rows: Iterable[Any], _: str) -> EvidenceSet:
    return hotpotqa_records(_hotpotqa_records(rows))


def _squad(rows: Iterable[Any], _: str) -> EvidenceSet:
    return squad_articles(_articles(rows))


def _covid_qa(rows: Iterable[Any], _: str) -> EvidenceSet:
    return covid_qa_articles(_articles(rows))


_TASKS = ("longbench", "loogle")
_MAKERS: Mapping[str, Callable[[Iterable[Any], str], EvidenceSet]] = {
    "squad": _squad,
    "squad_v1": _squad,
    "xquad": _squad,
    "covid_qa": _covid_qa,
    "hotpotqa": _hotpotqa,
    "longbench": _longbench,
    "loogle": _loogle,
}
