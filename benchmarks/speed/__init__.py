"""What it costs: time, memory, requests, tokens."""
