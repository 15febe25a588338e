"""Small files of every type that is read, well made by a grammar, and then damaged."""

from __future__ import annotations

import io
import json
import random
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

from fuzz.worlds import PIECES, RUN_LENGTHS, RUNS

WORDS = (
    "bees",
    "honey",
    "queen",
    "winter",
    "蜂",
    "🐝",
    "e\u0301",
    "x" * 70,
    "SECRET",
    "<b>",
    "&amp;",
    "]]>",
    "\\",
    "'",
    '"',
)
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**63,
    10**30,
    1e308,
    5e-324,
    -0.0,
    "",
    " ",
    "\ud800",
    "\x00",
    "\x1b[31m",
    "x" * 5000,
    [],
    {},
    [[]],
    {"a": {"b": {}}},
    [None],
    "2024-01-01",
    "NaN",
    "acme",
    ["a", 0],
    [["a", 0]],
    [0.1, 0.2],
    ["A", "B"],
)


def odd_value(rng: random.Random) -> Any:
    """Draw a value as a copy: what a case puts into a list of it must not be in the next one's."""
    return deepcopy(rng.choice(ODD_VALUES))


"""Values that a field may hold in a file from elsewhere."""


def make_text(rng: random.Random) -> str:
    """Some words, with odd marks between them."""
    made = "".join(rng.choices(PIECES, k=rng.choice((1, 3, 12, 40))))
    if rng.random() < 0.25:
        at = rng.randint(0, len(made))
        made = made[:at] + rng.choice(RUNS) * rng.choice(RUN_LENGTHS) + made[at:]
    return made


def encode(rng: random.Random, text: str) -> bytes:
    """Bytes of a text, in one of the encodings that files come in."""
    name = rng.choice(
        ("utf-8", "utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252", "utf-32")
    )
    return text.encode(name, "surrogatepass" if name.startswith("utf") else "replace")


def make_plain(rng: random.Random) -> bytes:
    """Make a text file, or a table of comma-separated values."""
    return encode(rng, make_text(rng))


MARKDOWN = (
    "# ",
    "## ",
    "- ",
    "  - ",
    "1. ",
    "> ",
    "> > ",
    "```",
    "~~~\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "---\n",
    "***",
    "_x_",
    "[a](b)",
    "![a](b)",
    "<div>",
    "</div>",
    "<!--",
    "-->",
    "    code\n",
    "\\",
    "[^1]",
    "[^1]: note\n",
    "---\ntitle: bees\ntags: [a, b]\n---\n",
    "title: &a [*a]\n",
    "- [ ] task\n",
    "&#x0;",
    "&lt;",
    "$$x$$",
    "<script>",
    "Term\n: meaning\n",
    "\t",
    "\n",
    "\n\n",
)
TAGS = (
    "p",
    "div",
    "ul",
    "ol",
    "li",
    "table",
    "tr",
    "td",
    "th",
    "thead",
    "blockquote",
    "pre",
    "code",
    "h1",
    "h2",
    "h6",
    "a",
    "img",
    "b",
    "section",
    "article",
    "nav",
    "script",
    "style",
    "template",
    "svg",
    "math",
    "select",
    "option",
    "textarea",
    "br",
    "hr",
    "dl",
    "dt",
    "dd",
    "figure",
    "noscript",
    "iframe",
    "title",
    "head",
    "body",
    "frameset",
    "details",
    "summary",
    "caption",
    "colgroup",
)
ATTRIBUTES = (
    "",
    "",
    "",
    ' rowspan="2"',
    ' rowspan="999999"',
    ' colspan="3"',
    ' colspan="-1"',
    ' colspan="1e9"',
    ' href="javascript:x"',
    ' src="http://127.0.0.1:9/x"',
    ' title="]]>"',
    ' class="a',
    ' start="99999999999"',
    ' style="display:none"',
    " hidden",
)


