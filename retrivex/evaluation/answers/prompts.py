"""The prompt of a question: the one that its set was published with, or a plain one."""

from __future__ import annotations

import re
from collections.abc import Callable

from retrivex.evaluation.questions.evidence import Question
from retrivex.model.asking import ModelRequest
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

_PLACES = re.compile(r"\{(context|question)\}")


REQUESTS: dict[str, Callable[[str, Question, str], ModelRequest | None]] = {}


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
    text = question.text
    if family in REQUESTS and (asked := REQUESTS[family](task, question, context)) is not None:
        return asked
    template = _PLAIN_CHINESE if wording("auto", text) is CHINESE else _PLAIN
    return ModelRequest(filled(template, context, text), _PLAIN_TOKENS)


def filled(template: str, context: str, question: str) -> str:
    """Return a template with its places filled; braces in the texts stay as they are."""
    parts = {"context": context, "question": question}
    return _PLACES.sub(lambda place: parts[place[1]], template)
