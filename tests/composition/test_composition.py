"""The answer and its account."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from fuzz.compositions import Bench, check_round_trip
from hypothesis import given
from support.properties import try_examples
from support.strategies import bare, cases, compose, hits_of, make_chunk, make_store, sentences, tile

from retrivex import Citation, Composition, RetrievalConfig, RetrivexError, SeedHit, SpanComposer, Window
from retrivex.composer import answer
from retrivex.errors import TokenizerError

SOURCE = "Bees live in hives. A hive has one queen. She lays all the eggs. Drones do nothing."
CUTS = (0, 20, 42, 65, len(SOURCE))
STORE = make_store(
    *(
        make_chunk("bees", i, SOURCE[a:b], a, page=1 + i // 2, heading_path=("Bees", f"Part {i}"), chunk_count=4)
        for i, (a, b) in enumerate(pairwise(CUTS))
    )
)


@pytest.fixture
def made() -> Composition:
    hits = hits_of(STORE, {1: 0.8, 3: 0.4}, "bees")
    return compose(hits, STORE, window=0, query="Who lays eggs?", ordering_strategy="score_desc")


def test_text_spans_and_tokens(made: Composition) -> None:
    assert made.text == "[1] A hive has one queen.\n\n[... 24 characters omitted ...]\n\n[2] Drones do nothing."
    assert [span.text for span in made.spans] == ["A hive has one queen.", "Drones do nothing."]
    assert made.tokens == len(made.text.split())
    assert (made.question, made.token_budget) == ("Who lays eggs?", 2000)


def test_citations_point_to_document_page_and_heading(made: Composition) -> None:
    first, second = made.citations
    assert first == Citation(1, 4, 25, "bees", 1, 20, 41, 1, ("Bees", "Part 1"))
    assert (second.number, second.page, second.heading_path) == (2, 2, ("Bees", "Part 3"))
    for cited in made.citations:
        assert made.text[cited.start : cited.end] == SOURCE[cited.char_start : cited.char_end]


@pytest.mark.parametrize(
    ("reference", "sources"),
    [
        ("[2]", ["Drones do nothing."]),
        (1, ["A hive has one queen."]),
        ("[2], [1]", ["Drones do nothing.", "A hive has one queen."]),
        ("[1][2]", ["A hive has one queen.", "Drones do nothing."]),
        ("[7]", []),
        ("one QUEEN", ["one queen"]),
        ('"has   one queen..."', ["has one queen"]),
        ("nothing like it", []),
        ("characters omitted", []),
    ],
)
def test_references_resolve_to_the_source(made: Composition, reference: Any, sources: list[str]) -> None:
    assert [SOURCE[c.char_start : c.char_end] for c in made.resolve(reference)] == sources


def test_a_quote_across_chunks_resolves_to_each() -> None:
    composition = compose(hits_of(STORE, {1: 1.0}, "bees"), STORE, stop_on_heading_change=False)
    parts = composition.resolve("one queen. She lays")
    assert [c.chunk_id for c in parts] == [1, 2]
    assert "".join(SOURCE[c.char_start : c.char_end] for c in parts) == "one queen. She lays"


def test_coverage(made: Composition) -> None:
    (coverage,) = made.coverage
    assert str(coverage) == "chunks 1, 3 (4 in all)"
    assert coverage.matched == ((1, 0.8), (3, 0.4))
    assert (coverage.max_score, coverage.mean_score) == (0.8, pytest.approx(0.6))
    wide = compose(hits_of(STORE, {1: 0.8}, "bees"), STORE, stop_on_heading_change=False, run_cost=0.0).coverage[0]
    assert str(wide) == "chunks 0-3 (4 in all)"
    assert wide.matched == ((1, 0.8),)


def test_the_account_is_made_when_it_is_read_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    for name in ("citations_of", "coverage_of"):
        make = getattr(answer, name)
        monkeypatch.setattr(answer, name, lambda *known, make=make, name=name: read.append(name) or make(*known))
    made = compose(hits_of(STORE, {1: 0.8, 3: 0.4}, "bees"), STORE, token_budget=12)
    assert made.text
    assert made.spans
    assert made.warnings == ()
    assert read == []
    assert made.coverage is made.coverage
    assert made.citations is made.citations
    assert read == ["coverage_of", "citations_of"]


def test_a_composition_that_was_not_read_yet_is_like_one_that_was(made: Composition) -> None:
    def fresh() -> Composition:
        hits = hits_of(STORE, {0: 0.1, 1: 0.8, 3: 0.4}, "bees")
        return compose(hits, STORE, window=0, query="Who lays eggs?", token_budget=12)

    read = fresh()
    assert read.dropped
    assert read.citations
    assert read.coverage
    assert fresh() == read
    assert repr(fresh()) == repr(read)
    assert fresh() != replace(read, dropped=())
    assert replace(read, dropped=()).dropped == ()
    assert replace(fresh(), text="other").dropped == read.dropped
    assert copy.deepcopy(fresh()) == read
    assert pickle.loads(pickle.dumps(fresh())) == read


@pytest.mark.parametrize("options", [{}, {"selection_unit": "unit"}, {"diversity": 0.5}])
@pytest.mark.parametrize("query", [None, "Who lays eggs?"])
def test_a_composition_can_be_pickled_before_it_is_read(query: str | None, options: dict[str, Any]) -> None:
    made = compose(hits_of(STORE, {0: 0.1, 3: 0.4}, "bees"), STORE, window=0, query=query, **options)
    assert json.loads(pickle.loads(pickle.dumps(made)).to_json()) == json.loads(made.to_json())


def test_every_step_is_traced(made: Composition) -> None:
    assert {"seeds", "expand", "merge", "score", "select", "render"} <= {step.name for step in made.trace.steps}
    assert all(step.microseconds >= 0 for step in made.trace.steps)
    assert made.trace.scorer == "calibrated"  # the question was given


def test_every_touched_chunk_has_a_note() -> None:
    store = tile("d", sentences("d", 6), heading_path=None)
    made = compose(hits_of(store, {1: 1.0}), store, token_budget=17, run_cost=0.0)
    notes = {note.chunk_id: note for note in made.trace.notes}
    assert sorted(notes) == [0, 1, 2, 3]
    assert notes[1].role == "seed"
    assert notes[0].role == "neighbour"
    assert {note.outcome for note in notes.values()} == {"selected", "dropped"}
    assert all(note.reason for note in notes.values() if note.outcome == "dropped")


def test_the_graph_shows_windows_seeds_and_what_is_shown() -> None:
    store = bare("d", sentences("d", 12))
    made = compose(hits_of(store, {1: 1.0, 3: 0.5, 9: 0.2}), store, window=1)
    graph = made.graph()
    assert set(graph) == {Window("d", 0, 3), Window("d", 2, 5), Window("d", 8, 11)}
    assert graph.edges[Window("d", 0, 3), Window("d", 2, 5)]["kind"] == "overlap"
    assert graph.nodes[Window("d", 0, 3)]["seeds"] == [1]
    assert 1 in graph.nodes[Window("d", 0, 3)]["shown"]


def test_dictionary_and_json_hold_everything(made: Composition) -> None:
    data = made.to_dict()
    assert data["schema"] == "retrivex.composition/1"
    assert json.loads(made.to_json()) == json.loads(json.dumps(data))
    again = Composition.from_dict(json.loads(made.to_json()))
    assert again == made
    assert again.to_dict() == data
    assert again.resolve("[2]") == made.resolve("[2]")


def test_the_trace_comes_only_when_asked_for(made: Composition) -> None:
    assert "trace" not in made.to_dict()
    whole = Composition.from_dict(json.loads(made.to_json(trace=True)))
    assert whole.trace.windows == made.trace.windows
    assert whole.to_dict(trace=True)["trace"] == json.loads(made.to_json(trace=True))["trace"]
    without = Composition.from_dict(made.to_dict())
    assert copy.deepcopy(without) == without == made
    with pytest.raises(RetrivexError, match=r"trace\.windows is missing.*to_dict\(trace=True\)"):
        without.graph()
    with pytest.raises(RetrivexError, match=r"trace\.make_unit_notes is missing"):
        _ = without.trace.units


def test_a_composition_prints_as_one_line() -> None:
    store = bare("d", sentences("d", 12)) | bare("e", sentences("e", 3))
    hits = [*hits_of(store, {1: 1.0, 9: 0.2}), SeedHit(store["e", 0], 0.5)]
    made = compose(hits, store, window=0, query="What do\nbees do?")
    first = str(made)
    assert re.fullmatch(r"Composition for 'What do bees do\?': 3 passages of 2 documents, \d+ of 2,000 tokens", first)
    assert repr(made) == f"<{first}>"
    assert str(compose([], {})) == "Composition: 0 passages of 0 documents, 0 of 2,000 tokens, 1 warning"
    assert len(str(replace(made, question="why " * 500))) < 160


def test_notebooks_show_the_passages_escaped() -> None:
    chunk = make_chunk("<d>", 0, "Bees & <b>wasps</b>.", heading_path=("Hives",))
    shown = compose([SeedHit(chunk, 1.0)], make_store(chunk))._repr_html_()
    assert "&lt;d&gt; &gt; Hives" in shown
    assert "Bees &amp; &lt;b&gt;wasps&lt;/b&gt;." in shown
    assert "<details>" not in shown


def test_notebooks_show_the_budget_as_a_bar_and_what_is_left_out() -> None:
    store = bare("d", sentences("d", 60))
    made = compose(hits_of(store, {n: 1 - n / 100 for n in range(0, 60, 2)}), store, window=0, token_budget=30)
    shown = made._repr_html_()
    first = made.spans[0]
    assert f'<progress value="{made.tokens}" max="30"></progress>' in shown
    assert f"chunk {first.chunk_ids[0]}, {first.token_count} tokens" in shown
    assert f"<summary>Hits left out, or shown in part: {len(made.dropped)}</summary>" in shown
    assert f"and {len(made.dropped) - 20} more" in shown
    assert shown.count(": budget; ") == 20
    assert "<summary>Warnings: 1</summary>" in compose([], {})._repr_html_()


@pytest.mark.parametrize("data", [{}, {"schema": "retrivex.composition/99"}, {"schema": "retrivex.composition/1"}])
def test_other_dictionaries_are_refused(data: dict[str, Any]) -> None:
    with pytest.raises(RetrivexError, match=r"schema|not a composition"):
        Composition.from_dict(data)


@try_examples(300)
@given(cases())
def test_a_composition_survives_json(case: Any) -> None:
    composer, _ = Bench()(case.tokenizer)
    made = composer.compose(
        case.hits, case.store, case.parent_store, query=case.query, scope=case.scope, **case.options
    )
    check_round_trip(made)


def test_hits_without_a_store_entry_are_still_cited() -> None:
    made = compose([SeedHit(make_chunk("x", 0, "Alone.", 7), 1.0)], {})
    assert made.citations == (Citation(1, 4, 10, "x", 0, 7, 13),)


def test_half_a_surrogate_pair_comes_back() -> None:
    made = compose([SeedHit(make_chunk("d", 0, "Bees sleep \ud83d."), 1.0)], {})
    assert Composition.from_dict(json.loads(made.to_json().encode())) == made


@pytest.mark.parametrize(
    "said",
    [{"heading_path": ["A", "B"]}, {"links": [("e", 1)]}, {"heading_path": []},
     {"custom_metadata": {"years": (1999, [2001, (2, 3)]), "by": {"n": (1,)}}}],
    ids=repr,
)  # fmt: skip
def test_lists_and_tuples_come_back_equal(said: dict[str, Any]) -> None:
    chunk = make_chunk("d", 0, "Bees sleep.", **said)
    made = compose([SeedHit(chunk, 1.0)], make_store(chunk))
    assert Composition.from_dict(made.to_dict()) == made
    again = Composition.from_dict(json.loads(made.to_json()))
    assert again == made
    assert again.to_dict() == made.to_dict()
    assert again.spans[0].chunks[0] != make_chunk("d", 0, "Bees sleep.", heading_path=["other"])


@pytest.mark.parametrize(
    "value",
    [{1, 2}, object(), np.int64(3), float("nan"), float("-inf"), [1.0, float("nan")], {1: "one"}, [{"a": {2: 3}}]],
    ids=["set", "object", "numpy", "nan", "inf", "nan in a list", "key", "key inside"],
)
def test_metadata_that_json_cannot_hold_is_named(value: Any) -> None:
    store = make_store(make_chunk("bees", 0, "Bees sleep.", custom_metadata={"tags": value}))
    made = compose(hits_of(store, {0: 0.8}, "bees"), store)
    for write in (made.to_json, made.to_dict):
        with pytest.raises(RetrivexError, match=r"custom_metadata of \('bees', 0\) holds 'tags'"):
            write()


@pytest.mark.parametrize("data", [None, "x", 5])
def test_a_composition_is_read_from_a_mapping(data: Any) -> None:
    with pytest.raises(RetrivexError, match="pass the mapping that to_dict returned"):
        Composition.from_dict(data)


@pytest.mark.parametrize(
    "part",
    [{"text": 5}, {"tokens": "many"}, {"tokens": True}, {"question": 5}, {"warnings": "w"}, {"coverage": ["x"]},
     {"spans": [5]}, {"style": {"format": "zzz"}}, {"style": []}, {"trace": None}, {"dropped": [None]}],
    ids=repr,
)  # fmt: skip
def test_parts_of_another_type_are_refused(made: Composition, part: dict[str, Any]) -> None:
    with pytest.raises(RetrivexError, match="composition"):
        Composition.from_dict({**made.to_dict(), **part})


WRONG_VALUES: tuple[Any, ...] = (
    None, True, 10**400, 1.5, float("nan"), "x", "\ud800", [], {}, [1], [[]], [None]
)  # fmt: skip


def _places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in JSON; of a list, the first."""
    parts = (
        list(data.items()) if isinstance(data, dict) else list(enumerate(data[:2])) if isinstance(data, list) else []
    )
    for key, value in parts:
        yield (*path, key)
        yield from _places(value, (*path, key))


