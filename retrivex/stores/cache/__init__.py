"""A cache around any chunk store, in memory or in a file."""
