"""The report of a run: what was run, what reaches the context, where it loses, plots that show it."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.report_rows import needles, section, write

from retrivex.errors import LoadError
from retrivex.evaluation.metrics import position_sensitivity
from retrivex.evaluation.report import to_html, write_report
from retrivex.evaluation.report.colours import colours_of
from retrivex.evaluation.report.sections import orders
from retrivex.evaluation.run.results import MANIFEST, RESULTS, Excerpt, Row, Way, write_rows


def test_report_says_what_was_run_and_what_was_not(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", needles(lambda composer, depth, needle, budget: 1.0))
    write_report(folder, title="Needles")
    page = (folder / "report.md").read_text(encoding="utf-8")

    assert page.startswith("# Needles\n")
    assert "| niah/4096 | 40 | 7 | 0 | 0 | 0 | 1 |" in section(page, "What was run")
    assert "- line 3: &lt;i>" in section(page, "What was run")
    assert "abc" not in page
    assert "Answers were not generated" in section(page, "Answers")
    assert "In no set and at no budget" in section(page, "Where it loses")
    # a line for each budget and composer, of both lengths together
    assert section(page, "What reaches the context").count("1.000 [1.000, 1.000]") == 8
    assert "needle\\|&lt;b>" in section(page, "By task")


def test_losses_are_said(tmp_path: Path) -> None:
    rows = needles(lambda composer, depth, needle, budget: float(composer == "knn" or budget == 1000))
    write_report(write(tmp_path / "run", rows))
    found = section((tmp_path / "run" / "report.md").read_text(encoding="utf-8"), "Where it loses")

    assert found.count("knn is better") == 2  # two sets, and the small budget alone
    assert "| niah/4096 | 500 | 6 bm25 | balanced | evidence recall = complete | -1.000 |" in found


def test_measures_that_are_the_same_number_are_compared_once(tmp_path: Path) -> None:
    rows = needles(lambda composer, depth, needle, budget: float(composer == "knn"))
    other = replace(rows[0], measures={**rows[0].measures, "complete": 0.5})
    both, one = (write(tmp_path / name, made) for name, made in (("both", rows), ("one", [other, *rows[1:]])))
    for folder in (both, one):
        write_report(folder)
    compared, apart = (
        section((folder / "report.md").read_text(encoding="utf-8"), "Against the baseline") for folder in (both, one)
    )

    assert compared.count("| evidence recall = complete |") == 4  # of two sets at two budgets
    assert compared.count("| complete |") == 0
    # one question tells the measures of one set at one budget apart
    assert (apart.count("| evidence recall |"), apart.count("| complete |")) == (1, 1)
    assert apart.count("| evidence recall = complete |") == 3


def test_depth_that_matters_is_told_from_noise(tmp_path: Path) -> None:
    rows = needles(lambda composer, depth, needle, budget: float(composer == "balanced" or depth != 50))
    write_report(write(tmp_path / "run", rows))
    found = section((tmp_path / "run" / "report.md").read_text(encoding="utf-8"), "Depth of the evidence")
    lines = [line for line in found.splitlines() if "complete" in line]

    assert [("knn" in line, "depends on depth" in line) for line in lines] == [(True, True)] * 2 + [(False, False)] * 2
    assert "0.000 at 50 %" in lines[0]


def test_hits_of_several_kinds_are_not_averaged(tmp_path: Path) -> None:
    words = needles(lambda composer, depth, needle, budget: 1.0)
    meaning = [
        replace(row, way=replace(row.way, retriever="dense"))
        for row in needles(lambda composer, depth, needle, budget: float(depth != 50))
    ]
    write_report(write(tmp_path / "run", [*words, *meaning]))
    page = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")

    found = [line for line in section(page, "Depth of the evidence").splitlines() if "| 500 | balanced |" in line]
    assert [line.split(" | ")[1] for line in found] == ["6 bm25", "6 dense"]
    assert ["within noise" in line for line in found] == [True, False]
    tasks = [line for line in section(page, "By task").splitlines() if "| 500 | balanced |" in line]
    assert [line.split(" | ")[2:6] for line in tasks] == [
        ["6 bm25", "500", "balanced", "1.000"],
        ["6 dense", "500", "balanced", "0.800"],
    ]
    assert "| balanced | 6 bm25 | 500 | 1.50 |" in section(page, "Time")
    assert "| balanced | 6 dense | 500 | 1.50 |" in section(page, "Time")


def test_answers_to_hits_of_several_kinds_are_not_averaged(tmp_path: Path) -> None:
    asked = [
        Row("own", f"q{at}", Way(retriever, 6, "knn", "score_desc", 500), {"em": float(retriever == "dense")})
        for retriever in ("bm25", "dense")
        for at in range(8)
    ]
    write_report(write(tmp_path / "run", asked))
    found = section((tmp_path / "run" / "report.md").read_text(encoding="utf-8"), "Answers")

    assert "| own | 6 bm25 | 500 | knn | score_desc | 0.000" in found
    assert "| own | 6 dense | 500 | knn | score_desc | 1.000" in found


def test_several_needles_that_move_together_are_the_same_question(tmp_path: Path) -> None:
    rows = [
        replace(row, factors={**row.factors, "depths": f"{row.factors['depth']} {int(row.factors['depth']) + 30}"})
        for row in needles(lambda composer, depth, needle, budget: float(depth != 50))
    ]
    write_report(write(tmp_path / "run", rows))
    found = section((tmp_path / "run" / "report.md").read_text(encoding="utf-8"), "Depth of the evidence")

    assert found.count("| 0.000 at 50 % |") == 4


def test_orders_say_where_the_evidence_stands(tmp_path: Path) -> None:
    rows = needles(lambda composer, depth, needle, budget: 1.0, orders=("edge_balanced", "document"))
    write_report(write(tmp_path / "run", rows))
    found = section((tmp_path / "run" / "report.md").read_text(encoding="utf-8"), "Orders")

    edges = next(line for line in found.splitlines() if "| knn | edge_balanced |" in line)
    document = next(line for line in found.splitlines() if "| knn | document |" in line)
    assert "0.000 [0.000, 0.000] | 1.00 | 0.00" in edges
    assert document.endswith(
        "| 0.38 | 0.38 |"
    )  # by hand: 0 twice and 1 once of 8 needles; 2, 3, 4 of 0-6 in the middle


def test_composers_with_orders_of_their_own_stand_beside_each_other(tmp_path: Path) -> None:
    rows = [
        Row("bees", "q", Way("bm25", 6, composer, order, 500), {"evidence_recall": figure})
        for composer, order, figure in (("knn", "score_desc", 0.25), ("balanced", "edge_balanced", 0.75))
    ]
    write_report(write(tmp_path / "run", rows))
    found = section((tmp_path / "run" / "report.md").read_text(encoding="utf-8"), "What reaches the context")

    assert "0.250" in found
    assert "0.750" in found


def test_many_places_are_told_by_the_fifth(tmp_path: Path) -> None:
    rows = [
        Row("keys", f"q{place}", Way("bm25", 6, "knn", order, 500), {"evidence_position": place / 50},
            {"gold_at": place, "keys": 50})
        for place in reversed(range(50))
        for order in ("document", "shuffle")
    ]  # fmt: skip
    write_report(write(tmp_path / "run", rows))
    page = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    lines = [line for line in section(page, "Orders").splitlines() if "| document |" in line]

    assert [line.split(" | ")[1] for line in lines] == [
        f"{name} fifth of 50" for name in ("first", "second", "third", "fourth", "last")
    ]
    assert "0.090 [" in lines[0]  # by hand: places 0-9 of 50, on average 0.09
    assert "By gold at" not in page


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


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ({"sets": None}, "sets is None, no list"),
        ({"sets": [{"asked": "40"}]}, "asked is '40', no whole number"),
        ({"sets": [{"odd": 3}]}, "odd is 3, no object"),
        ({"sets": [{"odd": {"records": [1]}}]}, "records is .* no list of texts"),
    ],
)
def test_manifest_that_was_changed_by_hand_is_one_clear_error(
    tmp_path: Path, manifest: dict[str, object], said: str
) -> None:
    folder = write(tmp_path / "run", needles(lambda composer, depth, needle, budget: 1.0))
    (folder / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")

    with pytest.raises(LoadError, match=said):
        write_report(folder)


def test_what_was_not_measured_is_a_dash(tmp_path: Path) -> None:
    rows = needles(lambda composer, depth, needle, budget: 1.0 if composer == "balanced" else math.nan)
    missing = write_report(write(tmp_path / "run", rows))
    page = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    knn, *_ = (line for line in section(page, "What reaches the context").splitlines() if "| knn |" in line)

    assert any("320 figures are NaN" in told for told in missing)  # two measures of 160 rows
    assert "| 500 | knn | – | – |" in knn
    assert "nan" not in page


def test_cells_of_the_html_are_aligned_by_the_style_alone() -> None:
    made = to_html('| a | b |\n| --- | ---: |\n| `style="text-align:right"` | 1 |\n', Path(), title="x")

    assert "<td>1</td>" in made
    assert "style=&quot;text-align:right&quot;" in made


def test_folder_without_results_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot be read"):
        write_report(tmp_path)
    write_rows(tmp_path / RESULTS, [])
    with pytest.raises(LoadError, match="holds no results"):
        write_report(tmp_path)


def test_html_holds_its_images_and_no_foreign_markup(tmp_path: Path) -> None:
    (tmp_path / "plot.png").write_bytes(b"PNG")
    made = to_html("![a plot](plot.png)\n\n<script>alert(1)</script>\n", tmp_path, title="x<y")

    assert 'src="data:image/png;base64,UE5H"' in made
    assert "<script>" not in made
    assert "<title>x&lt;y</title>" in made
    with pytest.raises(LoadError, match=r"none\.png"):
        to_html("![](none.png)", tmp_path, title="x")
    inside = tmp_path / "inside"
    inside.mkdir()
    for path in ("../plot.png", str(tmp_path / "plot.png")):
        assert "base64" not in to_html(f"![]({path})", inside, title="x")


def test_sensitivity_of_noise_is_not_seen() -> None:
    figures = {depth: [float((needle + depth) % 3 == 0) for needle in range(30)] for depth in range(5)}
    found = position_sensitivity(figures)

    assert not found.seen
    assert 0 < found.by_chance < 0.5
    assert found.spread == pytest.approx(0.0)


def own(composer: str, figures: list[float], *, held: float = 1.0, budget: int = 500) -> list[Row]:
    """Make rows of questions whose hits hold a share of the evidence."""
    return [
        Row(
            "own",
            f"q{at}",
            Way("bm25", 6, composer, "document", budget),
            {"evidence_recall": figure, "complete": float(figure == 1), "lost": max(0.0, held - figure),
             "rescued_by_neighbours": max(0.0, figure - held)},
            question=f"Who is {at}?",
            missing=() if figure == 1 else (Excerpt("bees.md", f"Bee {at} is the | queen."),),
            shown=() if figure == 1 else (Excerpt("ants.md", "Ants <march>."),),
        )
        for at, figure in enumerate(figures)
    ]  # fmt: skip


def page_of(folder: Path, rows: list[Row]) -> str:
    write_report(write(folder, rows))
    return (folder / "report.md").read_text(encoding="utf-8")


def test_the_first_screen_is_a_verdict_and_the_main_table_and_the_manifest_is_last(tmp_path: Path) -> None:
    rows = [*own("knn", [1, 0, 0, 0, 0, 0, 0, 0]), *own("balanced", [1, 1, 1, 1, 1, 1, 1, 0])]
    page = page_of(tmp_path / "run", rows)
    first = page.split("\n## ")[0]

    assert first.split("\n\n")[1] == (
        "**balanced shows more of the evidence than knn**: evidence recall = complete 0.875 against 0.125 (+0.750, "
        "95 % interval +0.375 to +1.000), 8 questions. For 1 of 8 questions no context shows all of the evidence, "
        "though the retriever had found it all."
    )
    assert "| composer | 500 tokens | questions |" in first
    assert "| balanced | 0.875 | 8 |" in first
    assert "share of the evidence's characters that stand in the context" in first
    assert page.split("\n## ")[-1].startswith("What was run")


@pytest.mark.parametrize(
    ("knn", "balanced", "said"),
    [
        ([1.0] * 8, [0.0] * 8, "**knn shows more of the evidence than balanced**"),
        ([1.0] * 8, [1.0] * 8, "Every question has all of its evidence in at least one context."),
        ([0.0] * 3, [1.0] * 3, "**Too few questions to tell balanced from knn**"),
        ([0.0] * 8, [0.0] * 8, "For 8 of 8 questions no context shows all of the evidence, though the"),
    ],
)
def test_the_verdict_says_what_was_seen(tmp_path: Path, knn: list[float], balanced: list[float], said: str) -> None:
    assert said in page_of(tmp_path / "run", [*own("knn", knn), *own("balanced", balanced)]).split("\n## ")[0]


def test_settings_that_only_one_side_has_are_not_compared(tmp_path: Path) -> None:
    rows = [*own("knn", [1.0] * 8), *own("knn", [0.0] * 8, budget=100), *own("balanced", [1.0] * 8)]
    assert "1.000 against 1.000" in page_of(tmp_path / "run", rows)


def test_questions_that_fail_say_what_was_shown_and_what_the_hits_held(tmp_path: Path) -> None:
    rows = [*own("knn", [1, 0, 0.5], held=0.5), *own("knn±1", [1, 0, 1], held=0.5)]
    found = section(page_of(tmp_path / "run", rows), "Questions that fail")
    lines = [line for line in found.splitlines() if "Who is" in line]

    assert lines[0] == (
        "| Who is 1? | 0 of 2 | 50% of it | bees.md: “Bee 1 is the \\| queen.” | ants.md: “Ants &lt;march>.” (knn, 6 "
        "bm25 hits, 500 tokens) |"
    )
    assert [line.split(" | ")[1] for line in lines] == ["0 of 2", "1 of 2"]


def test_questions_that_only_a_baseline_fails_stand_apart(tmp_path: Path) -> None:
    rows = [*own("knn", [0, 0.5, 1, 1]), *own("balanced", [0, 1, 0.5, 1]), *own("knn±1", [0, 1, 1, 1])]
    found = section(page_of(tmp_path / "run", rows), "Questions that fail")
    mine, _, others = found.partition("### Failed only by knn, knn±1\n")

    assert mine.index("### Failed by balanced\n") < mine.index("2 of 4 questions lack evidence")
    lines = [line.split(" | ") for line in mine.splitlines() if "Who is" in line]
    assert [line[:3] for line in lines] == [["| Who is 0?", "0 of 1", "0 of 2"], ["| Who is 2?", "0 of 1", "2 of 2"]]
    assert all("(balanced, " in line[-1] for line in lines)
    assert "1 of 4 questions lack evidence" in others
    (line,) = (line for line in others.splitlines() if "Who is" in line)
    assert line.startswith("| Who is 1? | 1 of 2 | ")
    assert "(knn, " in line


@pytest.mark.parametrize(
    ("composer", "budget", "chunks", "noted"),
    [("knn", 100, 200, True), ("knn", 200, 200, False), ("balanced", 100, 200, False), ("knn", 100, None, False)],
)
def test_a_budget_below_a_chunk_is_noted_under_the_verdict(
    tmp_path: Path, composer: str, budget: int, chunks: int | None, noted: bool
) -> None:
    folder = write(tmp_path / "run", own(composer, [1.0, 0.0], budget=budget))
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    (folder / MANIFEST).write_text(json.dumps({**manifest, "chunker": {"name": "auto", "tokens": chunks}}))
    write_report(folder)
    first = (folder / "report.md").read_text(encoding="utf-8").split("\n| composer")[0]

    assert ("At 100 tokens a whole chunk, of up to 200, may not fit" in first) is noted
    assert ("a budget of 400 tokens or more" in first) is noted


def test_tables_of_the_page_are_left_aligned_and_wrap(tmp_path: Path) -> None:
    write_report(write(tmp_path / "run", own("knn", [1.0, 0.0])))
    made = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")

    assert "nowrap" not in made
    assert "text-align: left" in made
    assert "right" not in made.split("</style>")[0]


def test_a_composer_has_the_same_colour_whatever_else_was_run() -> None:
    alone, among = colours_of(["balanced", "mine"]), colours_of(["quality", "knn", "yours", "mine", "balanced"])

    assert alone["balanced"] == among["balanced"]
    assert len(set(among.values())) == 5
