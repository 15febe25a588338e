from __future__ import annotations

from typing import Any

import pytest

from retrivex import Chunk, ChunkMetadata, RetrievalConfig, SeedHit, SpanComposer
from retrivex.evaluation.metrics import score_context
from retrivex.evaluation.questions.evidence import Evidence
from retrivex.evaluation.questions.samples import sample_of
from retrivex.evaluation.tune.choices import choices_of, quality
from retrivex.tokens.cache import TokenCache
from retrivex.tokens.tokenizer import CallableTokenizer

WORDS = CallableTokenizer(lambda text: len(text.split()), name="words")
SENTENCES = [
    "Bees live in hives that people or trees give them. ",
    "The queen of the bees lays all of the eggs. ",
    "Wasps build nests of paper under roofs in summer. ",
    "Nothing is known of the dreams that hornets have. ",
    "Eggs of a queen are laid one to a cell. ",
    "Ants carry leaves home and grow mushrooms on them there. ",
]
STARTS = [sum(map(len, SENTENCES[:at])) for at in range(len(SENTENCES))]
STORE = {
    ("d", at): Chunk(text, ChunkMetadata("d", at, STARTS[at], STARTS[at] + len(text)))
    for at, text in enumerate(SENTENCES)
}
HITS = [SeedHit(STORE["d", at], score) for at, score in [(1, 0.9), (4, 0.8), (2, 0.3)]]
QUESTION = "Where does the queen of the bees lay her eggs?"


@pytest.mark.parametrize("gold", [(1,), (1, 4), (0, 3), (4, 5)])
@pytest.mark.parametrize("budget", [0, 12, 20, 28, 30, 70])
@pytest.mark.parametrize(
    "options", [{}, {"run_cost": 9.0}, {"min_value": 0.5}, {"run_cost": 0.0, "window": 0}, {"effort": "lean"}]
)
def test_choosing_from_known_candidates_is_what_the_composer_does(
    gold: tuple[int, ...], budget: int, options: dict[str, Any]
) -> None:
    config = RetrievalConfig(token_budget=budget, **options)
    evidence = [Evidence("d", STARTS[at], STARTS[at] + len(SENTENCES[at]) - 1) for at in gold]
    composer = SpanComposer(config, tokenizer=WORDS)
    valued = composer.value_units(HITS, STORE, query=QUESTION)
    choices = choices_of(valued, evidence, config, TokenCache(WORDS))
    made = composer.compose(HITS, STORE, query=QUESTION)
    shown = [(c.doc_id, c.char_start or 0, c.char_end or 0) for c in made.citations]
    scores = score_context(shown, evidence)
    expected = quality(scores.recall, scores.complete, made.tokens, config.effort)
    assert choices.score(config) == pytest.approx(expected, abs=0.02)


def test_the_same_evidence_in_fewer_tokens_is_better_unless_the_budget_is_to_be_filled() -> None:
    for effort, dearer in (("lean", True), ("standard", True), ("full", False)):
        few, many = (quality(0.8, False, tokens, effort) for tokens in (300, 900))
        assert (few > many) is dearer


def test_showing_less_of_what_tells_nothing_is_no_gain() -> None:
    """Evidence that was mixed up is shown by chance, as much of it as there are tokens."""
    assert quality(0.1, False, 1000, "standard") > quality(0.05, False, 500, "standard")


def test_no_candidates_show_no_evidence() -> None:
    composer = SpanComposer(tokenizer=WORDS)
    valued = composer.value_units([], STORE, query=QUESTION)
    assert choices_of(valued, [Evidence("d", 0, 5)], composer.config, TokenCache(WORDS)).score(composer.config) == 0.0


@pytest.mark.parametrize("budget", [12, 30, 70])
def test_what_is_shown_of_a_copy_counts_as_shown_of_the_passage(budget: int) -> None:
    config = RetrievalConfig(token_budget=budget, effort="full")
    here = [Evidence("d", STARTS[at], STARTS[at] + len(SENTENCES[at]) - 1) for at in (1, 4)]
    elsewhere = {Evidence("e", 1000 + part.start, 1000 + part.end): [part] for part in here}
    valued = SpanComposer(config, tokenizer=WORDS).value_units(HITS, STORE, query=QUESTION)
    made = choices_of(valued, list(elsewhere), config, TokenCache(WORDS), elsewhere)
    assert made.score(config) == choices_of(valued, here, config, TokenCache(WORDS)).score(config) > 0
    assert choices_of(valued, list(elsewhere), config, TokenCache(WORDS)).score(config) == 0
    copied, plain = sample_of(valued, list(elsewhere), elsewhere), sample_of(valued, here)
    assert copied.evidence.tolist() == plain.evidence.tolist()


def test_a_passage_and_its_copy_together_count_once() -> None:
    config = RetrievalConfig(token_budget=200, effort="full")
    part, copy = Evidence("d", STARTS[1], STARTS[1] + 20), Evidence("d", STARTS[4], STARTS[4] + 20)
    valued = SpanComposer(config, tokenizer=WORDS).value_units(HITS, STORE, query=QUESTION)
    assert choices_of(valued, [part], config, TokenCache(WORDS), {part: [copy]}).score(config) == 1.0
