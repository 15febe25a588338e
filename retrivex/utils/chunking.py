"""What `retrivex.utils.chunking` of version 0.1.0 had; all of it is imported from `retrivex.utils`."""

from retrivex.model.renamed import renamed

__getattr__ = renamed(__name__, "retrivex.utils", ("SentenceChunker", "SimpleChunker"))
