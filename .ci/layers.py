"""Check the floors of `pyproject.toml` with import-linter, adapters included.

`adapters/` stands at the top of the repository and is imported as `retrivex.adapters`. In an editable install
import-linter cannot find it there, so that this script gives it a copy with the folder in its place, as in the wheel.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

ROOT = Path(__file__).parent.parent

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "retrivex"
        shutil.copytree(ROOT / "retrivex", package, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "adapters", package / "adapters", ignore=shutil.ignore_patterns("__pycache__"))
        os.chdir(folder)
        sys.path.insert(0, folder)
        status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
        os.chdir(ROOT)
    sys.exit(status != EXIT_STATUS_SUCCESS)
