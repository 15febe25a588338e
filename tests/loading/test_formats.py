"""Notebooks, subtitles, mail, EPUB and AsciiDoc: what comes of them, and what is said of what does not."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from retrivex.chunking import MarkdownChunker, SentenceChunker
from retrivex.errors import LoadError
from retrivex.loading import load_documents, load_file
from retrivex.loading.files import SUPPORTED_SUFFIXES
from retrivex.loading.limits import LoadLimits
from retrivex.model.document import Document


def load(folder: Path, name: str, content: bytes | str) -> tuple[Document, list[str]]:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    documents, report = load_documents(path)
    assert report.problems == []
    return documents[0], [note.reason for note in report.notes]


def refuse(folder: Path, name: str, content: bytes | str, reason: str) -> None:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(LoadError, match=reason):
        load_file(path)


# ---- notebooks


def notebook(*cells: dict[str, object], **metadata: object) -> str:
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def code_cell(source: str, *outputs: dict[str, object]) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "outputs": outputs, "execution_count": 1, "metadata": {}}


def test_cells_of_a_notebook(tmp_path: Path) -> None:
    made = notebook(
        {"cell_type": "markdown", "source": ["# Pumps\n", "\n", "How they run. ![a pump](data:image/png;base64,AAAA)"]},
        code_cell("import pump\npump.run()", {"output_type": "stream", "text": ["\x1b[31mran\x1b[0m 5 s\n"]}),
        language_info={"name": "python"},
    )
    document, notes = load(tmp_path, "a.ipynb", made)
    assert (document.format, document.title) == ("markdown", "Pumps")
    assert document.text == (
        "# Pumps\n\nHow they run. a pump\n\n```python\nimport pump\npump.run()\n```\n\n```text\nran 5 s\n```\n"
    )
    assert notes == ["pictures left out: 1"]


def test_long_outputs_and_pictures_of_a_notebook(tmp_path: Path) -> None:
    long = {"output_type": "execute_result", "data": {"text/plain": [f"row {n}\n" for n in range(100)]}}
    plot = {"output_type": "display_data", "data": {"image/png": "A" * 5000, "text/plain": "<Figure size 640x480>"}}
    failed = {"output_type": "error", "ename": "ValueError", "evalue": "no water", "traceback": ["\x1b[31m..."]}
    document, notes = load(tmp_path, "a.ipynb", notebook(code_cell("x", long, plot, failed)))
    assert "row 19\n...\n" in document.text
    assert "row 20" not in document.text
    assert "AAAA" not in document.text
    assert "Figure" not in document.text
    assert "ValueError: no water" in document.text
    assert notes == [
        "outputs cut after 20 lines or 2,000 characters: 1",
        "outputs that are no text (pictures, ...) left out: 1",
    ]


def test_code_with_a_fence_in_it_stays_code(tmp_path: Path) -> None:
    document, _ = load(tmp_path, "a.ipynb", notebook(code_cell('print("""\n```\n# no heading\n```\n""")')))
    assert document.title is None
    assert document.text.startswith("````python\n")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"cells": [', "cannot be read as a notebook"),
        ("[" * 200_000, "cannot be read as a notebook"),
        ('{"a": 1}', "no notebook: its JSON has no `cells`"),
        ('{"cells": [{"cell_type": "code", "source": 5, "outputs": "x"}, 7]}', "no cell of the notebook has text"),
    ],
)
def test_broken_notebooks_are_refused(tmp_path: Path, content: str, reason: str) -> None:
    refuse(tmp_path, "a.ipynb", content, reason)


# ---- subtitles

SRT = """\ufeff1
00:00:58,500 --> 00:01:02,000
The new pump is

2
00:01:02,000 --> 00:01:05,250 X1:100
<i>quieter</i> than the old one.

