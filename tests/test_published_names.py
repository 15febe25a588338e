"""Every name and command of retrivexlib 0.1.0, written down here, works; those that have other names now say so."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

import retrivex
import retrivex.utils
from retrivex import RetrievalConfig

MODELS = ["Chunk", "ChunkMetadata", "OrderingStrategy", "RetrievalConfig", "SeedHit", "Span"]
CHUNKERS = ["SentenceChunker", "SimpleChunker"]
UNCHANGED = {"retrivex": [*MODELS, "SpanComposer", "__version__"], "retrivex.utils": CHUNKERS}
RENAMED = {
    "retrivex.core": ("retrivex", [*MODELS, "SpanComposer"]),
    "retrivex.core.models": ("retrivex", MODELS),
    "retrivex.core.retriever": (
        "retrivex", ["Chunk", "OrderingStrategy", "RetrievalConfig", "SeedHit", "Span", "SpanComposer"],
    ),
    "retrivex.utils.chunking": ("retrivex.utils", CHUNKERS),
}  # fmt: skip
EMPTY = ["retrivex.adapters", "retrivex.eval"]
CALLS = {
    "Chunk": ["text", "metadata", "embedding"],
    "ChunkMetadata": [
        "doc_id", "chunk_id", "char_start", "char_end", "parent_id", "heading_path", "page", "custom_metadata",
    ],
    "SeedHit": ["chunk", "similarity_score"],
    "Span": [
        "doc_id", "chunk_ids", "chunks", "score", "char_start", "char_end", "token_count", "sim_score",
        "adjacency_score", "continuity_score", "parent_bonus",
    ],
}  # fmt: skip
CONFIG = {
    "window": 2, "k": 6, "token_budget": 2000, "similarity_weight": 1.0, "adjacency_weight": 0.6,
    "continuity_weight": 0.2, "parent_weight": 0.1, "distance_decay_beta": 0.7, "min_continuity": 0.5,
    "max_spans": None, "max_parent_chars": 2000, "stop_on_heading_change": True, "ordering_strategy": "edge_balanced",
    "dedupe_overlaps": True, "prefer_fewer_spans": True,
}  # fmt: skip
ALL_RENAMED = [(old, new, name) for old, (new, names) in RENAMED.items() for name in names]


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in UNCHANGED.items() for name in names])
def test_a_name_that_stayed_needs_no_warning(module: str, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(importlib.import_module(module), name) is not None


@pytest.mark.parametrize(("old", "new", "name"), ALL_RENAMED)
def test_a_name_under_its_old_path_is_the_new_one_with_a_warning(old: str, new: str, name: str) -> None:
    module = importlib.import_module(old)
    with pytest.warns(DeprecationWarning, match=rf"^{old}\.{name} is a name of version 0\.1\.0: write {new}\.{name}$"):
        found = getattr(module, name)
    assert found is getattr(importlib.import_module(new), name)


@pytest.mark.parametrize("module", EMPTY)
def test_a_module_that_was_empty_is_there(module: str) -> None:
    assert importlib.import_module(module) is not None


@pytest.mark.parametrize("module", RENAMED)
def test_a_name_that_never_was_is_refused(module: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'no_such_name'"):
        _ = importlib.import_module(module).no_such_name


def test_modules_that_came_with_the_package_are_found_without_an_import() -> None:
    program = "import retrivex; print(retrivex.core.models.__name__, retrivex.core.retriever.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["retrivex.core.models", "retrivex.core.retriever"]


def test_the_warning_names_the_line_of_the_program() -> None:
    program = "from retrivex.core.models import Chunk\nfrom retrivex.utils.chunking import *\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "<string>:1: DeprecationWarning: retrivex.core.models.Chunk is a name of version 0.1.0" in done.stderr


@pytest.mark.parametrize("name", CALLS)
def test_arguments_have_their_names_and_places(name: str) -> None:
    metadata = retrivex.ChunkMetadata("d", 0, 0, 4)
    chunk = retrivex.Chunk("text", metadata)
    given = {
        "Chunk": ("text", metadata, [1.0]),
        "ChunkMetadata": ("d", 0, 0, 4, "p", ["A"], 1, {"k": 1}),
        "SeedHit": (chunk, 0.5),
        "Span": ("d", [0], [chunk], 1.0, 0, 4, 1, 0.1, 0.2, 0.3, 0.4),
    }[name]
    kind = getattr(retrivex, name)
    assert kind(*given) == kind(**dict(zip(CALLS[name], given, strict=True)))


def test_every_option_is_accepted_and_can_be_read() -> None:
    with pytest.warns(FutureWarning, match="options of an earlier version"):
        config = RetrievalConfig(**CONFIG)
    for name, value in CONFIG.items():
        if not name.startswith("prefer"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                assert getattr(config, name) == value, name


def test_a_weight_that_is_read_under_its_old_name_says_the_new_one() -> None:
    with pytest.warns(DeprecationWarning, match=r"^config\.distance_decay_beta .* write config\.weights\.decay$"):
        assert RetrievalConfig(weights={"decay": 0.3}).distance_decay_beta == 0.3  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no_such_option"):
        _ = RetrievalConfig().no_such_option  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(RetrievalConfig(window=1))) == RetrievalConfig(window=1)


def test_the_command_of_the_evaluation_is_the_new_one() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, function = project["project"]["scripts"]["retrivex-eval"].partition(":")
    program = f"import sys\nfrom {module} import {function}\nsys.argv = ['retrivex-eval', '--help']\n{function}()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "retrivex evaluate" in done.stdout
    assert "DeprecationWarning: retrivex-eval is a name of version 0.1.0: write retrivex evaluate" in done.stderr
