"""Opens collections of vector stores by address and name; each client is imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from retrivex.errors import StoreError
from retrivex.text.addresses import Confidential

from .collection import Collection
from .fields import FieldMap


def open_collection(
    kind: str,
    address: str,
    name: str,
    fields: FieldMap | str,
    api_key: str | None,
    only: Mapping[str, Any] | None = None,
) -> Collection:
    """Return a collection, with a client of its own that `close` closes.

    Parameters
    ----------
    kind : name of its row in `retrivex.adapters.STORES`
    address : a URL; the folder or file of Qdrant, Chroma, LanceDB or Milvus Lite; the connection string of PostgreSQL
    name : of the collection, table or index
    fields : a layout's name, or names of fields
    api_key : where the server wants one
    only : column values of the rows that are meant, for a table of PostgreSQL that holds several collections

    Raises
    ------
    ImportError
        If the store's client is not installed; the message names the extra.
    StoreError
        If the store cannot be reached, the collection does not exist, or `only` is given for another store.
    """
    if only and kind != "pgvector":
        raise StoreError(f"only is {dict(only)}: only a table of pgvector holds several collections; leave it out")
    module = import_module(f"retrivex.adapters.{kind}")
    [collection] = [value for key, value in vars(module).items() if key.lower() == f"{kind}collection"]
    try:
        client = collection.connect(address, api_key)
    except (StoreError, ImportError):
        raise
    except Exception as error:  # clients share no base class
        place = Confidential(address, api_key)
        said = place.hide(f"{type(error).__name__}: {error}")
        raise StoreError(f"{kind} at {place.address!r} cannot be opened: {said}") from error
    try:
        made: Collection = collection(client, name, fields=fields, **({"only": dict(only)} if only else {}))
    except BaseException:
        # nobody else has it: a collection that looks at its table at once may refuse it
        getattr(client, "close", lambda: None)()
        raise
    made.own_client = client
    return made
