"""What a model is asked, by the set of the question: the prompt that the set was published with, or a plain one."""

from __future__ import annotations

import re
from collections.abc import Mapping

from retrivex.evaluation.answering.longbench_prompts import ANSWER_TOKENS, LONGBENCH_PROMPTS
from retrivex.evaluation.answering.model import ModelRequest
from retrivex.evaluation.evidence import Question
from retrivex.evaluation.haystacks.needles import SINGLE_NEEDLES
from retrivex.prompts.wording import CHINESE, wording

NO_ANSWER = ("unanswerable", "无法回答")
"""What the plain prompts ask a model to say where the context holds no answer."""

_PLAIN = f"""\
Answer the question from the text below, and from nothing else, in as few words as you can. Do not explain. If the \
text does not hold the answer, write "{NO_ANSWER[0]}".

{{context}}

Question: {{question}}
Answer:"""

_PLAIN_CHINESE = f"""\
请只根据下面的文字回答问题，用尽可能少的字，不要解释。如果文字中没有答案，请写“{NO_ANSWER[1]}”。

{{context}}

问题：{{question}}
回答："""

_PLAIN_TOKENS = 128

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

_PLACES = re.compile(r"\{(context|question)\}")


def published_as(set_name: str) -> tuple[str, str]:
    """Return the family and the task of a public set; two empty texts for a set of one's own.

    Examples
    --------
    >>> published_as("ruler/vt/4096"), published_as("key_value/75"), published_as("ruler")
    (('ruler', 'vt'), ('key_value', '75'), ('', ''))
    """
    # a file of one's own may be called ruler.jsonl: only public sets have something behind the family
    family, slash, rest = set_name.partition("/")
    return (family, rest.split("/")[0]) if slash else ("", "")


def answer_request(set_name: str, question: Question, context: str) -> ModelRequest:
    """Return what a model is asked.

    Parameters
    ----------
    set_name : of the set: its part before the first `/` says how it is asked, the next one which task it is
    question : as it is
    context : what the answer has to be found in

    Examples
    --------
    >>> asked = answer_request("own", Question("1", "Do bees sleep?", ()), "Bees sleep at night.")
    >>> print(asked.prompt[-56:])
    Bees sleep at night.
    <BLANKLINE>
    Question: Do bees sleep?
    Answer:
    """
    family, task = published_as(set_name)
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
        template = _PLAIN_CHINESE if wording("auto", text) is CHINESE else _PLAIN
        tokens = _PLAIN_TOKENS
    return ModelRequest(_filled(template, context, text), tokens, system)


def _filled(template: str, context: str, question: str) -> str:
    parts = {"context": context, "question": question}
    return _PLACES.sub(lambda place: parts[place[1]], template)
