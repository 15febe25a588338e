"""The invariants of the design, over whatever Hypothesis comes up with.

The checks themselves are those of the fuzzer (`tests/fuzz/checks.py`), which has its own, faster generator.
"""

from __future__ import annotations

import contextlib
import random
import threading
from typing import Any

import pytest
from fuzz.cases import Case
from fuzz.checks import (
    check_citations,
    check_composition,
    check_coverage,
    check_excluded,
    check_hits,
    check_order,
    check_pinned,
    check_requests,
    check_retrieved,
    check_spans,
    expect,
    snapshot,
    without_times,
)
from fuzz.compositions import Bench, fuzz
from fuzz.mutants import MUTANTS, Mutant
from hypothesis import given
from hypothesis import strategies as st
from support.properties import try_examples
from support.strategies import budgets, cases, tile

from retrivex import Composition, RetrievalConfig, RetrivexError, SeedHit, SpanComposer
from retrivex.ordering.strategy import OrderingStrategy

BENCH = Bench()

SEED, WORLDS = 36, range(200)
"""What the fuzzer draws here; every planted bug shows in the first third of it."""


def composed(case: Case, **said: Any) -> tuple[RetrievalConfig, Composition, Any]:
    """Config, composition and counter of a case."""
    composer, count = BENCH(case.tokenizer)
    options = {**case.options, **said}
    named = {"query": case.query, "query_embedding": case.query_embedding, "scope": case.scope}
    made = composer.compose(case.hits, case.store, case.parent_store, **named, **options)
    return composer.config.override(**options), made, count


# ---- 1: the budget


@try_examples(1500)
@given(cases(tokenizers=("words", "characters", "quarters", "quarters down", "seams", "estimate")))
def test_the_text_never_exceeds_the_budget(case: Case) -> None:
    config, made, count = composed(case)
    assert made.tokens == count(made.text) <= config.token_budget
    assert all(span.token_count == count(span.text) for span in made.spans)


@try_examples(800)
@given(cases(tokenizers=("words", "characters", "quarters down", "seams", "estimate")))
def test_spans_joined_by_blank_lines_never_exceed_the_budget(case: Case) -> None:
    composer, count = BENCH(case.tokenizer)
    spans = composer.retrieve(
        case.hits, case.store, case.parent_store, query=case.query, scope=case.scope, **case.options
    )
    assert count("\n\n".join(span.text for span in spans)) <= case.options["token_budget"]
    check_retrieved(case, composer.config.override(**case.options), spans, count)


@try_examples(300)
@given(cases(tokenizers=("cl100k_base",)), budgets)
def test_the_budget_holds_for_a_real_tokenizer(case: Case, budget: int) -> None:
    _, made, count = composed(case, token_budget=budget)
    assert made.tokens == count(made.text) <= budget
    assert all(span.token_count == count(span.text) for span in made.spans)


@pytest.mark.parametrize("context_format", ["text", "markdown", "xml"])
@pytest.mark.parametrize("span_header", ["none", "full"])
@try_examples(100)
@given(case=cases(), budget=st.integers(0, 40), numbered=st.booleans(), gap_markers=st.booleans())
def test_the_budget_holds_in_every_format(
    case: Case, budget: int, numbered: bool, gap_markers: bool, context_format: str, span_header: str
) -> None:
    style = {"context_format": context_format, "span_header": span_header, "gap_markers": gap_markers}
    _, made, count = composed(case, token_budget=budget, numbered=numbered, **style)
    assert made.tokens == count(made.text) <= budget


# ---- 2: the source


@try_examples(1500)
@given(cases())
def test_spans_are_the_source_and_nothing_is_shown_twice(case: Case) -> None:
    config, made, count = composed(case)
    check_spans(case, config, made.spans, count)


@try_examples(800)
@given(cases())
def test_citations_map_every_character_to_its_place(case: Case) -> None:
    _, made, _ = composed(case)
    check_citations(case, made)


@try_examples(400)
@given(st.lists(st.text("ab \n", min_size=1, max_size=9), min_size=1, max_size=9), st.data())
def test_a_tiled_document_comes_back_letter_by_letter(parts: list[str], data: st.DataObject) -> None:
    store = tile("d", parts)
    source = "".join(parts)
    seeds = data.draw(st.lists(st.sampled_from(sorted(store)), min_size=1, unique=True))
    composer, _ = BENCH("characters")
    spans = composer.retrieve([SeedHit(store[key], 1.0) for key in seeds], store, window=9, token_budget=10**6)
    for span in spans:
        assert span.exact
        assert span.text == source[span.char_start : span.char_end]
    if any(store[key].text.strip() for key in seeds):  # hits of white space are dropped
        assert "".join(span.text for span in spans).strip() == source.strip()


# ---- 3: every hit


