"""Lost in the middle, and key-value retrieval."""
