"""Models that prune a context: what they keep is found back in the text; the model is a local double."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples

from retrivex.errors import RerankError
from retrivex.rerank.provence import ProvenceScorer
from retrivex.text.sentences import sentence_ranges

TEXT = "Shepherd's pie. History. The dish used leftover meat, e.g. mutton. It was lined with mashed potato."
QUESTION = "What is the pie lined with?"


class Prunes:
    """Keeps the sentences whose numbers it is told, joined as it is told; `more` is in its answer, too."""

    def __init__(self, *kept: int, joiner: str = " ", **more: Any) -> None:
        self.kept = kept
        self.joiner = joiner
        self.more = more
        self.asked: list[tuple[str, str, dict[str, Any]]] = []

    def process(self, question: str, context: str, **options: Any) -> dict[str, Any]:
        self.asked.append((question, context, options))
        ranges = sentence_ranges(context)
        texts = [context[slice(*ranges[number])] for number in self.kept]
        return {"pruned_context": self.joiner.join(texts), "reranking_score": 3.02, **self.more}


def probabilities(model: Any, text: str = TEXT) -> list[float]:
    made = ProvenceScorer(model).score_sentences(QUESTION, text)
    assert [(one.start, one.end) for one in made] == sentence_ranges(text)
    return [one.probability for one in made]


@pytest.mark.parametrize("joiner", [" ", "", "\n"])
def test_kept_sentences_have_one_and_dropped_ones_have_zero(joiner: str) -> None:
    assert probabilities(Prunes(0, 3, joiner=joiner)) == [1, 0, 0, 1]
    assert probabilities(Prunes(joiner=joiner)) == [0, 0, 0, 0]
    assert probabilities(Prunes(0, 1, 2, 3, joiner=joiner)) == [1, 1, 1, 1]


def test_a_model_that_cuts_elsewhere_keeps_a_share() -> None:
    class Halves:
        def process(self, question: str, context: str) -> dict[str, str]:
            return {"pruned_context": "It was lined"}

    assert probabilities(Halves()) == [0, 0, 0, pytest.approx(3 / 7)]


def test_a_script_without_spaces() -> None:
    assert probabilities(Prunes(1, joiner=""), "蚂蚁工作。蜜蜂睡觉。黄蜂蜇人。") == [0, 1, 0]


def test_of_equal_sentences_those_are_kept_that_leave_the_rest_in_place() -> None:
    text = "Yes. Bees sleep. Yes. Ants work. No."
    assert probabilities(Prunes(2, 3), text) == [0, 0, 1, 1, 0]
    assert probabilities(Prunes(0, 1, 4), text) == [1, 1, 0, 0, 1]


@try_examples(200)
@given(st.lists(st.sampled_from(["Bees sleep.", "Ants work.", "Bees.", "Why so?", "蜜蜂。"]), max_size=8), st.data())
def test_as_many_characters_are_kept_as_the_model_kept(parts: list[str], data: st.DataObject) -> None:
    text = " ".join(parts)
    ranges = sentence_ranges(text)
    kept = data.draw(st.sets(st.sampled_from(range(len(ranges))))) if ranges else set()
    made = ProvenceScorer(Prunes(*sorted(kept))).score_sentences(QUESTION, text)
    assert [(one.start, one.end) for one in made] == ranges
    assert all(0 <= one.probability <= 1 for one in made)
    assert [one.probability > 0 for one in made].count(True) >= (len(kept) > 0)
    if len({text[start:end] for start, end in ranges}) == len(ranges) and "Bees." not in parts:
        assert {number for number, one in enumerate(made) if one.probability == 1} == kept


def test_its_options_are_passed_on_and_lone_surrogates_are_not() -> None:
    model = Prunes()
    ProvenceScorer(model, options={"threshold": 0.1}).score_sentences("q \ud83d", "Bees \udc00 sleep.")
    ((question, text, options),) = model.asked
    question.encode()
    assert len(text.encode("utf-16-le")) == 2 * len("Bees x sleep.")
    assert options == {"threshold": 0.1}


# ---- probabilities, as OpenProvence returns them


def with_probabilities(values: Sequence[float], kept: Sequence[str], removed: Sequence[str]) -> Prunes:
    return Prunes(sentence_probabilities=values, kept_sentences=kept, removed_sentences=removed)


def test_probabilities_belong_to_the_sentences_in_the_order_of_the_text() -> None:
    text = "Ants work. Bees sleep.\nWasps sting. "
    model = with_probabilities([0.02, 0.9, 0.4], ["Bees sleep.\n", "Wasps sting. "], ["Ants work. "])
    made = ProvenceScorer(model).score_sentences(QUESTION, text)
    assert [tuple(one) for one in made] == [(0, 10, 0.02), (11, 22, 0.9), (23, 35, 0.4)]


def test_a_sentence_that_begins_like_another_is_not_taken_for_it() -> None:
    model = with_probabilities([0.9, 0.1], ["Bees sleep. At night"], ["Bees sleep."])
    made = ProvenceScorer(model).score_sentences(QUESTION, "Bees sleep. At night Bees sleep.")
    assert [tuple(one) for one in made] == [(0, 20, 0.9), (21, 32, 0.1)]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (with_probabilities([0.5], ["Ants work."], ["History."]), "1 probabilities for 1 kept and 1 removed"),
        (with_probabilities([0.5], ["A title"], []), "'A title', which is not in the text"),
        (Prunes(pruned_context="History. Shepherd's pie."), "which is not in the text"),
        (Prunes(pruned_context=["History."]), "must give a mapping with the text under 'pruned_context'"),
        (type("Silent", (), {"process": lambda self, question, context: None})(), "gave None"),
    ],
)
def test_an_answer_that_is_wrong_is_refused(model: Any, said: str) -> None:
    with pytest.raises(RerankError) as caught:
        ProvenceScorer(model).score_sentences(QUESTION, TEXT)
    assert said in str(caught.value)


def test_a_model_without_process_is_refused() -> None:
    model: Callable[[str], str] = str.upper
    with pytest.raises(RerankError, match="it must have process"):
        ProvenceScorer(model)  # type: ignore[arg-type]
