from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small_data import sentences

from benchmarks.suites.haystacks.essays import ESSAYS, read_essays
from benchmarks.suites.haystacks.needles import NEEDLE_GROUPS, NEEDLES, Needle
from benchmarks.suites.niah.sets import DEPTHS, niah, niah_multi
from retrivex.errors import LoadError
from retrivex.evaluation.questions.evidence import EvidenceSet, Question
from retrivex.text.sentences import sentence_ranges
from retrivex.tokens.tokenizer import get_tokenizer

COUNTER = get_tokenizer("cl100k_base")
LONGEST = 40  # tokens of a sentence of the essays below, at most
ROOM = 60  # that a fact takes at most, with what is set aside for its neighbours

essay_texts = st.builds(
    lambda count, seed, gap, edge: edge + gap.join(sentences(count, seed)) + edge,
    st.integers(1, 60),
    st.integers(0, 20),
    st.sampled_from([" ", "\n", "\r\n\r\n", "  "]),
    st.sampled_from(["", "\n", " \t"]),
)
collections = st.lists(st.one_of(essay_texts, st.just("\n")), min_size=1, max_size=5).map(
    lambda texts: {f"essay{number}": text for number, text in enumerate(texts)}
)


def made(essays: dict[str, str], tokens: int, needles: tuple[Needle, ...]) -> EvidenceSet | None:
    """The set, or None where the essays are too few for it."""
    maker = niah if len(needles[0].texts) == 1 else niah_multi
    try:
        if maker is niah:
            return niah(essays, tokens, needles=needles)
        return niah_multi(essays, tokens, groups=needles)
    except LoadError:
        return None


@cache
def count(text: str) -> int:
    return COUNTER.count(text)


def tokens_of(found: EvidenceSet, question: Question) -> int:
    return sum(count(found.documents[doc_id]) for doc_id in question.within)


def without_needles(found: EvidenceSet, question: Question) -> dict[str, str]:
    """The documents of a question, with its evidence taken out and white space evened."""
    texts = {doc_id: found.documents[doc_id] for doc_id in question.within}
    for part in sorted(question.evidence, reverse=True):
        texts[part.doc_id] = texts[part.doc_id][: part.start] + " " + texts[part.doc_id][part.end :]
    return {doc_id.partition("+")[0]: " ".join(text.split()) for doc_id, text in texts.items()}


@given(
    collections,
    st.integers(60, 1500),
    st.sampled_from([NEEDLES[:2], NEEDLES[6:7], NEEDLE_GROUPS[:1], NEEDLE_GROUPS[3:5]]),
)
def test_evidence_is_the_fact_and_nothing_else_is_changed(
    essays: dict[str, str], tokens: int, needles: tuple[Needle, ...]
) -> None:
    found = made(essays, tokens, needles)
    for question in found.questions if found else ():
        needle = next(needle for needle in needles if needle.name == question.factors["needle"])
        shown = [found.documents[part.doc_id][part.start : part.end] for part in question.evidence] if found else []
        assert sorted(shown) == sorted(needle.texts)
        assert question.answers == needle.answers
        for name, text in without_needles(found, question).items() if found else ():
            assert " ".join(essays[name].split()).startswith(text)


@given(collections, st.integers(60, 1500), st.sampled_from([NEEDLES[:3], NEEDLE_GROUPS[:1]]))
def test_a_haystack_is_as_long_as_asked_for(essays: dict[str, str], tokens: int, needles: tuple[Needle, ...]) -> None:
    found = made(essays, tokens, needles)
    if found is None:
        room = ROOM * len(needles[0].texts)
        assert sum(map(COUNTER.count, essays.values())) < tokens or tokens < room + LONGEST
        return
    for question in found.questions:
        facts = len(question.evidence)
        assert tokens - ROOM * facts - LONGEST <= tokens_of(found, question) <= tokens


