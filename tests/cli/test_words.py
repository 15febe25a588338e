"""Words as people have them in files, asked as people ask: `retrivex index`, then `retrivex query`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from retrivex.cli import app

run = CliRunner().invoke

FOUND = [
    ("ligature", "The ef\ufb01cient pro\u00adcess saves water in dry summers.", "efficient process"),
    ("cut at a line's end", "All infor-\nmation about the war-\nranty is on page nine.", "warranty information"),
    ("sharp s", "Die Werkstatt liegt in der Lindenstraße 7.", "lindenstrasse"),
    ("Greek accents", "Η βιβλιοθήκη ανοίγει στις εννέα.", "βιβλιοθηκη"),
    ("Cyrillic stress", "Ста\u0301рый за\u0301мок стоит на горе.", "замок"),
    ("Arabic tatweel", "تفتح المكتـــبة أبوابها صباحا", "المكتبة"),
    ("Persian joiner", "من می\u200cخواهم بروم", "میخواهم"),
    ("compound, as it is", "These are interferon-\ndependent pathways.", "interferon-dependent"),
    ("Thai", "ห้องสมุดเปิดเก้าโมงเช้า", "ห้องสมุด"),
    ("Korean, decomposed", "\u1103\u1169\u1109\u1165\u1100\u116a\u11ab\u110b\u1173\u11ab 아홉 시에 엽니다.", "도서관"),
    ("Vietnamese, without marks", "Thư viện mở cửa lúc chín giờ.", "thu vien"),
    ("full width", "ＡＢＣ１２３ は部品番号です。", "abc123"),
    ("programming", "The C# compiler warns.", "C#"),
    ("name in code", "Call getUserName() first.", "get user name"),
    ("grouped digits", "The invoice over 1,250.00 euros was paid.", "1250"),
    ("Chinese", "图书馆九点开门。", "图书馆"),
]


def ask(folder: Path, text: str, question: str) -> str:
    folder.joinpath("page.txt").write_text(text, encoding="utf-8")
    made = run(app, ["index", str(folder / "page.txt"), "--db", str(folder / "store.db"), "--tokenizer", "estimate"])
    assert made.exit_code == 0, made.output
    asked = run(app, ["query", question, "--db", str(folder / "store.db"), "--set", "tokenizer=estimate"])
    assert asked.exit_code == 0, asked.output
    return asked.stdout


@pytest.mark.parametrize(("text", "question"), [row[1:] for row in FOUND], ids=[row[0] for row in FOUND])
def test_a_question_finds_a_text_that_spells_it_otherwise(tmp_path: Path, text: str, question: str) -> None:
    assert "page.txt, characters 0-" in ask(tmp_path, text, question)


@pytest.mark.parametrize(
    ("text", "question"), [("Старые мои дома.", "мой"), ("एक दिन", "दन")], ids=["Russian", "Hindi"]
)
def test_marks_that_make_another_word_tell_words_apart(tmp_path: Path, text: str, question: str) -> None:
    assert "page.txt" not in ask(tmp_path, text, question)
