"""What models are asked about public sets, and how their answers are scored, as published."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from benchmarks.suites.haystacks.needles import SINGLE_NEEDLES
from benchmarks.suites.longbench.prompts import ANSWER_TOKENS, LONGBENCH_PROMPTS
from benchmarks.suites.longbench.scores import longbench_score, scorer_of
from retrivex.evaluation.answers.measures import SCORERS, SetScorer
from retrivex.evaluation.answers.prompts import REQUESTS, filled
from retrivex.evaluation.metrics import normalise_answer
from retrivex.evaluation.questions.evidence import Question
from retrivex.model.asking import ModelRequest

# Kamradt, "Needle In A Haystack - Pressure Testing LLMs", github.com/gkamradt/LLMTest_NeedleInAHaystack
_NIAH_SYSTEM = "You are a helpful AI bot that answers questions for a user. Keep your response short and direct"
_NIAH = "{context}\n\n{question} Don't give information outside the document or repeat your findings"
_NIAH_TOKENS = 300

# Liu et al., "Lost in the Middle", 2023, github.com/nelson-liu/lost-in-the-middle: qa.prompt and kv_retrieval.prompt
_LOST_IN_THE_MIDDLE = (
    "Write a high-quality answer for the given question using only the provided search results (some of which might be "
    "irrelevant).\n\n{context}\n\nQuestion: {question}\nAnswer:"
)
_KEY_VALUE = (
    "Extract the value corresponding to the specified key in the JSON object below.\n\nJSON data:\n{context}\n\n"
    "Key: {question}\nCorresponding value:"
)
_LOST_IN_THE_MIDDLE_TOKENS = 100
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# Hsieh et al., "RULER", 2024, github.com/NVIDIA/RULER, scripts/data/synthetic/constants.py: what stands in front of the
# context, and tokens of the answer. What follows it is the question. The beginnings of answers that RULER puts behind
# it for models that continue text are left out: models that chat are asked.
_NEEDLE = (
    "{some} special magic {kind} {are} hidden within the following text. Make sure to memorize it. I will quiz you "
    "about the {kind} afterwards.\n{{context}}\n{{question}}"
)
_FWE_ORDERS = "Do not provide any explanation. Please ignore the dots '....'. "
_RULER_QA = (
    "Answer the question based on the given documents. Only give me the answer and do not output any other words."
)
_RULER: Mapping[str, tuple[str, int]] = {
    "niah": (_NEEDLE.format(some="A", kind="number", are="is"), 128),
    "niah_single_3": (_NEEDLE.format(some="A", kind="uuid", are="is"), 128),
    "niah_multikey_3": (_NEEDLE.format(some="A", kind="uuid", are="is"), 128),
    "niah_multivalue": (_NEEDLE.format(some="Some", kind="numbers", are="are"), 128),
    "niah_multiquery": (_NEEDLE.format(some="Some", kind="numbers", are="are"), 128),
    "vt": (
        "Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n{context}\n"
        "Question: {question}",
        30,
    ),
    "cwe": (
        "Below is a numbered list of words. In these words, some appear more often than others. Memorize the ones that "
        "appear most often.\n{context}\nQuestion: {question}",
        120,
    ),
    "fwe": (
        "Read the following coded text and track the frequency of each coded word. Find the three most frequently "
        f"appeared coded words. {{context}}\nQuestion: {_FWE_ORDERS}{{question}}",
        50,
    ),
    "qa": (
        f"{_RULER_QA}\n\nThe following are given documents.\n\n{{context}}\n\n{_RULER_QA}\n\nQuestion: {{question}}",
        32,
    ),
}


FAMILIES = ("longbench", "ruler", "niah_multi", *SINGLE_NEEDLES, "lost_in_the_middle", "key_value")


def _request(family: str, task: str, question: Question, context: str) -> ModelRequest | None:
    text, system = question.text, None
    if family == "longbench" and task.removesuffix("_e") in LONGBENCH_PROMPTS:
        name = task.removesuffix("_e")
        template, tokens = LONGBENCH_PROMPTS[name], ANSWER_TOKENS[name]
    elif family == "ruler":
        template, tokens = _RULER[task] if task in _RULER else _RULER[task.split("_")[0]]
        text = text.removeprefix("Question: ").removeprefix(_FWE_ORDERS)  # whatever a reader takes for the question
    elif family in ("niah_multi", *SINGLE_NEEDLES):
        template, tokens, system = _NIAH, _NIAH_TOKENS, _NIAH_SYSTEM
    elif family == "lost_in_the_middle":
        template, tokens = _LOST_IN_THE_MIDDLE, _LOST_IN_THE_MIDDLE_TOKENS
    elif family == "key_value":
        key = _UUID.search(text)
        template, tokens, text = _KEY_VALUE, _LOST_IN_THE_MIDDLE_TOKENS, f'"{key[0] if key else text}"'
    else:
        return None
    return ModelRequest(filled(template, context, text), tokens, system)


def _longbench(task: str, classes: Sequence[str]) -> SetScorer:
    scorer_of(task)
    return lambda answer, question: longbench_score(task, answer, question.answers, classes)


def share_said(answer: str, question: Question) -> float:
    """Return the share of the answers that stand in the model's, or, where any will do, 1.0 if one does.

    RULER's `string_match_all` and `string_match_part` (Hsieh et al., 2024): whatever the case, anywhere. Of needles and
    of key-value retrieval too.

    Examples
    --------
    >>> asked = Question("1", "Which numbers?", (), answers=("17", "23"), needed="all")
    >>> share_said("They are 17 and 32.", asked)
    0.5
    """
    given = answer.lower()
    found = [wanted.lower() in given for wanted in question.answers]
    return float(any(found)) if question.needed == "any" else sum(found) / len(found)


def any_inside(answer: str, question: Question) -> float:
    """Return 1.0 if any of the answers stands in the model's after normalisation (`best_subspan_em`, Liu et al., 2023).

    Examples
    --------
    >>> any_inside("It was the Eiffel Tower!", Question("1", "What?", (), answers=("Eiffel Tower",)))
    1.0
    """
    given = normalise_answer(answer)
    return float(any(normalise_answer(wanted) in given for wanted in question.answers))


REQUESTS.update({family: partial(_request, family) for family in FAMILIES})
SCORERS.update({family: lambda task, classes: share_said for family in FAMILIES})
SCORERS.update({"longbench": _longbench, "lost_in_the_middle": lambda task, classes: any_inside})