def make_markdown(rng: random.Random) -> bytes:
    """Make a Markdown file."""
    made = "".join(
        rng.choice(MARKDOWN) * rng.choice((1, 1, 1, 2, 40)) + rng.choice(WORDS) for _ in range(rng.choice((2, 9, 30)))
    )
    return encode(rng, rng.choice(("", "", "---\ntitle: x\n")) + made + make_text(rng))


def _make_html(rng: random.Random, depth: int) -> str:
    tag = rng.choice(TAGS)
    inner = "".join(
        _make_html(rng, depth - 1) if depth and rng.random() < 0.6 else rng.choice(WORDS)
        for _ in range(rng.choice((0, 1, 2, 4)))
    )
    end = f"</{tag}>" if rng.random() < 0.9 else ""
    return f"<{tag}{rng.choice(ATTRIBUTES)}>{inner}{end}"


def make_html(rng: random.Random) -> bytes:
    """Make a page, now and then with one part repeated or nested very often."""
    body = "".join(_make_html(rng, rng.choice((1, 2, 4))) for _ in range(rng.choice((1, 3, 8))))
    draw = rng.random()
    if draw < 0.1:
        tag, count = rng.choice(TAGS), rng.choice((50, 300, 1000))
        body = f"<{tag}>" * count + body + f"</{tag}>" * rng.choice((0, count))
    elif draw < 0.2:
        body = f"<table>{_make_html(rng, 2) * rng.choice((10, 200))}</table>"
    elif draw < 0.25:
        wide, high = rng.choice((10, 100, 400)), rng.choice((10, 100, 400))
        body = "<table><tr>" + "<td>x" * wide + "</tr>" + f"<tr><td rowspan={high}>y</tr>" * high + "</table>"
    return encode(
        rng, f"<!DOCTYPE html><html><head><title>{rng.choice(WORDS)}</title></head><body>{body}</body></html>"
    )


DOCUMENT_FIELDS = (
    "doc_id",
    "id",
    "text",
    "title",
    "format",
    "metadata",
    "scope",
    "timestamp",
    "source",
    "page_starts",
    "other",
)
CHUNK_FIELDS = (
    "doc_id",
    "chunk_id",
    "text",
    "char_start",
    "char_end",
    "parent_id",
    "heading_path",
    "page",
    "metadata",
    "timestamp",
    "chunk_count",
    "scope",
    "links",
    "prefix",
    "embedding",
    "other",
)


