"""LangChain: the composer that its retriever and its compressor share, created anew when its arguments change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationInfo, field_validator

from retrivex.composer.composer import SpanComposer
from retrivex.composition.composition import Composition
from retrivex.config import RetrievalConfig, check_config, refuse_unknown
from retrivex.model.options import clear_errors
from retrivex.stores.protocol import AnyChunkStore

from ..base.hits import Placed
from .documents import as_store


@dataclass(frozen=True, slots=True)
class _CachedComposer:
    """A composer and the arguments that it was created with.

    Deep copies and pickles hold None in its place: the composer's caches have locks, which can be neither copied nor
    pickled, and fill again by themselves.
    """

    composer: SpanComposer
    config: RetrievalConfig
    reranker: Any

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


class ComposerMixin(BaseModel):
    """Keeps a composer of `config` and `reranker`, and refuses invalid arguments when they are set.

    Comes behind LangChain's class among the bases, so that its settings win.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", validate_assignment=True)

    if TYPE_CHECKING:  # fields of the classes themselves: made here, they would come before those of LangChain
        config: RetrievalConfig
        chunk_store: Any
        parent_store: Any
        reranker: Any

    _kept: _CachedComposer | None = PrivateAttr(default=None)

    @field_validator("config", mode="before", check_fields=False)
    @classmethod
    def _check_config(cls, given: Any) -> Any:
        return given if isinstance(given, Mapping) else check_config(given)

    @field_validator("chunk_store", check_fields=False)
    @classmethod
    def _as_store(cls, given: Any, info: ValidationInfo) -> AnyChunkStore | None:
        return as_store(given, info.data.get("fields"))

    def __init__(self, **arguments: Any) -> None:
        refuse_unknown(type(self).__name__, type(self).model_fields, arguments)
        with clear_errors(type(self)):
            super().__init__(**arguments)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse at once what no composer can be made of."""
        if name == "config" and isinstance(value, RetrievalConfig):
            SpanComposer(value)
        elif name == "reranker":
            SpanComposer(self.config, reranker=value)
        with clear_errors(type(self)):
            super().__setattr__(name, value)

    def _make_composer(self) -> SpanComposer:
        kept = self._kept
        if kept is None or kept.config is not self.config or kept.reranker is not self.reranker:
            kept = _CachedComposer(SpanComposer(self.config, reranker=self.reranker), self.config, self.reranker)
            self._kept = kept
        return kept.composer

    def _composed(self, placed: Placed, query: str, options: Mapping[str, Any]) -> Composition:
        arguments = {**options, **placed.overrides}
        return self._make_composer().compose(placed.hits, placed.store, self.parent_store, query=query, **arguments)

    async def _acomposed(self, placed: Placed, query: str, options: Mapping[str, Any]) -> Composition:
        arguments = {**options, **placed.overrides}
        composer = self._make_composer()
        return await composer.acompose(placed.hits, placed.store, self.parent_store, query=query, **arguments)

    @property
    def _alone(self) -> bool:
        return self.chunk_store is None and max(self.config.reach) > 0
