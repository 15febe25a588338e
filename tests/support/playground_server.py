"""Stands in for the HTTP service: the page, its three addresses and a key, with the library behind them."""

from __future__ import annotations

import email
import email.policy
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from retrivex import Document, RetrievalConfig, RetrivexError, SpanComposer
from retrivex.chunking.sentence_chunker import SentenceChunker
from retrivex.retrieval.local import LocalRetriever
from retrivex.service.playground.page import CONTENT_SECURITY_POLICY, INDEX, content_type, read_files
from retrivex.service.playground.settings import Settings
from retrivex.service.playground.view import Answer, fetch_chunks, write_view
from retrivex.stores import SQLiteStore


class Playground:
    """An index and what the page may ask of it.

    Parameters
    ----------
    database : a file, made where it is missing
    key : that every request must carry; None asks for none
    """

    def __init__(self, database: Path, key: str | None = None) -> None:
        self.database = database
        self.key = key
        self.requests: list[dict[str, Any]] = []

    def add(self, name: str, text: str) -> None:
        document = Document(name, text)
        with SQLiteStore(self.database) as store:
            store.put(document, SentenceChunker(2, 0).chunk(document))

    def list_documents(self) -> list[dict[str, Any]]:
        with SQLiteStore(self.database) as store:
            return [{"doc_id": info.doc_id} for info in store.documents()]

    def view(self, body: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(body)
        asked = [body["settings"], *([body["compare"]] if "compare" in body else [])]
        with SQLiteStore(self.database) as store:
            return write_view([self._answer(store, body["question"], settings) for settings in asked])

    def _answer(self, store: SQLiteStore, question: str, settings: dict[str, Any]) -> Answer:
        config = Settings.model_validate(settings).apply(RetrievalConfig(tokenizer="estimate"))
        hits = LocalRetriever(store).retrieve(question, 50)
        made = SpanComposer(config).compose(hits, store, query=question)
        return Answer(made, config, fetch_chunks(made, store))


@contextmanager
def serve_playground(playground: Playground) -> Iterator[str]:
    """Serve on a free port of this machine while the block runs; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = INDEX if self.path == "/" else self.path.removeprefix("/static/")
            if name in read_files():
                self.answer(200, read_files()[name], content_type(name))
            elif self.path == "/v1/documents":
                self.guarded(lambda: {"documents": playground.list_documents()})
            else:
                self.problem(404, f"{self.path} does not exist")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/view":
                self.guarded(lambda: playground.view(json.loads(body)))
            else:
                self.guarded(lambda: self.upload(body))

        def upload(self, body: bytes) -> dict[str, Any]:
            head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
            [part] = email.message_from_bytes(head + body, policy=email.policy.HTTP).iter_parts()
            name, text = str(part.get_filename()), part.get_payload(decode=True).decode()
            if not name.endswith((".txt", ".md")):
                raise RetrivexError(f"{name!r} is of no known type: give .txt or .md")
            playground.add(name, text)
            return {"doc_id": name}

        def guarded(self, work: Any) -> None:
            if playground.key is not None and self.headers["Authorization"] != f"Bearer {playground.key}":
                self.problem(401, "the key is missing or wrong: give one that `retrivex keys` made")
                return
            try:
                self.answer(200, json.dumps(work()).encode(), "application/json")
            except RetrivexError as error:
                self.problem(422, str(error))

        def problem(self, status: int, detail: str) -> None:
            record = {"type": "about:blank", "status": status, "detail": detail}
            self.answer(status, json.dumps(record).encode(), "application/problem+json")

        def answer(self, status: int, body: bytes, media_type: str) -> None:
            self.send_response(status)
            headers = {"Content-Type": media_type, "Content-Security-Policy": CONTENT_SECURITY_POLICY}
            for name, value in {**headers, "Content-Length": str(len(body)), "Connection": "close"}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
