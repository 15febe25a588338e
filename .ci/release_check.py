"""Build what a release would be, and check it as its users would meet it: `make distributions`.

The sdist and the wheel are built into dist/. Their metadata and contents are checked, each is installed in an empty
environment, and there, outside the checkout, the README's Python blocks and `retrivex demo` run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path

from distributions import FOLDERS, ROOT, build  # .ci/distributions.py, beside this script
from markdown_it import MarkdownIt

BLOCK_AND_OUTPUT = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDED = (
    "retrivex/py.typed",
    "retrivex/cli/demo_pages/prices.md",
    "retrivex/composition/schemas/composition-1.json",
    "retrivex/scoring/coefficients.json",
)
WHERE = "import retrivex; print(retrivex.__file__)"


def find_problems(sdist: Path, wheel: Path, root: Path = ROOT) -> list[str]:
    """Return what is wrong with the metadata and the contents of a built sdist and wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        found = message_from_bytes(archive.read(next(name for name in names if name.endswith("/METADATA"))))
    with tarfile.open(sdist) as source:
        member = source.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert member is not None
        same = message_from_bytes(member.read()).as_bytes() == found.as_bytes()
        unpacked = [name.partition("/")[2] for name in source.getnames()]
    return [
        *_check_metadata(found, root),
        *_check_readme(found),
        *_check_wheel(names, root),
        *([] if same else ["sdist and wheel differ in their metadata"]),
        *(f"sdist holds {name}" for name in unpacked if re.match(r"(tests|benchmarks|docs|examples|\.\w)", name)),
    ]


def _check_metadata(found: Message, root: Path) -> Iterator[str]:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = re.search(r'"(.+)"', (root / "retrivex/version.py").read_text(encoding="utf-8").partition("=")[2])
    assert version is not None
    expected = {
        "Name": project["name"],
        "Version": version[1],
        "License-Expression": project["license"],
        "License-File": "LICENSE",
        "Requires-Python": project["requires-python"],
    }
    yield from (f"{name} is {found[name]}, not {value}" for name, value in expected.items() if found[name] != value)
    if not re.fullmatch(r"\d+\.\d+\.\d+", version[1]):
        yield f"Version is {version[1]}: a release has three numbers"
    oldest = project["requires-python"].removeprefix(">=")
    if f"Programming Language :: Python :: {oldest}" not in (found.get_all("Classifier") or []):
        yield f"no classifier names Python {oldest}, which Requires-Python allows"
    extras, listed = set(project["optional-dependencies"]), set(found.get_all("Provides-Extra") or [])
    yield from (f"extra {name} is only in one of pyproject.toml and metadata" for name in sorted(extras ^ listed))
    needed = [item for group in project["optional-dependencies"].values() for item in group] + project["dependencies"]
    stated = sorted(item.partition(";")[0].strip() for item in found.get_all("Requires-Dist") or [])
    if stated != sorted(needed):
        yield f"Requires-Dist differs from pyproject.toml: {', '.join(sorted({*stated} ^ {*needed}))}"


def _check_readme(found: Message) -> Iterator[str]:
    """Check that the description is Markdown that package indexes show: they take HTML away."""
    if found["Description-Content-Type"] != "text/markdown":
        yield f"Description-Content-Type is {found['Description-Content-Type']}, not text/markdown"
    tokens = MarkdownIt("commonmark").enable("table").parse(found.get_payload(decode=True).decode("utf-8"))
    if [token.tag for token in tokens[:1]] != ["h1"]:
        yield "the description does not begin with a title"
    nested = [token for outer in tokens for token in (outer, *(outer.children or ()))]
    tags = [token.content for token in nested if token.type in ("html_block", "html_inline")]
    yield from (f"the description has HTML: {tag.strip()}" for tag in tags if not tag.startswith("<!--"))


def _check_wheel(names: list[str], root: Path) -> Iterator[str]:
    """Compare the wheel with the files that git has of the package."""
    listed = subprocess.run(["git", "ls-files", *FOLDERS], cwd=root, capture_output=True, encoding="utf-8", check=True)
    files = (name for name in listed.stdout.splitlines() if (root / name).exists())
    expected = {re.sub("^adapters/", "retrivex/adapters/", name) for name in files}
    found = {name for name in names if not re.match(r"retrivex_rag-[\w.]+\.dist-info/", name)}
    yield from (f"wheel holds {name}, which is no file of the package in git" for name in sorted(found - expected))
    yield from (f"wheel lacks {name}" for name in sorted({*expected, *NEEDED} - found))
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
        yield "wheel lacks its LICENSE"


def check_changelog(version: str, root: Path = ROOT) -> list[str]:
    """Return what is wrong where the newest entries of CHANGELOG.md are not those of the version."""
    newest = re.search(r"^## (.*)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    title = newest[1] if newest else "no version"
    return [] if title.split(" ")[0] == version else [f"CHANGELOG.md begins with {title}, not with {version}"]


def check_installed(distribution: Path, folder: Path, readme: str) -> list[str]:
    """Install a file in an empty environment, and return what does not work there."""
    venv.create(folder, with_pip=True)
    here = folder / "elsewhere"
    here.mkdir()
    python = folder / "bin" / "python"
    _run([python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", distribution], here)
    _run([python, "-m", "pip", "check"], here)
    problems = []
    if not Path(_run([python, "-c", WHERE], here).strip()).is_relative_to(folder):
        problems.append("the RetriVex that is imported is not the one that was installed")
    blocks = BLOCK_AND_OUTPUT.findall(readme)
    if len(blocks) != readme.count("```python"):
        problems.append("a Python block of README.md is not followed by its output")
    for program, output in blocks:
        printed = _run([python, "-W", "error", "-c", program], here)
        if printed != output:
            problems.append(f"a block of README.md prints {printed!r}, not {output!r}")
    if _run([folder / "bin" / "retrivex", "demo"], here).count("Without RetriVex") != 3:
        problems.append("retrivex demo does not answer its three questions")
    return problems


def _run(command: list[str | Path], folder: Path) -> str:
    """Return what a command prints, run without what points into a checkout."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))[:300]}\n{done.stderr[-3000:]}")
    return done.stdout


def main() -> int:
    """Check both files; every problem is told."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    sdist, wheel = build(ROOT / "dist")
    problems = [*check_changelog(wheel.name.split("-")[1]), *find_problems(sdist, wheel)]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as made:
        for number, path in enumerate((wheel, sdist)):
            print(f"installing {path.name} in an empty environment", flush=True)  # noqa: T201
            problems += [f"{path.name}: {text}" for text in check_installed(path, Path(made) / str(number), readme)]
    print("\n".join(problems) or f"ready for a release: dist/{sdist.name} dist/{wheel.name}")  # noqa: T201
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
