"""Parents: the bonus for holding a whole one, and swapping them in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from support.strategies import bare, compose, hits_of, make_chunk, make_store, sentences, tile

from retrivex import Chunk, ChunkMetadata, Composition, SeedHit
from retrivex.merging.parents import place_parent
from retrivex.model.chunk import MAX_CHUNK_ID
from retrivex.stores import InMemoryChunkStore

TEXTS = sentences("d", 6)
STORE = {
    key: make_chunk("d", key[1], chunk.text, chunk.metadata.char_start, parent_id=f"p{key[1] // 3}")
    for key, chunk in tile("d", TEXTS).items()
}
PARENTS = {"p0": "".join(TEXTS[:3]), "p1": "".join(TEXTS[3:])}


def made(scores: dict[int, float], parents: Any = PARENTS, store: Any = STORE, **said: Any) -> Composition:
    said = {"window": 0, "return_parents": "auto", **said}
    return compose(hits_of(STORE, scores), store, parents, **said)


def test_a_span_that_covers_most_of_its_parent_becomes_it() -> None:
    composition = made({0: 0.9, 1: 0.8})
    (span,) = composition.spans
    assert span.text == PARENTS["p0"]
    assert (span.parent_id, span.char_start, span.char_end, span.exact) == ("p0", 0, len(PARENTS["p0"]), True)
    assert composition.tokens == len(composition.text.split())


def test_two_spans_of_one_parent_become_one() -> None:
    composition = made({0: 0.9, 2: 0.8}, run_cost=0.0)
    assert [span.parent_id for span in composition.spans] == ["p0"]
    assert composition.text.count("d0a") == 1
    assert composition.dropped == ()


@pytest.mark.parametrize(
    "said",
    [
        {"return_parents": "never"},
        {"return_parents": 0.9},
        {"max_parent_chars": 50},
        {"token_budget": 20},
        {"parents": None},
        {"parents": {}},
        {"parents": {"p0": "Something else entirely."}},
    ],
    ids=str,
)
def test_what_keeps_a_parent_out(said: dict[str, Any]) -> None:
    composition = made({0: 0.9, 1: 0.8}, **said)
    assert [span.parent_id for span in composition.spans] == [None]
    assert composition.spans[0].text == (TEXTS[0] + TEXTS[1]).rstrip()


def test_a_parent_that_is_too_long_is_told() -> None:
    composition = made({0: 0.9, 1: 0.8}, max_parent_chars=50)
    warning = "1 parent is longer than max_parent_chars (50), first 'p0' with"
    assert [said.startswith(warning) for said in composition.warnings].count(True) == 1
    for options in ({}, {"max_parent_chars": 50, "return_parents": "never"}):
        assert not any("max_parent_chars" in said for said in made({0: 0.9, 1: 0.8}, **options).warnings)


def test_each_parent_for_itself() -> None:
    composition = made({0: 0.9, 1: 0.8, 5: 0.1}, run_cost=0.0)
    assert {span.parent_id for span in composition.spans} == {"p0", None}


def test_as_many_parents_are_swapped_in_as_there_is_room_for() -> None:
    scores = {0: 0.9, 1: 0.8, 3: 0.7, 4: 0.6}
    assert [span.parent_id for span in made(scores, run_cost=0.0).spans] == ["p0", "p1"]
    (one, other) = made(scores, run_cost=0.0, token_budget=made(scores, run_cost=0.0).tokens - 1).spans
    assert {one.parent_id, other.parent_id} == {"p0", None}


def test_citations_point_into_the_document() -> None:
    source = "".join(TEXTS)
    composition = made({3: 0.9, 4: 0.8})
    for cited in composition.citations:
        assert source[cited.char_start : cited.char_end] == composition.text[cited.start : cited.end]


def test_a_span_over_the_edge_of_a_parent_is_left_alone() -> None:
    composition = made({2: 0.9, 3: 0.8})
    assert composition.text.count("d2a") == composition.text.count("d3a") == 1


def test_a_span_over_the_edge_of_a_parent_without_offsets_is_left_alone() -> None:
    chunks = [
        make_chunk("d", at, text, parent_id=f"p{at // 5}", chunk_count=10) for at, text in enumerate(sentences("d", 10))
    ]
    store = make_store(*chunks)
    parents = {f"p{n}": "".join(chunk.text for chunk in chunks[5 * n : 5 * n + 5]) for n in range(2)}
    scores = {0: 1.0, 1: 0.9, 2: 0.8, 4: 0.7, 5: 0.6}
    composition = compose(hits_of(store, scores), store, parents, window=0, return_parents="auto", run_cost=0.0)
    assert [composition.text.count(f"d{at}a") for at in scores] == [1, 1, 1, 1, 1]


class ParentStore:
    """Counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def fetch_parents(self, parent_ids: Sequence[str], scope: Any = None) -> dict[str, Chunk | str]:
        self.asked.append(sorted(parent_ids))
        return {name: PARENTS[name] for name in parent_ids if name in PARENTS}


