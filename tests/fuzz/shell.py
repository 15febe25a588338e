"""Command lines, drawn from the options that the commands declare: sound ones, wrong ones, and hostile ones.

Whatever the arguments, a command ends in time with a documented exit code and words of its own: no traceback, no
secret in what it prints or writes, and nothing that would steer a terminal.
"""

from __future__ import annotations

import functools
import json
import os
import random
import re
import shutil
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer
from fuzz.files import make_documents, make_text, mutate
from fuzz.ledger import Violation
from fuzz.limits import TooSlowError, processor_limit
from fuzz.planted_shell import PLANTED as PLANTED
from fuzz.tally import Tally, ViolationError, describe, expect
from typer.testing import CliRunner, Result

from retrivex.cli import app
from retrivex.cli.commands import NAMES

KIND = "shell"
TOTAL, SHORT = 10_000, 500
BLOCK = 20
WORLDS_TO_CATCH = 1500
SECONDS, WALL = 60.0, 120.0
_HERE = Path(__file__).parent
DRAWN_BY = [_HERE / f"{name}.py" for name in ("worlds", "files", "shell")]

EXIT_CODES = frozenset({0, 1, 2, 3, 4, 130, 141})
SECRET = "s3cr3t-4711"
STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What moves the cursor or colours the screen: control characters but line ends and tabs."""

COMMON = (
    "index",
    "index",
    "query",
    "query",
    "query",
    "compose",
    "compose",
    "compose",
    "reorder",
    "around",
    "inspect",
    "report",
    "compare",
    "demo",
    "backfill",
)
SLOW = ("evaluate", "tune", "probe")
"""Commands that take a second or more; drawn seldom."""

HOSTILE = (
    "",
    " ",
    "-",
    "--",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b2J",
    "a\nb",
    "a\rb",
    "x" * 5000,
    "\u202egnp",
    "[red]x[/]",
    "e" + "\u0301" * 1200,
    "%s%n",
    "{0}",
    "$(x)",
    "\udcff",
    "\ud800",
    "\x08\x08",
)
NUMBERS = (
    "1",
    "1",
    "2",
    "5",
    "60",
    "0",
    "-1",
    "9" * 24,
    "9" * 24,
    "9" * 5000,
    str(2**31),
    "1e9",
    "nan",
    "inf",
    "x",
    "1.5",
    "٣",
    "0x10",
    " 3 ",
)
PATHS = (
    "docs",
    "docs/a.md",
    "questions.jsonl",
    "requests.jsonl",
    "chunks.jsonl",
    "made.db",
    "broken.db",
    "config.json",
    "config.toml",
    "odd.json",
    "odd.json",
    "bad.json",
    "results",
    "passages.json",
    "missing",
    "missing/deeper",
    ".",
    "empty",
    "/dev/null",
    "docs/\x1b[31mred.txt",
)
OUTPUTS = ("out.file", "new/out", "docs", "/dev/full", "made.db", "\x1b[31mred", "made.db/x", "")
URLS = (
    f"http://user:{SECRET}@127.0.0.1:9/v1?token={SECRET}",
    f"https://127.0.0.1:9/rerank?key={SECRET}",
    "http://127.0.0.1:9/v1",
    "ftp://x",
    f"http://:{SECRET}@127.0.0.1:9",
    "http://[::1",
    "http://",
    "127.0.0.1:9",
    f"http://127.0.0.1:99999/?api_key={SECRET}",
)
ADDRESSES = (
    f"postgresql://user:{SECRET}@127.0.0.1:9/db",
    f"http://127.0.0.1:9?api_key={SECRET}",
    "docs",
    ":memory:",
    *URLS,
)
TEXTS = ("bees", "How long do bees sleep?", "蜂", "why?")
WORDS = (
    "auto",
    "token",
    "sentence",
    "markdown",
    "bm25",
    "estimate",
    "words",
    "acme",
    "globex",
    "json",
    "text",
    "prompt",
    "speed",
    "quality",
    "edge_balanced",
    "score_desc",
    "lean",
    "full",
    "recall",
    "knn",
    "balanced",
    "bees",
    "x",
    "../x",
    "0",
)
PAIRS = (
    "window=1",
    "effort=full",
    "token_budget=50",
    "group_by=\x1b[31m",
    "nonsense=1",
    "\x1b]0;x\x07=1",
    "=",
    "window",
    "window=x",
    "token_budget=" + "9" * 30,
    "coefficients=bad.json",
    "coefficients=missing",
    "tokenizer=estimate",
    "window=" + "9" * 5000,
    "doc_id=a.md",
    "heading=Sleep",
    "heading=\ud800",
    "5=1",
    "position_profile=bad.json",
    "boosts=1",
    "exclude=x",
    "scope=acme",
    "ordering_strategy=custom",
    "max_tokens=5",
    "temperature=nan",
    "quotas=[1,2]",
)
KINDS: dict[str, Sequence[str]] = {
    "N": NUMBERS,
    "L": NUMBERS,
    "S": NUMBERS,
    "TOKENS": NUMBERS,
    "SHARE": ("0.5", "0", "1", "nan", "x"),
    "N,N": ("1,2", "x", "60,120", ","),
    "FILE": PATHS,
    "[FILE]": PATHS,
    "FOLDER": PATHS,
    "PATH": PATHS,
    "[PATH]": PATHS,
    "PATH...": PATHS,
    "QUESTIONS": PATHS,
    "A": PATHS,
    "[B]": PATHS,
    "URL": URLS,
    "URL|MODEL": (*URLS, "x"),
    "ADDRESS": ADDRESSES,
    "QUESTION": TEXTS,
    "TEXT": TEXTS,
    "FIELD=VALUE": PAIRS,
    "OPTION=VALUE": PAIRS,
    "COLUMN=VALUE": PAIRS,
    "NAME=PATH": PAIRS,
    "GLOB": ("*.md", "**", "[", "*" * 50, "docs/*"),
    "STORE": ("qdrant", "pgvector", "chroma", "sqlite", "x"),
    "VARIABLE": ("FUZZ_KEY", "MISSING", "=", "PATH"),
}
OUT_OPTIONS = frozenset({"--out", "--cache", "--answers"})
LITTLE = {
    "--processes": ("1", "0", "-1", "x"),
    "--trials": ("1", "2", "0", "-1", "x"),
    "--needles": ("1", "0", "x"),
    "--lengths": ("60", "60,90", "x"),
    "--depths": ("1", "2", "0", "x"),
    "--questions": ("1", "2", "0", "x"),
    "--api-key": (SECRET,),
    "--seed": ("1", "2", "-1", "x"),
    "--concurrency": ("1", "2", "0", "x"),
}
"""Options of which large values mean long work, or many processes."""


@functools.cache
def _parameters() -> dict[str, list[Any]]:
    group: Any = typer.main.get_command(app)
    context = group.make_context("retrivex", ["--help"], resilient_parsing=True)
    return {name: list(group.get_command(context, name).params) for name in NAMES}


def _value(rng: random.Random, parameter: Any) -> str:
    option = parameter.opts[0]
    if rng.random() < 0.12 and option not in LITTLE:
        return rng.choice(HOSTILE)
    if option in OUT_OPTIONS:
        return rng.choice(OUTPUTS)
    if option == "--db":
        return rng.choice(("made.db", "made.db", "made.db", "new.db", *PATHS))
    return rng.choice(LITTLE.get(option) or KINDS.get(str(parameter.metavar), WORDS))


def _usual(command: str) -> list[str]:
    """What makes a command do something, so that not every line ends at its first wrong argument."""
    return {
        "index": ["docs", "--tokenizer", "estimate"],
        "query": ["How long do bees sleep?", "--db", "made.db"],
        "compose": ["--in", "requests.jsonl"],
        "reorder": ["passages.json"],
        "around": ["bees.md#chunk-0", "--db", "made.db"],
        "inspect": ["--db", "made.db"],
        "tune": ["questions.jsonl", "--db", "made.db", "--trials", "1"],
        "evaluate": [
            "questions.jsonl",
            "--documents",
            "docs",
            "--out",
            "out",
            "--cache",
            "cache",
            "--processes",
            "1",
            "--composer",
            "knn",
            "--tokenizer",
            "estimate",
            "--chunk-tokens",
            "20",
        ],
        "compare": ["results", "--a", "composer=knn", "--b", "composer=balanced"],
        "report": ["results"],
        "probe": [
            "--model-url",
            "http://127.0.0.1:9/v1",
            "--model",
            "x",
            "--lengths",
            "60",
            "--depths",
            "1",
            "--needles",
            "1",
        ],
        "demo": ["--ask", "bees"],
        "backfill": ["qdrant", "http://127.0.0.1:9", "things"],
    }[command]


def _draw_endpoint(rng: random.Random) -> list[str]:
    """Draw a command that asks an endpoint which is not there, or cannot be."""
    url = rng.choice(URLS)
    match rng.choice(("query", "query", "compose", "compose", "evaluate", "probe")):
        case "evaluate":
            return ["evaluate", *_usual("evaluate"), "--model-url", url, "--model", "x", "--api-key-env", "FUZZ_KEY"]
        case "probe":
            return ["probe", *_usual("probe"), "--model-url", url, "--api-key-env", "FUZZ_KEY"]
        case command:
            shape = rng.choice(("tei", "cohere", "jina", "voyage", "x"))
            more = rng.choice(([], ["--json"], ["--explain"], ["--rerank-model", "x"], ["--trace"]))
            return [command, *_usual(command), "--rerank", url, "--rerank-shape", shape, *more]


def draw_arguments(rng: random.Random) -> list[str]:
    """Draw one command line."""
    if rng.random() < 0.04:
        return _draw_endpoint(rng)
    command = rng.choice(SLOW) if rng.random() < 0.04 else rng.choice(COMMON)
    parameters = _parameters()[command]
    made = [command]
    if rng.random() < 0.75:
        made += _usual(command)
    elif command in SLOW:
        made += _usual(command)[:1]
    else:
        arguments = [p for p in parameters if p.param_type_name == "argument"]
        made += [_value(rng, p) for p in arguments[: rng.choice((len(arguments), len(arguments), 1, 0))]]
    options = [p for p in parameters if p.param_type_name == "option"]
    for parameter in rng.sample(options, min(len(options), rng.choice((0, 1, 1, 2, 4)))):
        made.append(rng.choice(parameter.opts))
        if not parameter.is_flag:
            made.append(_value(rng, parameter))
    draw = rng.random()
    if draw < 0.04:
        made.append(rng.choice(HOSTILE))
    elif draw < 0.08:
        rng.shuffle(made)
    elif draw < 0.1:
        made.insert(0, rng.choice(("--help", "--version", "-h", "--nonsense", *HOSTILE)))
    return made


# ---- the folder that commands run in


def _questions() -> str:
    asked = [
        {"question": f"How long do {name} sleep?", "evidence": [{"quote": f"{name} sleep 5 hours"}]}
        for name in ("bees", "ants")
    ]
    return "\n".join(map(json.dumps, asked))


def _requests() -> list[dict[str, Any]]:
    chunks = [
        {"doc_id": "bees", "chunk_id": at, "text": text}
        for at, text in enumerate(("Bees fly.", "Bees sleep 5 hours.", "Ants walk."))
    ]
    hit = {"doc_id": "bees", "chunk_id": 1, "score": 0.8}
    return [
        {"id": 1, "question": "How long do bees sleep?", "hits": [hit], "chunks": chunks},
        {"id": 2, "hits": [hit], "chunks": chunks},
    ]


@functools.cache
def _template() -> Path:
    """Return a folder with something of everything that commands read, made once a process."""
    folder = Path(tempfile.mkdtemp(prefix="retrivex-fuzz-"))
    (folder / "docs").mkdir()
    (folder / "empty").mkdir()
    for name in ("bees", "ants"):
        text = f"# {name.title()}\n\nThey are insects.\n\n## Sleep\n\nAll {name} sleep 5 hours.\n"
        (folder / "docs" / f"{name[0]}.md").write_text(text)
    (folder / "docs" / "\x1b[31mred.txt").write_text("Red bees sleep.")
    (folder / "questions.jsonl").write_text(_questions())
    (folder / "requests.jsonl").write_text("\n".join(map(json.dumps, _requests())))
    (folder / "chunks.jsonl").write_text("\n".join(json.dumps(chunk) for chunk in _requests()[0]["chunks"]))
    (folder / "passages.json").write_text(
        json.dumps([{"text": "Bees fly.", "score": 0.5}, {"text": "Ants walk.", "score": 0.7}])
    )
    (folder / "config.json").write_text('{"window": 1, "tokenizer": "estimate"}')
    (folder / "config.toml").write_text("window = 1")
    (folder / "bad.json").write_bytes(b'{"window": [[[\xff')
    (folder / "broken.db").write_bytes(b"SQLite format 3\0" + b"\1" * 5000)
    with _inside(folder):
        for arguments in (
            ["index", "docs", "--db", "made.db", "--tokenizer", "estimate"],
            [*["evaluate", *_usual("evaluate")], "--out", "results", "--composer", "balanced"],
        ):
            done = CliRunner().invoke(app, arguments)
            expect(done.exit_code == 0, "the folder cannot be made", done.output)
    shutil.rmtree(folder / "cache", ignore_errors=True)
    return folder


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, without network, keys of this machine, or waits."""
    before = Path.cwd()
    kept = {name: os.environ[name] for name in ("PATH", "TIKTOKEN_CACHE_DIR", "PYTHONPATH") if name in os.environ}
    ours = {
        "HOME": str(folder),
        "HF_HUB_OFFLINE": "1",
        "FUZZ_KEY": SECRET,
        "OPENAI_API_KEY": SECRET,
        "RERANK_API_KEY": SECRET,
        "COLUMNS": "100",
    }
    os.chdir(folder)
    try:
        with patch.dict(os.environ, {**kept, **ours}, clear=True), patch("time.sleep", lambda _: None):
            yield
    finally:
        os.chdir(before)


