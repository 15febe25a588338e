"""Build the sdist, and the wheel out of it: `python .ci/distributions.py FOLDER`; needs setuptools.

Both come from a copy of the package alone: left-over build folders would put deleted files into them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = ("pyproject.toml", "README.md", "LICENSE")
FOLDERS = ("retrivex", "adapters")


def build(folder: Path, root: Path = ROOT) -> tuple[Path, Path]:
    """Return the sdist and the wheel of the checkout at `root`, built into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        source = Path(made) / "source"
        _copy_package(root, source)
        sdist = folder / _run_backend("build_sdist", folder, source)
        with tarfile.open(sdist) as archive:
            archive.extractall(made, filter="data")
        wheel = folder / _run_backend("build_wheel", folder, Path(made) / sdist.name.removesuffix(".tar.gz"))
    return sdist, wheel


def _copy_package(root: Path, target: Path) -> None:
    target.mkdir()
    for name in FILES:
        shutil.copy(root / name, target)
    for name in FOLDERS:
        # an installed package has the adapters inside it
        shutil.copytree(root / name, target / name, ignore=shutil.ignore_patterns("__pycache__", "adapters"))


def _run_backend(hook: str, folder: Path, source: Path) -> str:
    """Call a hook of the build backend (PEP 517) in `source`; return the name of the file that it made."""
    program = f"import sys; from setuptools import build_meta; print(build_meta.{hook}(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(folder.resolve())]
    done = subprocess.run(command, cwd=source, capture_output=True, encoding="utf-8", check=False)
    # setuptools leaves out a folder of data that is not listed, or will in a later version
    if done.returncode or "would be ignored" in done.stderr:
        raise SystemExit(f"{hook} failed:\n{done.stderr[-3000:]}")
    return done.stdout.splitlines()[-1]


if __name__ == "__main__":
    for path in build(Path(sys.argv[1])):
        print(path)  # noqa: T201