def test_all_parents_in_one_request() -> None:
    store = ParentStore()
    composition = made({0: 0.9, 1: 0.8, 4: 0.7}, store)
    assert store.asked == [["p0", "p1"]]
    assert composition.trace.requests == 3  # the chunks, the parents, the chunks around those that are known


def test_a_chunk_store_with_parents_is_asked_for_them() -> None:
    store = InMemoryChunkStore(STORE.values(), PARENTS)
    assert made({0: 0.9, 1: 0.8}, None, store).spans[0].parent_id == "p0"


def test_a_failing_parent_store_is_reported() -> None:
    class Failing(ParentStore):
        def fetch_parents(self, parent_ids: Sequence[str], scope: Any = None) -> dict[str, Chunk | str]:
            raise ConnectionError("gone away")

    composition = made({0: 0.9}, Failing())
    assert composition.spans[0].text == TEXTS[0].rstrip()
    assert any("gone away" in warning for warning in composition.warnings)


def test_a_parent_of_another_scope_is_not_shown() -> None:
    secret = {"p0": make_chunk("d", 0, PARENTS["p0"], 0, scope="zeta")}
    assert made({0: 0.9, 1: 0.8}, secret).spans[0].parent_id is None


SHORT = bare("d", ["Bees fly. ", "Ants walk. ", "Wasps sting all. "], parent_id="p", chunk_count=3)
EARLIER = compose(hits_of(SHORT, {0: 0.9, 1: 0.8}), SHORT, window=0)  # in one span
BESIDE = bare("other", ["Bees fly. "])["other", 0]


@pytest.mark.parametrize("option", ["exclude", "pinned"])
@pytest.mark.parametrize("item", [SHORT["d", 0], *EARLIER.spans, BESIDE], ids=["chunk", "span", "same text"])
def test_a_parent_that_holds_a_short_passage_without_offsets_does_not_show_it_again(option: str, item: Any) -> None:
    hits = hits_of(SHORT, {1: 1.0, 2: 0.9} if isinstance(item, Chunk) else {2: 0.9})
    text = "".join(chunk.text for chunk in SHORT.values())
    options: dict[str, Any] = {"return_parents": 0.1, "window": 0}
    assert compose(hits, SHORT, {"p": text}, **options).text.count("Bees") == 1
    composition = compose(hits, SHORT, {"p": text}, **options, **{option: [item]})
    assert [span.parent_id for span in composition.spans if not span.pinned] == [None]
    assert composition.text.count("Bees") == (1 if option == "pinned" else 0)


def test_a_parent_does_not_show_a_sentence_that_is_excluded() -> None:
    store = bare("d", ["Bees fly. Ants walk. ", "Wasps sting all. "], parent_id="p", chunk_count=2)
    text = "".join(chunk.text for chunk in store.values())
    options: dict[str, Any] = {"return_parents": "auto", "window": 0, "exclude": ["Ants walk."]}
    assert "Ants" not in compose(hits_of(store, {0: 1.0, 1: 0.9}), store, {"p": text}, **options).text


