"""The tables of a report about depths: is a composer below kNN anywhere, and whose doing is it that depth matters?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from benchmarks.report.position_sensitivity import position_sensitivity
from benchmarks.report.suite_depths import depth_differences, depth_sensitivity
from benchmarks.report.suite_grouping import OF_HITS
from benchmarks.report.suite_sections import factors, sections
from retrivex.evaluation.run.results import Row, Way

DEPTHS = (0, 50, 100)
KNN = Way("bm25", 6, "knn", "score_desc", 500)
OURS = Way("bm25", 6, "ours", "edge_balanced", 500)


def asked(
    way: Way, figure: Callable[[int, int], float], *, depths: Sequence[int] = DEPTHS, needles: int = 10
) -> list[Row]:
    """Make a row of each needle at each depth; `figure` of depth and needle says whether it is in the context."""
    return [
        Row("niah/4096", f"{needle}@{depth}", way, {"complete": figure(depth, needle)},
            {"depth": depth, "needle": needle})
        for needle in range(needles)
        for depth in depths
    ]  # fmt: skip


def always(depth: int, needle: int) -> float:
    """Find every needle."""
    return 1.0


def cells(made: str, composer: str) -> list[str]:
    """Return the cells of a composer's line, those that stand after its name."""
    line = next(line for line in made.splitlines() if f"| {composer} |" in line)
    return line.split(f"| {composer} | ")[1].removesuffix(" |").split(" | ")


def test_each_depth_says_how_far_a_composer_is_from_knn() -> None:
    knn = asked(KNN, lambda depth, needle: float(depth == 50))
    ours = asked(OURS, lambda depth, needle: float(depth == 100))
    made = depth_differences([*knn, *ours])

    assert "| measure | 0 % | 50 % | 100 % | all depths |" in made
    found = cells(made, "ours")
    assert found[:4] == [
        "complete", "+0.0 [+0.0, +0.0]", "-100.0 [-100.0, -100.0] below", "+100.0 [+100.0, +100.0]"
    ]  # fmt: skip
    assert found[4].startswith("+0.0 [-")  # a third is lost, a third is won
    assert "below" not in found[4]
    assert "it marks ours (1 of 3); by chance" in made
    assert made.endswith("about 1 in 40 independent cells, 0.1 of 3.")
    assert "| knn |" not in made


def test_a_loss_that_may_be_chance_is_not_marked() -> None:
    ours = asked(OURS, lambda depth, needle: float(depth != 50 or needle > 0))
    made = depth_differences([*asked(KNN, always), *ours])

    assert cells(made, "ours")[2] == "-10.0 [-30.0, +0.0]"
    assert "ours (0 of 3)" in made


def test_questions_are_paired_in_whatever_order_they_come() -> None:
    knn = asked(KNN, lambda depth, needle: float(needle % 2))
    ours = asked(OURS, lambda depth, needle: float(needle % 2))
    made = depth_differences([*knn, *reversed(ours)])

    # half of the needles are found: not paired, the intervals would be wide
    assert cells(made, "ours")[1:] == ["+0.0 [+0.0, +0.0]"] * 4


def test_only_questions_that_both_were_asked_count() -> None:
    knn = [
        row
        for row in asked(KNN, always)
        if row.factors["depth"] != 100 and (row.factors["depth"] != 50 or int(row.factors["needle"]) < 5)
    ]
    ours = asked(OURS, lambda depth, needle: float(needle >= 5 if depth == 50 else needle < 5))
    # another family has all three depths
    whole = [replace(row, set_name="essays") for row in [*asked(KNN, always), *asked(OURS, always)]]
    found = cells(depth_differences([*knn, *ours, *whole]), "ours")

    assert found[1] == "-50.0 [-80.0, -20.0] below"
    assert found[2] == "-100.0 [-100.0, -100.0]"  # of five questions nothing is sure
    assert found[3] == "–"
    assert found[4].startswith("-66.7 [")  # by hand: 10 of 15


