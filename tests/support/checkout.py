"""A copy of the checkout that a test may change."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_checkout(folder: Path, names: Sequence[str], *ignored: str) -> Path:
    """Copy some files and folders of the checkout into a new folder, and put the adapters where imports find them."""
    folder.mkdir()
    for name in names:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", *ignored))
        else:
            shutil.copy(source, folder)
    (folder / "retrivex" / "adapters").symlink_to(folder / "adapters", target_is_directory=True)
    return folder