def test_a_parent_whose_place_is_not_known_does_not_show_what_is_excluded_by_its_place() -> None:
    store = tile("d", ["Bees fly. ", "Ants walk. ", "Wasps sting. "], parent_id="p", chunk_count=3)
    hits = hits_of(store, {0: 1.0, 2: 0.9})
    parents = {"p": Chunk("".join(chunk.text for chunk in store.values()), ChunkMetadata("d", 0, 0, 5))}
    options: dict[str, Any] = {"return_parents": 0.1, "window": 0}
    (whole,) = compose(hits, store, parents, **options).spans
    assert (whole.parent_id, whole.char_start) == ("p", None)
    composition = compose(hits, store, parents, exclude=[("d", 10, 21)], **options)
    assert [span.parent_id for span in composition.spans] == [None, None]


@pytest.mark.parametrize("offsets", [True, False])
@pytest.mark.parametrize("distance", [1, 129, 9_000_000_000_000, MAX_CHUNK_ID])
def test_children_any_distance_apart_cost_no_time(distance: int, offsets: bool) -> None:
    texts = ["Bees fly by day and not at all by night. ", "Ants walk by night and not at all by day. "]
    chunks = [
        make_chunk("d", at, text, start if offsets else None, parent_id="p")
        for at, text, start in zip((0, distance), texts, (0, len(texts[0])), strict=True)
    ]
    hits = [SeedHit(chunk, 1.0) for chunk in chunks]
    composition = compose(hits, make_store(*chunks), {"p": "".join(texts)}, return_parents="auto", window=0)
    assert [span.parent_id for span in composition.spans] == ["p"]
    assert [chunk.metadata.chunk_id in (0, distance) for chunk in composition.spans[0].chunks] == (
        [True, True] if distance == 1 else [True]
    )


def test_where_a_parent_stands() -> None:
    child = STORE["d", 4]
    start = STORE["d", 3].metadata.char_start
    assert place_parent("p1", PARENTS["p1"], [child]).char_start == start
    assert place_parent("p1", "other text", [child]).char_start is None
    lying = Chunk("short", child.metadata.__class__("d", 0, 0, 99))
    assert place_parent("p1", lying, [child]).char_start is None


def test_without_offsets_a_parent_can_still_be_swapped_in() -> None:
    store = bare("d", TEXTS, parent_id="p")
    composition = compose(
        hits_of(store, {0: 0.9, 1: 0.8, 2: 0.7, 3: 0.6}), store, {"p": "".join(TEXTS)}, window=0, return_parents="auto"
    )
    assert composition.text.count("d0a") == 1


def test_a_parent_does_not_repeat_a_span_that_is_only_partly_located() -> None:
    source = "Alpha one two. Beta three four. Gamma five six."
    store = {
        ("d", 0): make_chunk("d", 0, source[:31], 0),
        ("d", 1): make_chunk("d", 1, "Not in the document at all."),
        ("d", 3): make_chunk("d", 3, source[15:], 15, parent_id="p"),
    }
    parents = {"p": make_chunk("d", 3, source[15:], 15)}
    composition = compose(hits_of(store, {0: 0.9, 1: 0.8, 3: 0.7}), store, parents, window=0, return_parents="auto")
    assert composition.text.count("Beta") == 1


def test_a_parent_without_a_place_takes_in_its_own_children_alone() -> None:
    store = {
        ("d", 0): make_chunk("d", 0, "Bees sleep. Ants dig.", parent_id="p"),
        ("d", 1): make_chunk("d", 1, "Flies buzz.", 400, parent_id="q"),
        ("d", 2): make_chunk("d", 2, "Ants dig.", 500, parent_id="q"),
    }
    parents = {"p": make_chunk("d", 0, "Bees sleep. Ants dig. Wasps sting.")}
    composition = compose(hits_of(store, {0: 0.9, 2: 0.8}), store, parents, window=0, return_parents="auto")
    assert {(span.parent_id, tuple(span.chunk_ids)) for span in composition.spans} == {("p", (0,)), (None, (2,))}


