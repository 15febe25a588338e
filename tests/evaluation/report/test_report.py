"""The report of a run: what was run, what reaches the context, where it loses, plots that show it."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.report_rows import needles, section, write

from retrivex.errors import LoadError
from retrivex.evaluation.report import to_html, write_report
from retrivex.evaluation.run.results import RESULTS, Excerpt, Row, Way, write_rows


def test_report_says_what_was_run_and_what_was_not(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", needles(lambda composer, depth, needle, budget: 1.0))
    write_report(folder, title="Needles")
    page = (folder / "report.md").read_text(encoding="utf-8")

    assert page.startswith("# Needles\n")
    assert "    - name: niah/4096\n      asked: 40\n      documents: 7\n" in section(page, "What was run")
    assert "        - 'line 3: <i>'" in section(page, "What was run")  # indented: code, not markup
    assert "<i>" not in (folder / "report.html").read_text(encoding="utf-8")
    assert "abc" not in page
    assert "Answers were not generated" in section(page, "Answers")
    # a line for each budget and composer, of both lengths together
    assert section(page, "What reaches the context").count("1.000 [1.000, 1.000]") == 8
    assert "needle\\|&lt;b>" in section(page, "By task")


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


def test_composers_with_orders_of_their_own_stand_beside_each_other(tmp_path: Path) -> None:
    rows = [
        Row("bees", "q", Way("bm25", 6, composer, order, 500), {"evidence_recall": figure})
        for composer, order, figure in (("knn", "score_desc", 0.25), ("balanced", "edge_balanced", 0.75))
    ]
    write_report(write(tmp_path / "run", rows))
    found = section((tmp_path / "run" / "report.md").read_text(encoding="utf-8"), "What reaches the context")

    assert "0.250" in found
    assert "0.750" in found


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
        ([1.0] * 8, [1.0] * 8, "**No difference between balanced and knn is more than chance**"),
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
        "| Who is 1? | own | 0 of 2 | 50% of it | bees.md: “Bee 1 is the \\| queen.” | ants.md: “Ants &lt;march>.” "
        "(knn, 6 bm25 hits, 500 tokens) |"
    )
    assert [line.split(" | ")[2] for line in lines] == ["0 of 2", "1 of 2"]


def test_tables_of_the_page_are_left_aligned_and_wrap(tmp_path: Path) -> None:
    write_report(write(tmp_path / "run", own("knn", [1.0, 0.0])))
    made = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")

    assert "nowrap" not in made
    assert "text-align: left" in made
    assert "right" not in made.split("</style>")[0]


@pytest.mark.parametrize("neighbours", [1.0, 0.5])
def test_the_verdict_is_about_retrivex_wherever_it_was_run(tmp_path: Path, neighbours: float) -> None:
    rows = [*own("knn", [0.5] * 8), *own("knn±1", [neighbours] * 8), *own("balanced", [0.5] * 8)]
    first = page_of(tmp_path / "run", rows).split("\n## ")[0]

    assert "**No difference between balanced and knn is more than chance**" in first
    alone = page_of(tmp_path / "alone", [*own("knn", [0.5] * 8), *own("knn±1", [0.5] * 8)])
    assert "**No difference between knn±1 and knn is more than chance**" in alone


def test_questions_that_only_a_baseline_fails_are_counted(tmp_path: Path) -> None:
    rows = [*own("knn", [0, 0.5, 1, 1]), *own("balanced", [0, 1, 0.5, 1]), *own("knn±1", [0, 1, 1, 1])]
    found = section(page_of(tmp_path / "run", rows), "Questions that fail")

    assert "2 of 4 questions lack evidence" in found
    assert "Only baselines lack evidence of 1 of 4 questions." in found
    lines = [line.split(" | ") for line in found.splitlines() if "Who is" in line]
    assert [line[0:3:2] for line in lines] == [["| Who is 0?", "0 of 1"], ["| Who is 2?", "0 of 1"]]
    assert all("(balanced, " in line[-1] for line in lines)
