"""How much of the evidence a context holds: data sets, measures, and the comparison of systems."""