def draw_input(rng: random.Random) -> bytes:
    """Draw what comes on standard input: lines for `compose`, at times damaged or of another kind."""
    requests = _requests()
    for request in requests:
        if rng.random() < 0.4:
            config = {
                rng.choice(
                    ("window", "group_by", "token_budget", "coefficients", "tokenizer", "scoring", "\x1b[31m")
                ): rng.choice((1, -1, "x", None, [], 10**30, "/dev/null", "missing", "estimate", "\x1b[31m"))
            }
            request["config"] = config
        if rng.random() < 0.2:
            request[rng.choice(("id", "hits", "chunks", "question", "scope", "\x1b[31m"))] = rng.choice(
                (None, 5, "\x1b[31m", [], [None], {}, "\ud800")
            )
    raw = "\n".join(map(json.dumps, requests)).encode()
    draw = rng.random()
    if draw < 0.2:
        return mutate(rng, raw)
    if draw < 0.3:
        return make_documents(rng)
    return make_text(rng).encode("utf-8", "replace") if draw < 0.4 else raw


def draw_config(rng: random.Random) -> str:
    """Draw a file of options as somebody else may have written it."""
    names = (
        "window",
        "\x1b[31m",
        "group_by",
        "coefficients",
        "position_profile",
        "tokenizer",
        "preset",
        "token_budget",
        "x" * 300,
        "",
    )
    values = (
        1,
        -1,
        "x",
        None,
        [],
        {},
        "\x1b]0;x\x07",
        10**30,
        "missing",
        "/dev/null",
        "docs",
        [None],
        "estimate",
        True,
    )
    return json.dumps({rng.choice(names): rng.choice(values) for _ in range(rng.choice((1, 2)))})


