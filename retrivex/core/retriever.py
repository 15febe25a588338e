"""What `retrivex.core.retriever` of version 0.1.0 had; all of it is imported from `retrivex`."""

from retrivex.model.renamed import MODELS, renamed

__getattr__ = renamed(__name__, "retrivex", (*MODELS, "SpanComposer"))
