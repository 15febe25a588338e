"""Runs cut into units: nothing lost, nothing twice, no sentence torn."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from fuzz.worlds import World
from hypothesis import given
from hypothesis import strategies as st
from support.operations import count_lines
from support.properties import try_examples
from support.strategies import bare, count_words, make_chunk, texts, tile, worlds

from retrivex import Chunk, ChunkMetadata
from retrivex.merging import borders, cuts
from retrivex.merging import cutter as unit_cutter
from retrivex.merging.cuts import UNIT_BYTES, group_sentences
from retrivex.merging.cutter import Fineness, UnitCutter
from retrivex.merging.offsets import OffsetIndex
from retrivex.merging.torn import EdgeRules
from retrivex.merging.units import Unit, Units
from retrivex.model.run import Run, stitch
from retrivex.text.structure import structure_of

BEES = (
    "Bees live in hives. A hive has one queen. ",
    "She lays up to two thousand eggs a day. Workers feed her ",
    "from morning until night. Drones do no work at all.",
)


WORD = 6  # bytes, about


class Words(UnitCutter):
    """A cutter for whole runs, whose groups have a number of words, about."""

    def __init__(self, words: int | None = None) -> None:
        super().__init__(UNIT_BYTES if words is None else words * WORD)

    def units(self, runs: Sequence[Run], rules: EdgeRules = EdgeRules()) -> Units:  # noqa: B008 - it is immutable
        axis = OffsetIndex(runs)
        return self.cut(
            axis, rules, Fineness.full(np.array([count_words(text) for text in axis.texts], dtype=np.int64))
        )


def cutter(size: int | None = None) -> Words:
    return Words(size)


def run_of(*chunks: Chunk) -> Run:
    (run,) = stitch(list(chunks)).runs
    return run


def cut(run: Run, size: int | None = None) -> list[str]:
    return [run.text[unit.start : unit.end].strip() for unit in cutter(size).units([run])]


def check_tiling(runs: list[Run], units: Sequence[Unit]) -> None:
    """Every character that a chunk says lies in one unit of its run."""
    for number, run in enumerate(runs):
        own = [unit for unit in units if unit.run == number]
        seen = [at for unit in own for at in range(unit.start, unit.end)]
        assert len(seen) == len(set(seen)), "a character lies in two units"
        said = {at for low, high in run.ranges for at in range(low, high)}
        assert said <= set(seen)
        # what else there is are joiners between chunks, inside mended sentences
        assert all(unit.first < unit.last for unit in own if not said.issuperset(range(unit.start, unit.end)))
        if not any(low < reached for (_, reached), (low, _) in pairwise(run.ranges)):
            assert sum(unit.tokens for unit in own) == sum(count_words(chunk.text) for chunk in run.chunks)
        named = {at for unit in own for at in range(unit.first, unit.last + 1)}
        assert named == set(range(len(run)))
    assert [unit.run for unit in units] == sorted(unit.run for unit in units)


@try_examples(400)
@given(worlds(), st.sampled_from([1, 4, 12, None]))
def test_the_units_of_a_run_tile_it(world: World, size: int | None) -> None:
    runs: list[Run] = []
    for doc_id in sorted(world.sources):
        row = [chunk for key, chunk in sorted(world.chunks.items()) if key[0] == doc_id]
        runs += stitch(row).runs
    made = cutter(size)
    units = made.units(runs)
    check_tiling(runs, units)
    assert made.units(runs) == units  # and again from what it remembers
    assert units.pick([0, len(units) - 1]) == [units[0], units[len(units) - 1]] if runs else not units
    chunks = [(number, at) for number, run in enumerate(runs) for at in range(len(run))]
    for chunk, (run, at) in enumerate(chunks):
        touching = [number for number, u in enumerate(units) if u.run == run and u.first <= at <= u.last]
        assert list(units.touching(chunk)) == touching


@given(texts, st.integers(1, 300))
def test_groups_of_sentences_are_the_whole_text(text: str, size: int) -> None:
    ends = group_sentences(text, size)
    assert list(ends) == sorted(set(ends))
    assert ends[-1] == len(text)


@given(texts, st.integers(0, 200))
def test_units_share_the_tokens_of_their_chunk(text: str, tokens: int) -> None:
    run = run_of(*tile("d", [text]).values())
    axis = OffsetIndex([run])
    units = UnitCutter(40).cut(axis, EdgeRules(), Fineness.full(np.array([tokens])))
    assert units.tokens.sum() == tokens
    assert units.tokens.tolist() == pytest.approx(
        [tokens * (unit.end - unit.start) / len(text) for unit in units], abs=1
    )


def test_sentences_are_grouped_up_to_a_size() -> None:
    run = run_of(*tile("d", ["One two three. Four five. Six seven eight nine. Ten."]).values())
    assert cut(run, 2) == ["One two three.", "Four five.", "Six seven eight nine.", "Ten."]
    assert len(cut(run, 5)) == 2
    assert cut(run, 50) == ["One two three. Four five. Six seven eight nine. Ten."]


def test_a_sentence_torn_by_the_end_of_a_chunk_is_mended() -> None:
    run = run_of(*tile("d", BEES).values())
    made = cut(run, 8)
    assert "Workers feed her from morning until night." in made
    assert "".join(made).replace(" ", "") == "".join(BEES).replace(" ", "")
    (mended,) = [unit for unit in cutter(8).units([run]) if unit.first < unit.last]
    assert (mended.first, mended.last) == (1, 2)


def test_a_sentence_is_mended_where_there_are_no_offsets_either() -> None:
    run = run_of(*bare("d", ["Workers feed her", "from morning until night."]).values())
    assert cut(run, 8) == ["Workers feed her from morning until night."]


def test_whole_sentences_and_new_lines_are_left_apart() -> None:
    assert cut(run_of(*tile("d", ["Bees sleep. ", "Ants work."]).values()), 3) == ["Bees sleep.", "Ants work."]
    assert cut(run_of(*tile("d", ["A title\n", "Ants work."]).values()), 3) == ["A title", "Ants work."]


def test_what_has_no_sentences_is_cut_into_units_that_can_be_borne() -> None:
    words = "word " * 30
    units = cut(run_of(*tile("d", [words, words, words]).values()), 10)
    assert "".join(units).replace(" ", "") == "word" * 90
    assert max(map(count_words, units)) <= 2 * 10


def test_scripts_without_spaces_and_marks_are_cut_too() -> None:
    thai = "ผึ้งนอนในรัง" * 60  # "bees sleep in the hive", without a space or a mark that ends a sentence
    units = cutter().units([run_of(*tile("d", [thai]).values())])
    assert "".join(thai[unit.start : unit.end] for unit in units) == thai
    assert max(len(thai[unit.start : unit.end].encode()) for unit in units) <= 2 * UNIT_BYTES + 6
    assert not any(unicodedata.combining(thai[unit.start]) for unit in units)


def test_a_unit_in_an_overlap_belongs_to_both_chunks() -> None:
    text = "One is here. Two is here. Three is here. Four is here."
    chunks = [Chunk(text[a:b], ChunkMetadata("d", i, a, b)) for i, (a, b) in enumerate([(0, 40), (26, 54)])]
    units = cutter(3).units([run_of(*chunks)])
    (shared,) = [unit for unit in units if text[unit.start : unit.end].strip() == "Three is here."]
    assert (shared.first, shared.last) == (0, 1)


def test_overlapping_chunks_show_their_overlap_once() -> None:
    text = "Bees live in hives. A hive has one queen. She lays the eggs. Workers feed her."
    chunks = [make_chunk("d", 0, text[:41], 0), make_chunk("d", 1, text[20:60], 20), make_chunk("d", 2, text[42:], 42)]
    run = run_of(*chunks)
    made = cut(run, 4)
    assert made == ["Bees live in hives.", "A hive has one queen.", "She lays the eggs.", "Workers feed her."]
    check_tiling([run], cutter(4).units([run]))


def test_a_chunk_inside_another_belongs_to_the_units_that_show_it() -> None:
    text = "Bees live in hives. A hive has one queen. She lays the eggs."
    run = run_of(make_chunk("d", 0, text, 0), make_chunk("d", 1, text[20:41], 20))
    units = cutter(4).units([run])
    assert [(unit.first, unit.last) for unit in units] == [(0, 0), (0, 1), (0, 0)]


def test_chinese_is_cut_at_its_own_full_stops() -> None:
    run = run_of(*bare("d", ["蜜蜂住在蜂巢里。蜂王产卵。冬天很冷,", "工蜂取暖。"]).values())
    made = [run.text[unit.start : unit.end] for unit in cutter(3).units([run])]
    assert made[:2] == ["蜜蜂住在蜂巢里。", "蜂王产卵。"]
    assert "".join(made) == run.text


def test_several_runs_are_numbered() -> None:
    runs = [run_of(*tile(doc_id, BEES).values()) for doc_id in "ab"]
    units = cutter(8).units(runs)
    assert {unit.run for unit in units} == {0, 1}
    check_tiling(runs, units)


def test_nothing_gives_nothing() -> None:
    assert cutter().units([]) == []


def test_what_is_remembered_of_texts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def structure(text: str, *rest: Any) -> Any:
        read.append(text)
        return structure_of(text, *rest)

    monkeypatch.setattr(cuts, "structure_of", structure)
    monkeypatch.setattr(unit_cutter, "_MAX_CHARS", 1000)
    made, again = cutter(), [f"Bees sleep {number}. " * 10 for number in range(8)]
    for text in again * 2:
        assert made.cuts(text)[-1] == len(text)
        made.cuts(text)
    # two of them are 1000 characters and more: each was read in both rounds, and only once in each
    assert sorted(read) == sorted(again * 2)


def torn(units: Units, run: Run) -> list[str]:
    return [] if units.torn is None else [run.text[units[at].start : units[at].end] for at in units.torn.nonzero()[0]]


def test_a_sentence_whose_rest_is_in_no_candidate_is_torn() -> None:
    chunks = list(tile("d", BEES, chunk_count=3).values())
    middle = run_of(chunks[1])
    assert torn(cutter().units([middle]), middle) == ["Workers feed her "]
    last = run_of(chunks[2])
    assert torn(cutter().units([last]), last) == ["from morning until night. "]
    assert cutter().units([run_of(*chunks)]).torn is None
    assert cutter().units([middle], EdgeRules(absent={("d", 2)})).torn is None


def hidden(units: Units, run: Run) -> list[str]:
    whole = set(units.whole.tolist())
    return [run.text[unit.start : unit.end] for at, unit in enumerate(units) if at not in whole]


def test_what_is_torn_is_hidden_where_no_hit_says_any_of_it() -> None:
    run = run_of(make_chunk("d", 3, "two eggs ", 9), make_chunk("d", 4, "a day. Workers feed her.", 18))
    for hits, gone in [(None, []), ({("d", 4)}, []), ({("d", 3)}, []), (set(), ["two eggs a day. "])]:
        units = cutter().units([run], EdgeRules(hits=hits))
        assert torn(units, run) == ["two eggs a day. "]
        assert hidden(units, run) == gone


def test_nothing_is_hidden_that_only_a_chunk_inside_another_says() -> None:
    # the unit beside it touches the chunks around the hit, and shows nothing of the hit
    outer, inner = make_chunk("d", 3, "eggs a day. They", 9), make_chunk("d", 4, "eggs a", 9)
    run = run_of(outer, inner, make_chunk("d", 5, " grow until autumn.", 25))
    assert hidden(cutter(4).units([run], EdgeRules(hits=set())), run) == ["eggs a day. "]
    assert hidden(cutter(4).units([run], EdgeRules(hits={("d", 4)})), run) == []


def test_the_units_of_a_run_without_the_torn_ones_follow_each_other() -> None:
    run = run_of(*list(tile("d", BEES, chunk_count=3).values())[:2])
    units = cutter(8).units([run], EdgeRules(hits=set()))
    kept = units.without_hidden()
    assert [units[at] for at in units.whole] == list(kept)
    assert kept.joined.tolist() == [False] + [True] * (len(kept) - 1)


def test_a_heading_at_the_end_of_a_chunk_goes_with_its_text() -> None:
    run = run_of(*tile("d", ["Bees live in hives.\n\n# Queens\n\n", "A hive has one queen."]).values())
    assert cut(run, 50) == ["Bees live in hives.", "# Queens\n\nA hive has one queen."]
    run = run_of(*tile("d", ["Bees live in hives.\n\n# Que", "ens\n\nA hive has one queen."]).values())
    assert cut(run, 50)[-1] == "# Queens\n\nA hive has one queen."


def test_wrapped_lines_are_mended_across_chunks() -> None:
    texts = ["It solved one of the biggest problems faced by founders of hives: the\n", "isolation. Ants work."]
    assert cut(run_of(*tile("d", texts).values()), 8)[0].endswith("the\nisolation.")
    titles = ["One of the biggest problems\n", "Bees sleep at night in the hives of the keepers."]
    assert len(cut(run_of(*tile("d", titles).values()), 50)) == 2


def test_a_fence_across_chunks_is_one_unit() -> None:
    texts = ["Bees sleep.\n\n```\nx = 1\n", "y = 2\nz = 3\n", "```\n\nAnts work."]
    assert "```\nx = 1\ny = 2\nz = 3\n```" in cut(run_of(*tile("d", texts).values()), 50)


def test_rows_and_emphasis_that_a_chunk_cuts_are_mended() -> None:
    rows = ["| a | b |\n|---|---|\n| c | d |\n| e ", "| f |\n| g | h |"]
    assert "| e | f |\n| g | h |" in cut(run_of(*tile("d", rows).values()), 50)
    bold = ["Bees sleep. **Order.", "** The best is first. It ends."]
    assert "**Order.** The best is first." in cut(run_of(*tile("d", bold).values()), 50)
    name = ["Bees sleep. So did Dr. ", "Lee, who came."]
    assert "So did Dr. Lee, who came." in "|".join(cut(run_of(*tile("d", name).values()), 50))


def test_finished_sentences_in_small_letters_are_left_apart() -> None:
    texts = [f"{' '.join([word] * 40)}. " for word in ("bees", "ants", "wasps")]
    assert len(cut(run_of(*tile("d", texts).values()))) == 3


def test_a_few_words_go_with_what_stands_beside_them() -> None:
    text = "Bees live in hives with a queen " * 8 + "in summer. They sleep."
    assert len(cut(run_of(*tile("d", [text]).values()))) == 1


def test_a_long_sentence_is_a_unit() -> None:
    text = "Bees sleep. " + "Workers feed the queen " * 40 + "all day. Ants work."
    assert max(map(len, cut(run_of(*tile("d", [text]).values())))) > 900


@pytest.mark.parametrize("inside", ["all at the beginning", "one behind the other", "of one place"])
def test_steps_grow_with_the_number_of_chunks_inside_earlier_ones(inside: str) -> None:
    def steps(count: int) -> int:
        source = "".join(f"Bees of hive {at:06} sleep at night. " for at in range(count))
        size = len(source) // count
        long = make_chunk("d", 0, source, 0)
        starts = {
            "all at the beginning": [at // 10 for at in range(count)],
            "one behind the other": [size * at for at in range(count)],
            "of one place": [0] * count,
        }[inside]
        short = [make_chunk("d", 1 + at, source[low : low + size], low) for at, low in enumerate(starts)]
        run = run_of(long, *short)
        made = cutter(8)
        return count_lines(lambda: made.units([run]), borders)

    assert steps(800) < 5 * steps(200)
