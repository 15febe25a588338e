"""Examples and blocks of the documentation, run as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(program: str, name: str, folder: Path | None = None) -> str:
    """Run a program as a user would, in a folder, warnings shown as errors; return what it prints."""
    paths = [str(ROOT), *filter(None, sys.path)]
    return _printed([sys.executable, "-W", "error", "-c", program], name, folder, PYTHONPATH=os.pathsep.join(paths))


def run_example(name: str, warnings: str = "default") -> str:
    """Run a script of `examples/` by its path, in the environment as it is; return what it prints.

    Its warnings are shown and no errors by default: what other packages warn of is theirs to mend.
    """
    return _printed([sys.executable, "-W", warnings, str(ROOT / "examples" / name)], name)


def _printed(command: list[str], name: str, folder: Path | None = None, **more: str) -> str:
    environment = {**os.environ, "PYTHONUTF8": "1", **more}
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.returncode == 0, f"{name}:\n{done.stderr}"
    return done.stdout
