"""The data types: documents, chunks, hits, windows, runs, spans."""