@given(collections, st.integers(200, 1500))
def test_a_needle_lies_at_its_depth_to_within_a_sentence(essays: dict[str, str], tokens: int) -> None:
    found = made(essays, tokens, NEEDLES[:1])
    for question in found.questions if found else ():
        (fact,) = question.evidence
        before = question.within[: question.within.index(fact.doc_id)]
        reached = COUNTER.count(found.documents[fact.doc_id][: fact.start]) + sum(
            COUNTER.count(found.documents[doc_id]) for doc_id in before
        )
        whole = tokens_of(found, question) - COUNTER.count(NEEDLES[0].texts[0])
        wanted = float(question.factors["depth"]) / 100 * whole
        assert abs(reached - wanted) <= LONGEST + 0.02 * whole  # sentences by themselves have a few tokens more


def test_every_needle_visits_every_depth_and_the_other_essays_are_shared() -> None:
    essays = {name: " ".join(sentences(40, number)) for number, name in enumerate("abc")}
    found = niah(essays, 600, needles=NEEDLES[:4])
    assert len(found.questions) == 4 * len(DEPTHS)
    assert {(question.factors["needle"], question.factors["depth"]) for question in found.questions} == {
        (needle.name, depth) for needle in NEEDLES[:4] for depth in DEPTHS
    }
    first, last = found.questions[0], found.questions[len(DEPTHS) - 1]
    assert first.within == ("a+lighthouse@0", "b")
    assert last.within == ("a", "b+lighthouse@100")
    assert found.documents["a"] == essays["a"]
    assert found.documents["a+lighthouse@0"] == f"{NEEDLES[0].texts[0]} {essays['a']}"
    assert found.documents["b+lighthouse@100"] == f"{found.documents['b']} {NEEDLES[0].texts[0]}"
    assert first.factors == {"depth": 0, "tokens": 600, "needle": "lighthouse", "shares_words": True}


ORDERED = {name: " ".join(sentences(20 + 7 * number, number)) for number, name in enumerate("abcdefgh")}


def orders_of(found: EvidenceSet) -> dict[str, set[tuple[str, ...]]]:
    """Needle -> the orders of essays that its questions are asked of, whatever is cut or hidden."""
    orders: dict[str, set[tuple[str, ...]]] = {}
    for question in found.questions:
        names = tuple(doc_id.partition("+")[0].partition("[")[0] for doc_id in question.within)
        orders.setdefault(str(question.factors["needle"]), set()).add(names)
    return orders


def test_in_shuffled_haystacks_each_needle_keeps_an_order_of_its_own_at_all_depths() -> None:
    orders = orders_of(niah(ORDERED, 2500, needles=NEEDLES[:12], shuffle_seed=0))
    assert all(len(of) == 1 for of in orders.values())
    assert len({names for of in orders.values() for names in of}) > 9
    assert len({names[0] for of in orders.values() for names in of}) > 3  # so that depth 0 is many places
    again = niah(ORDERED, 2500, needles=NEEDLES[:12], shuffle_seed=0)
    assert orders_of(again) == orders
    assert orders_of(niah(ORDERED, 2500, needles=NEEDLES[:12], shuffle_seed=1)) != orders
    longer = orders_of(niah(ORDERED, 2600, needles=NEEDLES[:12], shuffle_seed=0))  # of every length anew
    assert any({names[0] for names in longer[needle]} != {names[0] for names in orders[needle]} for needle in orders)


def test_an_essay_that_is_called_as_another_one_cut_is_an_error() -> None:
    essays = {"a": " ".join(sentences(60, 1))}
    cut = niah(essays, 300, needles=NEEDLES[:12], shuffle_seed=0).questions[0].within[0].partition("+")[0]
    assert cut.startswith("a[:")
    with pytest.raises(LoadError, match=r"two documents of the haystacks would be called 'a\[:\d+\]'"):
        niah({**essays, cut: "Bees sleep."}, 300, needles=NEEDLES[:12], shuffle_seed=0)


