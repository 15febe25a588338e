"""Whatever comes in: one clear problem document, and the next request works."""

from __future__ import annotations

import errno
import io
import json
import logging
import sqlite3
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

import pytest
from support.service_world import COMPOSE

from retrivex.service.logs import JsonFormatter

pytestmark = pytest.mark.integration

JSON = {"Content-Type": "application/json"}


def check(answer: Any, status: int, *words: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert set(problem) == {"type", "title", "status", "detail", "request_id"}
    assert problem["status"] == status
    assert answer.headers["x-request-id"] == problem["request_id"]
    for word in words:
        assert word in problem["detail"]
    return problem


@pytest.fixture
def client(make_client: Any) -> Iterator[Any]:
    made = make_client()
    yield made
    assert made.post("/v1/compose", json=COMPOSE).status_code == 200  # the next request works
    assert made.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        (b"", 400, "not JSON"),
        (b"{", 400, "not JSON"),
        (b"[1]", 400, "holds a list"),
        (b"\xff\xfe{}", 400, "not UTF-8 (byte 0)"),
        (b'{"question": NaN}', 400, "NaN is no number of JSON"),
        (b'{"question": -Infinity}', 400, "-Infinity is no number"),
        (b"[" * 100_000, 400, "not JSON"),
        (b'{"question": "?", "id": ' + b"[" * 200 + b"]" * 200 + b"}", 422, "64 levels"),
        (b'{"question": "?", "id": 1e999}', 422, "cannot be written as JSON"),
        (b'{"question": ' + b"9" * 5000 + b"}", 400, "not JSON"),
        (b'{"question": 5}', 422, "question is 5"),
        (b'{"question": "?", "colour": "red"}', 422, "'colour' is unknown"),
        (b'{"question": "?", "k": 100000}', 422, "100,000 hits"),
        (b'{"question": "bees", "where": {"nonsense": 1}}', 422, "nonsense"),
        (
            b'{"question": "bees", "where": ' + json.dumps({f"metadata.{n}": n for n in range(1500)}).encode() + b"}",
            422,
            "1,500 fields: the limit is",
        ),
        (b'{"question": "bees", "where": {"doc_id": [' + b'"d",' * 300_000 + b'"d"]}}', 422, "the limit is 30,000"),
        (b'{"question": "?", "config": {"window": -1}}', 422, "window is -1"),
        (b'{"question": "?", "config": {"wimdow": 1}}', 422, "did you mean"),
        (b'{"question": "?", "mode": "dense"}', 422, "encoder"),
        (b'{"question": "?", "index": "other"}', 404, "no index 'other'"),
    ],
)
def test_a_body_that_is_wrong(client: Any, body: bytes, status: int, word: str) -> None:
    check(client.post("/v1/query", content=body, headers=JSON), status, word)


@pytest.mark.parametrize("path", ["compose", "query", "reorder", "deduplicate", "prompt", "resolve", "query/batch"])
def test_an_empty_object_is_told_what_is_missing(client: Any, path: str) -> None:
    check(client.post(f"/v1/{path}", json={}), 422)


def test_half_a_surrogate_pair_comes_back_escaped(client: Any) -> None:
    hit = b'{"doc_id": "bees", "chunk_id": 0, "score": 1, "text": "Bees sleep."}'
    answer = client.post("/v1/compose", content=b'{"id": "\\ud800", "hits": [' + hit + b"]}", headers=JSON)
    assert answer.status_code == 200
    assert json.loads(answer.text)["id"] == "\ud800"
    check(client.post("/v1/query", content=b'{"question": "bees \\ud800"}', headers=JSON), 422)


def test_ten_megabytes_of_hits_are_too_many(client: Any) -> None:
    hits = [{"doc_id": "bees", "chunk_id": number, "score": 1.0, "text": "x" * 1000} for number in range(10_000)]
    check(client.post("/v1/compose", json={"hits": hits}), 413, "8,388,608 bytes")
    check(client.post("/v1/compose", json={"hits": hits[:2000]}), 422, "2,000 hits")


def test_a_body_without_its_length_is_cut_off(make_client: Any) -> None:
    client = make_client(max_body_bytes=2048)
    parts = (b"x" * 1000 for _ in range(1_000_000))  # which nobody reads to the end
    check(client.post("/v1/query", content=parts, headers=JSON), 413)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_another_type_of_body_is_refused(client: Any, kind: str) -> None:
    check(client.post("/v1/query", content=b"{}", headers={"Content-Type": kind}), 415, "application/json")
    check(client.post("/v1/documents", content=b"{}", headers={"Content-Type": kind}), 415, "multipart/form-data")


def test_addresses_and_methods_that_do_not_exist(client: Any) -> None:
    check(client.get("/v2/query"), 404)
    answer = client.get("/v1/query")
    check(answer, 405)
    assert answer.headers["allow"] == "POST"
    check(client.get("/v1/documents", params={"limit": "many"}), 422, "limit is 'many'")
    check(client.get("/v1/documents", params={"limit": 10**6}), 422, "1,000,000 documents")


