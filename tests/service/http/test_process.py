"""The service as it runs: several workers, an end without loss, and `kill -9` under writes."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from faults.service import kill_service
from support.service_process import ServiceProcess
from support.service_world import make_index

from retrivex.service.keys import Keys
from retrivex.stores import SQLiteStore

pytestmark = pytest.mark.integration


_JSON = "application/json"
_FORM = (
    '--part\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
    "Content-Type: text/markdown\r\n\r\n{text}\r\n--part--\r\n"
)


def _client(address: str) -> Any:
    import httpx  # noqa: PLC0415 - of the environment serve alone

    return httpx.Client(base_url=address, timeout=300)


def _workers(service: ServiceProcess) -> list[int]:
    import psutil  # noqa: PLC0415 - of the environment serve alone

    children = psutil.Process(service.process.pid).children()
    return [child.pid for child in children if "spawn_main" in " ".join(child.cmdline())]


def test_a_folder_is_indexed_and_served(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "bees.md").write_text("# Bees\n\nA hive has one queen.", encoding="utf-8")
    with ServiceProcess(tmp_path, "docs") as service, _client(service.address) as client:
        assert "queen" in client.post("/v1/query", json={"question": "Who rules the hive?"}).json()["text"]
    assert "only this machine can reach the service" in service.log()


def test_a_folder_is_indexed_as_the_file_of_settings_says(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "bees.md").write_text("# Bees\n\nA hive has one queen.", encoding="utf-8")
    (tmp_path / "s.toml").write_text('db = "chosen.db"\nembed = "hashing-64"\n', encoding="utf-8")
    with ServiceProcess(tmp_path, "docs", "--settings", "s.toml") as service, _client(service.address) as client:
        assert "queen" in client.post("/v1/query", json={"question": "Who rules the hive?"}).json()["text"]
    assert not (tmp_path / "retrivex.db").exists()
    with SQLiteStore(tmp_path / "chosen.db", read_only=True) as store:
        assert store.vector_model == "hashing-64"


def test_workers_share_the_index_and_the_counts(tmp_path: Path) -> None:
    path = make_index(tmp_path / "index.db")
    _, secret = Keys(tmp_path / "keys.db").create("shop")
    headers = {"Authorization": f"Bearer {secret}"}
    limits = {"RETRIVEX_KEY_RATE": "20"}
    with ServiceProcess(tmp_path, str(path), "--workers", "2", **limits) as service:
        added = set()
        for number in range(6):  # a connection each: the workers take turns
            with _client(service.address) as client:
                text = f"Document {number} tells of item{number}."
                answer = client.post("/v1/documents", files={"file": (f"n{number}.md", text)}, headers=headers)
                assert answer.status_code == 200, answer.text
                added.add(number)
        for number in added:
            for _ in range(2):
                with _client(service.address) as client:
                    body = {"question": f"item{number}"}
                    while (answer := client.post("/v1/query", json=body, headers=headers)).status_code == 429:
                        time.sleep(0.2)
                    assert f"item{number}" in answer.json()["text"]
        with _client(service.address) as client:
            while (answer := client.get("/metrics", headers=headers)).status_code == 429:
                time.sleep(0.2)
            counted = answer.text
        [line] = [line for line in counted.splitlines() if 'route="/v1/documents",status="200"' in line]
        assert float(line.split()[-1]) == 6  # of both workers together


def _connect(address: str, worker: int) -> http.client.HTTPConnection:
    """Return a connection that this very worker answers: whose it is shows in its open sockets."""
    import psutil  # noqa: PLC0415 - of the environment serve alone

    host, _, port = address.removeprefix("http://").partition(":")
    for _ in range(500):
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        assert connection.sock is not None
        own = connection.sock.getsockname()[1]
        if any(one.raddr and one.raddr.port == own for one in psutil.Process(worker).net_connections("tcp")):
            return connection
        connection.close()
    raise AssertionError(f"worker {worker} took none of 500 connections")


def _ask_worker(service: ServiceProcess, worker: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = _connect(service.address, worker)
    try:
        sent, kind = (
            (body, "multipart/form-data; boundary=part") if isinstance(body, bytes) else (json.dumps(body), _JSON)
        )
        connection.request(method, path, None if body is None else sent, {} if body is None else {"Content-Type": kind})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_every_worker_sees_a_new_document_and_misses_a_deleted_one_at_once(tmp_path: Path) -> None:
    """Within a second is what is promised; the very next request is what is looked at, so that no clock is needed."""
    path = make_index(tmp_path / "index.db")
    with ServiceProcess(tmp_path, str(path), "--workers", "3") as service:
        while len(workers := _workers(service)) < 3:
            time.sleep(0.05)
        question = {"question": "Which nest do hornets build?", "config": {"effort": "full"}}
        for turn, writer in enumerate(workers):
            others = [worker for worker in workers if worker != writer]
            name, word = f"hornets-{turn}.md", f"paper{turn}"
            for worker in others:  # whatever they keep of the index is older than the document
                assert word not in _ask_worker(service, worker, "POST", "/v1/query", question)[1]["text"]
            text = f"Hornets build a nest of {word}."
            form = _FORM.format(name=name, text=text).encode()
            assert _ask_worker(service, writer, "POST", "/v1/documents", form)[0] == 200
            place = {"doc_id": name, "char_start": 0, "char_end": len(text)}
            for worker in others:
                assert word in _ask_worker(service, worker, "POST", "/v1/query", question)[1]["text"]
                assert _ask_worker(service, worker, "POST", "/v1/resolve", place)[1]["text"] == text
            assert _ask_worker(service, writer, "DELETE", f"/v1/documents?doc_id={name}")[0] == 200
            for worker in others:
                assert word not in _ask_worker(service, worker, "POST", "/v1/query", question)[1]["text"]
                assert _ask_worker(service, worker, "POST", "/v1/resolve", place)[0] == 404
                listed = _ask_worker(service, worker, "GET", "/v1/documents")[1]["documents"]
                assert name not in {document["doc_id"] for document in listed}


_HOSTILE = {"h.md": b"# a\n" * 500_000, "t.md": b"|a|b|\n|-|-|\n" + b"|x|y|\n" * 400_000}


def test_texts_that_take_minutes_hold_up_nobody_else(tmp_path: Path) -> None:
    """Two uploads of 2 MB, which would keep both threads of a worker and gigabytes: others are answered meanwhile."""
    import psutil  # noqa: PLC0415 - of the environment serve alone

    path = make_index(tmp_path / "index.db")
    keys = Keys(tmp_path / "keys.db")
    hostile, other = ({"Authorization": f"Bearer {keys.create(name, [name])[1]}"} for name in ("acme", "wayne"))
    with ServiceProcess(tmp_path, str(path), RETRIVEX_UPLOAD_S="6") as service, ThreadPoolExecutor(2) as pool:

        def upload(name: str) -> int:
            with _client(service.address) as client:
                form = {"file": (name, _HOSTILE[name])}
                return client.post("/v1/documents", files=form, headers=hostile).status_code

        sent = [pool.submit(upload, name) for name in _HOSTILE]
        process, largest, answered = psutil.Process(service.process.pid), 0, 0
        with _client(service.address) as client:
            while not all(one.done() for one in sent):
                answer = client.post("/v1/query", json={"question": "Which rocket is planned?"}, headers=other)
                assert "Bat" in answer.json()["text"]
                time.sleep(0.1)  # below the rate of a key
                answered += not all(one.done() for one in sent)
                largest = max(largest, process.memory_info().rss)
        assert {one.result() for one in sent} <= {422, 503}  # it takes too long, or had no place to wait
        assert answered > 3
        assert largest < 600 * 1024**2


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_request_under_way_is_answered_before_the_end(workers: str, tmp_path: Path) -> None:
    import httpx  # noqa: PLC0415 - of the environment serve alone

    make_index(tmp_path / "retrivex.db")
    limits = {"RETRIVEX_UPLOAD_S": "300", "RETRIVEX_TIMEOUT_S": "300"}
    with ServiceProcess(tmp_path, "--workers", workers, **limits) as service, ThreadPoolExecutor(1) as pool:

        def upload() -> int:
            with _client(service.address) as client:
                form = {"file": ("long.md", b"# a\n" * 8_000)}
                return client.post("/v1/documents", files=form).status_code

        sent = pool.submit(upload)
        time.sleep(1)
        assert not sent.done()
        service.process.send_signal(signal.SIGTERM)
        assert sent.result() == 200
        assert service.process.wait(timeout=60) in (0, -signal.SIGTERM)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{service.address}/readyz")


def test_other_machines_are_not_let_in_without_keys(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "retrivex", "serve", "--host", "0.0.0.0", "--port", "0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "without keys the service listens on this machine alone" in done.stderr


def _serve(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "retrivex", "serve", "--port", "0", *arguments]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("wrong", ["index", "model"])
def test_what_cannot_be_opened_is_said_once_and_nothing_is_served(tmp_path: Path, workers: str, wrong: str) -> None:
    make_index(tmp_path / "a.db")
    (tmp_path / "bad.db").write_text("no database " * 1000, encoding="utf-8")
    given = {"RETRIVEX_INDEXES": '{"law": "bad.db"}'} if wrong == "index" else {}
    options = ["--embed", str(tmp_path / "no-model")] if wrong == "model" else []
    done = _serve(tmp_path, "--db", "a.db", "--workers", workers, *options, **given)
    assert done.returncode == 3
    assert "serving" not in done.stdout
    assert ("bad.db" if wrong == "index" else "no-model") in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("retrivex: ") == 1


def test_an_index_that_breaks_later_ends_the_service_with_its_workers(tmp_path: Path) -> None:
    path = make_index(tmp_path / "index.db")
    with ServiceProcess(tmp_path, str(path), "--workers", "2") as service:
        while len(workers := _workers(service)) < 2:
            time.sleep(0.05)
        path.write_text("no database " * 1000, encoding="utf-8")
        os.kill(workers[0], signal.SIGKILL)
        assert service.process.wait(timeout=120) == 3
        assert "worker cannot start" in service.log()
        assert "a worker cannot open what it is to serve" in service.log()


def test_the_log_is_lines_of_json_without_secrets(tmp_path: Path) -> None:
    make_index(tmp_path / "retrivex.db")
    _, secret = Keys(tmp_path / "keys.db").create("shop")
    headers = {"Authorization": f"Bearer {secret}"}
    with ServiceProcess(tmp_path) as service, _client(service.address) as client:
        client.post("/v1/query", json={"question": "Who lays eggs?"}, headers=headers)
        client.post("/v1/query", json={"question": "Who?"}, headers={"Authorization": "Bearer other-secret"})
        while service.log().count('"route": "/v1/query"') < 2:  # a line is written once its answer is sent
            time.sleep(0.05)
    lines = [json.loads(line) for line in service.log().splitlines() if line.startswith("{")]
    assert [line["status"] for line in lines if line["route"] == "/v1/query"] == [200, 401]
    for hidden in (secret, "other-secret", "eggs"):
        assert hidden not in service.log()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_service_loses_no_document_that_it_took(workers: int, tmp_path: Path) -> None:
    """Documents change while the service is killed: each that was acknowledged is there, and whole."""
    made = kill_service(4, tmp_path, workers=workers)
    assert made.violations == []
    assert made.done == 4
    assert made.acknowledged
