"""Windows and chunks in, runs of contiguous text and their units out."""
