"""Requests to Elasticsearch and OpenSearch, and the contents of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def as_vector(values: Any) -> NDArray[np.float32] | None:
    """Return a vector of shape (d,), also one that came in a list of one; None where there is none."""
    made = np.asarray([] if values is None else values, dtype=np.float32)
    made = made[0] if made.ndim == 2 and len(made) == 1 else made
    return made if made.ndim == 1 and len(made) else None


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return `{path: value}` as an object whose paths these are."""
    made: dict[str, Any] = {}
    for path, value in values.items():
        *above, name = path.split(".")
        inner = made
        for part in above:
            inner = inner.setdefault(part, {})
        inner[name] = value
    return made


def refusal(answer: Mapping[str, Any]) -> str | None:
    """Say which records of a bulk request were not written, and why; None where all of them were."""
    refused = [item["update"] for item in answer["items"] if "error" in item["update"]]
    if not refused:
        return None
    first = refused[0]
    return (
        f"{len(refused)} of {len(answer['items'])} records were not written, the first of them "
        f"{first['_id']!r}: {first['error'].get('reason', first['error'])}"
    )