@pytest.mark.parametrize("value", WRONG_VALUES, ids=lambda value: repr(value)[:12])
def test_any_value_anywhere_is_refused_or_does_no_harm(made: Composition, value: Any) -> None:
    data = json.loads(made.to_json(trace=True))
    composer = SpanComposer(RetrievalConfig(token_budget=30), tokenizer=lambda text: len(text.split()))
    other = make_chunk("other", 0, "Wasps sting.")
    for *path, last in list(_places(data)):
        part = data
        for key in path:
            part = part[key]
        kept, part[last] = part[last], value
        try:
            read = Composition.from_dict(data)
        except RetrivexError:
            continue
        finally:
            part[last] = kept
        assert all(isinstance(text, str) for text in (read.to_json(trace=True), str(read), read.prompt("why?")))
        for turn in ({"pinned": read.spans}, {"exclude": (read,)}):
            after = composer.compose([SeedHit(other, 1.0)], {other.key: other}, **turn)
            assert after.tokens == len(after.text.split()) <= 30


def test_markers_may_hold_lists_and_ranges(made: Composition) -> None:
    both = made.resolve("[1] [2]")
    assert len(both) == 2
    assert made.resolve("[1, 2]") == made.resolve("[1-2]") == made.resolve("[0\u20139]") == both
    assert made.resolve("[2; 1]") == both[::-1]
    assert made.resolve(f"[{'9' * 5000}]") == []


