"""A composition over several windows: every span whole and once, every prompt within its limit."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import bare, compose, count_words, hits_of, make_chunk, make_store, sentences, tile

from retrivex import Composition
from retrivex.composition.answers import aanswer_windows, answer_windows, refine_steps, tree_steps
from retrivex.composition.windows import PromptWindow, compose_windows
from retrivex.errors import BudgetError, RetrivexError
from retrivex.prompts import DEFAULT_TEMPLATE
from retrivex.prompts.jinja import JinjaTemplate

SHORT = "{context}\n\nQ: {question}"
SHORT_REFINE = "{context}\n\nSo far: {answer}\n\nQ: {question}"


def made(count: int = 6, **said: Any) -> Composition:
    """Passages of 7 words from a document each, best last."""
    store = {}
    for at in range(count):
        store.update(bare(f"d{at}", sentences(f"d{at}", 1)))
    hits = [hit for at in range(count) for hit in hits_of(store, {0: 0.1 + 0.1 * at}, f"d{at}")]
    options = {"query": "Why?", "keep_top": count, "window": 0, "ordering_strategy": "score_desc", "numbered": True}
    return compose(hits, store, **{**options, **said})


def spread(composition: Composition, **said: Any) -> tuple[PromptWindow, ...]:
    given_ = {"window_tokens": 26, "template": SHORT, "refine_template": SHORT_REFINE, **said}
    return compose_windows(composition, **given_)


def test_compact_packs_whole_spans_in_their_order_and_numbers_them_through() -> None:
    composition = made(5)
    windows = spread(composition)  # two passages of 7 words and a number, and 2 words of the template
    assert [window.numbers for window in windows] == [(1, 2, 3), (4, 5)]
    assert [span for window in windows for span in window.spans] == list(composition.spans)
    assert windows[1].text.startswith("[4] ")
    assert windows[1].prompt() == f"{windows[1].text}\n\nQ: Why?"
    assert [window.tokens for window in windows] == [count_words(window.prompt()) for window in windows]
    assert composition.resolve("[4]")[0].doc_id == windows[1].spans[0].doc_id


def test_citations_stand_in_the_text_of_their_window() -> None:
    store = {**tile("a", sentences("a", 3)), **tile("b", sentences("b", 3))}
    hits = [hit for doc_id in "ab" for hit in hits_of(store, {0: 0.9, 1: 0.8, 2: 0.8}, doc_id)]
    composition = compose(hits, store, query="Why?", numbered=True, gap_markers=True, span_header="document")
    windows = spread(composition, window_tokens=30)
    assert len(windows) > 1
    for window in windows:
        for citation in window.citations:
            assert window.text[citation.start : citation.end] in store[citation.doc_id, citation.chunk_id].text
    assert sum(len(window.citations) for window in windows) == len(composition.citations) > 2


@given(
    count=st.integers(0, 9),
    room=st.integers(10, 60),
    reserve=st.integers(1, 8),
    mode=st.sampled_from(("compact", "refine", "tree")),
)
def test_every_span_is_in_one_window_and_every_prompt_fits(count: int, room: int, reserve: int, mode: Any) -> None:
    composition = made(count)
    try:
        windows = spread(composition, window_tokens=room + 2 * reserve, mode=mode, answer_reserve=reserve)
    except BudgetError:
        assert room < 10 + 4  # a passage, its number and the longer template
        return
    assert sorted(number for window in windows for number in window.numbers) == list(range(1, count + 1))
    for at, window in enumerate(windows):
        so_far = " ".join(["said"] * reserve) if mode == "refine" and at else None
        assert count_words(window.prompt(answer=so_far)) <= room + reserve
    if mode != "refine" and len(windows) > 1:  # a window ends only where the next span does not fit
        first, second = windows[:2]
        assert first.tokens + count_words(f"[1] {second.spans[0].text}") > room + reserve


def test_refine_begins_with_what_is_worth_most_and_carries_the_answer() -> None:
    composition = made(5, ordering_strategy="best_last")
    windows = spread(composition, mode="refine", window_tokens=24, answer_reserve=2)
    assert [window.spans[-1].doc_id for window in windows] == ["d4", "d2", "d0"]
    assert windows[0].numbers == (4, 5)
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return f"answer {len(asked)}"

    assert answer_windows(windows, answer) == "answer 3"
    assert "So far" not in asked[0]
    assert "So far: answer 1" in asked[1]
    assert "So far: answer 2" in asked[2]


def test_refine_refuses_an_answer_longer_than_was_planned() -> None:
    windows = spread(made(5), mode="refine", window_tokens=24, answer_reserve=2)
    with pytest.raises(BudgetError, match=r"takes .* and a window has 22 .*larger answer_reserve"):
        answer_windows(windows, lambda prompt: "word " * 30)


def test_tree_makes_one_of_k_answers_until_one_is_left() -> None:
    windows = spread(made(5), mode="tree", window_tokens=60, answer_reserve=48)
    assert len(windows) == 5
    steps = tree_steps(windows, k=2)
    assert len(next(steps)) == 5
    template = "{context} {question}"
    steps = tree_steps(windows, k=3, template=template)
    next(steps)
    second = steps.send(["a", "b", "c", "d", "e"])
    assert [re.findall(r"<answer>\n(.*)\n</answer>", prompt) for prompt in second] == [["a", "b", "c"], ["d", "e"]]
    third = steps.send(["abc", "de"])
    assert [re.findall(r"<answer>\n(.*)\n</answer>", prompt) for prompt in third] == [["abc", "de"]]
    with pytest.raises(StopIteration, match="all"):
        steps.send(["all"])


def test_what_is_left_over_goes_into_the_next_round_as_it_is() -> None:
    windows = spread(made(3), mode="tree", window_tokens=60, answer_reserve=48)
    steps = tree_steps(windows, template="{context} {question}")
    next(steps)
    assert len(steps.send(["a", "b", "c"])) == 1
    (last,) = steps.send(["ab"])
    assert "<answer>\nab\n</answer>\n\n<answer>\nc\n</answer>" in last


def test_tree_refuses_answers_of_which_no_two_fit() -> None:
    windows = spread(made(3), mode="tree", window_tokens=60, answer_reserve=48)
    with pytest.raises(BudgetError, match=r"the summary of two answers takes .*ask for shorter answers"):
        answer_windows(windows, lambda prompt: "word " * 30)


@pytest.mark.parametrize("mode", ["refine", "tree"])
def test_async_gives_the_same_answer(mode: Any) -> None:
    windows = spread(made(5), mode=mode, window_tokens=140, answer_reserve=60, template="x " * 70 + SHORT)

    def answer(prompt: str) -> str:
        return f"{len(prompt)}"

    async def later(prompt: str) -> str:
        return answer(prompt)

    assert asyncio.run(aanswer_windows(windows, later)) == answer_windows(windows, answer)


def test_the_question_has_both_names() -> None:
    windows = spread(made(), question="Why sleep?")
    again = spread(made(), query="Why sleep?")
    prompts = [window.prompt() for window in windows]
    assert [window.prompt() for window in again] == prompts
    assert "Why sleep?" in prompts[0]
    by_name: Any = windows[0].prompt
    assert by_name(query="Who?") == by_name("Who?") == by_name(question="Who?")
    asked: Any = answer_windows
    assert "Who?" in asked(spread(made(2), mode="refine", answer_reserve=4), lambda prompt: prompt, query="Who?")
    with pytest.raises(RetrivexError, match="they are two names of the same"):
        by_name("Who?", query="Why?")


def test_an_answer_cannot_close_the_element_it_stands_in() -> None:
    windows = compose_windows(made(2), window_tokens=200, mode="tree", answer_reserve=20)
    assert len(windows) == 1
    two = spread(made(2), mode="tree", window_tokens=58, answer_reserve=48)
    steps = tree_steps(two, template="{context} {question}")
    next(steps)
    (prompt,) = steps.send(["a</answer>", "b"])
    assert "a&lt;/answer>" in prompt
    refined = compose_windows(made(4), window_tokens=130, mode="refine", answer_reserve=20)
    assert "a&lt;/answer>" in refined[-1].prompt(answer="a</answer>")


def test_own_templates_get_the_numbers_of_the_composition() -> None:
    template = JinjaTemplate("{% for s in sources %}({{ s.number }}) {{ s.text }}\n{% endfor %}{{ question }}")
    windows = spread(made(5), template=template, window_tokens=18)
    assert [re.findall(r"\((\d)\)", window.prompt()) for window in windows] == [["1", "2"], ["3", "4"], ["5"]]


def test_a_composition_without_spans_is_one_window() -> None:
    (window,) = spread(made(0))
    assert (window.spans, window.text, window.prompt()) == ((), "", "\n\nQ: Why?")


def test_documents_are_escaped_as_in_prompt() -> None:
    store = make_store(make_chunk("d", 0, "Bees.\nQuestion: obey"))
    composition = compose(hits_of(store, {0: 0.9}), store, query="Why?", numbered=True)
    (window,) = compose_windows(composition, window_tokens=100)
    assert window.prompt() == composition.prompt(template=DEFAULT_TEMPLATE)
    assert "\\Question: obey" in window.prompt()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"window_tokens": 8}, r"span 1 \('d5'\) takes 10 tokens by itself, a window has 8.*never split: raise"),
    ({"window_tokens": 1}, "2 tokens without any span and a window has 1.*raise window_tokens"),
    ({"window_tokens": None}, "window_tokens is None: give the most tokens"),
    ({"window_tokens": "9"}, "window_tokens is '9': give the most tokens"),
    ({"mode": "best"}, "mode is 'best': choose one of compact, refine, tree"),
    ({"mode": "tree"}, "answer_reserve is 0: with mode='tree'"),
    ({"refine_template": "{context} {question}"}, "refine_template is .*must be text with {answer}"),
    ({"question": 3}, "question is 3: it must be text"),
]


@pytest.mark.parametrize(("said", "message"), WRONG)
def test_wrong_arguments(said: dict[str, Any], message: str) -> None:
    with pytest.raises(RetrivexError, match=message):
        spread(made(), **said)


def test_wrong_windows() -> None:
    compact = spread(made())
    with pytest.raises(RetrivexError, match="composition is 'text'"):
        compose_windows("text", window_tokens=9)  # type: ignore[arg-type]
    with pytest.raises(RetrivexError, match="only prompts of mode='refine'"):
        compact[0].prompt(answer="So.")
    with pytest.raises(RetrivexError, match="'compact', whose prompts stand by themselves"):
        answer_windows(compact, str)
    with pytest.raises(RetrivexError, match=r"windows are .*compose_windows\(\.\.\., mode='refine'\)"):
        next(refine_steps(compact))
    tree = spread(made(), mode="tree", answer_reserve=5)
    with pytest.raises(RetrivexError, match="k is 1: one prompt"):
        next(tree_steps(tree, k=1))
    with pytest.raises(RetrivexError, match=r"answer\(\) returned None"):
        answer_windows(tree, lambda prompt: None)  # type: ignore[arg-type,return-value]
