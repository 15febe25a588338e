"""Examples and blocks of the documentation, run as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
PYTHONPATH = os.pathsep.join([str(ROOT), *filter(None, sys.path)])


def run(program: str, name: str, folder: Path | None = None, warnings: str = "error") -> str:
    """Run a program as a user would, in a folder, warnings shown as errors; return what it prints."""
    return _printed([sys.executable, "-W", warnings, "-c", program], name, folder, PYTHONPATH=PYTHONPATH)


def run_commands(commands: str, name: str, folder: Path) -> str:
    """Run a block of a shell, to its end or its first failure, in a folder; return what it prints.

    `retrivex` is the command of this checkout, and `python` the one that runs the tests.
    """
    programs = folder / ".programs"
    programs.mkdir(exist_ok=True)
    for name_of_program, arguments in (("retrivex", "-m retrivex"), ("python", "")):
        command = programs / name_of_program
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n', encoding="utf-8")
        command.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    more = {"PATH": path, "PYTHONPATH": PYTHONPATH, "RETRIVEX_CACHE": str(folder / ".cache")}
    return _printed(["bash", "-euo", "pipefail", "-c", commands], name, folder, **more)


def run_example(name: str, warnings: str = "default") -> str:
    """Run a script of `examples/` by its path, in the environment as it is; return what it prints.

    Its warnings are shown and no errors by default: what other packages warn of is theirs to mend.
    """
    return _printed([sys.executable, "-W", warnings, str(ROOT / "examples" / name)], name)


def _printed(command: list[str], name: str, folder: Path | None = None, **more: str) -> str:
    environment = {**os.environ, "PYTHONUTF8": "1", **more}
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"{name}:\n{done.stderr}"
    return done.stdout
