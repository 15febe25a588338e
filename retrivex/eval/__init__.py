"""`retrivex.eval` of version 0.1.0, which was empty: see `retrivex.evaluation`, and `retrivex evaluate`."""
