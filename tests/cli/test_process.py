"""The command line as a process: pipes, encodings, signals, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.cli.commands import NAMES
from retrivex.version import __version__

ROOT = Path(__file__).parents[2]


def environment(**more: str) -> dict[str, str]:
    paths = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    return {**os.environ, "PYTHONPATH": paths, **more}


def retrivex(*args: str, stdin: bytes = b"", cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "retrivex", *args]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, env=environment(**env), check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("process")
    (made / "docs").mkdir()
    (made / "docs" / "蜂.md").write_text("# Les abeilles\n\nDie Biene schläft — 蜜蜂睡觉 🐝.\n" * 3, encoding="utf-8")
    (made / "docs" / "red\x1b[31m\nname.txt").write_text("Escape \x1b[31mred\x1b[0m bees.")
    done = retrivex("index", "docs", cwd=made)
    assert done.returncode == 0, done.stderr
    return made


def test_version() -> None:
    assert retrivex("--version").stdout.decode() == f"retrivex {__version__}\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["query", "q", "--budget", "abc"], "--budget: "),
        (["query", "q", "--order", "best"], "--order: 'best' is not one of 'front_first', "),
        (["query", "q", "--k", "0"], "--k: "),
        (["query", "q", "--config", "no.toml"], "config file no.toml cannot be read: No such file or directory; give"),
        (["query", "q", "--preset", "fast"], "preset 'fast' does not exist: choose one of "),
        (["query", "q", "--bugdet", "3"], "No such option: --bugdet"),
        (["query"], "Missing argument 'QUESTION'."),
        (["compose", "--chunks", "nope.jsonl"], "--chunks: path 'nope.jsonl' does not exist"),
    ],
)
def test_a_wrong_value_is_one_line_with_option_and_rule(args: list[str], message: str) -> None:
    done = CliRunner().invoke(app, args)
    assert done.exit_code == 2
    assert done.stderr.lower().startswith(f"retrivex: {message}".lower())
    assert len(done.stderr.splitlines()) == 1
    for words in ("Value error", "Errno", "Invalid value", "parse string"):
        assert words not in done.stderr


@pytest.mark.parametrize(
    ("args", "unneeded"),
    [(["--version"], "evaluation composer stores adapters"), (["inspect", "--help"], "evaluation composer adapters")],
)
def test_a_command_imports_what_it_needs(args: list[str], unneeded: str) -> None:
    code = (
        "import sys; from retrivex.cli import app; app(sys.argv[1:], standalone_mode=False);"
        "print(*{name.split('.')[1] for name in sys.modules if name.startswith('retrivex.')})"
    )
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, env=environment(), check=True)
    imported = done.stdout.decode().splitlines()[-1].split()
    assert "cli" in imported
    assert [name for name in unneeded.split() if name in imported] == []


def test_progress_bars_of_model_libraries_are_off() -> None:
    code = "import os, sys; from retrivex.cli import main; sys.argv[1:] = ['--version']\ntry: main()\nfinally: print("
    code += "os.environ['HF_HUB_DISABLE_PROGRESS_BARS'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment(), check=False)
    assert done.stdout.split()[-1] == b"1"


def test_every_command_is_in_the_help_and_has_a_module_of_its_name() -> None:
    listed = CliRunner().invoke(app, ["--help"]).stdout
    assert [name for name in NAMES if f"│ {name} " not in listed] == []


def test_a_text_without_quotes_is_told_so() -> None:
    for args in (["query", "untaken", "leave", "expire"], ["demo", "--ask", "What", "expires", "when"]):
        done = CliRunner().invoke(app, args)
        assert done.exit_code == 2
        assert "put a text of several words in quotes" in done.stderr


def test_no_command_prints_the_help() -> None:
    done = retrivex()
    assert b"Usage: retrivex" in done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize("command", ["index", "query", "compose", "inspect", "tune", "probe", "demo"])
def test_every_command_has_help_with_examples(command: str) -> None:
    # in this process: what a start of its own changes is the same for all commands
    done = CliRunner().invoke(app, [command, "--help"])
    assert done.exit_code == 0
    assert "Examples:" in done.stdout
    assert f"  retrivex {command}" in done.stdout


def test_wrong_usage_is_2() -> None:
    assert retrivex("bogus").returncode == 2


def test_there_is_never_a_traceback(folder: Path) -> None:
    done = retrivex("query", "x", "--db", "docs", cwd=folder)
    assert done.returncode == 3
    assert done.stderr.startswith(b"retrivex: docs is a folder")
    assert b"Traceback" not in done.stderr


def test_piped_output_is_the_result_alone(folder: Path) -> None:
    done = retrivex("query", "Biene", "--format", "json", cwd=folder, TERM="xterm-256color")
    assert json.loads(done.stdout)["citations"][0]["doc_id"] == "蜂.md"
    text = retrivex("query", "Biene", cwd=folder, TERM="xterm-256color")
    assert b"\x1b" not in text.stdout
    assert "蜜蜂睡觉 🐝" in text.stdout.decode("utf-8")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_locale_gets_output_it_can_read(folder: Path, encoding: str) -> None:
    env = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = retrivex("query", "Biene", "--json", cwd=folder, **env)
    assert "蜜蜂睡觉 🐝" in json.loads(done.stdout.decode(encoding))["text"]
    done = retrivex("query", "Biene", "--explain", cwd=folder, **env)
    assert done.returncode == 0, done.stderr
    assert "schl" in done.stdout.decode(encoding)


def test_the_c_locale_works(folder: Path) -> None:
    done = retrivex("query", "Biene", "--explain", cwd=folder, LC_ALL="C", LANG="C")
    assert done.returncode == 0, done.stderr


def test_control_characters_in_names_do_not_reach_the_report(folder: Path) -> None:
    done = retrivex("query", "red bees", "--explain", cwd=folder)
    sources = done.stdout.decode().partition("\nSources\n")[2]
    assert "red\ufffd[31m name.txt" in sources
    assert "\x1b" not in sources


def test_a_name_that_is_not_text_is_reported(tmp_path: Path) -> None:
    docs = os.fsencode(tmp_path) + b"/docs"
    os.mkdir(docs)
    try:
        with open(docs + b"/bad\xff.txt", "wb") as page:
            page.write(b"Bees.")
    except OSError:
        pytest.skip("this file system takes no such names")
    with open(docs + b"/good.txt", "wb") as page:
        page.write(b"Bees.")
    done = retrivex("index", "docs", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["added"] == 1
    assert "UTF-8" in json.loads(done.stdout)["problems"][0]["reason"]


def test_a_closed_pipe_ends_quietly() -> None:
    request = json.dumps({"hits": [{"doc_id": "d", "chunk_id": 0, "score": 1, "text": "Bees. " * 200}]}) + "\n"
    command = [sys.executable, "-m", "retrivex", "compose"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment(), **pipes) as process:  # type: ignore[call-overload]
        process.stdin.write(request.encode())
        process.stdin.flush()
        assert process.stdout.readline().startswith(b'{"id": null')
        process.stdout.close()
        try:
            process.stdin.write(request.encode() * 50)
            process.stdin.close()
        except BrokenPipeError:
            process.stdin = None
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_answers_come_line_by_line() -> None:
    # a program at the other end may wait for an answer before it asks again
    command = [sys.executable, "-m", "retrivex", "compose", "--set", "tokenizer=estimate"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(json.dumps({"id": number, "hits": []}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()
        assert process.wait() == 0


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_ctrl_c_is_130_without_a_traceback() -> None:
    command = [sys.executable, "-m", "retrivex", "compose", "--set", "tokenizer=estimate"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # a shell that runs the tests in the background ignores Ctrl-C, and children inherit that
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, env=environment(), **pipes)  # type: ignore[call-overload]
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        process.stdin.write(b'{"hits": []}\n')
        process.stdin.flush()
        process.stdout.readline()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert b"Traceback" not in process.stderr.read()


def test_a_huge_line_is_composed() -> None:
    chunks = [{"doc_id": "d", "chunk_id": i, "text": f"Sentence number {i}. " * 50} for i in range(10_000)]
    request = {"hits": [{"doc_id": "d", "chunk_id": 5_000, "score": 1.0}], "chunks": chunks}
    done = retrivex("compose", "--budget", "500", stdin=json.dumps(request).encode())
    assert done.returncode == 0, done.stderr
    assert "Sentence number 5000." in json.loads(done.stdout)["text"]


@pytest.mark.parametrize(
    "module",
    [
        "typer",
        "numpy",
        "pydantic",
        "retrivex.config",
        "retrivex.cli.application",
        "retrivex.cli.inspect",
        "retrivex.stores",
    ],
)
def test_an_interrupt_while_modules_are_imported_is_quiet(module: str) -> None:
    code = (
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(name, path, target=None):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Finder)\n"
        "from retrivex.cli import main\n"
        "sys.argv[1:] = ['inspect']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment(), check=False)
    assert (done.returncode, done.stderr, done.stdout) == (130, b"", b"")


@pytest.mark.parametrize(
    "args",
    [["inspect", "--limit", "5000"], ["query", "bees", "--explain", "--budget", "100000"], ["inspect", "--json"]],
)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no broken pipes")
def test_a_reader_that_stops_reading_ends_the_command_with_141(tmp_path: Path, args: list[str]) -> None:
    (tmp_path / "docs").mkdir()
    for number in range(300):
        (tmp_path / "docs" / f"{number}.txt").write_text(f"Bees {number}. " + "They sleep. " * 20)
    assert retrivex("index", "docs", cwd=tmp_path).returncode == 0
    read, write = os.pipe()
    os.close(read)  # before anything is written: how much a pipe holds does not matter
    command = [sys.executable, "-m", "retrivex", *args]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, cwd=tmp_path, env=environment(), check=False)
    os.close(write)
    assert done.returncode == 141
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


@pytest.mark.parametrize(
    "args",
    [["index", "docs", "--size", "9" * 21], ["inspect", "-n", "9" * 23], ["query", "bees", "--budget", "9" * 23]],
)
def test_numbers_beyond_the_machines_are_refused(folder: Path, args: list[str]) -> None:
    done = retrivex(*args, cwd=folder)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"a number here is at most" in done.stderr


def test_a_warning_of_retrivex_is_a_note_without_a_path_and_those_of_others_stay() -> None:
    program = (
        "import sys, warnings\n"
        "from retrivex.cli import application\n"
        "from retrivex.tokens.tokenizer import TokenEstimateWarning\n"
        "sys.argv = ['retrivex', '--version']\n"
        "try: application.run()\n"
        "except SystemExit: pass\n"
        "warnings.warn('token counts are estimated', TokenEstimateWarning)\n"
        "warnings.warn('of another package')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment(), check=True)
    first, *others = done.stderr.decode().splitlines()
    assert first == "note: token counts are estimated"
    assert "UserWarning: of another package" in others[0]


def test_escape_sequences_in_options_do_not_reach_the_terminal(folder: Path) -> None:
    red = "\x1b[31mred"
    (folder / "c.json").write_text(json.dumps({red: 1}))
    for args in (["--set", f"{red}=1"], ["--config", "c.json"], ["--set", f"window={red}"], [f"--{red}"], ["-k", red]):
        done = retrivex("query", "bees", *args, cwd=folder)
        assert done.returncode == 2
        assert b"\x1b" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
@pytest.mark.parametrize("kib", [1, 8, 40, 80])
def test_a_first_index_on_a_full_disk_leaves_no_file(folder: Path, tmp_path: Path, kib: int) -> None:
    import resource  # noqa: PLC0415 - see above

    command = [sys.executable, "-m", "retrivex", "index", str(folder / "docs"), "--db", str(tmp_path / "x.db")]
    done = subprocess.run(
        command,
        capture_output=True,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),  # a compiled file that is cut off would be read by others
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (kib * 1024, kib * 1024)),
    )
    if done.returncode:
        assert done.stderr.count(b"\n") == 1
        assert list(tmp_path.iterdir()) == []
