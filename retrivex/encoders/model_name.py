"""Names of models: the same on every machine, and loadable again where a database holds one."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path

_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


def name_of_model(name_or_path: str | PathLike[str]) -> str:
    """Return the hub name, or, for a folder, a name that identifies its weights without its path."""
    folder = Path(name_or_path)
    if not folder.is_dir():
        return str(name_or_path)
    for weights in (folder / name for name in _WEIGHTS):
        if weights.is_file():
            with weights.open("rb") as file:
                return f"{folder.resolve().name}@{hashlib.file_digest(file, 'sha256').hexdigest()[:12]}"
    return folder.resolve().name
