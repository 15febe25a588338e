"""RULER: prompts that its generator wrote, taken apart again into context and question.

The templates are those of NVIDIA/RULER, scripts/data/synthetic/constants.py. Source: Hsieh et al., "RULER: What's the
Real Context Size of Your Long-Context Language Models?", 2024.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import Evidence, EvidenceSet, Factor, Question
from retrivex.evaluation.questions.fields import list_of, strings_of, words_of
from retrivex.evaluation.questions.files import AnyRecord, Record, read_each, read_lines
from retrivex.evaluation.questions.set_builder import EvidenceSetBuilder
from retrivex.text.sentences import trim_range

# How a prompt begins before its context, and the question behind it. A prompt may show a solved example first, and a
# model's own template may stand around it: the last beginning counts, and the last question behind it.
_TEMPLATES = {
    "niah": (
        r"special magic \w+ (?:is|are) hidden within the following text\. Make sure to memorize it\. "
        r"I will quiz you about the \w+ afterwards\.\s",
        r"\sWhat (?:is|are all) the special magic \w+ for .+? mentioned in the provided text\?",
    ),
    "vt": (
        r"Memorize and track the chain\(s\) of variable assignment hidden in the following text\.\s+",
        r"\sQuestion: (Find all variables that are assigned the value \S+ in the text above\.)",
    ),
    "cwe": (
        r"Below is a numbered list of words\. In these words, some appear more often than others\. "
        r"Memorize the ones that appear most often\.\s",
        r"\sQuestion: (What are the 10 most common words in the above list\?)",
    ),
    "fwe": (
        r"Find the three most frequently appeared coded words\.\s",
        r"\sQuestion: (Do not provide any explanation\. Please ignore the dots '\.\.\.\.'\. "
        r"What are the three most frequently appeared words in the above coded text\?)",
    ),
    "qa": (
        r"The following are given documents\.\s+",
        r"\sAnswer the question based on the given documents\. Only give me the answer and do not output any other "
        r"words\.\s+Question: (.+?)(?=\s*Answer:|\s*$)",
    ),
}
_NEEDLE = re.compile(r"One of the special magic \w+ for .+? is: (.+?)\.(?=\s|$)")
_ASSIGNMENT = re.compile(r"VAR (\w+) = (?:VAR )?\w+")


def ruler(path: Path) -> EvidenceSet:
    """Read a file in RULER's layout, JSON Lines named after its task.

    Every prompt's context is one document. The evidence is the needles that hold an answer, or the assignments of the
    variables asked for. The tasks that ask for counts (cwe, fwe) need the whole context, and the questions out of SQuAD
    and HotpotQA (qa_1, qa_2) come without the place of their answer: these have no evidence.
    """
    return ruler_records(read_lines(path), task_of(path))


def task_of(path: Path) -> str:
    """Return the task that a file holds: its own name, or that of its folder where it is called `validation.jsonl`.

    Examples
    --------
    >>> task_of(Path("4096/niah_multikey_3.jsonl")), task_of(Path("4096/data/vt/validation.jsonl"))
    ('niah_multikey_3', 'vt')
    """
    name = path.name.partition(".")[0]
    return path.parent.name if name in ("validation", "test") else name


def ruler_records(records: Iterable[AnyRecord], task: str) -> EvidenceSet:
    """Make a set of RULER's records; see `ruler`.

    Parameters
    ----------
    records : `index`, `input`, `outputs`, `length`; `answer_prefix` and other fields of newer versions may be there
    task : "niah_single_1" to "qa_2"
    """
    made = EvidenceSetBuilder(f"ruler/{task}")

    def read(record: Record) -> None:
        fields = record.fields
        context, question = split_prompt(words_of(fields, "input"), task)
        answers = strings_of({"outputs": [str(part) for part in list_of(fields, "outputs")]}, "outputs")
        if not answers:
            raise LoadError("outputs are missing: nothing can be measured without")
        name = str(fields.get("index", record.name))
        doc_id = made.document(f"{task}-{name}", context)
        places = _places(context, answers, task)
        factors: dict[str, Factor] = {"task": task}
        if isinstance(fields.get("length"), int):
            factors["tokens"] = fields["length"]
        if len(places) == 1:
            factors["depth"] = round(100 * places[0][0] / len(context), 1)
        evidence = tuple(Evidence(doc_id, start, end) for start, end in places)
        needed: Literal["any", "all"] = "any" if task.startswith("qa") else "all"
        made.ask(Question(name, question, evidence, (doc_id,), answers, needed, factors))

    made.note(read_each(records, read))
    return made.whole()


def split_prompt(prompt: str, task: str) -> tuple[str, str]:
    """Return the context and the question of a prompt.

    Raises
    ------
    LoadError
        If it does not follow the published template of its task.

    Examples
    --------
    >>> head = "Memorize and track the chain(s) of variable assignment hidden in the following text."
    >>> asked = "Question: Find all variables that are assigned the value 7 in the text above."
    >>> split_prompt(f"{head}\\n\\nVAR A = 7 VAR B = VAR A\\n{asked} Answer:", "vt")
    ('VAR A = 7 VAR B = VAR A', 'Find all variables that are assigned the value 7 in the text above.')
    """
    begin, end = _TEMPLATES[_kind(task)]
    heads = list(re.finditer(begin, prompt))
    questions = list(re.finditer(end, prompt, re.DOTALL if task.startswith("qa") else 0))
    if not heads or not questions or questions[-1].start() < heads[-1].end():
        raise LoadError(f"input is not of the template of {task!r}: it begins {prompt[:60]!r}")
    question = questions[-1]
    context = slice(*trim_range(prompt, heads[-1].end(), question.start()))
    return prompt[context], (question[1] if question.re.groups else question[0]).strip()


def _kind(task: str) -> str:
    kind = task.partition("_")[0]
    if kind not in _TEMPLATES:
        raise LoadError(f"RULER has no task {task!r}: choose a kind out of {', '.join(_TEMPLATES)}")
    return kind


def _places(context: str, answers: Sequence[str], task: str) -> list[tuple[int, int]]:
    """Return the ranges that hold the answers; every answer has to be in one."""
    kind = _kind(task)
    if kind not in ("niah", "vt"):
        return []
    pattern = _NEEDLE if kind == "niah" else _ASSIGNMENT
    found = [match for match in pattern.finditer(context) if match[1] in answers]
    missing = set(answers) - {match[1] for match in found}
    if missing:
        raise LoadError(f"answer {min(missing)!r} is in no needle: the context does not hold it")
    return [match.span() for match in found]
