"""Spans in, the text that the model reads out."""
