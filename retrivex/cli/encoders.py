"""The encoder of a command: the one that was asked for, or the one that a database was made with."""

from __future__ import annotations

from retrivex.encoders.encoder import Encoder, load_encoder
from retrivex.errors import EncoderError, StoreError
from retrivex.stores import SQLiteStore


def encoder_for_index(asked: str | None, store: SQLiteStore) -> Encoder | None:
    """Return the encoder to index with; None for words only.

    A database that has vectors gets the same kind for its new documents by default.

    Raises
    ------
    StoreError
        If the database has vectors of another model, or its own cannot be loaded.
    EncoderError, ImportError
        If the model asked for cannot be loaded.
    """
    known = store.vector_model
    if asked is not None:
        encoder = load_encoder(asked)
        if known is not None and known != encoder.name:
            raise StoreError(
                f"{store.path} holds vectors of {known!r}, asked for is {encoder.name!r}: use the same model, another "
                "database, or delete the vectors with --no-embed first"
            )
        return encoder
    if known is None:
        return None
    try:
        return load_encoder(known)
    except (EncoderError, ImportError) as error:
        raise StoreError(
            f"{store.path} holds vectors of {known!r}, which cannot be loaded by its name ({error}): give the model "
            "with --embed, or delete the vectors with --no-embed"
        ) from error


def encoder_for_query(asked: str | None, store: SQLiteStore, mode: str) -> tuple[Encoder | None, str | None]:
    """Return the encoder for questions and what there is to say about it.

    Raises
    ------
    StoreError
        If `mode` needs vectors and the database has none.
    EncoderError, ImportError
        If a model that was asked for, or that `mode` needs, cannot be loaded.
    """
    if mode == "bm25":
        return None, None
    known = store.vector_model
    if known is None and mode in ("dense", "hybrid"):
        raise StoreError(f"{store.path} holds no vectors: index with --embed, or search by words with --mode bm25")
    if asked is None and known is None:
        return None, None
    try:
        return load_encoder(asked or known or ""), None
    except (EncoderError, ImportError) as error:
        if asked is not None or mode != "auto":
            raise
        return None, f"only words are searched, as the model of the database's vectors cannot be loaded: {error}"