def test_a_parent_without_a_place_does_not_repeat_what_chunks_of_others_show() -> None:
    source = "Alpha one two. Beta three four. Gamma five six. Delta seven."
    store = {
        ("d", 0): make_chunk("d", 0, source[:31], 0, parent_id="p", chunk_count=3),
        ("d", 1): make_chunk("d", 1, source[15:47], 15, parent_id="q", chunk_count=3),
        ("d", 2): make_chunk("d", 2, source[48:], 48, parent_id="q", chunk_count=3),
    }
    parents = {"p": make_chunk("d", 0, source[:31], 0), "q": make_chunk("d", 1, source[15:])}
    composition = compose(hits_of(store, {0: 0.9, 2: 0.8}), store, parents, window=0, return_parents=0.2)
    assert composition.text.count("Beta") == 1
    assert "Delta" in composition.text


def _scoped(scopes: Sequence[str | None], count: int | None = 6) -> dict[tuple[str, int], Chunk]:
    store = {}
    for key, chunk in tile("d", TEXTS).items():
        place = chunk.metadata
        store[key] = Chunk(
            chunk.text,
            ChunkMetadata(
                *key,
                place.char_start,
                place.char_end,
                parent_id="p",
                scope=scopes[key[1]],
                page=key[1] + 1,
                chunk_count=count,
            ),
        )
    return store


@pytest.mark.parametrize("window", [0, 1, 2])
@pytest.mark.parametrize("hidden", range(6))
@pytest.mark.parametrize("scope", [None, "acme"])
@pytest.mark.parametrize("make_store", [dict, lambda store: InMemoryChunkStore(store.values())], ids=["dict", "store"])
def test_a_parent_does_not_show_what_another_scope_owns(
    window: int, hidden: int, scope: str | None, make_store: Any
) -> None:
    # fetched or not: a hidden chunk outside the windows was shown once
    store = _scoped([("other" if at == hidden else scope) for at in range(6)])
    seen = {key: 0.9 - key[1] / 10 for key in store if key[1] != hidden}
    hits = [SeedHit(store[key], score) for key, score in seen.items()][:3]
    made = compose(hits, make_store(store), {"p": "".join(TEXTS)}, window=window, return_parents=0.2, scope=scope)
    assert TEXTS[hidden].strip() not in made.text
    assert made.text


@pytest.mark.parametrize("scope", [None, "acme"])
def test_a_text_is_shown_only_where_chunks_that_may_be_seen_tell_all_of_it(scope: str | None) -> None:
    store = _scoped([scope] * 6)
    said: dict[str, Any] = {"window": 0, "return_parents": "auto", "scope": scope}
    whole = "".join(TEXTS)
    shown = compose(hits_of(store, dict.fromkeys(range(4), 0.5)), store, {"p": whole}, **said)
    assert [span.parent_id for span in shown.spans] == ["p"]
    more = compose(hits_of(store, dict.fromkeys(range(4), 0.5)), store, {"p": whole + " and a secret"}, **said)
    assert "secret" not in more.text


def test_a_chunk_that_quotes_a_text_does_not_open_it() -> None:
    store = make_store(make_chunk("zz", 0, "The code of the vault", parent_id="q"))
    parents = {"q": "Acme only. The code of the vault is 4711."}
    made = compose(hits_of(store, {0: 1.0}, "zz"), store, parents, return_parents=0.1)
    assert "4711" not in made.text
    assert made.text


