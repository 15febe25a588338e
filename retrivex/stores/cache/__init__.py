"""A chunk store in, the same store with its answers kept out."""
