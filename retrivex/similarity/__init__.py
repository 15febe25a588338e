"""Texts and vectors in, how alike they are out: unit vectors, trigrams, near duplicates, MMR."""
