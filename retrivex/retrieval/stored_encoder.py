"""The encoder of an index: the one that was asked for, or the one that a database was made with."""

from __future__ import annotations

from retrivex.encoders.encoder import Encoder, folder_of, in_folder, is_local, load_encoder
from retrivex.errors import EncoderError, StoreError
from retrivex.stores import SQLiteStore


def encoder_for_index(asked: str | None, store: SQLiteStore) -> Encoder | None:
    """Return the encoder to index with; None for words only.

    A database that has vectors gets the same kind for its new documents by default, and remembers the model's folder.

    Raises
    ------
    StoreError
        If the database has vectors of another model, or its own cannot be loaded.
    EncoderError, ImportError
        If the model asked for cannot be loaded.
    """
    known = store.vector_model
    if asked is None:
        return None if known is None else _load_known(store, known)
    encoder = load_encoder(asked)
    if known is not None and known != encoder.name:
        raise StoreError(
            f"{store.path} holds vectors of {known!r}, asked for is {encoder.name!r}: use the same model, another "
            "database, or delete the vectors with --no-embed first"
        )
    folder = folder_of(asked)
    if folder is not None and store.model_folder != str(folder):
        store.set_model_folder(str(folder))
    return encoder


def encoder_for_query(asked: str | None, store: SQLiteStore, mode: str) -> tuple[Encoder | None, str | None]:
    """Return the encoder for questions and what there is to say about it.

    Raises
    ------
    StoreError
        If `mode` needs vectors and the database has none, or their model cannot be loaded.
    EncoderError, ImportError
        If a model that was asked for cannot be loaded.
    """
    if mode == "bm25":
        return None, None
    known = store.vector_model
    if known is None and mode in ("dense", "hybrid"):
        raise StoreError(f"{store.path} holds no vectors: index with --embed, or search by words with --mode bm25")
    if asked is not None:
        return load_encoder(asked), None
    if known is None:
        return None, None
    try:
        return _load_known(store, known), None
    except StoreError as error:
        if mode != "auto":
            raise
        return None, f"only words are searched: {error}"


def _load_known(store: SQLiteStore, known: str) -> Encoder:
    """Return the encoder of a database's vectors; what is not on this machine is refused before anything is loaded."""
    folder = store.model_folder
    spec = known if folder is None else in_folder(known, folder)
    if not is_local(spec):
        where = f"its model {known!r}" if folder is None else f"the folder of its model, {folder},"
        raise StoreError(f"{store.path} has vectors, but {where} is not on this machine; name it with --embed MODEL")
    try:
        encoder = load_encoder(spec)
    except (EncoderError, ImportError) as error:
        raise StoreError(f"{store.path} has vectors, but their model cannot be loaded: {error}") from error
    if encoder.name != known:
        raise StoreError(
            f"{store.path} has vectors of {known!r}, but {spec} holds {encoder.name!r}; name theirs with --embed MODEL"
        )
    return encoder
