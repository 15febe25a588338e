"""JSON Schemas of what RetriVex reads and writes, each with its version in its name."""
