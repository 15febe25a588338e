"""What is in the repository must be in the wheel, and work from there."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from retrivex.adapters import FRAMEWORKS, STORES
from retrivex.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MAKEFILE = (ROOT / "Makefile").read_text()
ADAPTERS = (*FRAMEWORKS, *STORES)


@pytest.fixture(scope="module")
def sdist_and_wheel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    made = tmp_path_factory.mktemp("distributions")
    command = [sys.executable, str(ROOT / ".ci" / "distributions.py"), str(made)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    sdist, wheel = map(Path, printed.split())
    return sdist, wheel


@pytest.fixture(scope="module")
def wheel(sdist_and_wheel: tuple[Path, Path]) -> Path:
    return sdist_and_wheel[1]


@pytest.fixture(scope="module")
def unpacked(wheel: Path) -> Path:
    folder = wheel.parent / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def _run(unpacked: Path, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error::ImportWarning", "-c", code],
        cwd=unpacked,
        env={"PYTHONPATH": str(unpacked), "PATH": "", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_file_reaches_the_wheel(wheel: Path) -> None:
    expected = {
        path.relative_to(ROOT).as_posix()
        for pattern in ("*.py", "py.typed", "*.json", "*.md")
        for path in (ROOT / "retrivex").rglob(pattern)
    } | {f"retrivex/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "adapters").rglob("*.py")}
    expected |= {path.relative_to(ROOT).as_posix() for path in (ROOT / "retrivex").rglob("static/*")}
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if name.startswith("retrivex/")}
    assert found == expected


def test_the_demo_answers_from_the_wheel(unpacked: Path) -> None:
    cache = os.environ.get("TIKTOKEN_CACHE_DIR", "")
    start = f"import os, sys; os.environ['TIKTOKEN_CACHE_DIR'] = {cache!r}; sys.argv = ['retrivex', 'demo']; "
    shown = _run(unpacked, f"{start}from retrivex.cli import main; main()")
    assert shown.count("Without RetriVex") == 3
    assert shown.count("The whole answer") > shown.count("Part of the answer") > 0


def test_only_the_package_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {re.sub(r"-.*\.dist-info", ".dist-info", top) for top in tops} == {"retrivex", "retrivex_rag.dist-info"}


def test_every_package_folder_is_listed() -> None:
    folders = {path.parent for name in ("retrivex", "adapters") for path in (ROOT / name).rglob("*.py")}
    packages = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    packages = {f"retrivex.{name}" if name.startswith("adapters") else name for name in packages}
    packages |= {"retrivex.cli.demo_pages", "retrivex.service.playground.static"}  # data alone
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == packages


def test_every_core_module_is_imported_from_the_wheel(unpacked: Path) -> None:
    out = _run(unpacked, IMPORT_ALL)
    imported = set(out.split())
    assert {"retrivex", "retrivex.tokens.tokenizer", "retrivex.model.chunk", "retrivex.adapters"} <= imported
    assert len(imported) > 20


IMPORT_ALL = """
import importlib, pkgutil, pathlib, retrivex
here = pathlib.Path.cwd()
names = [module.name for module in pkgutil.walk_packages(retrivex.__path__, "retrivex.", onerror=print)]
for name in ["retrivex", *names]:
    if name.startswith("retrivex.adapters."):
        continue  # they need their frameworks
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        if "retrivex-rag[" not in str(error):
            raise
        continue
    assert pathlib.Path(module.__file__).is_relative_to(here), module.__file__
    print(name)