3
01:00:07,000 --> 01:00:09,000
{\\an8}Questions?
"""


def test_cues_become_sentences(tmp_path: Path) -> None:
    document, notes = load(tmp_path, "talk.srt", SRT.replace("\n", "\r\n"))
    assert document.text == "The new pump is quieter than the old one.\n\nQuestions?\n"
    assert document.metadata["cue_times"] == [[0, 58.5, 62.0], [16, 62.0, 65.25], [43, 3607.0, 3609.0]]
    assert notes == []


def test_times_come_into_the_chunks(tmp_path: Path) -> None:
    document, _ = load(tmp_path, "talk.srt", SRT)
    chunks = SentenceChunker(1, 0).chunk(document)
    told = [(c.text, c.metadata.custom_metadata["start_time"], c.metadata.custom_metadata["end_time"]) for c in chunks]
    assert told == [("The new pump is quieter than the old one.\n\n", 58.5, 65.25), ("Questions?", 3607.0, 3609.0)]
    assert chunks[1].metadata.custom_metadata["cue_times"] == [[43, 3607.0, 3609.0]]


def test_webvtt(tmp_path: Path) -> None:
    made = (
        "WEBVTT - a talk\nKind: captions\n\nSTYLE\n::cue { color: red }\n\nNOTE nobody hears this\n\nintro\n"
        "00:01.000 --> 00:03.000 align:start\n<v Ann>Bees &amp; wasps</v>\n\n"
        # captions that roll up show each line twice
        "00:03.000 --> 00:04.000\nAnn: Bees &amp; wasps\n<00:03.100><c>sleep</c> at night.\n"
    )
    document, _ = load(tmp_path, "talk.vtt", made)
    assert document.text == "Ann: Bees & wasps sleep at night.\n"
    assert document.metadata["cue_times"] == [[0, 1.0, 3.0], [18, 3.0, 4.0]]


def test_cues_without_text_or_blank_lines(tmp_path: Path) -> None:
    stamps = [f"00:00:0{n},000 --> 00:00:0{n},900" for n in range(4)]
    document, _ = load(tmp_path, "a.srt", f"1\n{stamps[0]}\n\n2\n{stamps[1]}\nBees\n3\n{stamps[2]}\nsleep 7\nhours.\n")
    assert document.text == "Bees sleep 7 hours.\n"


@pytest.mark.parametrize(
    "content", ["WEBVTT\n", "1\n00:00:01 > 00:00:02\nno arrow\n", "1\n00:00:01,000 --> 00:00:02,000\n"]
)
def test_subtitles_without_a_cue_are_refused(tmp_path: Path, content: str) -> None:
    refuse(tmp_path, "a.srt", content, "it has no cue with a text")


def test_times_of_a_long_talk_are_not_repeated_with_each_chunk(tmp_path: Path) -> None:
    clock = "{:02}:{:02}:{:02},000"
    stamps = [clock.format(n // 3600, n // 60 % 60, n % 60) for n in range(3001)]
    cues = [f"{n}\n{stamps[n]} --> {stamps[n + 1]}\nSentence number {n}.\n" for n in range(3000)]
    document, _ = load(tmp_path, "a.srt", "\n".join(cues))
    chunks = SentenceChunker(1, 0).chunk(document)
    assert max(len(chunk.metadata.custom_metadata["cue_times"]) for chunk in chunks) == 1


# ---- mail

MAIL = """\
From: =?utf-8?q?J=C3=BCrg_M=C3=BCller?= <j@example.org>
To: ann@example.org
Subject: =?utf-8?q?Price_in_=E2=82=AC?=
Date: Tue, 12 Mar 2024 10:00:00 +0000
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

Hello Ann,

the pump is 30 =E2=82=AC cheaper th=
an before.
--=20
J=C3=BCrg

On Mon, 11 Mar 2024 at 09:00, Ann <ann@example.org>
wrote:

