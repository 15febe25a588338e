"""Hits in, context out: the steps, one after the other."""

from retrivex.composer.composer import BatchItem, ComposeRequest, SpanComposer

__all__ = ["BatchItem", "ComposeRequest", "SpanComposer"]