def test_a_reference_is_a_number_or_text(made: Composition) -> None:
    nothing: Any = None
    with pytest.raises(RetrivexError, match="reference is None: give a number"):
        made.resolve(nothing)


@pytest.mark.parametrize(
    "arguments",
    [{"question": 5}, {"max_tokens": "a"}, {"max_tokens": -1}, {"template": None}, {"history": None},
     {"answer_reserve": -1}, {"answer_reserve": None}],
    ids=repr,
)  # fmt: skip
def test_a_prompt_names_the_argument_it_cannot_use(made: Composition, arguments: dict[str, Any]) -> None:
    with pytest.raises(RetrivexError, match=f"{next(iter(arguments))} .*: it must (be|have)"):
        made.prompt(**arguments)


def test_a_composition_that_was_read_takes_its_tokenizer_for_a_prompt(made: Composition) -> None:
    plain = {**made.to_dict(), "tokenizer": "no-such-tokenizer"}
    read = Composition.from_dict(plain)
    with pytest.raises(TokenizerError, match=r"pass prompt\(\.\.\., tokenizer=\.\.\.\)"):
        read.prompt(max_tokens=100)
    assert read.prompt(max_tokens=100, tokenizer=lambda text: len(text.split())) == made.prompt(max_tokens=100)
    assert read.prompt() == made.prompt()


def test_a_hit_larger_than_the_budget_says_so() -> None:
    store = {**bare("short", ["One two."]), **bare("long", [" ".join(["word"] * 30) + "."])}
    hits = [SeedHit(store["short", 0], 0.9), SeedHit(store["long", 0], 0.8)]
    gone = compose(hits, store, token_budget=12).dropped  # 5 tokens are for its number and what parts it
    assert [(hit.doc_id, hit.reason, hit.detail) for hit in gone] == [
        ("long", "budget", "31 tokens, more than the 12 of the budget")
    ]
