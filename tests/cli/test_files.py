"""Files as people have them, from the folder to the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from retrivex.cli import app

run = CliRunner().invoke

FILES = {
    "parts.csv": "sku,name,price\n" + "".join(f'A-{n},"Pump model {n}",{n}.50\n' for n in range(90)),
    "pumps.md": '+++\ntitle = "Pumps"\ntags = ["water"]\n+++\n\nA seal lasts two years. See [parts](parts.csv).',
    "bees.md": "---\ntitle: Bees\nauthor: Ann Lee\ntags:\n  - insects\n---\nBees sleep at night.",
    "shop.html": "<nav>Home</nav><div class=cookie-banner>We use cookies</div><p>Price of the teapot: <del>40</del> "
    '<ins>30</ins> euros<p>See <a href="pumps.md">the guide</a><img alt="Chart"><b>Now</b><footer>(c) ACME</footer>',
    "gateway.json": '{"limits": {"requests_per_minute": 600}, "routes": [{"path": "/a", "target": "alpha"}]}',
    "settings.yaml": "# of the server\nserver:\n  timeout_seconds: 30\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def index(folder: Path) -> Any:
    return json.loads(run(app, ["index", str(folder), "--db", str(folder / "store.db"), "--json"]).stdout)


def ask(folder: Path, question: str, *options: str) -> str:
    result = run(app, ["query", question, "--db", str(folder / "store.db"), *options])
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(
    ("question", "shown", "source"),
    [
        ("What does pump model 77 cost?", "| sku | name | price |\n| --- | --- | --- |", "parts.csv"),
        ("What does pump model 77 cost?", "| A-77 | Pump model 77 | 77.50 |", "parts.csv"),
        ("price of the teapot", "Price of the teapot: 30 euros\n", "shop.html"),
        ("the guide chart", "See [the guide](pumps.md) Chart Now\n", "shop.html"),
        ("requests per minute", "# limits\n\n- requests_per_minute: 600\n", "gateway.json"),
        ("timeout seconds of the server", "# server\n\n- timeout_seconds: 30\n", "settings.yaml"),
        ("How long does a seal last?", "A seal lasts two years.", "pumps.md"),
    ],
)
def test_each_kind_answers_with_its_source(folder: Path, question: str, shown: str, source: str) -> None:
    assert index(folder)["added"] == len(FILES)
    answer = ask(folder, question)
    assert shown in answer
    assert source in answer.partition("Sources")[2]
    assert "cookies" not in answer


@pytest.mark.parametrize(
    ("where", "name"), [("tags=water", "pumps.md"), ("tags=insects", "bees.md"), ("author=Ann Lee", "bees.md")]
)
def test_front_matter_is_found_by_where(folder: Path, where: str, name: str) -> None:
    index(folder)
    answer = ask(folder, "seal bees", "--where", f"metadata.{where}")
    sources = answer.partition("Sources\n")[2].splitlines()
    assert [line.split()[1].rstrip(",") for line in sources] == [name]


def test_what_is_left_out_is_a_note(folder: Path) -> None:
    notes = {Path(note["path"]).name: note["reason"] for note in index(folder)["notes"]}
    assert notes == {
        "settings.yaml": "left out: comments",
        "shop.html": "left out: navigation, deleted text, cookie notices, footers",
    }


def test_broken_files_of_each_kind_are_one_line_each(folder: Path) -> None:
    broken = {"a.json": b"{", "a.yml": b"a: b: c", "a.csv": b"a,b\0", "a.html": b"<nav>x", "a.pdf": b"%PDF"}
    for name, raw in broken.items():
        (folder / name).write_bytes(raw)
    report = index(folder)
    assert sorted(Path(problem["path"]).name for problem in report["problems"]) == sorted(broken)


def test_a_second_run_changes_nothing(folder: Path) -> None:
    index(folder)
    assert index(folder)["unchanged"] == len(FILES)