def test_no_page_of_docs_comes_from_elsewhere(client: Any) -> None:
    for path in ("/docs", "/redoc"):
        check(client.get(path), 404)


def test_a_problem_quotes_no_more_than_its_beginning(client: Any) -> None:
    answer = client.post("/v1/resolve", json={"doc_id": "x" * 100_000, "char_start": 0, "char_end": 1})
    check(answer, 404, "there is no document 'xxx")
    assert len(answer.json()["detail"]) == 2000


# ---- uploads


@pytest.mark.parametrize("charset", ["punycode", "undefined", "idna", "rot13", "nonsense"])
def test_a_charset_that_no_form_has(client: Any, charset: str) -> None:
    body = b'--B\r\nContent-Disposition: form-data; name="file"; filename="a..b.md"\r\n\r\nhi\r\n--B--\r\n'
    kind = f"multipart/form-data; boundary=B; charset={charset}"
    assert client.post("/v1/documents", content=body, headers={"Content-Type": kind}).status_code in (200, 400)


@pytest.mark.parametrize(
    ("name", "raw", "word"),
    [
        ("virus.exe", b"MZ", "of no type that is read"),
        ("picture.png", b"\x89PNG", "of no type that is read"),
        ("empty.md", b"", "empty"),
        ("old.doc", b"x", "of no type"),
        ("broken.pdf", b"%PDF-1.7 nothing", "broken.pdf"),
        ("broken.jsonl", b"{", "broken.jsonl"),
        ("binary.txt", b"\x00\x01\x02\x00" * 100, "binary.txt"),
    ],
)
def test_a_file_that_cannot_be_read(client: Any, name: str, raw: bytes, word: str) -> None:
    check(client.post("/v1/documents", files={"file": (name, raw)}), 422, word)


def test_names_of_files_are_no_paths(client: Any, tmp_path: Path) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    for name in ("../../escaped.md", "/etc/escaped.md", "..\\..\\escaped.md"):
        answer = client.post("/v1/documents", files={"file": (name, b"Some text.")})
        assert [one["doc_id"] for one in answer.json()["documents"]] == ["escaped.md"]
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_names_that_an_operation_does_not_take_are_refused(client: Any) -> None:
    """A misspelt scope or index would be none, and so another one."""
    upload = {"files": {"file": ("a.md", b"Text.")}, "data": {"scop": "acme"}}
    check(client.post("/v1/documents", **upload), 422, "'scop' is unknown", "file, index, scope")
    check(client.delete("/v1/documents", params={"doc_id": "bees.md", "indx": "law"}), 422, "'indx' is unknown")
    check(client.get("/v1/documents", params={"scop": "acme"}), 422, "'scop' is unknown")


def test_what_is_given_twice_is_refused_and_not_the_last_one_taken(client: Any) -> None:
    for name in ("index", "after", "limit"):
        twice = [(name, "1"), (name, "2")]
        check(client.get("/v1/documents", params=twice), 422, f"'{name}' is given 2 times")
    named = [("doc_id", "other.md"), ("doc_id", "bees.md")]
    check(client.delete("/v1/documents", params=named), 422, "'doc_id' is given 2 times", "give it once")
    assert client.get("/v1/documents", params=[("scope", "acme"), ("scope", "")]).status_code == 200
    assert [one["doc_id"] for one in client.get("/v1/documents", params={"scope": ""}).json()["documents"]] == [
        "bees.md"
    ]
    file = ("file", ("more.md", b"More bees."))
    for name in ("index", "scope"):
        fields = [file, (name, (None, "acme")), (name, (None, "default"))]
        check(client.post("/v1/documents", files=fields), 422, f"'{name}' is given 2 times")
    assert len(client.get("/v1/documents").json()["documents"]) == 3
    listed = client.get("/v1/documents").json()["documents"]
    assert [one["doc_id"] for one in listed] == ["acme:plan.md", "bees.md", "wayne:plan.md"]


def test_an_upload_without_a_file(client: Any) -> None:
    check(client.post("/v1/documents", data={"index": "default"}, files={}), 415)
    check(client.post("/v1/documents", files={"index": (None, "default")}), 422, "no file")
    check(client.post("/v1/documents", files={"other": ("a.md", b"x")}), 422, "'other' is unknown")
    check(client.post("/v1/documents", files=[("file", ("a.md", b"x")), ("more", ("b.md", b"x"))]), 400)
    headers = {"Content-Type": "multipart/form-data"}
    check(client.post("/v1/documents", content=b"nonsense", headers=headers), 400)


def test_an_upload_that_is_too_large(make_client: Any) -> None:
    client = make_client(max_upload_bytes=10_000)
    check(client.post("/v1/documents", files={"file": ("a.md", b"x" * 20_000)}), 413)


def test_a_file_packed_a_thousandfold_is_refused_or_read_within_limits(client: Any) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"0" * 50_000_000)
    check(client.post("/v1/documents", files={"file": ("bomb.docx", packed.getvalue())}), 422, "bomb.docx")