> What does it cost?
> > Which one?
"""


def test_mail(tmp_path: Path) -> None:
    document, notes = load(tmp_path, "a.eml", MAIL)
    assert (document.title, document.timestamp, notes) == ("Price in €", 1710237600.0, [])
    assert document.metadata["from"] == "Jürg Müller <j@example.org>"
    assert document.text == (
        "# Price in €\n\n"
        "From: Jürg Müller <j@example.org>  \nTo: ann@example.org  \nDate: Tue, 12 Mar 2024 10:00:00 +0000\n\n"
        "Hello Ann,\n\nthe pump is 30 € cheaper than before.\n\\-- \nJürg\n\n"
        "## Quoted\n\n"
        "On Mon, 11 Mar 2024 at 09:00, Ann <ann@example.org>\nwrote:\n> What does it cost?\n> > Which one?\n"
    )


def mail(body: str, *, kind: str = "plain") -> str:
    return f"From: a@example.org\nSubject: Pumps\nContent-Type: text/{kind}; charset=utf-8\n\n{body}"


def test_quotations_between_answers_stay_with_them(tmp_path: Path) -> None:
    document, _ = load(tmp_path, "a.eml", mail("Ann wrote:\n> How much?\n30 euros.\n> When?\nOn Monday.\n"))
    body = document.text.partition("From: a@example.org\n\n")[2]
    assert body == "Ann wrote:\n> How much?\n\n30 euros.\n> When?\n\nOn Monday.\n"


@pytest.mark.parametrize(
    "history",
    [
        "-----Original Message-----\nFrom: Bob\nSent: Monday\n\nold words\n",
        "________________________________\nFrom: Bob\nSent: Monday\n\nold words\n",
        "Von: Bob\nGesendet: Montag\n\nold words\n",
        "Am 11.03.2024 um 09:00 schrieb Bob:\n> old words\n",
    ],
)
def test_history_below_a_head_line_is_apart(tmp_path: Path, history: str) -> None:
    document, _ = load(tmp_path, "a.eml", mail(f"New words.\n\n{history}"))
    new, old = document.text.split("## Quoted")
    assert "New words." in new
    assert "old words" in old
    assert "Bob" in old


def test_a_body_in_html_and_attachments(tmp_path: Path) -> None:
    made = (
        'From: a@example.org\nSubject: Pumps\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n'
        "--b\nContent-Type: text/html; charset=utf-8\n\n"
        "<p>The pump <b>runs</b> <del>stops</del>.</p><ul><li>quiet</li></ul>\n"
        '--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename="offer.pdf"\n\nx\n--b--\n'
    )
    document, notes = load(tmp_path, "a.eml", made)
    assert "runs" in document.text
    assert "- quiet" in document.text
    assert "<" not in document.text
    assert "stops" not in document.text
    assert notes == ["left out: deleted text", "attachments left out: offer.pdf"]


def test_lines_of_a_mail_are_no_headings(tmp_path: Path) -> None:
    document, _ = load(tmp_path, "a.eml", mail("Prices\n======\n# 5 is cheap\n```\nnot code\n"))
    headings = [c.metadata.heading_path for c in MarkdownChunker(500).chunk(document)]
    assert headings == [("Pumps",)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [("no head at all", "it is no mail"), ("From: a@example.org\n\n", "neither a subject nor a text")],
)
def test_what_is_no_mail_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    refuse(tmp_path, "a.eml", content, reason)


# ---- EPUB

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="{}"/>'
    "</rootfiles></container>"
)
OPF = """<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>Pumps</dc:title><dc:creator>Ann</dc:creator><dc:creator>Bo</dc:creator></metadata>
<manifest><item id="n" href="nav.xhtml" properties="nav"/><item id="b" href="text/b%20c.xhtml"/>
<item id="a" href="text/a.xhtml"/><item id="c" href="cover.xhtml"/></manifest>
<spine><itemref idref="c"/><itemref idref="n"/><itemref idref="b"/><itemref idref="a"/><itemref idref="zz"/>
</spine></package>"""
PARTS = {
    "META-INF/container.xml": CONTAINER.format("OEBPS/book.opf"),
    "OEBPS/book.opf": OPF,
    "OEBPS/nav.xhtml": "<html><body><ol><li>Contents list</li></ol></body></html>",
    "OEBPS/cover.xhtml": "<html><head><title/></head><body><img src='c.png'/></body></html>",
    "OEBPS/text/a.xhtml": "<html><head><title>Last</title></head><body><p>It ends.</p></body></html>",
    "OEBPS/text/b c.xhtml": "<html><head><title/></head><body><h1>First</h1><p>It begins.</p></body></html>",
}


def book(**changed: str | bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in (PARTS | changed).items():
            package.writestr(name, content)
    return stream.getvalue()


def test_chapters_of_a_book(tmp_path: Path) -> None:
    document, notes = load(tmp_path, "a.epub", book())
    assert document.text == "# First\n\nIt begins.\n\n# Last\n\nIt ends.\n"
    assert (document.title, document.metadata) == ("Pumps", {"author": "Ann, Bo"})
    assert len(notes) == 1
    assert notes[0].startswith("cover.xhtml left out: no text is left")


def test_pictures_of_a_book_have_their_place_and_its_name_in_front(tmp_path: Path) -> None:
    page = "<html><head><title>Last</title></head><body><p>It ends.</p><p>See <img src='../img/p%201.png' alt='P'/></p>"
    document, _ = load(tmp_path, "a.epub", book(**{"OEBPS/text/a.xhtml": page}))
    assert document.text == "# First\n\nIt begins.\n\n# Last\n\nIt ends.\n\nSee P\n"
    assert document.metadata["media"] == [
        {"uri": "a.epub/OEBPS/img/p 1.png", "alt": "P", "at": document.text.index("P\n")}
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"no zip", "not a sound EPUB book"),
        (book(**{"META-INF/container.xml": "<container/>"}), "names no package document"),
        (book(**{"META-INF/container.xml": CONTAINER.format("gone.opf")}), "not a sound EPUB book"),
        (book(**{"OEBPS/book.opf": "<package>"}), "not a sound EPUB book"),
        (book(**{"OEBPS/book.opf": OPF.replace("itemref", "nothing")}), "none of its chapters has text"),
        (book(**{"OEBPS/book.opf": '<!DOCTYPE d [<!ENTITY a "aa">]><d>&a;</d>'}), "declares XML entities"),
        (
            book(**{"META-INF/encryption.xml": '<e><m Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></e>'}),
            "encrypted",
        ),
        (book(**{"OEBPS/zeros.bin": bytes(20_000_000)}), "it unpacks to"),
        (book(**{"OEBPS/text/a.xhtml": "<p>x" * 300_000}), "characters come of its"),
    ],
)
def test_broken_books_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    refuse(tmp_path, "a.epub", content, reason)


def test_scrambled_fonts_do_not_protect_a_book(tmp_path: Path) -> None:
    fonts = '<e><m Algorithm="http://www.idpf.org/2008/embedding"/></e>'
    document, _ = load(tmp_path, "a.epub", book(**{"META-INF/encryption.xml": fonts}))
    assert "It begins." in document.text


# ---- AsciiDoc

GUIDE = """\
= Pump Guide
:author: Ann Miller
:revdate: 2024-03-12
:product: Pump X

