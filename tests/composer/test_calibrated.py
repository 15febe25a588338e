"""The composer with the question given: sentences that answer, their probabilities, and the options around them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.strategies import bare, compose, count_words, hits_of, make_chunk, retrieve, shown_ids, tile

from retrivex import Chunk, ChunkMetadata, Composition, RetrievalConfig, SeedHit, SpanComposer

QUESTION = "What do bees live on in winter?"
ANSWER = "In winter bees live on the honey that they stored in summer."
QUEEN = "The queen lays up to two thousand eggs on a single day in May, more than her own weight. " * 3
DRONES = "Drones are thrown out when the nectar ends, and few of them are seen after August is over. " * 3
STORE = tile("d", [QUEEN + ANSWER + " " + DRONES, "Wasps build with paper. " * 12, "Ants carry leaves home. " * 12])
SCORES = {0: 0.9, 1: 0.5, 2: 0.3}
SIX = tile("d", [*(chunk.text for chunk in STORE.values()), *(f"Moths fly by night {at}. " * 9 for at in range(3))])
WORDS = {0: 9.0, 1: 5.0, 2: 3.0, 3: 2.0, 4: 2.0, 5: 1.5}  # as of BM25


def made(scores: dict[int, float] | None = None, query: str | None = QUESTION, **said: Any) -> Composition:
    store = STORE if len(scores or SCORES) <= len(STORE) else SIX
    return compose(hits_of(store, scores or SCORES), store, query=query, **{"window": 0, **said})


# ---- units


def test_the_sentence_that_answers_is_shown_rather_than_its_whole_chunk() -> None:
    composed = made(token_budget=60)
    assert ANSWER in composed.text
    assert QUEEN + ANSWER not in composed.text
    assert composed.spans[0].text in STORE["d", 0].text
    assert all(span.text == "".join(c.text for c in STORE.values())[span.char_start : span.char_end]
               for span in composed.spans)  # fmt: skip


def test_whole_chunks_are_shown_where_they_are_asked_for() -> None:
    composed = made(token_budget=130, selection_unit="chunk", max_spans=1)
    assert composed.trace.scorer == "calibrated"
    assert composed.spans[0].text == STORE["d", 0].text.strip()


def test_a_span_has_its_best_unit_s_probability_and_the_sum_of_values() -> None:
    composed = made(token_budget=2000)
    assert composed.spans
    for span in composed.spans:
        inside = [unit for unit in composed.trace.units if unit.selected and set(unit.chunk_ids) <= set(span.chunk_ids)]
        assert span.score == max(unit.probability for unit in inside)
        assert span.value > 0
    text = "".join(chunk.text for chunk in STORE.values())
    places = [(unit.char_start or 0, unit.length) for unit in composed.trace.units]
    tokens = [count_words(text[start : start + length]) for start, length in places]
    gains = [unit.value * size for unit, size in zip(composed.trace.units, tokens, strict=True) if unit.selected]
    assert sum(span.value for span in composed.spans) == pytest.approx(sum(gains) * len(tokens) / sum(tokens), rel=0.01)


def test_a_chinese_question_finds_the_chinese_sentence() -> None:
    rest = "蜂王每天产卵两千粒。工蜂照顾幼虫。雄蜂夏天离开蜂巢。花粉是蛋白质的来源。" * 6
    answer = "冬天蜜蜂靠吃蜂蜜生活。"
    store = tile("d", [rest + answer + rest, "蚂蚁搬运树叶。" * 20])
    composer = SpanComposer(tokenizer=len)
    hits = hits_of(store, {0: 0.5, 1: 0.5})
    composed = composer.compose(hits, store, query="蜜蜂冬天吃什么？", window=0, token_budget=120)
    assert answer in composed.text
    best = composed.trace.units[0]
    place = store["d", 0].text.index(answer)
    assert best.char_start is not None
    assert best.char_start <= place < best.char_start + best.length


def test_one_hit_is_enough() -> None:
    composed = made({0: 0.9}, k=1, token_budget=80)
    assert ANSWER in composed.text
    assert made({0: 0.9, 1: 0.8}, k=1).dropped[0].reason == "beyond_k"


@pytest.mark.parametrize("budget", range(11))
@pytest.mark.parametrize("query", [QUESTION, "?", "蜜蜂"])
def test_small_budgets_hold(budget: int, query: str) -> None:
    composed = made(token_budget=budget, query=query)
    assert composed.tokens == count_words(composed.text) <= budget
    assert composed.text or composed.warnings


# ---- confidence and trace


def test_confidence_is_for_the_calibrated_scorer() -> None:
    assert made(scoring="weighted").confidence is None
    assert made(query=None).confidence is None
    assert made().confidence is None, "what scores of at most 1 without embeddings mean is not known"
    confidence = made(WORDS).confidence
    assert confidence is not None
    assert 0.0 <= confidence <= 1.0
    assert compose([], STORE, query=QUESTION).confidence is None


def test_a_question_that_is_answered_has_more_confidence_than_nonsense() -> None:
    answered, nonsense = made(WORDS).confidence, made(WORDS, query="zygote quaternion xylophone").confidence
    assert answered is not None
    assert nonsense is not None
    assert answered > nonsense


def test_the_trace_says_why_each_unit_got_its_value() -> None:
    composed = made(token_budget=70)
    units = composed.trace.units
    assert [unit.probability for unit in units] == sorted((unit.probability for unit in units), reverse=True)
    assert max(unit.value for unit in units) == 1.0
    assert any(unit.selected for unit in units)
    assert not all(unit.selected for unit in units)
    assert all(unit.reasons for unit in units)
    for unit in units:
        sizes = [abs(moved) for _, moved in unit.reasons]
        assert sizes == sorted(sizes, reverse=True)
        text = "".join(chunk.text for chunk in STORE.values())
        assert unit.char_start is not None
        assert text[unit.char_start :].startswith(unit.beginning)
    assert Composition.from_dict(composed.to_dict(trace=True)).trace.units == units
    assert made(scoring="weighted").trace.units == ()


# ---- with other options


def test_quotas_share_the_budget_between_lists() -> None:
    store = {**STORE, **tile("e", ["Snow keeps the hive warm. " * 10])}
    lists = [hits_of(store, {0: 0.9}), hits_of(store, {0: 0.9}, "e")]
    said: dict[str, Any] = {"query": QUESTION, "window": 0, "token_budget": 120}
    both = compose(lists, store, quotas=(1.0, 1.0), **said)
    assert {span.doc_id for span in both.spans} == {"d", "e"}
    assert both.tokens <= 120


def test_pinned_passages_come_first_and_are_not_repeated() -> None:
    pinned = make_chunk("p", 0, "Prices are in euros.")
    composed = made(pinned=(pinned, STORE["d", 0]), token_budget=300)
    assert [span.pinned for span in composed.spans[:2]] == [True, True]
    assert composed.text.count(ANSWER) == 1


def test_what_is_excluded_is_cut_out_of_the_middle_of_a_unit() -> None:
    store = tile("d", ["Bees rest. In winter bees live on honey only. They wake in spring."])
    hits = hits_of(store, {0: 0.9})
    composed = compose(hits, store, query=QUESTION, exclude="In winter bees live on honey only.")
    assert "honey" not in composed.text
    assert "Bees rest." in composed.text
    assert "They wake in spring." in composed.text
    assert len(composed.spans) == 2


def test_an_excluded_chunk_is_listed() -> None:
    composed = made(exclude=(STORE["d", 0],), effort="full")
    assert [(hit.chunk_id, hit.reason) for hit in composed.dropped] == [(0, "excluded")]
    assert ANSWER not in composed.text


def test_a_higher_price_of_tokens_stops_early() -> None:
    assert made(min_value=0.6).tokens < made(min_value=0.0).tokens
    assert made(min_value=1.0).spans == ()


def test_parents_are_swapped_in() -> None:
    sentences = ["Bees rest. ", "In winter bees live on honey. ", "They wake in spring. "]
    store = tile("d", sentences, parent_id="winter")
    composed = compose(hits_of(store, {0: 0.4, 1: 0.9}), store, {"winter": "".join(sentences)}, query=QUESTION,
                       window=0, return_parents="auto")  # fmt: skip
    assert [span.parent_id for span in composed.spans] == ["winter"]


def test_boosts_move_what_is_shown() -> None:
    def wasps(chunk: Any) -> float:
        return 9.0 if "Wasps" in chunk.text else 0.0

    assert "Wasps" not in made(token_budget=60).text
    assert "Wasps" in made(token_budget=60, boosts=wasps).text


# ---- keep_top


def test_the_best_hits_are_shown_whole() -> None:
    assert shown_ids(made(token_budget=70).spans) == [0]
    composed = made({1: 0.9, 0: 0.5}, token_budget=160, keep_top=1)
    assert STORE["d", 1].text.strip() in composed.text
    assert ANSWER in composed.text  # the rest goes to what is worth most
    assert not composed.warnings


def test_hits_are_kept_best_first_as_far_as_they_fit() -> None:
    composed = made({2: 0.9, 1: 0.8, 0: 0.1}, token_budget=70, keep_top=2)
    assert STORE["d", 2].text.strip() in composed.text
    assert "keep_top=2: hit ('d', 1) is not shown whole" in "".join(composed.warnings)
    assert composed.tokens <= 70


def test_what_does_not_fit_does_not_keep_the_next_from_being_shown() -> None:
    composed = made({0: 0.9, 1: 0.8}, token_budget=60, keep_top=2)
    assert STORE["d", 1].text.strip() in composed.text
    assert "hit ('d', 0) is not shown whole" in "".join(composed.warnings)


def test_kept_hits_count_in_max_spans() -> None:
    composed = made({1: 0.9, 0: 0.5}, keep_top=1, max_spans=1, run_cost=0.0)
    assert len(composed.spans) == 1
    assert STORE["d", 1].text.strip() in composed.text


def test_of_a_kept_hit_what_is_excluded_stays_away() -> None:
    store = tile("d", ["Wasps build with paper. Nobody knows why they do. Ants carry leaves."])
    composed = compose(hits_of(store, {0: 1.0}), store, query=QUESTION, keep_top=1, min_value=1.0,
                       exclude="Nobody knows why they do.")  # fmt: skip
    assert "Nobody" not in composed.text
    assert "Wasps build with paper." in composed.text
    assert "Ants carry leaves." in composed.text
    assert not composed.warnings


def test_of_a_repeated_text_the_better_copy_is_kept() -> None:
    text = STORE["d", 1].text
    store = {**STORE, **tile("e", [text])}
    hits = [*hits_of(store, {1: 0.9}), *hits_of(store, {0: 0.9}, "e")]
    composed = compose(hits, store, query=QUESTION, window=0, keep_top=2)
    assert composed.text.count(text.strip()) == 1
    assert not composed.warnings


def test_lists_with_quotas_share_what_kept_hits_leave() -> None:
    lists = [hits_of(STORE, {1: 0.9}), hits_of(STORE, {0: 0.9})]
    said: dict[str, Any] = {"query": QUESTION, "window": 0, "token_budget": 130}
    composed = compose(lists, STORE, quotas=(0.0, 1.0), keep_top=2, **said)
    assert composed.tokens <= 130
    assert any(STORE["d", i].text.strip() in composed.text for i in (0, 1))


@pytest.mark.parametrize("scoring", ["weighted", "calibrated"])
@pytest.mark.parametrize("unit", ["unit", "chunk", "span"])
def test_hits_are_kept_by_every_scorer(scoring: str, unit: str) -> None:
    composed = made({2: 0.9, 0: 0.1}, token_budget=60, keep_top=1, scoring=scoring, selection_unit=unit)
    assert STORE["d", 2].text.strip() in composed.text


# ---- max_tokens_per_document

TWO = {**STORE, **tile("e", ["In winter the hive is quiet. " * 20])}
TWO_HITS = [*hits_of(TWO, SCORES), *hits_of(TWO, {0: 0.2}, "e")]


def by_document(composed: Composition) -> dict[str, int]:
    spent: dict[str, int] = {}
    for span in composed.spans:
        spent[span.doc_id] = spent.get(span.doc_id, 0) + span.token_count
    return spent


@pytest.mark.parametrize("max_spans", [None, 2])
@pytest.mark.parametrize("cap", [20, 60, 100])
def test_no_document_has_more_than_its_cap(max_spans: int | None, cap: int) -> None:
    composed = compose(TWO_HITS, TWO, query=QUESTION, window=0, max_spans=max_spans, max_tokens_per_document=cap)
    assert composed.spans
    assert max(by_document(composed).values()) <= cap
    assert by_document(compose(TWO_HITS, TWO, query=QUESTION, window=0))["d"] > cap


def test_what_one_document_may_not_have_goes_to_the_others() -> None:
    said: dict[str, Any] = {"query": QUESTION, "window": 0, "token_budget": 120, "boosts": lambda chunk: (
        3.0 if chunk.metadata.doc_id == "d" else 0.0)}  # fmt: skip
    free, capped = (
        by_document(compose(TWO_HITS, TWO, **said, effort="full", max_tokens_per_document=cap)) for cap in (None, 60)
    )
    assert free["d"] > 60 >= capped["d"]
    assert capped["e"] > free.get("e", 0)


def test_a_cap_below_every_unit_cuts_the_best_one() -> None:
    composed = made(max_tokens_per_document=5)
    assert 0 < sum(by_document(composed).values()) <= 5
    assert "was cut to fit max_tokens_per_document=5" in "".join(composed.warnings)


def test_what_the_cap_keeps_out_is_told() -> None:
    (gone, *_) = made({1: 0.9, 2: 0.5}, max_tokens_per_document=50).dropped
    assert gone.reason == "budget"
    assert "max_tokens_per_document=50 of 'd'" in gone.detail


def test_pinned_passages_do_not_count_in_the_cap() -> None:
    pinned = make_chunk("d", 9, "Prices are in euros. " * 9)
    composed = made(pinned=(pinned,), max_tokens_per_document=60)
    assert sum(span.token_count for span in composed.spans if not span.pinned) in range(1, 61)


def test_a_hit_above_the_cap_is_not_kept() -> None:
    composed = made(keep_top=1, max_tokens_per_document=60)
    assert "hit ('d', 0) is not shown whole" in "".join(composed.warnings)
    assert max(by_document(composed).values()) <= 60


def test_lists_with_quotas_keep_the_cap_together() -> None:
    lists = [hits_of(TWO, SCORES), hits_of(TWO, {1: 0.9, 2: 0.5}), hits_of(TWO, {0: 0.2}, "e")]
    composed = compose(lists, TWO, query=QUESTION, window=0, quotas="equal", max_tokens_per_document=60)
    assert max(by_document(composed).values()) <= 60
    assert set(by_document(composed)) == {"d", "e"}


def test_a_hit_whose_beginning_another_shows_is_dropped_for_what_the_rest_is_worth() -> None:
    shared = "They keep warm by shivering, and those outside change places with those within when they are cold. " * 2
    store = bare("d", [QUEEN + ANSWER + " " + shared, shared + DRONES])
    first_is_better = (lambda chunk: 0.0 if chunk.metadata.chunk_id else 5.0,)
    said: dict[str, Any] = {"query": QUESTION, "window": 0, "min_value": 0.5, "boosts": first_is_better}
    composed = compose(hits_of(store, {0: 0.9, 1: 0.5}), store, **said)
    assert composed.spans[0].text.endswith(shared.strip())
    assert [(hit.chunk_id, hit.reason) for hit in composed.dropped] == [(1, "no_value")]


def test_the_best_is_shown_where_only_counting_ahead_for_markers_leaves_it_no_room() -> None:
    store = tile("d", ["Honey keeps bees alive in winter, all of them. ", "Ants carry leaves."])
    hits = hits_of(store, {0: 0.9, 1: 0.2})
    for budget in (10, 12, 14):
        composed = compose(hits, store, window=0, scoring="weighted", token_budget=budget)
        assert composed.spans[0].text.startswith(store["d", 0].text.strip())


def test_a_kept_hit_is_shown_before_a_longer_one_is_cut() -> None:
    store = tile("d", ["Ants carry leaves home. ", "Bees live on honey in winter " * 6])
    said: dict[str, Any] = {"window": 0, "scoring": "weighted", "token_budget": 20}
    scores = {0: 0.9, 1: 0.8}
    composed = compose(hits_of(store, scores), store, keep_top=1, **said)
    assert composed.spans[0].text == store["d", 0].text.strip()


# ---- the other ways to call


def plain(composed: Composition) -> dict[str, Any]:
    data = composed.to_dict(trace=True)
    for step in data["trace"]["steps"]:
        del step["microseconds"]
    return data


def test_async_and_batch_give_the_same() -> None:
    composer = SpanComposer(tokenizer=count_words)
    hits = hits_of(STORE, SCORES)
    said: dict[str, Any] = {"query": QUESTION, "keep_top": 1, "max_tokens_per_document": 150}
    expected = composer.compose(hits, STORE, **said)
    assert plain(asyncio.run(composer.acompose(hits, STORE, **said))) == plain(expected)
    request = {"seed_hits": hits, "chunk_store": STORE, **said}
    for workers in (1, 2):
        batch = composer.compose_batch([request, {**request, "scoring": "weighted"}], max_workers=workers)
        assert batch[0].composition is not None
        assert batch[1].composition is not None
        assert plain(batch[0].composition) == plain(expected)
        assert batch[1].composition.confidence is None
    spans = composer.retrieve(hits, STORE, **said)
    assert [span.text for span in asyncio.run(composer.aretrieve(hits, STORE, **said))] == [s.text for s in spans]
    assert [span.text for span in retrieve(hits, STORE, **said)] == [span.text for span in spans]


def test_hits_alone_without_neighbours_in_a_store() -> None:
    hits = [SeedHit(chunk, 0.5) for chunk in STORE.values()]
    assert ANSWER in compose(hits, {}, query=QUESTION, token_budget=70).text


def test_a_unit_that_begins_in_a_repeated_text_and_goes_on_is_shown() -> None:
    head = "Annual report of the company, general part, with all figures about the answer: the profit was"
    store: dict[tuple[str, int], Chunk] = {}
    for doc_id, tail in (("2022", " twelve million. "), ("2023", " forty-two million. ")):
        store[doc_id, 0] = Chunk(head, ChunkMetadata(doc_id, 0, 0, len(head)))
        store[doc_id, 1] = Chunk(tail, ChunkMetadata(doc_id, 1, len(head), len(head) + len(tail)))
    hits = [SeedHit(store["2022", 0], 0.9), SeedHit(store["2022", 1], 0.85), SeedHit(store["2023", 1], 0.8)]
    made = SpanComposer(RetrievalConfig(token_budget=100), tokenizer=lambda text: len(text.split())).compose(
        hits, store, query="What was the profit in 2023: the answer?"
    )
    assert "forty-two million" in made.text
    assert not made.dropped


@pytest.mark.parametrize(
    ("query", "answer"),
    [("किताब कहाँ है?", "यह किताब मेज़ पर रखी है।"), ("날씨 어때?", "오늘은 날씨가 아주 맑고 따뜻하다.")],
)
def test_words_of_scripts_with_vowel_signs_and_particles_are_found(query: str, answer: str) -> None:
    texts = [f"{number} Nothing of this has to do with anything that was asked here today." for number in range(8)]
    texts[5] = answer
    store = {("d", i): Chunk(text, ChunkMetadata("d", i)) for i, text in enumerate(texts)}
    hits = [SeedHit(chunk, 0.5) for chunk in store.values()]
    composer = SpanComposer(RetrievalConfig(window=0, token_budget=12), tokenizer=lambda text: len(text.split()))
    assert answer in composer.compose(hits, store, query=query).text
