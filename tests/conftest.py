"""What most tests share: where tokenizer files and real texts are found, and that nothing is reported."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

import pytest
from hypothesis import settings
from support.properties import FEWEST, PLAIN, THOROUGH


def _tiktoken_cache() -> Path | None:
    """Return the folder of tiktoken files that llama-index-core ships, so that tests need no download."""
    try:
        shipped = importlib.metadata.files("llama-index-core") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    folders = {Path(str(file.locate())).parent for file in shipped if file.parent.name == "tiktoken_cache"}
    return min(folders, default=None)


if "TIKTOKEN_CACHE_DIR" not in os.environ and (cache := _tiktoken_cache()):
    os.environ["TIKTOKEN_CACHE_DIR"] = str(cache)

# Haystack sends figures of its use from a thread, which logs into whichever test runs when that fails.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"


# A time limit on each example would fail tests on a busy machine and say nothing about the code. In CI every run draws
# the same cases, so that a change is judged by itself; new cases are looked for by each local run and by `make fuzz`.
settings.register_profile(PLAIN, deadline=None, derandomize="CI" in os.environ, max_examples=FEWEST)
settings.register_profile(THOROUGH, settings.get_profile(PLAIN), max_examples=100)
settings.load_profile(PLAIN)


@pytest.fixture(scope="session", autouse=True)
def _compile_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let programs that tests start share compiled modules in a folder of the run, where none may be written beside."""
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        folder = tmp_path_factory.getbasetemp()
        folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
        os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of real texts, named by RETRIVEX_DATA, or beside the repository."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RETRIVEX_DATA", beside))
    if not folder.is_dir():
        pytest.skip("no real texts: set RETRIVEX_DATA to their folder")
    return folder