{product} is quiet.

[[install]]
== Install

* unpack
** look

[source,python]
----
run()
== no heading
----

====
Drain it.
====

Old title
---------

// nobody reads this
include::more.adoc[]
"""


def test_asciidoc(tmp_path: Path) -> None:
    document, notes = load(tmp_path, "guide.adoc", GUIDE)
    assert document.text.split("\n\n") == [
        "# Pump Guide",
        "Pump X is quiet.",
        "## Install",
        "* unpack\n** look",
        "```python\nrun()\n== no heading\n```",
        "Drain it.",
        "## Old title\n",
    ]
    assert document.title == "Pump Guide"
    assert document.metadata["author"] == "Ann Miller"
    assert document.timestamp == 1710201600.0
    assert notes == ["not followed: include (1)"]


def test_headings_of_asciidoc_are_known_to_chunkers(tmp_path: Path) -> None:
    document, _ = load(tmp_path, "guide.adoc", GUIDE)
    chunks = MarkdownChunker(500).chunk(document)
    paths = [chunk.metadata.heading_path for chunk in chunks]
    assert paths == [("Pump Guide",), ("Pump Guide", "Install"), ("Pump Guide", "Old title")]


def test_deleted_text_of_asciidoc_is_not_shown(tmp_path: Path) -> None:
    struck = "Press [.line-through]#the red# [line-through]##one## +++<del>twice</del>+++ [.big]#gently#, "
    struck += "+++<s>+++three+++</s>+++ <del>.\n"
    document, notes = load(tmp_path, "a.adoc", struck)
    assert document.text.split() == ["Press", "[.big]#gently#,", "<del>."]
    assert notes == ["left out: 4 struck-out parts"]


def test_an_attribute_cannot_grow_a_text(tmp_path: Path) -> None:
    long = ":a: " + "x" * 900 + "\n\n" + "{a}" * 100_000
    refuse(tmp_path, "a.adoc", long, "characters come of its")


@pytest.mark.parametrize("name", ["a.adoc", "a.eml", "a.epub", "a.ipynb", "a.srt"])
def test_they_are_read_within_the_limits_of_loaders(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(raw: bytes, suffix: str, doc_id: str, source: str, limits: LoadLimits) -> None:
        raise LoadError(f"{suffix} within {limits.timeout_s:g} s")

    # not by a time limit: a quick reader may end before it
    monkeypatch.setattr("retrivex.loading.files.read_in_worker", read)
    path = tmp_path / name
    path.write_text(SRT)
    with pytest.raises(LoadError, match=f"{path.suffix} within 7 s"):
        load_file(path, limits=LoadLimits(timeout_s=7))


@pytest.mark.parametrize("suffix", sorted(SUPPORTED_SUFFIXES))
@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_a_file_of_nothing_is_called_empty(tmp_path: Path, suffix: str, content: bytes) -> None:
    if suffix in (".jsonl", ".ndjson"):  # no documents, which is no error
        return
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    with pytest.raises(LoadError, match="it is empty: there is no text to index"):
        load_file(path)
