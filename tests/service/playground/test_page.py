"""The files of the page: small, self-contained, and safe with texts that are not."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import ROOT
from support.strategies import hits_of, make_chunk, make_store
from typer.testing import CliRunner

from retrivex import OrderingStrategy, RetrievalConfig, SpanComposer
from retrivex.cli import app
from retrivex.config import Effort
from retrivex.service.playground.page import bundle_modules, read_files, write_recording, write_safe_json
from retrivex.service.playground.view import Answer, write_view

MOST_BYTES = 150_000  # of the page, compressed
# what others wrote, as npm has it: preact/standalone.module.js of htm 3.1.1, with preact in it; dist/chart.umd.min.js
# of chart.js 4.6.1, but for its last line: published, it names a map that the page has not; here it exports
VENDORED = {
    "preact.js": "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7",
    "chart.js": "87364cc2b2a76a6684929e7d6b80b18a897794db38400caff1fcf1791c6925d2",
}
PUBLISHED_END = b"//# sourceMappingURL=chart.umd.min.js.map\n"
KEPT_END = b"const{Chart}=globalThis;export{Chart as Chart};\n"
LICENSED = ("Jason Miller", "Apache License", "2014-2024 Chart.js Contributors", "2018-2021 Jukka Kurkela")
RECORDED = re.compile(r'<script type="application/json" id="recorded">(.*?)</script>', re.DOTALL)
HOSTILE = '</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> & \u2028 \U0001f41d "'


def own(suffix: str) -> dict[str, str]:
    return {
        name: text.decode() for name, text in read_files().items() if name.endswith(suffix) and name not in VENDORED
    }


def view_of(text: str, doc_id: str = "bees") -> dict[str, Any]:
    store = make_store(make_chunk(doc_id, 0, text, 0))
    config = RetrievalConfig(tokenizer="estimate", effort="full")
    made = SpanComposer(config).compose(hits_of(store, {0: 0.9}, doc_id), store, query=text)
    return write_view([Answer(made, config, store)])


def recorded_in(page: str) -> Any:
    [data] = RECORDED.findall(page)
    return json.loads(data)


def test_the_page_is_small() -> None:
    assert sum(len(gzip.compress(text)) for text in read_files().values()) < MOST_BYTES
    empty = write_recording(view_of("Bees sleep."))
    assert len(gzip.compress(empty.encode())) < MOST_BYTES


def test_every_file_has_a_media_type_and_vendored_ones_their_licences() -> None:
    assert b"Jason Miller" in read_files()["LICENSE-preact.txt"]
    assert b"Apache License" in read_files()["LICENSE-htm.txt"]
    assert b"2014-2024 Chart.js Contributors" in read_files()["LICENSE-chartjs.txt"]
    assert b"2018-2021 Jukka Kurkela" in read_files()["LICENSE-color.txt"]  # @kurkle/color, a part of chart.js


def test_what_is_vendored_is_as_it_was_published() -> None:
    for name, digest in VENDORED.items():
        kept = read_files()[name]
        published = kept.removesuffix(KEPT_END) + PUBLISHED_END if kept.endswith(KEPT_END) else kept
        assert hashlib.sha256(published).hexdigest() == digest, name


def test_a_recording_carries_the_licences_of_what_it_holds() -> None:
    page = write_recording(view_of("Bees sleep."))
    for said in LICENSED:
        assert said in page
    assert "<meta charset" in page[:1024]  # where browsers look for it


def test_nothing_is_inline_or_from_elsewhere() -> None:
    index = read_files()["index.html"].decode()
    assert re.findall(r"<script[^>]*></script>", index) == re.findall(r"<script[^>]*>.*?</script>", index, re.DOTALL)
    assert " style=" not in index
    sources = [*own(".js").values(), *own(".css").values(), index]
    assert not any(re.search(r"(?:https?:)?//\w+\.\w+", source) for source in sources)
    assert not any(b"sourceMappingURL" in text for text in read_files().values())  # developer tools would ask for it


def test_texts_are_never_read_as_markup() -> None:
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacent|dangerously|document\.write|eval\(|new Function")
    assert not any(forbidden.search(source) for source in own(".js").values())


def test_every_import_is_found_and_every_file_of_the_page_is_used() -> None:
    script = bundle_modules("app.js")
    modules = [name for name in read_files() if name.endswith(".js")]
    assert all(f"const module_{name.replace('.', '_')} = " in script for name in modules)
    assert not re.search(r"^(?:import|export)\b", script, re.MULTILINE)
    for source in own(".js").values():
        for names, module in re.findall(r'^import \{([^}]*)\} from "\./([\w.]+)";$', source, re.MULTILINE):
            exported = read_files()[module].decode()
            for name in filter(None, map(str.strip, names.split(","))):
                assert re.search(rf"export (?:async )?(?:function|class|const) {name}\b|as {name}\b", exported), name


def test_the_scripts_of_a_recording_can_stand_in_a_page() -> None:
    """The element that holds them ends where they end, and its digest is of what a browser reads there."""
    script = bundle_modules("app.js")
    assert not re.search(r"</script|<script|<!--", script, re.IGNORECASE)
    assert not set(script) & {"\0", "\r"}  # which a browser reads as other characters


def test_the_page_offers_what_the_config_knows() -> None:
    source = read_files()["controls.js"].decode()
    lists = re.findall(r"const (\w+) = (\[.*?\]);", source, re.DOTALL)
    offered = {name: set(re.findall(r'"(\w+)"', listed)) for name, listed in lists}
    needs_more = {"custom", "profile", "group_by", "shuffle"}
    assert offered["ORDERS"] == {order.value for order in OrderingStrategy} - needs_more
    assert offered["EFFORTS"] == set(get_args(Effort))
    assert offered["SCORERS"] == set(get_args(RetrievalConfig.model_fields["scoring"].annotation))
    for order in offered["ORDERS"]:
        RetrievalConfig(ordering_strategy=order)


def test_a_recording_holds_the_answer_and_no_address() -> None:
    view = view_of("Bees sleep.")
    page = write_recording(view)
    assert recorded_in(page) == view
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="(?!data:,)', page)


def test_markup_in_a_document_stays_text() -> None:
    view = view_of(HOSTILE, HOSTILE)
    page = write_recording(view)
    assert recorded_in(page) == view
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "<img" not in page
    title = re.search("<title>(.*?)</title>", page, re.DOTALL)
    assert title is not None
    assert "<" not in title[1]


@given(st.text(st.characters(), max_size=40))
def test_any_text_comes_back_from_the_json_of_a_page(text: str) -> None:
    written = write_safe_json({"text": text})
    assert not set(written) & set("<>&")
    assert json.loads(written.encode()) == {"text": text}


def test_the_recording_of_the_documentation_is_of_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page to the letter, and the answer but for the last digits of its numbers; `make recording` makes it anew."""
    shutil.copytree(ROOT / "examples" / "handbook", tmp_path / "handbook")
    monkeypatch.chdir(tmp_path)
    question = "Which meals are paid on a business trip?"
    for command in (["index", "handbook"], ["query", question, "--html", "answer.html"]):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    paths = (ROOT / "examples" / "answer.html", tmp_path / "answer.html")
    kept, made = (RECORDED.split(path.read_text(encoding="utf-8")) for path in paths)
    assert (kept[0], kept[2]) == (made[0], made[2])
    views = [json.loads(page[1], parse_float=lambda number: round(float(number), 6)) for page in (kept, made)]
    assert views[0] == views[1]