@given(st.integers(300, 2500), st.integers(0, 5))
def test_shuffled_haystacks_hold_what_others_do(tokens: int, seed: int) -> None:
    found = niah(ORDERED, tokens, needles=NEEDLES[:3], shuffle_seed=seed)
    for question in found.questions:
        assert tokens - ROOM - LONGEST <= tokens_of(found, question) <= tokens
        (fact,) = question.evidence
        assert found.documents[fact.doc_id][fact.start : fact.end] in {needle.texts[0] for needle in NEEDLES[:3]}
        for doc_id, text in without_needles(found, question).items():
            name, _, length = doc_id.partition("[:")
            assert text == " ".join(ORDERED[name][: int(length[:-1]) if length else None].split())


def test_four_facts_lie_at_four_depths_and_each_visits_all() -> None:
    essays = {name: " ".join(sentences(60, number)) for number, name in enumerate("abcd")}
    found = niah_multi(essays, 2000, groups=NEEDLE_GROUPS[:1])
    places = [tuple(map(int, str(question.factors["depths"]).split())) for question in found.questions]
    assert places[0] == (0, 30, 60, 90)
    assert all(len(set(depths)) == 4 for depths in places)
    for fact in range(4):
        assert sorted(depths[fact] for depths in places) == list(DEPTHS)
    assert all(question.needed == "all" and len(set(question.evidence)) == 4 for question in found.questions)


def test_needles_go_between_sentences() -> None:
    text = " ".join(sentences(60, 3))
    ends = {end for _, end in sentence_ranges(text)} | {0}
    found = niah({"essay": text}, 400, needles=NEEDLES[:1])
    for question in found.questions:
        (fact,) = question.evidence
        before = found.documents[fact.doc_id][: fact.start].rstrip()
        assert len(before) in ends


def test_essays_that_do_not_suffice_are_an_error_that_says_how_far_they_reach() -> None:
    text = " ".join(sentences(20, 1))
    with pytest.raises(
        LoadError, match=rf"cannot be made of 1 essays with {COUNTER.count(text)} together: ask for fewer"
    ):
        niah({"essay": text}, 4096)
    with pytest.raises(LoadError, match="hold no sentence of the essays: ask for more"):
        niah({"essay": text}, 40)


@pytest.mark.parametrize("count", range(4, 12))
def test_four_facts_lie_apart_at_however_many_depths(count: int) -> None:
    found = niah_multi({"essay": " ".join(sentences(90, 3))}, 900, groups=NEEDLE_GROUPS[:1], depths=DEPTHS[:count])
    for question in found.questions:
        assert len(set(str(question.factors["depths"]).split())) == 4


def test_what_cannot_be_hidden_is_said() -> None:
    essays = {"essay": " ".join(sentences(90, 3))}
    with pytest.raises(LoadError, match="depth 101 is outside of the haystack"):
        niah(essays, 500, depths=[0, 101])
    with pytest.raises(LoadError, match="nothing is to be hidden"):
        niah(essays, 500, needles=[])
    with pytest.raises(LoadError, match="four facts cannot lie at 3 depths"):
        niah_multi(essays, 500, depths=DEPTHS[:3])


def test_essays_are_read_by_name_with_their_line_breaks(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.txt").write_bytes(f"Essay {name}.\r\nEnd.".encode())
    assert next(iter(read_essays(tmp_path).items())) == ("a", "Essay a.\r\nEnd.")
    assert list(read_essays(tmp_path)) == ["a", "b", "c"]
    with pytest.raises(LoadError, match="no essay is in"):
        read_essays(tmp_path / "none")
    (tmp_path / "d.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LoadError, match=r"d\.txt cannot be read"):
        read_essays(tmp_path)


@pytest.mark.parametrize("tokens", [4096, 131_072])
def test_the_essays_make_haystacks_of_all_lengths(data_dir: Path, tokens: int) -> None:
    essays = read_essays(data_dir / ESSAYS)
    for found in (niah(essays, tokens, needles=NEEDLES[:2]), niah_multi(essays, tokens, groups=NEEDLE_GROUPS[:1])):
        lengths = [tokens_of(found, question) for question in found.questions]
        assert max(lengths) <= tokens
        assert min(lengths) >= 0.97 * tokens
