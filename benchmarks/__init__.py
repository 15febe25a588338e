"""What RetriVex is worth and what it costs, measured."""
