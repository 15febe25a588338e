"""Hostile files through every reader: documents, chunks, sessions, settings and databases from elsewhere.

A reader returns what it promises or refuses with a RetrivexError, within a bound of time and of characters made.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.files import MAKERS, OFFICE, has_office, make_chunks, make_documents, mutate, odd_value
from fuzz.ledger import Violation
from fuzz.limits import TooSlowError, processor_limit
from fuzz.planted_readers import PLANTED as PLANTED
from fuzz.tally import Tally, ViolationError, describe, expect
from typer.testing import CliRunner

from retrivex import Chunk, ChunkMetadata, Composition, RetrievalConfig, Window
from retrivex.chunking import get_chunker
from retrivex.cli import app
from retrivex.errors import RetrivexError
from retrivex.loading import load_file, read_chunks, read_documents
from retrivex.loading.files import load_bytes
from retrivex.model.document import Document
from retrivex.ordering.profile import PositionProfile
from retrivex.scoring.calibrated import load_coefficients
from retrivex.stores import SQLiteStore
from retrivex.tokens.tokenizer import get_tokenizer

KIND = "loaders"
TOTAL, SHORT = 100_000, 5_000
BLOCK = 100
WORLDS_TO_CATCH = 3000
SECONDS = 20.0
"""Most processor time of one file of some kilobytes; the slowest sound ones take less than one."""
MOST_MADE, MOST_A_BYTE = 256 * 1024, 50
"""Most characters made of a small file, and of each byte of a larger one."""
IN_WORKER = 0.03
"""Share of the files that are read in a process of their own, as users read them; the others here, which is faster."""
_HERE = Path(__file__).parent
DRAWN_BY = [_HERE / f"{name}.py" for name in ("worlds", "files", "loaders")]
CHUNKERS = ("auto", "token", "sentence", "markdown")
ROOT = _HERE.parents[1]

Case = Callable[[random.Random, Path, list[str]], None]


TWO_MARKS = tuple("\ufeff\ufeff".encode(name) for name in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"))


def check_document(document: Document, raw: bytes) -> None:
    """Check that a document is one: a text without byte order mark, not too much of it, and pages within it."""
    size = len(raw)
    expect(isinstance(document.text, str) and document.text.strip(), "document without text", document.doc_id)
    expect(
        len(document.text) <= max(MOST_MADE, MOST_A_BYTE * size), "a small file made too much text", len(document.text)
    )
    # the second of two is a character of the text
    expect(
        not document.text.startswith("\ufeff") or raw.startswith(TWO_MARKS),
        "byte order mark in the text",
        document.text[:9],
    )
    starts = list(document.page_starts)
    expect(all(0 <= at <= len(document.text) for at in starts), "page outside the text", starts)


@cache
def _counter() -> Any:
    return get_tokenizer("estimate")


def check_chunks(document: Document, chunker: str) -> None:
    """Check that chunks of a document stand where they say, in order, and leave out white space alone."""
    reached = 0
    made = get_chunker(chunker, tokenizer=_counter()).chunk(document)
    for number, chunk in enumerate(made):
        metadata = chunk.metadata
        start, end = metadata.char_start, metadata.char_end
        expect(start is not None and end is not None, "chunk without offsets", chunk.key)
        expect(document.text[start:end] == chunk.text, "chunk is not what stands there", chunk.key, chunk.text[:80])
        expect(metadata.chunk_id == number, "chunks are not numbered through", metadata.chunk_id, number)
        assert start is not None
        assert end is not None
        expect(not document.text[reached:start].strip(), "text is in no chunk", document.text[reached:start][:80])
        reached = max(reached, end)
    expect(not document.text[reached:].strip(), "the end of the text is in no chunk", document.text[reached:][:80])


def load_one(rng: random.Random, folder: Path, covered: list[str]) -> None:
    """Load a file of a type, sound or damaged, and cut what comes out."""
    makers = {**MAKERS, **OFFICE} if has_office() else MAKERS
    suffix = rng.choice(list(makers))
    raw = makers[suffix](rng)
    damaged = rng.random() < 0.4
    path = folder / f"file{suffix}"
    raw = mutate(rng, raw) if damaged else raw
    path.write_bytes(raw)
    covered.append(f"{suffix} {'damaged' if damaged else 'as made'}")
    if suffix == ".jsonl" or rng.random() < IN_WORKER:
        documents = refused(lambda: load_file(path), covered) or []
    else:
        loaded = refused(lambda: load_bytes(raw, suffix, path.name, str(path)), covered)
        documents = [] if loaded is None else [loaded.document]
    for document in documents:
        check_document(document, raw)
        if suffix != ".jsonl" and len(document.text) < 100_000:
            check_chunks(document, rng.choice(CHUNKERS))


def refused(read: Callable[[], Any], covered: list[str]) -> Any:
    """Return what was read, or None where it was refused in words of our own."""
    try:
        made = read()
    except RetrivexError as error:
        expect(str(error).strip(), "an error without words", type(error))
        covered.append("refused")
        return None
    covered.append("read")
    return made


# ---- an index that tenants share


@cache
def _shared_index() -> Path:
    """Return a database in which acme has a document; a folder of the process, removed with it."""
    folder = Path(tempfile.mkdtemp(prefix="retrivex-fuzz-"))
    with SQLiteStore(folder / "shared.db") as store:
        text = "Acme secret: the vault code is 4711."
        chunk = Chunk(text, ChunkMetadata("readme.txt", 0, 0, len(text), scope="acme"))
        store.put(Document("readme.txt", text, scope="acme", source="/acme/readme.txt"), [chunk])
    return folder / "shared.db"


def index_lines(rng: random.Random, folder: Path, covered: list[str]) -> None:
    """Index lines of documents beside another tenant's: that one's stay as they are, and nothing is filed as theirs."""
    path, database = folder / "x.jsonl", folder / "shared.db"
    shutil.copy(_shared_index(), database)
    raw = make_documents(rng)
    if rng.random() < 0.5:
        claim = {"doc_id": rng.choice(("readme.txt", "evil")), "text": "The vault code is 0000."}
        claim |= rng.choice(
            ({}, {"source": "/acme/readme.txt"}, {"scope": "acme"}, {"source": "/acme/readme.txt", "scope": "acme"})
        )
        raw += b"\n" + json.dumps(claim).encode() + b"\n"
    path.write_bytes(mutate(rng, raw) if rng.random() < 0.3 else raw)
    done = CliRunner().invoke(
        app, ["index", str(path), "--scope", "globex", "--db", str(database), "--tokenizer", "estimate"]
    )
    covered.append(f"index: exit code {done.exit_code}")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    expect(done.exit_code in (0, 1, 2, 3), "exit code out of the list", done.exit_code)
    with SQLiteStore(database) as store:
        expect(store.check() == [], "index is damaged", store.check())
        kept = store.get_document("readme.txt", "acme")
        expect(kept is not None and "4711" in kept.text, "another tenant's document was overwritten", kept)
        theirs = [info.doc_id for info in store.documents() if info.scope != "globex" and info.doc_id != "readme.txt"]
        expect(not theirs, "a document was filed under a scope that was not named", theirs)
        found = store.search_text("vault code", 10, "acme")
        expect(all(hit.key[0] == "readme.txt" for hit in found), "text of a tenant is found by another", found)


# ---- JSON from elsewhere


def _composition() -> bytes:
    return (ROOT / "tests" / "golden" / "0.2.0" / "composition.json").read_bytes()


def _coefficients() -> bytes:
    return (ROOT / "retrivex" / "scoring" / "coefficients.json").read_bytes()


def _config() -> bytes:
    return json.dumps(
        {"preset": "quality", "window": 3, "group_by": "page", "position_profile": "u_curve", "quotas": [1, 2]}
    ).encode()


def _profile() -> bytes:
    return json.dumps(PositionProfile.from_measurements([(0.0, 0.9), (0.5, 0.4), (1.0, 0.7)]).to_dict()).encode()


READERS: dict[str, tuple[Callable[[], bytes], Callable[[Path], Any]]] = {
    "composition.json": (_composition, lambda path: Composition.from_dict(_plain_json(path)).to_dict()),
    "coefficients.json": (_coefficients, load_coefficients),
    "config.json": (_config, RetrievalConfig.from_file),
    "config.toml": (
        lambda: b'window = 3\ngroup_by = "page"\nquotas = [1, 2]\npreset = "speed"\n',
        RetrievalConfig.from_file,
    ),
    "profile.json": (_profile, PositionProfile.load),
}


def _plain_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes().decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:  # what reads JSON is the caller's
        raise RetrivexError(f"no JSON: {error}") from error


def read_json(rng: random.Random, folder: Path, covered: list[str]) -> None:
    """Read settings or a session with other values in it, or damaged."""
    name = rng.choice(list(READERS))
    make, read = READERS[name]
    raw = make()
    if name.endswith(".json") and rng.random() < 0.7:
        data = json.loads(raw)
        for _ in range(rng.choice((1, 1, 3))):
            _swap_value(rng, data)
        raw = json.dumps(data).encode()
    else:
        raw = mutate(rng, raw)
    path = folder / name
    path.write_bytes(raw)
    covered.append(name)
    refused(lambda: read(path), covered)


def _swap_value(rng: random.Random, data: Any) -> None:
    """Put another value somewhere into JSON, or take one out."""
    while True:
        keys: list[Any] = list(data) if isinstance(data, dict) else list(range(len(data)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(data[key], (dict, list)) and data[key] and rng.random() < 0.8:
            data = data[key]
            continue
        if rng.random() < 0.15:
            del data[key]
        else:
            data[key] = rng.choice((float("nan"), float("inf"))) if rng.random() < 0.1 else odd_value(rng)
        return


def read_lines(rng: random.Random, folder: Path, covered: list[str]) -> None:
    """Read lines of chunks or documents one by one."""
    read, make = rng.choice(((read_chunks, make_chunks), (read_documents, make_documents)))
    raw = make(rng)
    path = folder / "lines.jsonl"
    path.write_bytes(mutate(rng, raw) if rng.random() < 0.4 else raw)
    covered.append(read.__name__)
    refused(lambda: list(read(path)), covered)


# ---- databases from elsewhere


@cache
def _database() -> bytes:
    folder = Path(tempfile.mkdtemp(prefix="retrivex-fuzz-"))
    with SQLiteStore(folder / "made.db") as store:
        for doc_id in "ab":
            texts = [f"{doc_id} bees {at} honey" for at in range(4)]
            chunks = [
                Chunk(text, ChunkMetadata(doc_id, at, heading_path=("A",), links=(("b", 0),)))
                for at, text in enumerate(texts)
            ]
            store.put(
                Document(doc_id, " ".join(texts), metadata={"k": 1}),
                chunks,
                {f"{doc_id}#p": "parent"},
                [[1.0, 0.0]] * 4,
                encoder="e",
            )
    with closing(sqlite3.connect(folder / "made.db")) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    made = (folder / "made.db").read_bytes()
    shutil.rmtree(folder)
    return made


SQL_VALUES: tuple[Any, ...] = (
    None,
    0,
    1,
    -5,
    2**62,
    1.5,
    "",
    "x",
    "{",
    "[" * 100_000,
    "5",
    "null",
    '{"a":',
    b"",
    b"\x00" * 7,
    b"\xff" * 64,
    "[[1]]",
    '["a"]',
    '{"k":' + "9" * 5000 + "}",
    '"\\ud800"',
    "\x1b[31m",
)


def read_database(rng: random.Random, folder: Path, covered: list[str]) -> None:
    """Ask everything of a database whose bytes or values somebody changed."""
    path = folder / "other.db"
    raw = _database()
    by_value = rng.random() < 0.7
    path.write_bytes(raw if by_value else mutate(rng, raw))
    if by_value:
        _change_values(rng, path)
    covered.append(f"database with other {'values' if by_value else 'bytes'}")
    refused(lambda: _ask_everything(rng, path), covered)


def _change_values(rng: random.Random, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        for _ in range(rng.choice((1, 1, 3))):
            table = rng.choice(tables)
            try:
                columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
                if rng.random() < 0.1:
                    connection.execute(f"DELETE FROM {table} WHERE rowid % 2 = 0")
                else:
                    connection.execute(f"UPDATE {table} SET {rng.choice(columns)} = ?", (rng.choice(SQL_VALUES),))
            except (sqlite3.Error, IndexError):
                continue  # its own rules refuse that value
        connection.commit()


def _ask_everything(rng: random.Random, path: Path) -> None:
    questions: list[Callable[[SQLiteStore], Any]] = [
        lambda store: list(store.fetch([Window("a", 0, 9), Window("b", 0, 9)])),
        lambda store: store.search_text("bees honey", 5),
        lambda store: store.search_vector([1.0, 0.0], 5),
        lambda store: [store.get_document(info.doc_id) for info in store.documents()],
        lambda store: store.fetch_parents(["a#p"]),
        lambda store: list(store.fetch_counted([Window("a", 0, 9)], tokenizer="estimate")),
        lambda store: store.info(),
        lambda store: store.check(),
        lambda store: store.put(Document("c", "more bees"), [Chunk("more bees", ChunkMetadata("c", 0))]),
        lambda store: store.delete("a"),
    ]
    rng.shuffle(questions)
    with SQLiteStore(path) as store:
        for ask in questions:
            ask(store)


# ---- drawing and trying

SHARES: tuple[tuple[Case, float], ...] = (
    (load_one, 0.6),
    (index_lines, 0.07),
    (read_json, 0.15),
    (read_lines, 0.1),
    (read_database, 0.08),
)


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="retrivex-fuzz-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def try_case(seed: int, number: int, covered: list[str]) -> BaseException | None:
    """Draw one case and try it; return what went wrong."""
    rng = random.Random(f"loaders:{seed}:{number}")
    case = rng.choices([made for made, _ in SHARES], [share for _, share in SHARES])[0]
    covered.append(case.__name__)
    with _folder() as folder:
        try:
            with processor_limit(SECONDS):
                case(rng, folder, covered)
        except (Exception, TooSlowError) as error:  # noqa: BLE001 - whatever goes wrong is what is looked for
            return error
    return None


def fuzz(seed: int, numbers: range, stop_after: int = 20) -> Tally:
    """Try the files of these numbers."""
    tally, began = Tally(), time.process_time()
    for number in numbers:
        covered: list[str] = []
        error = try_case(seed, number, covered)
        tally.cases += 1
        tally.covered.update(set(covered))
        if error is not None:
            tally.violations.append(Violation(f"{seed}:{number}", describe(error), where_of(error, covered)))
            if len(tally.violations) >= stop_after:
                break
    tally.seconds = time.process_time() - began
    return tally


def where_of(error: BaseException, covered: list[str]) -> str:
    """Say which file it was, and for a crash where in the code."""
    if isinstance(error, ViolationError):
        return ", ".join(covered)
    frames = traceback.extract_tb(error.__traceback__)
    return f"{', '.join(covered)}; {' <- '.join(f'{Path(f.filename).name}:{f.lineno}' for f in reversed(frames[-4:]))}"


def repeat(seed: int, number: int) -> int:
    """Try one file again, with a traceback."""
    covered: list[str] = []
    error = try_case(seed, number, covered)
    print(covered)
    if error is not None:
        traceback.print_exception(error)
    return 1 if error is not None else 0