def test_the_share_of_complete_contexts_is_compared_where_measures_differ() -> None:
    knn, ours = (
        [replace(row, measures={**row.measures, "answer_in_context": 1.0}) for row in rows]
        for rows in (asked(KNN, always), asked(OURS, lambda depth, needle: 0.0))
    )
    same = [replace(row, measures={"complete": 1.0, "answer_in_context": 1.0}) for row in ours]

    assert cells(depth_differences([*knn, *ours]), "ours")[:2] == ["complete", "-100.0 [-100.0, -100.0] below"]
    assert cells(depth_differences([*knn, *same]), "ours")[0] == "complete = answer in context"


def test_hits_and_budgets_are_compared_with_knn_of_their_own() -> None:
    rows = [
        row
        for retriever, budget, figure in (("bm25", 500, 1.0), ("bm25", 1000, 0.0), ("dense", 500, 0.0))
        for composer, of in (("knn", 1.0 - figure), ("ours", 1.0))
        for row in asked(Way(retriever, 6, composer, "document", budget), lambda depth, needle, of=of: of)
    ]
    made = depth_differences(rows)

    assert [line.split(" | ")[1:4:2] + line.split(" | ")[5:6] for line in made.splitlines() if "| ours |" in line] == [
        ["6 bm25", "ours", "+100.0 [+100.0, +100.0]"],
        ["6 bm25", "ours", "+0.0 [+0.0, +0.0]"],
        ["6 dense", "ours", "+0.0 [+0.0, +0.0]"],
    ]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(asked(OURS, always), id="without kNN"),
        pytest.param(asked(KNN, always), id="kNN alone"),
        pytest.param([*asked(KNN, always, depths=[50]), *asked(OURS, always, depths=[50])], id="a single depth"),
        pytest.param([*asked(KNN, always, depths=range(21)), *asked(OURS, always, depths=range(21))], id="too many"),
        pytest.param([*asked(KNN, always), *(replace(row, question_id=f"{row.question_id}'")
                                             for row in asked(OURS, always))], id="other questions"),
        pytest.param([replace(row, factors={}) for row in [*asked(KNN, always), *asked(OURS, always)]], id="no depth"),
    ],
)  # fmt: skip
def test_where_nothing_can_be_compared_there_is_no_table(rows: list[Row]) -> None:
    assert depth_differences(rows) == ""


def holding(rows: Sequence[Row], held: Callable[[int, int], float]) -> list[Row]:
    """Add what the hits hold to rows whose composers show nothing of it that no hit held."""
    made = []
    for row in rows:
        recall = row.measures["complete"]
        there = held(int(row.factors["depth"]), int(row.factors["needle"]))
        measures = {"evidence_recall": recall, "rescued_by_neighbours": 0.0, "lost": there - recall}
        made.append(replace(row, measures={**row.measures, **measures}))
    return made


def test_values_of_a_factor_stand_beside_what_the_hits_hold() -> None:
    rows = holding(asked(KNN, lambda depth, needle: 0.0), lambda depth, needle: needle != 0)
    lines = factors(rows, "needle")
    assert (
        "| niah | 0 | – | the hits themselves | – | 0.000 |\n| niah | 0 | 500 | knn | 0.000 | 0.000 |\n"
        "| niah | 1 | – | the hits themselves | – | 1.000 |\n| niah | 1 | 500 | knn | 0.000 | 0.000 |\n"
    ) in lines
    assert lines.endswith(f"\n\n{OF_HITS}.")
    assert "the hits themselves" not in factors(rows, "needle", ["evidence_recall"])


def test_what_the_hits_lack_is_told_from_what_a_composer_loses() -> None:
    knn = asked(KNN, lambda depth, needle: float(depth == 0))
    rows = holding([*knn, *asked(OURS, lambda depth, needle: float(depth != 100))], lambda depth, _: depth != 100)
    made = depth_sensitivity(rows)

    assert made.index("the hits themselves") < made.index("| knn |")
    assert "| niah | – | the hits themselves | complete | 1.000 at 0 % | 0.000 at 100 % | 1.000 |" in made
    assert "*the hits themselves* count a question where" in made
    level = depth_sensitivity(holding(knn, lambda *_: 1))
    assert "| the hits themselves | complete | 1.000 at 0 % | 1.000 at 0 % | 0.000 | 0.000 | 1.000 |" in level
    assert "| knn | complete | 1.000 at 0 % | 0.000 at 50 % | 1.000 |" in level


