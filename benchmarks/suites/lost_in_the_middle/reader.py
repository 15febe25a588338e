"""Lost in the middle: one passage that answers among others, at a known place; and values of keys.

Source: Liu et al., "Lost in the Middle: How Language Models Use Long Contexts", TACL 2024.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.suites.datasets.formats import pair_of, place_in
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Question
from retrivex.evaluation.questions.fields import list_of, object_of, strings_of, words_of
from retrivex.evaluation.questions.files import AnyRecord, Record, read_each, read_lines
from retrivex.evaluation.questions.set_builder import EvidenceSetBuilder
from retrivex.model.serialization import string
from retrivex.text.sentences import trim_range


def lost_in_the_middle(paths: Sequence[Path]) -> EvidenceSet:
    """Read files of multi-document questions, `.jsonl` or `.jsonl.gz`; of several places of the gold passage, too.

    A document is a passage with its title in the line above; passages that come again are one document. Each question
    is asked of its own passages, in the order of the file, and its evidence is the gold passage without the title.
    """
    made = EvidenceSetBuilder("lost_in_the_middle")
    for path in paths:
        file = path.name.partition(".")[0]
        made.note(f"{path.name}, {line}" for line in _add(made, read_lines(path), file))
    return made.whole()


def _add(made: EvidenceSetBuilder, records: Iterable[AnyRecord], file: str) -> list[str]:
    """Add the questions of one file; their ids begin with `file`. Return what was odd."""

    def read(record: Record) -> None:
        passages = [object_of(passage, "ctxs") for passage in list_of(record.fields, "ctxs")]
        titled = [(string(passage, "title", LoadError), words_of(passage, "text")) for passage in passages]
        gold = [place for place, passage in enumerate(passages) if passage.get("isgold")]
        if len(gold) != 1:
            raise LoadError(f"{len(gold)} passages are gold: one has to be")
        names = tuple(made.document(title, f"{title}\n{text}") for title, text in titled)
        title, text = titled[gold[0]]
        shown = f"{title}\n{text}"
        start, end = trim_range(shown, len(title) + 1, len(shown))
        made.ask(
            Question(
                f"{file}/{record.name}",
                words_of(record.fields, "question"),
                (Evidence(names[gold[0]], start, end),),
                within=tuple(dict.fromkeys(names)),
                answers=strings_of(record.fields, "answers"),
                factors={"documents": len(passages), "gold_at": gold[0]},
            )
        )

    return read_each(records, read)


def key_value(path: Path, gold_at: int | None = None) -> EvidenceSet:
    """Read a file of key-value retrieval: random keys, of which one is asked for.

    The document is the JSON object as the published prompt shows it, a line for each key; the evidence is the key with
    its value.

    Parameters
    ----------
    path : `.jsonl` or `.jsonl.gz`
    gold_at : move the key that is asked for to this place, from 0, as the published experiments do; None leaves it
    """
    made = EvidenceSetBuilder("key_value")

    def read(record: Record) -> None:
        pairs = [pair_of(pair, "ordered_kv_records") for pair in list_of(record.fields, "ordered_kv_records")]
        key = words_of(record.fields, "key")
        at = [place for place, (name, _) in enumerate(pairs) if name == key]
        if len(at) != 1:
            raise LoadError(f"key {key!r} stands there {len(at)} times: it must stand there once")
        place = at[0] if gold_at is None else place_in(gold_at, "gold_at", len(pairs))
        pairs.insert(place, pairs.pop(at[0]))
        entries = [f'"{name}": "{value}"' for name, value in pairs]
        # every line begins with "{" or " " and ends with "," and a line break, or with "}"
        start = sum(len(entry) + 3 for entry in entries[:place]) + 1
        doc_id = made.document(f"keys-{record.name}", "{" + ",\n ".join(entries) + "}")
        made.ask(
            Question(
                record.name,
                f'What is the value of the key "{key}"?',
                (Evidence(doc_id, start, start + len(entries[place])),),
                within=(doc_id,),
                answers=(words_of(record.fields, "value"),),
                factors={"keys": len(pairs), "gold_at": place},
            )
        )

    made.note(read_each(read_lines(path), read))
    return made.whole()
