"""Going through a whole collection, as a backfill does."""

from __future__ import annotations

from retrivex.adapters.base.collection import Collection, Record, Scan


def scanned(collection: Collection, limit: int = 4) -> list[Record]:
    """Return all records, read in pages of `limit`."""
    records: list[Record] = []
    after = None
    while True:
        page = collection.ask(Scan(after, limit))
        records += page.records
        after = page.after
        if after is None:
            return records