def _make_record(rng: random.Random, fields: Sequence[str], usual: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(usual)
    for name in rng.sample(fields, rng.choice((0, 0, 1, 2))):
        made[name] = rng.choice((odd_value(rng), make_text(rng), rng.randint(0, 9)))
    if rng.random() < 0.05:
        made.pop(rng.choice(list(made)))
    return made


def _make_lines(rng: random.Random, records: Sequence[Any]) -> bytes:
    lines = [json.dumps(record, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass") for record in records]
    if rng.random() < 0.15:
        odd = (
            b"{",
            b"[" * 100_000,
            b"null",
            b"[]",
            b'{"a":NaN}',
            b'{"a":1e999}',
            b"\xff\xfe",
            b'{"doc_id":' + b"9" * 5000 + b"}",
            b'{"a":' * 3000 + b"1" + b"}" * 3000,
            b"\xef\xbb\xbf{}",
        )
        lines.insert(rng.randint(0, len(lines)), rng.choice(odd))
    return rng.choice((b"\n", b"\n", b"\r\n", b"\n\n")).join(lines) + rng.choice((b"", b"\n"))


def make_documents(rng: random.Random) -> bytes:
    """Lines of documents."""
    names = ("a", "b", "c", "readme.txt", "../x", "a (unplaced)")
    usual = ({"doc_id": rng.choice(names), "text": make_text(rng)} for _ in range(rng.choice((1, 2, 5))))
    return _make_lines(rng, [_make_record(rng, DOCUMENT_FIELDS, record) for record in usual])


def make_chunks(rng: random.Random) -> bytes:
    """Lines of chunks."""
    usual = ({"doc_id": "a", "chunk_id": at, "text": make_text(rng)} for at in range(rng.choice((1, 2, 5))))
    return _make_lines(rng, [_make_record(rng, CHUNK_FIELDS, record) for record in usual])


def make_pdf(rng: random.Random) -> bytes:
    """Make a file of some pages, whose streams are drawn operator by operator."""
    operators = (
        b"(bees) Tj",
        b"[(honey) -2000 (queen)] TJ",
        b"0 -14 Td",
        b"T*",
        b"1 0 0 1 50 700 Tm",
        b"/F1 12 Tf",
        b"BT",
        b"ET",
        b"q",
        b"Q",
        b"/X Do",
        b"<feff8702> Tj",
        b"(a\\\\)b) Tj",
        b"1e99 0 Td",
        b"14 TL",
        b"(x) '",
        b"BI ID xx EI",
        b"(",
    )
    pages = rng.choice((1, 1, 2, 4))
    objects = [b"<</Type/Catalog/Pages 2 0 R>>"]
    kids = b" ".join(b"%d 0 R" % (4 + 2 * at) for at in range(pages))
    objects += [b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, rng.choice((pages, pages, pages, -1, 10**6)))]
    objects += [b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    for at in range(pages):
        drawn = b"\n".join(rng.choice(operators) for _ in range(rng.choice((3, 20, 200))))
        stream = b"BT /F1 12 Tf\n" + drawn + b"\nET"
        flate = rng.random() < 0.5
        packed = zlib.compress(stream * rng.choice((1, 1, 50) if flate else (1,))) if flate else stream
        contents = 5 + 2 * (0 if rng.random() < 0.1 else at)
        objects += [
            b"<</Type/Page/Parent 2 0 R/Resources<</Font<</F1 3 0 R>>>>/MediaBox[0 0 600 800]/Contents %d 0 R>>"
            % contents
        ]
        kind = b"/Filter/FlateDecode" if flate else b""
        objects += [b"<</Length %d%s>>\nstream\n%s\nendstream" % (len(packed), kind, packed)]
    made, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    tail = b"trailer\n<</Size %d/Root 1 0 R/Info<</Title(Bees)/CreationDate(D:20240101)>>>>" % (len(objects) + 1)
    return made + b"xref\n0 %d\n0000000000 65535 f \n%s%s\nstartxref\n%d\n%%%%EOF" % (
        len(objects) + 1,
        table,
        tail,
        len(made),
    )


def pack(parts: Mapping[str, bytes]) -> bytes:
    """Pack the parts of an office file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return stream.getvalue()


@cache
def _bases() -> dict[str, dict[str, bytes]]:
    """Parts of small office files as their own libraries write them."""
    from docx import Document  # noqa: PLC0415 - an extra
    from openpyxl import Workbook  # noqa: PLC0415 - an extra
    from pptx import Presentation  # noqa: PLC0415 - an extra

    word = Document()
    word.add_heading("Bees", level=1)
    word.add_paragraph("Bees sleep.")
    word.add_table(rows=2, cols=2).cell(0, 0).text = "cell"
    slides = Presentation()
    slides.slides.add_slide(slides.slide_layouts[1]).shapes.title.text = "Bees"
    book = Workbook()
    book.active.append(("bee", 5, None, "=A1"))
    book.active.append((1.5, True, "x", "y"))
    made = {}
    for suffix, file in ((".docx", word), (".pptx", slides), (".xlsx", book)):
        stream = io.BytesIO()
        file.save(stream)
        with zipfile.ZipFile(stream) as packed:
            made[suffix] = {name: packed.read(name) for name in packed.namelist()}
    for name in ("word/styles.xml", "word/stylesWithEffects.xml"):
        # the template's hundreds of styles would be most of the time of a case, and say nothing
        made[".docx"][name] = re.sub(rb"<w:style .*?</w:style>", _keep_used, made[".docx"][name], flags=re.DOTALL)
    return made


def _keep_used(style: re.Match[bytes]) -> bytes:
    """Keep the styles of a paragraph, a heading and a table."""
    used = re.search(rb'w:styleId="(Normal|Heading1|TableNormal)"', style[0])
    return style[0] if used else b""


MAIN_PARTS = {".docx": "word/document.xml", ".pptx": "ppt/slides/slide1.xml", ".xlsx": "xl/worksheets/sheet1.xml"}
XML_PIECES = (
    b"<w:p><w:r><w:t>bees</w:t></w:r></w:p>",
    b"<w:p/>",
    b"<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>",
    b'<row r="30000000">',
    b'<row r="2"><c r="XFD2"><v>1</v></c></row>',
    b'<c r="A1" t="s"><v>99</v></c>',
    b"<c><v>x</v></c>",
    b"<!DOCTYPE a>",
    b"&lol;",
    b"&#0;",
    b"<a:t>bees</a:t>",
    b"<!-- -->",
    b"<![CDATA[x]]>",
    b'<w:hyperlink r:id="rId99"/>',
    b"<w:footnoteReference w:id='9'/>",
)


def make_office(rng: random.Random, suffix: str) -> bytes:
    """Make an office file with some XML put in, taken out, or repeated."""
    parts = dict(_bases()[suffix])
    for _ in range(rng.choice((0, 1, 1, 3))):
        name = MAIN_PARTS[suffix] if rng.random() < 0.8 else rng.choice(list(parts))
        if rng.random() < 0.03:
            del parts[name]
            if name == MAIN_PARTS[suffix]:
                break
            continue
        xml = parts[name]
        at = xml.find(b">", rng.randint(0, len(xml))) + 1
        piece = rng.choice(XML_PIECES) * rng.choice((1, 1, 3, 200))
        parts[name] = xml[:at] + piece + xml[at:] if rng.random() < 0.7 else mutate(rng, xml)
    return pack(parts)


def mutate(rng: random.Random, raw: bytes) -> bytes:
    """Damage some bytes: turned over, left out, doubled, cut off, or put elsewhere."""
    made = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        if not made:
            break
        at = rng.randrange(len(made))
        size = rng.choice((1, 1, 2, 8, 64))
        match rng.randrange(7):
            case 0:
                made[at] ^= 1 << rng.randrange(8)
            case 1:
                made[at] = rng.choice((0, 9, 10, 34, 39, 40, 41, 60, 62, 92, 127, 128, 255))
            case 2:
                del made[at : at + size]
            case 3:
                made[at:at] = made[at : at + size] * rng.choice((1, 1, 2, 300))
            case 4:
                del made[at:]
            case 5:
                low = rng.randrange(len(made))
                made[at:at] = made[low : low + size]
            case _:
                digits = rng.choice((b"0", b"-1", b"99999999999", b"4294967296", b"1e9", b"\xff\xff\xff\xff"))
                made[at : at + len(digits)] = digits
    return bytes(made)


def make_table(rng: random.Random) -> bytes:
    """Rows of cells, some quoted, some of another width."""
    mark = rng.choice((",", ",", ";", "\t", "|"))
    cells = ("sku", "1", "2.50", '"a, b"', '"two\nlines"', '"open', "", "5|8", "Pump \u2028 x", 'x"y', "2019")
    rows = [[rng.choice(cells) for _ in range(rng.choice((1, 3, 3, 3, 4)))] for _ in range(rng.choice((1, 5, 80)))]
    return rng.choice(("\n", "\r\n", "\r")).join(mark.join(row) for row in rows).encode()


def _make_value(rng: random.Random, depth: int) -> Any:
    if depth and rng.random() < 0.7:
        inner = [_make_value(rng, depth - 1) for _ in range(rng.choice((0, 1, 3, 9)))]
        return inner if rng.random() < 0.5 else {make_text(rng): value for value in inner}
    return rng.choice((1, 2.5, None, True, make_text(rng), "x " * 200, "a\n\n# b"))


def make_json(rng: random.Random) -> bytes:
    """Make one JSON value, which is YAML, too."""
    return json.dumps(_make_value(rng, rng.choice((1, 2, 4))), ensure_ascii=rng.random() < 0.5).encode(
        "utf-8", "replace"
    )


def make_yaml(rng: random.Random) -> bytes:
    """Lines of YAML, with anchors, tags and several documents, indented as it comes."""
    parts = (
        "a: b",
        "- x",
        "b: &n [1, 2]",
        "c: *n",
        "<<: *n",
        "---",
        "# note",
        "d: |",
        "text",
        "e: !!python/name:os.x",
        "f: {g: h}",
        "? [k]",
    )
    lines = ("  " * rng.choice((0, 0, 1, 2)) + rng.choice(parts) for _ in range(rng.choice((1, 5, 30))))
    return "\n".join(lines).encode()


def mutate_sample(rng: random.Random, raw: bytes) -> bytes:
    """Damage a small file, or repeat some of its lines."""
    lines = raw.splitlines(keepends=True)
    for _ in range(rng.choice((0, 1, 3))):
        at = rng.randrange(len(lines))
        lines[at:at] = [rng.choice(lines)] * rng.choice((1, 3, 200))
    return mutate(rng, b"".join(lines)) if rng.random() < 0.8 else b"".join(lines)


SAMPLES = {
    ".adoc": b"= Bees\nAnn\n:a: b\n\n== Sleep\n\n* x {a}\n+\n----\ncode\n----\n\n"
    b"|===\n|a 2+|b\n.2+|c |d\n|===\n\nterm:: <<x,y>>\n",
    ".eml": b"From: =?utf-8?q?J=C3=BC?= <a@b.c>\nSubject: Bees\nDate: Tue, 12 Mar 2024 10:00:00 +0000\nContent-Type: "
    b'multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\nQmVlcwo=\n'
    b"--b\nContent-Type: text/html\n\n<p>Bees<blockquote>old</blockquote>\n--b--\n",
    ".ipynb": b'{"cells": [{"cell_type": "markdown", "source": ["# Bees\\n"]}, {"cell_type": "code", "source": "x", '
    b'"outputs": [{"output_type": "stream", "text": "bees"}, {"data": {"text/plain": ["a"], "image/png": "AA"}}]}]}',
    ".rst": b"Bees\n====\n\n:a: b\n\n.. note:: x\n\n.. tab:: y\n   :z:\n\n   - a ``b`` :c:`d`\n\n::\n\n  x\n\n"
    b"== ==\na  b\n== ==\nc  d\n"
    b"== ==\n\n.. |s| replace:: *e*\n\n|s| [1]_\n\n.. [1] f\n",
    ".srt": b"1\n00:00:01,000 --> 00:00:02,000\n<i>Bees</i> &amp;\n\n2\n00:00:02,000 --> 00:00:09,000 X1:1\nsleep.\n",
    ".vtt": b"WEBVTT\n\nNOTE x\n\n00:01.000 --> 00:02.000\n<v Ann>Bees\n\n00:02.000 --> 00:03.000\nBees\nsleep\n",
}
"""Small files of formats that are read as text, which damage makes cases of."""


Maker = Callable[[random.Random], bytes]
MAKERS: dict[str, Maker] = {
    ".txt": make_plain,
    ".csv": make_table,
    ".json": make_json,
    ".yaml": lambda rng: rng.choice((make_json, make_yaml))(rng),
    ".log": make_plain,
    ".md": make_markdown,
    ".html": make_html,
    ".jsonl": make_documents,
    ".pdf": make_pdf,
    **{suffix: partial(mutate_sample, raw=raw) for suffix, raw in SAMPLES.items()},
}
OFFICE: dict[str, Maker] = {
    ".docx": lambda rng: make_office(rng, ".docx"),
    ".pptx": lambda rng: make_office(rng, ".pptx"),
    ".xlsx": lambda rng: make_office(rng, ".xlsx"),
}


def has_office() -> bool:
    """Whether office files can be read here."""
    return all(find_spec(name) for name in ("markitdown", "docx", "pptx", "openpyxl"))