def test_a_file_that_keeps_its_reader_busy_is_given_up(make_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make_client(upload_s=0.001)
    text = "<table>" + "<tr><td>cell</td></tr>" * 20_000 + "</table>"
    check(client.post("/v1/documents", files={"file": ("slow.html", text)}), 422, "longer than 0.001 s", "slow.html")
    assert client.post("/v1/documents", files={"file": ("plain.txt", "Quick.")}).status_code == 200


def test_a_full_disk_loses_nothing(make_client: Any) -> None:
    client = make_client()
    store = client.app.state.service.engine.index()._store
    store._writer.execute("PRAGMA max_page_count = 1")  # no file may grow
    problem = check(client.post("/v1/documents", files={"file": ("new.md", b"word " * 200_000)}), 503, "disk is full")
    assert "index.db" not in json.dumps(problem)
    assert "eggs" in client.post("/v1/query", json={"question": "Who lays eggs?"}).json()["text"]
    store._writer.execute("PRAGMA max_page_count = 1000000")
    assert client.post("/v1/documents", files={"file": ("new.md", b"Some words.")}).status_code == 200


def test_a_disk_that_is_full_before_an_upload_is_read(make_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make_client()

    def fail(*arguments: Any, **more: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/spool")

    with monkeypatch.context() as patched:
        patched.setattr(SpooledTemporaryFile, "rollover", fail)  # where a large form is kept while it comes in
        answer = client.post("/v1/documents", files={"file": ("new.md", b"Some words. " * 200_000)})
    check(answer, 503, "No space left on device", "make room")
    assert answer.headers["retry-after"]
    assert "spool" not in answer.text
    assert client.post("/v1/documents", files={"file": ("new.md", b"Some words.")}).status_code == 200


def test_a_database_that_another_program_holds(make_client: Any, tmp_path: Path) -> None:
    client = make_client()
    client.app.state.service.engine.index()._store._writer.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(tmp_path / "index.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = client.post("/v1/documents", files={"file": ("new.md", b"Some words.")})
    check(answer, 503, "another program holds the write lock")
    assert answer.headers["retry-after"]
    other.execute("ROLLBACK")
    other.close()
    assert client.post("/v1/documents", files={"file": ("new.md", b"Some words.")}).status_code == 200


# ---- too much at once


def test_more_than_the_queue_holds_is_told_to_come_again(make_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make_client(threads=1, queue=0)
    engine = client.app.state.service.engine
    began, end = threading.Event(), threading.Event()
    plain = engine.deduplicate

    def slow(record: Any) -> Any:
        began.set()
        end.wait(30)
        return plain(record)

    monkeypatch.setattr(engine, "deduplicate", slow)
    # routes ask the engine anew for each request
    thread = threading.Thread(target=lambda: client.post("/v1/deduplicate", json={"passages": ["a"]}))
    thread.start()
    assert began.wait(30)
    answer = client.post("/v1/compose", json=COMPOSE)
    check(answer, 503, "under way")
    assert answer.headers["retry-after"] == "1"
    end.set()
    thread.join()
    assert client.post("/v1/compose", json=COMPOSE).status_code == 200


def test_a_request_that_takes_too_long_is_given_up(make_client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make_client(threads=1, queue=4, timeout_s=0.3)
    engine = client.app.state.service.engine
    end = threading.Event()
    monkeypatch.setattr(engine, "deduplicate", lambda record: end.wait(30))
    check(client.post("/v1/deduplicate", json={"passages": ["a"]}), 503, "longer than 0.3 s")
    end.set()


# ---- what nobody foresaw


def test_what_fails_by_itself_says_nothing_of_it(
    make_client: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client()

    def fail(record: Any) -> Any:
        raise KeyError("text of a document")

    monkeypatch.setattr(client.app.state.service.engine, "deduplicate", fail)
    with caplog.at_level(logging.INFO, "retrivex.service"):
        answer = client.post("/v1/deduplicate", json={"passages": ["a"]})
    problem = check(answer, 500)
    assert "text of a document" not in answer.text
    lines = [
        json.loads(JsonFormatter().format(record)) for record in caplog.records if record.name == "retrivex.service"
    ]
    [failed] = [line for line in lines if line["event"] == "failed"]
    assert failed["request_id"] == problem["request_id"]
    assert failed["error"] == "KeyError"
    assert any("fail" in place for place in failed["at"])
    assert "text of a document" not in json.dumps(lines)


def test_a_log_line_names_the_route_and_nothing_of_the_request(
    make_client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    client = make_client()
    with caplog.at_level(logging.INFO, "retrivex.service"):
        client.post("/v1/query", json={"question": "Where is the treasure?"}, headers={"X-Request-ID": "abc-1"})
        client.delete("/v1/documents", params={"doc_id": "treasure.md"})
        client.get("/treasure")
    lines = [JsonFormatter().format(record) for record in caplog.records if record.name == "retrivex.service"]
    assert "treasure" not in "".join(lines)
    first = json.loads(lines[0])
    assert (first["request_id"], first["route"], first["status"], first["key"]) == ("abc-1", "/v1/query", 200, None)
