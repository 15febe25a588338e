"""Tables of the command line: none wider than the screen, nothing cut."""

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.table import Table

from retrivex.cli.tables import print_table

words = st.text(st.sampled_from("abcdefgé蜂"), min_size=1, max_size=8)
cells = st.lists(words, min_size=1, max_size=4).map(" ".join)


def printed(table: Table, width: int, keys: int = 1) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        return capture(table, keys)


def capture(table: Table, keys: int) -> list[str]:
    page = io.StringIO()
    with contextlib.redirect_stdout(page):
        print_table(table, keys=keys)
    return page.getvalue().splitlines()


@given(st.data(), st.integers(1, 9), st.integers(0, 3), st.integers(1, 2), st.sampled_from([40, 80, 200]))
def test_no_line_is_wider_than_the_screen_and_no_word_is_cut(
    data: st.DataObject, columns: int, rows: int, keys: int, width: int
) -> None:
    table = Table()
    titles = data.draw(st.lists(cells, min_size=columns, max_size=columns))
    for title in titles:
        table.add_column(title)
    lines = data.draw(st.lists(st.lists(cells, min_size=columns, max_size=columns), min_size=rows, max_size=rows))
    for line in lines:
        table.add_row(*line)

    shown = printed(table, width, keys)

    assert all(cell_len(line) <= width for line in shown)
    assert {word for line in [titles, *lines] for text in line for word in text.split()} == set(" ".join(shown).split())


def wide() -> Table:
    table = Table("composer", *(f"measure{number}" for number in range(10)))
    for name in ("knn", "balanced"):
        table.add_row(name, *(f"{number}.250" for number in range(10)))
    return table


def test_a_wide_table_is_continued_below_with_its_first_column() -> None:
    shown = printed(wide(), 80)

    assert [line.split()[:2] for line in shown if line] == [
        ["composer", "measure0"], ["knn", "0.250"], ["balanced", "0.250"],
        ["composer", "measure8"], ["knn", "8.250"], ["balanced", "8.250"],
    ]  # fmt: skip


def test_a_table_that_has_room_is_one() -> None:
    assert len(printed(wide(), 120)) == 3


def test_columns_that_may_not_wrap_stay_on_one_line() -> None:
    table = Table("measure")
    table.add_column("A : B : level", no_wrap=True)
    table.add_row("a measure of many words", "10 : 20 : 30")

    assert any("10 : 20 : 30" in line for line in printed(table, 24))


def test_a_word_wider_than_the_screen_goes_on_below() -> None:
    table = Table("composer", "recall")
    table.add_row("x" * 100, "0.500")

    shown = printed(table, 40)
    assert max(map(len, shown)) <= 40
    assert "".join(shown).count("x") == 100


def test_the_width_in_a_pipe_is_fixed_where_nothing_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)

    assert 80 < max(map(len, capture(wide(), 1))) <= 100
