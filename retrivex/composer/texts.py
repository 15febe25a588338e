"""Bare texts, without neighbours, places or titles: how probable it is that each holds evidence for a question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrivex.composer.composer import SpanComposer
from retrivex.config import RetrievalConfig
from retrivex.errors import EncoderError, RetrivexError, quoted
from retrivex.model.chunk import Chunk, ChunkMetadata
from retrivex.model.hit import SeedHit
from retrivex.scoring.calibrated import load_coefficients
from retrivex.tokens.tokenizer import Tokenizer

Floats = NDArray[np.float64]
Vectors = NDArray[np.floating[Any]]

LEAST = -100.0
"""Log-odds of a text in which there is nothing to read; no text has less."""

_WORDLESS = str.maketrans("01", ".-")


def text_composer(coefficients: Path | None = None, tokenizer: Tokenizer | None = None) -> SpanComposer:
    """Return a composer that scores texts by the calibrated model.

    Parameters
    ----------
    coefficients : of the model; None takes those that come with the package
    tokenizer : counts tokens; None takes the default one
    """
    config = RetrievalConfig(scoring="calibrated", window=0, coefficients=coefficients)
    return SpanComposer(config, tokenizer=tokenizer)


def score_texts(
    composer: SpanComposer, question: str, texts: Sequence[str], scores: Floats, vectors: Vectors | None = None
) -> Floats:
    """Return the log-odds of the best unit of each text, shape (n,).

    Parameters
    ----------
    composer : of `text_composer`
    question : as asked
    texts : in any order, which says nothing
    scores : that they have as hits, shape (n,)
    vectors : embeddings of the question and the texts, shape (n + 1, d); None without

    Raises
    ------
    RetrivexError
        If the question is blank.
    """
    rows = [None] * len(texts) if vectors is None else list(vectors[1:])
    # names without words, as a question might name a document: "the text of day 3"
    places = {f"{at:b}".translate(_WORDLESS): at for at in range(len(texts))}
    chunks = [
        Chunk(text, ChunkMetadata(name, 0, 0, len(text)), embedding=row)
        for name, text, row in zip(places, texts, rows, strict=True)
        if text.strip()
    ]
    hits = [SeedHit(chunk, float(scores[places[chunk.metadata.doc_id]])) for chunk in chunks]
    embedding = None if vectors is None else vectors[0]
    store = {chunk.key: chunk for chunk in chunks}
    valued = composer.value_units(hits, store, query=question, query_embedding=embedding)
    made = np.full(len(texts), LEAST)
    if (table := valued.scores.table) is not None:  # None where no text has a unit
        odds = load_coefficients(composer.config.coefficients).log_odds(table.values)
        np.maximum.at(made, [places[valued.runs[unit.run].doc_id] for unit in table.units], odds)
    return made


def score_embedded(composer: SpanComposer, question: str, texts: Sequence[str], vectors: Vectors) -> Floats:
    """Return what `score_texts` does, where the cosines of embeddings are the scores of the hits.

    Raises
    ------
    EncoderError
        If the vectors are not one row of finite numbers for the question and for each text.
    RetrivexError
        If the question is blank, or its vector zero.
    """
    if vectors.ndim != 2 or len(vectors) != len(texts) + 1 or not np.isfinite(vectors).all():
        raise EncoderError(
            f"the encoder gave the shape {vectors.shape} for {len(texts) + 1:,} texts, or numbers that are not finite: "
            "encode() must return one row of finite numbers a text"
        )
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1)
    if not lengths[0]:
        raise RetrivexError(f"query is {quoted(question)}: the encoder finds nothing to read in it; ask in words")
    cosines = wide[1:] @ wide[0] / (np.where(lengths[1:], lengths[1:], 1.0) * lengths[0])
    return score_texts(composer, question, texts, cosines, vectors)