def check_ending(arguments: list[str], done: Result, folder: Path) -> None:
    """Check how a command ended, what it printed, and what it wrote."""
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    expect(done.exit_code in EXIT_CODES, "exit code out of the list", done.exit_code)
    printed = done.stdout_bytes + done.stderr_bytes
    text = printed.decode("utf-8", "replace")
    expect("Traceback (most recent call last)" not in text, "a traceback was printed", text[-300:])
    steering = STEERING.search(done.stderr_bytes.decode("utf-8", "replace")) or (
        STEERING.search(done.stdout_bytes.decode("utf-8", "replace"))
    )
    expect(steering is None, "a control character was printed", steering, arguments[0])
    expect(SECRET not in text, "a secret was printed", text[max(0, text.find(SECRET) - 150) :][:300])
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and SECRET.encode() in path.read_bytes():
            raise ViolationError(f"a secret was written to {path.relative_to(folder)!s}")


def try_case(seed: int, number: int, covered: list[str]) -> BaseException | None:
    """Draw a command line and run it; return what went wrong."""
    rng = random.Random(f"shell:{seed}:{number}")
    arguments, given, config = draw_arguments(rng), draw_input(rng), draw_config(rng)
    covered.append(f"retrivex {' '.join(map(ascii, arguments))}"[:500])
    folder = Path(tempfile.mkdtemp(prefix="retrivex-fuzz-")) / "here"
    try:
        shutil.copytree(_template(), folder)
        (folder / "odd.json").write_text(config)
        with _inside(folder), processor_limit(SECONDS, WALL):
            done = CliRunner().invoke(app, arguments, input=given)
            covered.append(f"exit code {done.exit_code}")
            check_ending(arguments, done, folder)
    except (Exception, TooSlowError) as error:  # noqa: BLE001 - whatever goes wrong is what is looked for
        return error
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)
    return None


def fuzz(seed: int, numbers: range, stop_after: int = 20) -> Tally:
    """Run the command lines of these numbers."""
    tally, began = Tally(), time.process_time()
    for number in numbers:
        covered: list[str] = []
        error = try_case(seed, number, covered)
        tally.cases += 1
        tally.covered.update({covered[0].split(" ")[1], *covered[1:]})
        if error is not None:
            tally.violations.append(Violation(f"{seed}:{number}", describe(error), f"{covered[0]}{_frames(error)}"))
            if len(tally.violations) >= stop_after:
                break
    tally.seconds = time.process_time() - began
    return tally


def _frames(error: BaseException) -> str:
    if isinstance(error, ViolationError):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    return "; " + " <- ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-4:]))


def repeat(seed: int, number: int) -> int:
    """Run one command line again, with a traceback."""
    covered: list[str] = []
    error = try_case(seed, number, covered)
    print("\n".join(covered))
    if error is not None:
        traceback.print_exception(error)
    return 1 if error is not None else 0
