"""RULER's two tasks of questions: SQuAD's (qa_1) and HotpotQA's (qa_2), their paragraphs among others.

Definition and template: Hsieh et al., "RULER", 2024 (arXiv:2404.06654) and its repository NVIDIA/RULER (Apache-2.0),
qa.py and constants.py. Different from there: paragraphs are not repeated where they run out, such lengths are refused;
and questions come in a drawn order, not that of the files, so that few of them are not all of one article.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.suites.haystacks.marked import Marked, join
from benchmarks.suites.ruler.sample import Sample, Task
from retrivex.errors import LoadError

_ROOM = 32
_ORDERS = "Answer the question based on the given documents. Only give me the answer and do not output any other words."


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the paragraphs that it goes with.

    Parameters
    ----------
    text, outputs : the question and its answers
    own : its paragraphs, with the evidence marked; always there
    near : other paragraphs of the same article; they come before those of others
    """

    text: str
    outputs: tuple[str, ...]
    own: tuple[Marked, ...]
    near: tuple[str, ...] = ()


def read_squad(paths: Sequence[Path]) -> list[Asked]:
    """Read the questions that have answers, of files in SQuAD's layout; the evidence is the first answer.

    Raises
    ------
    LoadError
        If a file cannot be read or is none.
    """
    return _read(paths, _of_squad)


def read_hotpotqa(paths: Sequence[Path]) -> list[Asked]:
    """Read the questions of files in HotpotQA's layout; the evidence is the supporting sentences.

    Raises
    ------
    LoadError
        If a file cannot be read or is none.
    """
    return _read(paths, _of_hotpotqa)


def _read(paths: Sequence[Path], questions_of: Callable[[Any], Iterator[Asked]]) -> list[Asked]:
    asked: list[Asked] = []
    for path in paths:
        try:
            asked += questions_of(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:  # LoadError is one, and so is JSONDecodeError
            raise LoadError(
                f"{path} cannot be read ({error}): name one that is there and whole; a public set's own page has "
                "its files"
            ) from error
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise LoadError(f"{path} is not in the set's own layout ({error!r}): take it as published") from error
    if not asked:
        raise LoadError(f"no question with an answer is in {', '.join(map(str, paths))}: take the set's own files")
    return asked


def _of_squad(data: Any) -> Iterator[Asked]:
    for article in data["data"]:
        texts = [paragraph["context"] for paragraph in article["paragraphs"]]
        for paragraph in article["paragraphs"]:
            text = paragraph["context"]
            near = tuple(other for other in texts if other != text)
            for record in paragraph["qas"]:
                if answers := record["answers"]:
                    start, answer = answers[0]["answer_start"], answers[0]["text"]
                    if not text.startswith(answer, start):
                        raise LoadError(f"question {record['id']!r}: its answer does not stand at {start}")
                    own = Marked(text, ((start, start + len(answer)),))
                    outputs = tuple(dict.fromkeys(answer["text"] for answer in answers))
                    yield Asked(record["question"], outputs, (own,), near)


def _of_hotpotqa(data: Any) -> Iterator[Asked]:
    for record in data:
        facts = record["supporting_facts"]
        own = tuple(_paragraph(title, sentences, facts) for title, sentences in record["context"])
        yield Asked(record["question"], (record["answer"],), own)


def _paragraph(title: str, sentences: Sequence[str], facts: Sequence[tuple[str, int]]) -> Marked:
    supporting = {number for of, number in facts if of == title}
    parts = [Marked(f"{title}\n")]
    for number, sentence in enumerate(sentences):
        bare = sentence.strip()
        if number in supporting and bare:
            # most begin with a space, which no context needs to hold
            start = sentence.index(bare)
            parts.append(Marked(sentence, ((start, start + len(bare)),)))
        else:
            parts.append(Marked(sentence))
    return join("", parts)


def questions(asked: Sequence[Asked], room: int = _ROOM) -> Task:
    """Return the maker of samples; its hay is counted in paragraphs.

    Parameters
    ----------
    asked : the questions; the paragraphs of all are the hay
    room : tokens of an answer
    """
    drawn = random.Random("the order of the questions").sample(asked, len(asked))
    paragraphs = sorted(
        {part.text for question in asked for part in question.own} | {text for q in asked for text in q.near}
    )

    def build(index: int, size: int, rng: random.Random) -> Sample:
        question = drawn[index]
        own = {part.text for part in question.own}
        others = _others(question, own, paragraphs, size - len(question.own), rng)
        held = [*question.own, *map(Marked, others)]
        rng.shuffle(held)
        titled = [join("", [Marked(f"Document {number}:\n"), part]) for number, part in enumerate(held, 1)]
        return Sample(
            f"{_ORDERS}\n\nThe following are given documents.\n\n",
            join("\n\n", titled),
            f"\n\n{_ORDERS}\n\nQuestion: {question.text}",
            question.text,
            " Answer:",
            question.outputs,
            room,
            needed="any",
        )

    most = max(len(question.own) for question in asked)
    return Task(build, smallest=most, largest=len(paragraphs), questions=len(asked))


def _others(question: Asked, own: set[str], paragraphs: Sequence[str], count: int, rng: random.Random) -> list[str]:
    near = sorted(set(question.near) - own)
    if count <= len(near):
        return rng.sample(near, count)
    far = [text for text in paragraphs if text not in own and text not in near]
    return [*near, *rng.sample(far, count - len(near))]
