"""A question in, hits out: the index of a folder and the retriever over it."""
