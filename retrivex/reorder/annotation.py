"""Copies of passages with more in their metadata; what the caller gave is never changed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from retrivex.errors import PassageError
from retrivex.model.fields import FieldNames
from retrivex.reorder.passage import Candidate

T = TypeVar("T")


def annotated(candidate: Candidate[T], notes: Mapping[str, Any], fields: FieldNames) -> T:
    """Return a copy of the candidate's passage with `notes` added to its metadata.

    Raises
    ------
    PassageError
        If it is of a kind that cannot be copied with other metadata.
    """
    item: Any = candidate.item
    metadata = {**candidate.metadata, **notes}
    if isinstance(item, Mapping):
        return {**item, fields.metadata: metadata}  # type: ignore[return-value]
    try:
        if is_dataclass(item):
            made: Any = replace(item, **{fields.metadata: metadata})  # type: ignore[type-var]
        elif isinstance(item, BaseModel):
            made = item.model_copy(update={fields.metadata: metadata})
        else:
            made = copy.copy(item)
            setattr(made, fields.metadata, metadata)
    except (AttributeError, TypeError, ValueError) as error:
        raise PassageError(
            f"a {type(item).__name__} cannot be copied with more metadata ({error}): leave include_priority_score and "
            "include_explanation off, and read both from reorder_with_diagnostics(...).explanations"
        ) from error
    return cast("T", made)
