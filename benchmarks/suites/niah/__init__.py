"""A needle in a haystack."""
