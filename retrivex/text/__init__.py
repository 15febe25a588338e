"""Plain strings in, terms, sentences, ranges and quotes out."""