@pytest.mark.parametrize(
    ("recall", "lost", "rescued", "all_held"),
    [
        (1.0, 0.0, 0.0, True),
        (0.0, 1.0, 0.0, True),
        (0.3333, 0.6666, 0.0, True),  # rounded to four places
        (0.495, 0.4949, 0.0, True),  # 99 %, rounded
        (0.5, 0.48, 0.0, False),
        (1.0, 0.0, 0.5, False),  # shown, but out of neighbours
        (0.5, 0.5, 0.5, False),
        (0.0, 0.0, 0.0, False),
    ],
)
def test_hits_hold_what_is_shown_without_neighbours_and_what_is_lost(
    recall: float, lost: float, rescued: float, all_held: bool
) -> None:
    found = {"evidence_recall": recall, "lost": lost, "rescued_by_neighbours": rescued}
    # of any composer: what the hits hold is the same for all
    rows = [replace(row, measures={**row.measures, **found}) for row in asked(OURS, always)]

    assert cells(depth_sensitivity(rows), "the hits themselves")[1] == f"{all_held:.3f} at 0 %"


def test_hits_count_a_question_once_whatever_the_composers_and_budgets() -> None:
    once = holding(asked(KNN, lambda depth, needle: 0.0), lambda depth, needle: float((depth + needle) % 3 > 0))
    ways = [replace(KNN, budget=1000), replace(KNN, composer="ours"), replace(KNN, seed=1)]
    several = [*once, *(replace(row, way=way) for way in ways for row in once)]

    # as p does not fall with rows that say the same again
    assert cells(depth_sensitivity(several), "the hits themselves") == cells(
        depth_sensitivity(once), "the hits themselves"
    )


def test_hits_of_a_question_are_known_from_any_composer() -> None:
    knn, ours = (holding(asked(way, always), lambda depth, _: float(depth != 50)) for way in (KNN, OURS))
    some = [row for row in knn if row.factors["depth"] == 0]

    assert cells(depth_sensitivity([*some, *ours]), "the hits themselves") == cells(
        depth_sensitivity(ours), "the hits themselves"
    )


def test_hits_of_several_kinds_have_a_line_each() -> None:
    words = holding(asked(KNN, always), lambda *_: 1)
    meaning = [
        replace(row, way=replace(row.way, retriever="dense"))
        for row in holding(asked(KNN, lambda *_: 0.0), lambda depth, _: float(depth != 50))
    ]
    lines = [line for line in depth_sensitivity([*words, *meaning]).splitlines() if "| the hits themselves |" in line]

    assert [(line.split(" | ")[1], line.split(" | ")[6]) for line in lines] == [
        ("6 bm25", "1.000 at 0 %"),
        ("6 dense", "0.000 at 50 %"),
    ]


def test_without_what_was_lost_nothing_is_said_of_the_hits() -> None:
    made = depth_sensitivity(asked(KNN, always))

    assert "| knn |" in made
    assert "the hits themselves" not in made
    single = holding(asked(KNN, always, depths=[50]), lambda *_: 1)
    assert depth_sensitivity(single) == ""


def test_a_page_has_both_tables() -> None:
    rows = holding([*asked(KNN, always), *asked(OURS, lambda depth, needle: float(depth != 50))], lambda *_: 1)
    made = dict(sections(rows))

    assert "| the hits themselves |" in made["Depth of the evidence"]
    assert "-100.0 [-100.0, -100.0] below" in made["Against knn at each depth"]


def test_sensitivity_of_noise_is_not_seen() -> None:
    figures = {depth: [float((needle + depth) % 3 == 0) for needle in range(30)] for depth in range(5)}
    found = position_sensitivity(figures)

    assert not found.seen
    assert 0 < found.by_chance < 0.5
    assert found.spread == pytest.approx(0.0)
