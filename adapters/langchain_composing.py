"""LangChain: what its retriever and its compressor share: one composer, made anew where its arguments change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationInfo, field_validator

from retrivex.composer import SpanComposer
from retrivex.config import RetrievalConfig
from retrivex.stores.protocol import AnyChunkStore

from .langchain_documents import as_store


class Composing(BaseModel):
    """Keeps a composer of `config` and `reranker`, and refuses at once what none can be made of.

    Comes behind LangChain's class among the bases, so that its settings win.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", validate_assignment=True)

    if TYPE_CHECKING:  # fields of the classes themselves: declared here, they would come before those of theirs
        config: RetrievalConfig
        chunk_store: Any
        reranker: Any

    _composer: SpanComposer | None = PrivateAttr(default=None)
    _composed_for: tuple[Any, Any] = PrivateAttr(default=(None, None))

    @field_validator("chunk_store", check_fields=False)
    @classmethod
    def _as_store(cls, given: Any, info: ValidationInfo) -> AnyChunkStore | None:
        return as_store(given, info.data.get("fields"))

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse at once what no composer can be made of."""
        if name == "config" and isinstance(value, RetrievalConfig):
            SpanComposer(value)
        elif name == "reranker":
            SpanComposer(self.config, reranker=value)
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[Any, Any]:
        """Leave the composer out: its caches hold locks, which cannot be pickled, and fill again by themselves."""
        state = super().__getstate__()
        fresh = {"_composer": None, "_composed_for": (None, None)}
        return {**state, "__pydantic_private__": {**(state["__pydantic_private__"] or {}), **fresh}}

    def _made_composer(self) -> SpanComposer:
        asked_for = (self.config, self.reranker)
        if self._composer is None or any(a is not b for a, b in zip(asked_for, self._composed_for, strict=True)):
            self._composer = SpanComposer(self.config, reranker=self.reranker)
            self._composed_for = asked_for
        return self._composer

    @property
    def _alone(self) -> bool:
        return self.chunk_store is None and max(self.config.reach) > 0
