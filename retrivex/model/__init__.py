"""What everything speaks of: documents, chunks, hits, windows, runs, spans."""