"""


def test_the_command_is_there(unpacked: Path) -> None:
    metadata = next(unpacked.glob("*.dist-info"))
    assert re.search(r"^retrivex = retrivex\.cli:main$", (metadata / "entry_points.txt").read_text(), re.MULTILINE)
    assert "retrivex" in _run(
        unpacked, "import sys; sys.argv = ['retrivex', '--help']; import retrivex.cli as c; c.main()"
    )


# --- what a release is checked for


@pytest.fixture
def release_check(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    if not (ROOT / ".git").exists():
        pytest.skip("the files of a wheel are compared with those in git")
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return runpy.run_path(str(ROOT / ".ci" / "release_check.py"))


def _rewritten(
    wheel: Path, folder: Path, change: Callable[[str, bytes], bytes | None], more: Mapping[str, str]
) -> Path:
    """Copy a wheel, with its files changed (None leaves one out) and others added."""
    made = folder / wheel.name
    with zipfile.ZipFile(wheel) as archive, zipfile.ZipFile(made, "w") as written:
        for name in archive.namelist():
            content = change(name, archive.read(name))
            if content is not None:
                written.writestr(name, content)
        for name, text in more.items():
            written.writestr(name, text)
    return made


def test_what_is_built_here_could_be_released(
    sdist_and_wheel: tuple[Path, Path], release_check: dict[str, Any]
) -> None:
    found = release_check["find_problems"](*sdist_and_wheel)
    assert [problem for problem in found if "in git" not in problem] == []  # a new file may not be added yet


def test_a_release_is_refused_for_what_it_holds_and_lacks(
    sdist_and_wheel: tuple[Path, Path], release_check: dict[str, Any], tmp_path: Path
) -> None:
    sdist, wheel = sdist_and_wheel
    needed = release_check["NEEDED"]
    more = {"tests/test_a.py": "", "benchmarks/results/a.json": "", "retrivex/cli/notes.txt": ""}
    bad = _rewritten(wheel, tmp_path, lambda name, text: None if name in needed else text, more)
    found = release_check["find_problems"](sdist, bad)
    assert all(f"wheel holds {name}, which is no file of the package in git" in found for name in more)
    assert all(f"wheel lacks {name}" in found for name in needed)


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("Name: retrivex-rag", "Name: retrivex", "Name is retrivex, not retrivex-rag"),
        (f"Version: {__version__}", "Version: 9.9.9", f"Version is 9.9.9, not {__version__}"),
        ("License-Expression: MIT", "License-Expression: BSD-3-Clause", "License-Expression is BSD-3-Clause, not MIT"),
        ("Requires-Python: >=3.11", "Requires-Python: >=3.9", "Requires-Python is >=3.9, not >=3.11"),
        (":: Python :: 3.11", ":: Python :: 3.10", "no classifier names Python 3.11, which Requires-Python allows"),
        ("Provides-Extra: pdf", "Provides-Extra: pdfs", "extra pdf is only in one of pyproject.toml and metadata"),
        ("numpy>=2.0", "numpy>=1.0", "Requires-Dist differs from pyproject.toml: numpy>=1.0, numpy>=2.0"),
        ("text/markdown", "text/plain", "Description-Content-Type is text/plain, not text/markdown"),
        ("# RetriVex", "<h1>RetriVex</h1>", "the description has HTML: <h1>RetriVex</h1>"),
    ],
)
def test_a_release_is_refused_for_its_metadata(
    sdist_and_wheel: tuple[Path, Path],
    release_check: dict[str, Any],
    tmp_path: Path,
    right: str,
    wrong: str,
    problem: str,
) -> None:
    def change(name: str, content: bytes) -> bytes:
        if not name.endswith("/METADATA"):
            return content
        assert right.encode() in content
        return content.replace(right.encode(), wrong.encode(), 1)

    sdist, wheel = sdist_and_wheel
    found = release_check["find_problems"](sdist, _rewritten(wheel, tmp_path, change, {}))
    assert problem in found
    assert "sdist and wheel differ in their metadata" in found


def test_a_release_has_its_entries_in_the_changelog(release_check: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 0.3.0 - 2026-11-30\n")
    check = release_check["check_changelog"]
    assert check("0.3.0", tmp_path) == ["CHANGELOG.md begins with Unreleased, not with 0.3.0"]
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.3.0 - 2026-11-30\n")
    assert check("0.3.0", tmp_path) == []


def test_every_documented_target_of_make_has_a_rule() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text() + (ROOT / "README.md").read_text()
    named = set(re.findall(r"(?:^|`)make ([a-z][\w-]*)", text, re.MULTILINE))
    rules = {name for line in re.findall(r"^([a-z][\w -]*):(?![=])", MAKEFILE, re.MULTILINE) for name in line.split()}
    assert len(named) > 10
    assert named <= rules


def test_every_extra_that_is_named_exists() -> None:
    extras = set(PROJECT["project"]["optional-dependencies"])
    sources = [*(ROOT / "retrivex").rglob("*.py"), *(ROOT / "adapters").rglob("*.py"), ROOT / "README.md"]
    place = re.compile(r"""(?:retrivex-rag\[|(?:install_hint|needs_client)\(["'])([\w-]+)""")
    named = {name for path in sources for name in place.findall(path.read_text())}
    assert {"langchain", "pdf"} <= named <= extras


# --- no integration test is left out


def _listed_tests() -> dict[str, list[str]]:
    def prefixed(call: re.Match[str]) -> str:
        return " ".join(call[1] + name for name in call[2].split())

    def of_adapters(call: re.Match[str]) -> str:
        return " ".join(row.test_path for row in ADAPTERS if row.environment == call[1])

    listed = re.sub(r"\$\(addprefix ([^,]*),([^)]*)\)", prefixed, MAKEFILE)
    listed = re.sub(r"\$\(call rows,TESTS_(\w+)\)", of_adapters, listed)
    return {kind: paths.split() for kind, paths in re.findall(r"^TESTS_(\w+) := (.*)$", listed, re.MULTILINE)}


def test_every_listed_integration_test_exists_and_is_marked() -> None:
    for paths in _listed_tests().values():
        for path in paths:
            files = [ROOT / path] if path.endswith(".py") else sorted((ROOT / path).glob("test_*.py"))
            assert any("pytest.mark.integration" in file.read_text() for file in files), path


def test_every_kind_of_environment_is_run() -> None:
    # files in no list run in the core environment, so that none can be left out
    kinds = " ".join(re.findall(r"^KINDS_(?:CI|RELEASE) := (.*)$", MAKEFILE, re.MULTILINE)).split()
    assert sorted(kinds) == sorted(_listed_tests())
    assert all(re.search(rf"^INSTALL_{kind} = ", MAKEFILE, re.MULTILINE) for kind in _listed_tests())


def test_make_says_what_it_installs_and_how_long_the_tests_take() -> None:
    installed = re.findall(r"^INSTALL_(\w+) = ", MAKEFILE, re.MULTILINE)
    assert all(re.search(rf"^HOLDS_{kind} = .+minutes?$", MAKEFILE, re.MULTILINE) for kind in installed)
    dry = subprocess.run(["make", "--dry-run", "test"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "one to two minutes" in dry or (ROOT / ".venv/core").exists()
    assert "about five minutes on two idle cores" in dry


def test_what_needs_an_extra_of_another_environment_is_listed() -> None:
    listed = {path for paths in _listed_tests().values() for path in paths}
    foreign = re.compile(
        r"^\s*(?:import|from) (langchain|llama_index|haystack|sentence_transformers|markitdown)", re.MULTILINE
    )
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if foreign.search(path.read_text())
    }
    assert {path for path in found if path not in listed and path.rpartition("/")[0] not in listed} == set()


# ---- adapters

OF_NO_FRAMEWORK = {"grpc", "httpx"}  # ways in which several clients talk


def _imported(path: Path) -> set[str]:
    """Return the packages that a module of `adapters/` imports, but for what the core has."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    names += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0]
    core = {re.split(r"[^\w-]", needed)[0].replace("-", "_") for needed in PROJECT["project"]["dependencies"]}
    return {name.split(".")[0] for name in names} - {"retrivex", *core, *sys.stdlib_module_names}


def test_a_framework_is_imported_only_in_the_folder_of_its_adapter() -> None:
    known = {row.name for row in ADAPTERS}
    used_by: dict[str, set[str]] = {}
    for path in (ROOT / "adapters").rglob("*.py"):
        for package in _imported(path):
            used_by.setdefault(package, set()).add(path.relative_to(ROOT / "adapters").parts[0].removesuffix(".py"))
    assert set().union(*used_by.values()) == known
    assert {package for package, names in used_by.items() if len(names) > 1} <= OF_NO_FRAMEWORK


# ---- the table of adapters


def test_every_row_has_its_parts() -> None:
    for row in ADAPTERS:
        module = ROOT / "adapters" / row.name
        assert module.is_dir() or module.with_suffix(".py").exists(), row.name
        assert (ROOT / row.test_path).exists(), row.test_path
        assert (ROOT / row.example).exists(), row.example


def test_every_folder_of_an_adapter_is_in_a_row() -> None:
    shared = {"__init__", "base", "search"}
    found = {path.stem for path in (ROOT / "adapters").iterdir() if path.name != "__pycache__"}
    assert found == {row.name for row in ADAPTERS} | shared


def test_every_row_has_its_extra_with_the_client_it_names() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    for row in ADAPTERS:
        assert re.split(r"[^\w-]", extras[row.name][0])[0] == row.client


def test_every_row_is_in_the_tables_of_the_docs() -> None:
    pages = [ROOT / "docs" / "howto" / name for name in ("adapters.md", "vector_stores.md")]
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    for row in ADAPTERS:
        assert any(row.title in line and f"`{row.name}`" in line for line in lines), row.name


def test_the_readme_names_the_frameworks_and_only_extras_that_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(row.title.lower() in readme.lower() for row in FRAMEWORKS)
    assert "docs/howto/vector_stores.md" in readme
    [install] = re.findall(r"^## Install.*?(?=^## )", readme, re.MULTILINE | re.DOTALL)
    first_cells = " ".join(re.findall(r"^\| (`[^|]*) \|", install, re.MULTILINE))
    assert set(re.findall(r"`([\w-]+)`", first_cells)) <= set(PROJECT["project"]["optional-dependencies"])


def test_the_makefile_reads_the_table_with_nothing_installed() -> None:
    script = str(ROOT / ".ci" / "adapters.py")
    printed = subprocess.run([sys.executable, "-S", "-I", script], capture_output=True, text=True, check=True).stdout
    expected = {f"TESTS_{row.environment}={row.test_path}" for row in ADAPTERS}
    assert {word for word in printed.split() if word.startswith("TESTS_")} == expected


def test_the_test_matrix_checks_every_extra_with_tests_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    checks = runpy.run_path(str(ROOT / ".ci" / "test_matrix.py"))["CHECKS"]
    assert set(checks) == set(PROJECT["project"]["optional-dependencies"])
    for check in checks.values():
        assert [path for path in check.tests if not (ROOT / path).exists()] == []
        files = [ROOT / name.replace("retrivex.adapters.", "adapters.").replace(".", "/") for name in check.modules]
        assert [file for file in files if not (file.is_dir() or file.with_suffix(".py").exists())] == []


def test_targets_of_the_service_need_no_other_environment_than_theirs() -> None:
    targets = ["serve", "bench-service", "load-short", "fuzz-service", "kill-service"]
    planned = subprocess.run(["make", "--dry-run", *targets], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = [line for line in planned.stdout.splitlines() if ".venv/serve/bin/" in line and "TIKTOKEN" in line]
    assert len(lines) == len(targets)
    assert [line for line in lines if ".venv/core" in line] == []
