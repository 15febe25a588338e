"""Compose the same on other machines: hashes, BLAS kernels, threads, processor features, numpy, Python versions.

    python .ci/determinism.py            with other environments, which are made under build/determinism/: some minutes
    python .ci/determinism.py --short    with the Python that runs this alone: a part of CI

Whatever a composition says must be the same everywhere, to the letter; its fractions may differ by 1e-9. Exits with 1
where they are not. Without the oldest numpy nothing is compared: that is 1, too. Other Pythons are compared where this
machine has them. The standard library is enough.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
ENVIRONMENTS = ROOT / "build" / "determinism"
RESULTS = ROOT / "benchmarks" / "results" / "determinism.json"
TOLERANCE = 1e-9
SETTINGS: dict[str, dict[str, str]] = {
    "as it is": {},
    "hash seed 0": {"PYTHONHASHSEED": "0"},
    "hash seed 4711": {"PYTHONHASHSEED": "4711"},
    "one BLAS thread": {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    "four BLAS threads": {"OPENBLAS_NUM_THREADS": "4", "OMP_NUM_THREADS": "4"},
    "BLAS of an old processor": {"OPENBLAS_CORETYPE": "Nehalem"},
    "numpy without AVX": {"NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512_SKX"},
}
SHORT: dict[str, dict[str, str]] = {
    "as it is": {},
    "hash seed 0, one BLAS thread": SETTINGS["hash seed 0"] | SETTINGS["one BLAS thread"],
    "hash seed 4711, old BLAS, no AVX": SETTINGS["hash seed 4711"]
    | SETTINGS["BLAS of an old processor"]
    | SETTINGS["numpy without AVX"],
}
"""The same, several at a time."""
NEWEST_MINOR = 20
OLD_NUMPY = "numpy==2.0.*"
REQUIRED = "oldest numpy"
"""The environment without which a run fails: what other Pythons compare alone says nothing of numpy."""


def compose(python: str | Path, settings: dict[str, str]) -> dict[str, Any]:
    """Return the compositions that a Python makes with some variables of the environment."""
    # numpy warns of features that the processor does not have anyway
    command = [str(python), "-W", "ignore", "-m", "support.whole_compositions"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), **settings}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{python} with {settings} failed:\n{done.stderr[-2000:]}")
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def compare(first: dict[str, Any], other: dict[str, Any]) -> tuple[list[str], float]:
    """Return the names of the compositions that differ, and the widest difference between two fractions."""
    differing, widest = [], 0.0
    for name, (said, numbers) in first["compositions"].items():
        said_there, numbers_there = other["compositions"][name]
        if said != said_there or len(numbers) != len(numbers_there):
            differing.append(name)
            continue
        apart = max((abs(a - b) for a, b in zip(numbers, numbers_there, strict=True)), default=0.0)
        widest = max(widest, apart)
        if apart > TOLERANCE:
            differing.append(name)
    return differing, widest


def make_environment(name: str, python: str, *packages: str) -> Path:
    """Return the Python of an environment with this checkout and some versions; made where it is not there yet."""
    folder = ENVIRONMENTS / name
    interpreter = folder / "bin" / "python"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", folder], check=True)
        install = [interpreter, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*install, "-e", str(ROOT), "hypothesis", *packages], check=True)
        (folder / "ready").touch()
    return interpreter


def find_pythons() -> dict[str, str]:
    """Return the other Pythons of this machine by version: on the path, and those of pyenv."""
    found: dict[str, str] = {}
    for minor in range(11, NEWEST_MINOR):
        kept = sorted(map(str, Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python")))
        for candidate in (shutil.which(f"python3.{minor}"), *kept):
            if candidate is None or f"3.{minor}" in found or minor == sys.version_info.minor:
                continue
            # a name on the path may be a stand-in for a version that is not there
            if subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
                found[f"3.{minor}"] = candidate
    return found


def list_environments() -> tuple[dict[str, Path], list[str]]:
    """Return the environments to compare with, and those that cannot be made here.

    They have the oldest numpy, and every other Python of this machine.
    """
    wanted = {REQUIRED: ("numpy-oldest", sys.executable, OLD_NUMPY)}
    wanted |= {f"Python {version}": (f"python-{version}", python) for version, python in find_pythons().items()}
    made: dict[str, Path] = {}
    missing: list[str] = []
    for name, environment in wanted.items():
        try:
            made[name] = make_environment(*environment)
        except subprocess.CalledProcessError:  # pip has said why
            missing.append(name)
            print(f"{name} cannot be installed here: not compared", flush=True)  # noqa: T201
    return made, missing


def main() -> int:
    """Compose everywhere, compare, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="make no environments")
    short = parser.parse_args().short
    first: dict[str, Any] = {}
    rows, failed = [], False
    others, missing = ({}, []) if short else list_environments()
    if REQUIRED in missing:
        print(f"{REQUIRED} ({OLD_NUMPY}) must be compared with: make it installable, or run --short", flush=True)  # noqa: T201
        return 1
    environments: dict[str, Path] = {"this Python": Path(sys.executable)} | others
    here = SHORT if short else SETTINGS
    for where, python in environments.items():
        for what, settings in here.items() if where == "this Python" else [("as it is", {})]:
            made = compose(python, settings)
            first = first or made
            differing, widest = compare(first, made)
            failed = failed or bool(differing)
            versions = made["versions"]
            rows.append({"where": where, "what": what, **versions, "differing": len(differing), "widest": widest})
            print(  # noqa: T201
                f"{where}, {what} (Python {versions['python']}, numpy {versions['numpy']}): "
                f"{len(differing)} of {len(made['compositions'])} differ, fractions by {widest:.1e}",
                *differing[:5], sep="\n    ", flush=True,
            )  # fmt: skip
    if not short:
        result = {
            "compositions": len(first["compositions"]),
            "tolerance": TOLERANCE,
            "rows": rows,
            "not_compared": missing,
        }
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
