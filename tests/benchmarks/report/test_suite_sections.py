"""The sections of a suite's page: where it loses, depths, orders, times, and kinds of hits apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from support.report_rows import needles, section

from benchmarks.report.colours import colours_of
from benchmarks.report.suite_sections import orders, sections
from retrivex.evaluation.run.results import Row, Way


def page(rows: Sequence[Row]) -> str:
    """Return all sections."""
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in sections(rows) if text)


def test_losses_are_said() -> None:
    rows = needles(lambda composer, depth, needle, budget: float(composer == "knn" or budget == 1000))
    found = section(page(rows), "Where it loses")

    assert found.count("knn is better") == 2  # two sets, and the small budget alone
    assert "| niah/4096 | 500 | 6 bm25 | balanced | evidence recall = complete | -1.000 |" in found
    level = needles(lambda composer, depth, needle, budget: 1.0)
    assert "In no set and at no budget" in section(page(level), "Where it loses")


def test_depth_that_matters_is_told_from_noise() -> None:
    rows = needles(lambda composer, depth, needle, budget: float(composer == "balanced" or depth != 50))
    found = section(page(rows), "Depth of the evidence")
    lines = [line for line in found.splitlines() if "complete" in line]

    assert [("knn" in line, "depends on depth" in line) for line in lines] == [(True, True)] * 2 + [(False, False)] * 2
    assert "0.000 at 50 %" in lines[0]


def test_hits_of_several_kinds_are_not_averaged() -> None:
    words = needles(lambda composer, depth, needle, budget: 1.0)
    meaning = [
        replace(row, way=replace(row.way, retriever="dense"))
        for row in needles(lambda composer, depth, needle, budget: float(depth != 50))
    ]
    made = page([*words, *meaning])

    found = [line for line in section(made, "Depth of the evidence").splitlines() if "| 500 | balanced |" in line]
    assert [line.split(" | ")[1] for line in found] == ["6 bm25", "6 dense"]
    assert ["within noise" in line for line in found] == [True, False]
    tasks = [line for line in section(made, "By task").splitlines() if "| 500 | balanced |" in line]
    assert [line.split(" | ")[2:6] for line in tasks] == [
        ["6 bm25", "500", "balanced", "1.000"],
        ["6 dense", "500", "balanced", "0.800"],
    ]
    assert "| balanced | 6 bm25 | 500 | 1.50 |" in section(made, "Time")
    assert "| balanced | 6 dense | 500 | 1.50 |" in section(made, "Time")


def test_several_needles_that_move_together_are_the_same_question() -> None:
    rows = [
        replace(row, factors={**row.factors, "depths": f"{row.factors['depth']} {int(row.factors['depth']) + 30}"})
        for row in needles(lambda composer, depth, needle, budget: float(depth != 50))
    ]
    assert section(page(rows), "Depth of the evidence").count("| 0.000 at 50 % |") == 4


def test_orders_say_where_the_evidence_stands() -> None:
    rows = needles(lambda composer, depth, needle, budget: 1.0, orders=("edge_balanced", "document"))
    found = section(page(rows), "Orders")

    edges = next(line for line in found.splitlines() if "| knn | edge_balanced |" in line)
    document = next(line for line in found.splitlines() if "| knn | document |" in line)
    assert "0.000 [0.000, 0.000] | 1.00 | 0.00" in edges
    # by hand: 0 twice and 1 once of 8 needles; 2, 3, 4 of 0-6 in the middle
    assert document.endswith("| 0.38 | 0.38 |")


def test_many_places_are_told_by_the_fifth() -> None:
    rows = [
        Row("keys", f"q{place}", Way("bm25", 6, "knn", order, 500), {"evidence_position": place / 50},
            {"gold_at": place, "keys": 50})
        for place in reversed(range(50))
        for order in ("document", "shuffle")
    ]  # fmt: skip
    made = page(rows)
    lines = [line for line in section(made, "Orders").splitlines() if "| document |" in line]

    assert [line.split(" | ")[1] for line in lines] == [
        f"{name} fifth of 50" for name in ("first", "second", "third", "fourth", "last")
    ]
    assert "0.090 [" in lines[0]  # by hand: places 0-9 of 50, on average 0.09
    assert "By gold at" not in made


class Counted(dict[str, float]):
    """Measures that count how often their names are read."""

    reads = 0

    def __iter__(self) -> Iterator[str]:
        Counted.reads += 1
        return super().__iter__()


def test_rows_are_not_read_again_for_each_line_of_a_table() -> None:
    rows = [
        Row("middle", f"q{place}", Way("bm25", 6, "knn", order, 500), Counted(evidence_position=0.5),
            {"gold_at": place, "documents": 20})
        for place in range(20)
        for order in ("document", "shuffle", "edge_balanced", "score_desc", "back_first")
    ]  # fmt: skip
    found = orders(rows)

    assert found.count("\n") == 101  # a head of two lines, and a line for each place and order
    assert Counted.reads < 10 * len(rows)


def test_a_composer_has_the_same_colour_whatever_else_was_run() -> None:
    alone, among = colours_of(["balanced", "mine"]), colours_of(["quality", "knn", "yours", "mine", "balanced"])

    assert alone["balanced"] == among["balanced"]
    assert len(set(among.values())) == 5
