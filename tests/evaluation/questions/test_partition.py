from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrivex.evaluation.questions.partition import folds, grouped, hold_back

documents = st.lists(st.sets(st.sampled_from("abcdefghij"), max_size=2), min_size=1, max_size=40)
seeds = st.integers(0, 100)


@given(documents)
def test_groups_hold_every_question_once(names: list[set[str]]) -> None:
    assert sorted(at for group in grouped(names) for at in group) == list(range(len(names)))


@given(documents)
def test_groups_share_no_document_or_are_single_questions(names: list[set[str]]) -> None:
    groups = grouped(names)
    if len(groups) < len(names):
        seen: set[str] = set()
        for group in groups:
            own = set().union(*(names[at] for at in group))
            assert not own & seen
            seen |= own


@given(documents, st.floats(0.1, 0.7), seeds)
def test_no_group_is_on_both_sides(names: list[set[str]], share: float, seed: int) -> None:
    groups = grouped(names)
    rest, held = hold_back(groups, share, seed)
    assert sorted(rest + held) == list(range(len(names)))
    assert held
    assert all(not set(group) & set(held) or set(group) <= set(held) for group in groups)
    assert hold_back(groups, share, seed) == (rest, held)


def test_single_questions_are_split_by_the_share() -> None:
    rest, held = hold_back([[at] for at in range(100)], 0.3, seed=5)
    assert (len(rest), len(held)) == (70, 30)
    assert hold_back([[at] for at in range(100)], 0.3, seed=6) != (rest, held)


@given(documents, st.integers(1, 5), seeds)
def test_folds_hold_whole_groups(names: list[set[str]], count: int, seed: int) -> None:
    groups = grouped(names)
    parts = folds(groups, count, seed)
    assert len(parts) == min(count, len(groups))
    assert sorted(at for part in parts for at in part) == list(range(len(names)))
    assert all(any(set(group) <= set(part) for part in parts) for group in groups)
