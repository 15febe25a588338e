"""Words as people have them in files, asked as people ask: `retrivex index`, then `retrivex query`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from retrivex.cli import app

run = CliRunner().invoke

FOUND = [
    # spelt otherwise in the file than in the question
    ("ligature", "The ef\ufb01cient pro\u00adcess saves water in dry summers.", "efficient process"),
    ("soft hyphen alone", "The pro\u00adcess saves water in dry summers.", "process"),
    ("ligature in the question", "The efficient one saves water.", "e\ufb03cient"),
    ("zero width", "The data\u200bbase keeps all records.", "database"),
    ("cut at a line's end", "All infor-\nmation about the war-\nranty is on page nine.", "warranty information"),
    ("cut by a soft hyphen", "All about the war\u00ad\nranty is on page nine.", "warranty"),
    ("cut overleaf", "All about the war-\n\nranty is on page nine.", "warranty"),
    ("cut, in German", "Die Versiche-\nrung zahlt jeden Schaden.", "Versicherung"),
    ("sharp s", "Die Werkstatt liegt in der Lindenstraße 7.", "lindenstrasse"),
    ("sharp s in the question", "Die Werkstatt liegt in der LINDENSTRASSE 7.", "Lindenstraße"),
    ("Greek accents", "Η βιβλιοθήκη ανοίγει στις εννέα.", "βιβλιοθηκη"),
    ("Greek capitals", "Η βιβλιοθήκη ανοίγει στις εννέα.", "ΒΙΒΛΙΟΘΗΚΗ"),
    ("Cyrillic dots", "Мы ещё работаем вечером.", "еще"),
    ("Cyrillic stress", "Ста\u0301рый за\u0301мок стоит на горе.", "замок"),
    ("Arabic vowel marks", "تَفْتَحُ المَكْتَبَةُ أَبْوَابَهَا صَبَاحًا", "المكتبة"),
    ("Arabic tatweel", "تفتح المكتـــبة أبوابها صباحا", "المكتبة"),
    ("Arabic alef", "تفتح المكتبة أبوابها صباحا", "ابوابها"),
    ("Hebrew points", "הַסִּפְרִיָּה פְּתוּחָה בַּבֹּקֶר", "הספריה פתוחה"),
    ("Persian joiner", "من می\u200cخواهم بروم", "میخواهم"),
    ("Polish stroke", "Muzeum w Łodzi otwiera o dziewiątej.", "lodzi"),
    ("French oe", "Le cœur bat plus vite.", "coeur"),
    # right in earlier versions, and to stay
    ("compound, by its words", "These are interferon-\ndependent pathways.", "interferon dependent"),
    ("compound, as it is", "These are interferon-\ndependent pathways.", "interferon-dependent"),
    ("Thai", "ห้องสมุดเปิดเก้าโมงเช้า", "ห้องสมุด"),
    ("Korean", "도서관은 아홉 시에 엽니다.", "도서관"),
    ("Korean, decomposed", "\u1103\u1169\u1109\u1165\u1100\u116a\u11ab\u110b\u1173\u11ab 아홉 시에 엽니다.", "도서관"),
    ("Hindi", "पुस्तकालय नौ बजे खुलता है।", "पुस्तकालय"),
    ("Vietnamese", "Thư viện mở cửa lúc chín giờ.", "thư viện"),
    ("Vietnamese, without marks", "Thư viện mở cửa lúc chín giờ.", "thu vien"),
    ("Turkish", "İstanbul kütüphanesi dokuzda açılır.", "istanbul kutuphanesi"),
    ("full width", "ＡＢＣ１２３ は部品番号です。", "abc123"),
    ("decomposed accents", "Le cafe\u0301 ouvre a\u0300 neuf heures.", "café"),
    ("Latin accents", "Le café ouvre à neuf heures.", "cafe"),
    ("programming", "The C# compiler warns.", "C#"),
    ("vulnerability", "A patch for CVE-2024-3094 is out.", "CVE-2024-3094"),
    ("order number", "Order A-1093-77 was sent.", "A-1093-77"),
    ("name in code", "Call getUserName() first.", "get user name"),
    ("name in code, as it is", "Call getUserName() first.", "getUserName"),
    ("grouped digits", "The invoice over 1,250.00 euros was paid.", "1250"),
    ("grouped digits, as they are", "The invoice over 1,250.00 euros was paid.", "1,250.00"),
    ("digits grouped in the question", "The invoice over 1250 euros was paid.", "1,250"),
    ("trade mark", "Written with Word™ in 2010.", "word"),
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
