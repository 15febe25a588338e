"""Templates of whole prompts with slots for context, question and history."""

from __future__ import annotations

import re

from retrivex.errors import RetrivexError

_SLOT = re.compile(r"\{(context|question|history|answer)\}")

DEFAULT_TEMPLATE = """\
Answer the question from the sources below, and from nothing else. Cite them by number, like [1]. If they do not \
hold the answer, say so.

Sources:

{context}

{history}Question: {question}
Answer:"""
"""What `prompt` writes unless it is given another template."""

CHINESE_TEMPLATE = """\
请只根据下面的资料回答问题，不要使用其他知识。引用资料时标明编号，例如 [1]。如果资料中没有答案，请直接说明。

资料：

{context}

{history}问题：{question}
回答："""
"""The default template in Chinese."""

REFINE_TEMPLATE = """\
Answer the question from the answer so far and the sources below, and from nothing else. Correct and complete the \
answer where the sources say more, keep it where they do not, and keep its citations. Cite sources by number, like [1].

Sources:

{context}

<answer>
{answer}
</answer>

{history}Question: {question}
Answer:"""
"""For the next window, where an answer of earlier ones is there."""

SUMMARY_TEMPLATE = """\
The answers below were given to one question, each from other sources. Make one answer of them, from nothing else, and \
keep their citations, like [1]. If none of them holds the answer, say so.

{context}

{history}Question: {question}
Answer:"""
"""For one answer out of several."""


def fill_template(template: str, context: str, question: str, history: str, answer: str | None = None) -> str:
    """Put the parts into `template`, braces in them untouched; `{answer}` is a slot only where there is an answer.

    Raises
    ------
    RetrivexError
        If the template has no `{context}` or no `{question}`.
    """
    for name in ("{context}", "{question}"):
        if name not in template:
            raise RetrivexError(f"the template has no {name}: put {name} where it belongs; text was {template[:80]!r}")
    parts = {"context": context, "question": question, "history": f"{history}\n\n" if history else ""}
    if answer is not None:
        parts["answer"] = answer
    return _SLOT.sub(lambda slot: parts.get(slot[1], slot[0]), template)