@pytest.mark.parametrize("window", [0, 1, 2])
@pytest.mark.parametrize("hidden", range(6))
@pytest.mark.parametrize("scope", [None, "acme"])
@pytest.mark.parametrize("with_offsets", [True, False])
@pytest.mark.parametrize("count", [6, None])
def test_a_parent_of_an_allowed_scope_does_not_show_a_chunk_of_another(
    window: int, hidden: int, scope: str | None, with_offsets: bool, count: int | None
) -> None:
    store = _scoped([("other" if at == hidden else scope) for at in range(6)], count)
    hits = [SeedHit(store[key], 0.9 - key[1] / 10) for key in store if key[1] != hidden][:3]
    parent = make_chunk("d", 0, "".join(TEXTS), 0 if with_offsets else None, scope=scope)
    said: dict[str, Any] = {"window": window, "return_parents": 0.1, "scope": scope}
    seen = [chunk for chunk in store.values() if chunk.metadata.scope == scope]
    # a store that says whose a chunk is, one that keeps it back, and one that does not have it
    tells, filters, lacks = (
        compose(hits, each, {"p": parent}, **said)
        for each in (store, InMemoryChunkStore(store.values()), InMemoryChunkStore(seen))
    )
    assert TEXTS[hidden].strip() not in filters.text
    assert filters.text
    assert tells.spans == filters.spans == lacks.spans
    assert any("1 parent is not shown, first 'p'" in said for said in filters.warnings)
    assert tells.warnings == filters.warnings == lacks.warnings


def test_a_chunk_of_another_scope_behind_a_parent_does_not_hide_it() -> None:
    store = _scoped(["acme"] * 4 + ["other"] * 2)
    parent = make_chunk("d", 0, "".join(TEXTS[:4]), 0, scope="acme")
    made = compose(
        hits_of(store, {1: 0.9, 2: 0.8}), store, {"p": parent}, window=2, return_parents="auto", scope="acme"
    )
    assert [span.parent_id for span in made.spans] == ["p"]


@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize("with_offsets", [True, False])
def test_a_chunk_is_missed_behind_others_of_the_parent(hidden: int, with_offsets: bool) -> None:
    store = _scoped([("other" if at == hidden else "acme") for at in range(6)])
    parent = make_chunk("d", 0, "".join(TEXTS), 0 if with_offsets else None, scope="acme")
    said: dict[str, Any] = {"window": 0, "return_parents": 0.1, "scope": "acme"}
    made = compose(hits_of(store, {2: 0.9, 3: 0.8}), InMemoryChunkStore(store.values()), {"p": parent}, **said)
    assert TEXTS[hidden].strip() not in made.text
    assert made.text


class Filtering(InMemoryChunkStore):
    """Keeps back what the caller may not see, and fails from the second request on."""

    asked = 0

    def fetch(self, windows: Any, scope: Any = None) -> list[Chunk]:
        self.asked += 1
        if self.asked > 1:
            raise ConnectionError("gone away")
        return super().fetch(windows, scope)


def test_a_parent_is_not_shown_where_the_chunks_around_cannot_be_asked_for() -> None:
    store = _scoped(["acme"] * 3 + ["other"] + ["acme"] * 2)
    parent = make_chunk("d", 0, "".join(TEXTS), 0, scope="acme")
    said: dict[str, Any] = {"window": 0, "return_parents": 0.1, "scope": "acme"}
    made = compose(hits_of(store, {1: 0.9, 2: 0.8}), Filtering(store.values()), {"p": parent}, **said)
    assert TEXTS[3].strip() not in made.text
    assert any("1 parent is not shown, first 'p'" in said for said in made.warnings)
    # the hits say all of this one
    parent = make_chunk("d", 0, TEXTS[1] + TEXTS[2], len(TEXTS[0]), scope="acme")
    made = compose(hits_of(store, {1: 0.9, 2: 0.8}), Filtering(store.values()), {"p": parent}, **said)
    assert [span.parent_id for span in made.spans] == ["p"]