@try_examples(1200)
@given(cases())
def test_every_hit_is_shown_or_listed(case: Case) -> None:
    _, made, _ = composed(case)
    check_hits(case, made)
    check_coverage(made)


# ---- 4: the same input gives the same output


@try_examples(600)
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_hits_does_not_matter(case: Case, rng: random.Random) -> None:
    _, made, _ = composed(case)
    nested = bool(case.hits) and isinstance(case.hits[0], list)
    case.hits = [rng.sample(part, len(part)) for part in case.hits] if nested else rng.sample(case.hits, len(case.hits))
    _, again, _ = composed(case)
    assert without_times(again) == without_times(made)


@try_examples(400)
@given(cases())
def test_a_fresh_composer_gives_the_same(case: Case) -> None:
    _, made, _ = composed(case)
    fresh, _ = Bench()(case.tokenizer)
    named = {"query": case.query, "query_embedding": case.query_embedding, "scope": case.scope}
    again = fresh.compose(case.hits, case.store, case.parent_store, **named, **case.options)
    assert without_times(again) == without_times(made)


@try_examples(50)
@given(st.lists(cases(), min_size=2, max_size=4))
def test_threads_do_not_disturb_each_other(some: list[Case]) -> None:
    alone = [without_times(composed(case)[1]) for case in some]
    together: dict[int, Any] = {}

    def work(number: int) -> None:
        together[number] = without_times(composed(some[number])[1])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(some))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[number] for number in range(len(some))] == alone


# ---- 5: requests


@try_examples(800)
@given(cases())
def test_one_request_a_query(case: Case) -> None:
    config, _, _ = composed(case)
    check_requests(case, config)


# ---- 8: nothing is changed, wrong calls raise


@try_examples(500)
@given(cases())
def test_nothing_of_the_callers_is_changed(case: Case) -> None:
    before = snapshot(case)
    texts = {key: (chunk.text, chunk.metadata) for key, chunk in case.world.store.items()}
    composed(case)
    assert snapshot(case) == before
    assert {key: (chunk.text, chunk.metadata) for key, chunk in case.world.store.items()} == texts
    assert BENCH(case.tokenizer)[0].config == RetrievalConfig()


@try_examples(500)
@given(cases())
def test_strict_gives_the_same_or_raises_by_name(case: Case) -> None:
    _, made, _ = composed(case)
    strict = None
    with contextlib.suppress(RetrivexError):
        _, strict, _ = composed(case, strict=True)
    assert strict is None or strict.text == made.text


# ---- what is not numbered: scope, order, pinned, excluded


@try_examples(800)
@given(cases())
def test_no_other_scope_is_ever_shown(case: Case) -> None:
    _, made, _ = composed(case)
    scopes = case.scopes()
    assert all(chunk.metadata.scope in scopes for span in made.spans for chunk in span.chunks)


@try_examples(500)
@given(cases(), st.sampled_from(list(OrderingStrategy)))
def test_the_order_is_the_one_asked_for(case: Case, strategy: OrderingStrategy) -> None:
    config, made, _ = composed(case, ordering_strategy=strategy, order_key=lambda span: span.doc_id)
    check_order(config, made.spans)
    if strategy is OrderingStrategy.CUSTOM:
        names = [span.doc_id for span in made.spans if not span.pinned]
        assert names == sorted(names)


@try_examples(500)
@given(cases(), st.data())
def test_pinned_first_excluded_never(case: Case, data: st.DataObject) -> None:
    passages = st.lists(st.sampled_from(list(case.world.chunks.values())), max_size=2, unique_by=id).map(tuple)
    config, made, _ = composed(case, pinned=data.draw(passages), exclude=data.draw(passages))
    check_pinned(config, made.spans)
    check_excluded(case, config, made.spans)


@try_examples(1500)
@given(cases(tokenizers=("words", "characters", "quarters down", "seams", "quarters", "estimate")))
def test_everything_at_once(case: Case) -> None:
    config, made, count = composed(case)
    check_composition(case, config, made, count)


# ---- the checks themselves


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_planted_bug_still_has_its_place(mutant: Mutant) -> None:
    original = getattr(mutant.owner, mutant.attribute)
    with mutant.planted():
        assert getattr(mutant.owner, mutant.attribute) is not original
    assert getattr(mutant.owner, mutant.attribute) is original


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_planted_bug_is_caught(mutant: Mutant) -> None:
    with mutant.planted():
        assert fuzz(SEED, WORLDS, stop_after=1).violations


def test_the_same_worlds_are_clean_without_one() -> None:
    assert fuzz(SEED, WORLDS).violations == []


def test_a_check_that_fails_says_so() -> None:
    with pytest.raises(AssertionError, match="budget exceeded: 5, 4"):
        expect(False, "budget exceeded", 5, 4)


def test_the_composer_under_test_is_the_library_s() -> None:
    assert isinstance(BENCH("words")[0], SpanComposer)
