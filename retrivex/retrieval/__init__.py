"""Local retrieval: the index of a folder and the retriever over it."""