def test_a_parent_shows_words_of_its_own_where_no_chunk_is_missing() -> None:
    source = "# Bees\n\nBees sleep. Bees eat. Bees fly.\n\n# Ants\n\nAnts dig."
    places = [(8, 20), (20, 30), (30, 39), (49, 58)]
    store = make_store(
        *(make_chunk("d", i, source[a:b], a, parent_id="p" if i < 3 else "q") for i, (a, b) in enumerate(places))
    )
    parents = {"p": make_chunk("d", 0, source[:41], 0), "q": make_chunk("d", 1, source[41:], 41)}
    said: dict[str, Any] = {"window": 0, "return_parents": 0.1}
    shown = compose(hits_of(store, {0: 0.9, 3: 0.8}), InMemoryChunkStore(store.values()), parents, **said)
    # nothing says that the last chunk is the last one, but more of them would stand behind it
    assert "# Bees\n\nBees sleep. Bees eat. Bees fly." in shown.text
    assert "# Ants\n\nAnts dig." in shown.text
    del store["d", 1]
    gone = compose(hits_of(store, {0: 0.9, 3: 0.8}), InMemoryChunkStore(store.values()), parents, **said)
    assert "Bees eat" not in gone.text
    assert "# Ants\n\nAnts dig." in gone.text


@pytest.mark.parametrize("hidden", [None, 40, 199])
def test_a_parent_of_more_chunks_than_are_asked_for_shows_only_what_they_say(hidden: int | None) -> None:
    texts = [f"w{at:03} " for at in range(200)]
    store = tile("d", texts, parent_id="p")
    if hidden is not None:
        del store["d", hidden]
    parent = make_chunk("d", 0, "".join(texts), 0)
    said: dict[str, Any] = {"window": 0, "return_parents": 0.01}
    hits = hits_of(store, dict.fromkeys((30, 60, 100), 0.5))
    made = compose(hits, InMemoryChunkStore(store.values()), {"p": parent}, **said)
    assert not any(span.parent_id for span in made.spans)  # chunks 165 to 199 were not asked for
    short = make_chunk("d", 0, "".join(texts[:165]), 0)
    made = compose(hits, InMemoryChunkStore(store.values()), {"p": short}, **said)
    assert [span.parent_id for span in made.spans] == ([None] * len(made.spans) if hidden == 40 else ["p"])


@pytest.mark.parametrize("first", [True, False])
def test_a_chunk_that_ends_with_a_parent_does_not_open_its_beginning(first: bool) -> None:
    # and the other way round: it bounds the parent on one side only
    store = _scoped(["acme"] * 3 + (["other", "acme"] if first else ["acme", "other"]) + ["acme"])
    parent = make_chunk("d", 0, "".join(TEXTS[3:5]), len("".join(TEXTS[:3])), scope="acme")
    seen, hidden = (4, 3) if first else (3, 4)
    said: dict[str, Any] = {"window": 0, "return_parents": 0.1, "scope": "acme"}
    hits = [SeedHit(store["d", seen], 0.9), SeedHit(store["d", hidden], 0.8)]
    made = compose(hits, store, {"p": parent}, **said)
    assert TEXTS[hidden].strip() not in made.text
    assert TEXTS[seen].strip() in made.text


@pytest.mark.parametrize("as_chunk", [True, False])
def test_a_swapped_in_parent_says_which_chunks_it_shows(as_chunk: bool) -> None:
    store, text = _scoped([None] * 6), "".join(TEXTS)
    parent = make_chunk("d", 0, text, 0) if as_chunk else text
    said: dict[str, Any] = {"window": 1, "return_parents": 0.3}
    made = compose(hits_of(store, {1: 0.9}), store, {"p": parent}, **said)
    (span,) = made.spans
    assert span.text == text
    assert span.chunk_ids == [0, 1, 2, 3, 4, 5]
    assert [str(coverage) for coverage in made.coverage] == ["chunks 0-5 (6 in all)"]
    (cited,) = made.resolve(TEXTS[5].strip())
    assert (cited.chunk_id, cited.page) == (5, 6)


def test_learning_what_a_parent_holds_takes_one_request_more() -> None:
    store = _scoped([None] * 6)
    hits = hits_of(store, {1: 0.9})
    parents = {"p": "".join(TEXTS)}
    asked = [compose(hits, store, parents, window=1, return_parents=said).trace.requests for said in ("never", "auto")]
    assert asked == [2, 3]
