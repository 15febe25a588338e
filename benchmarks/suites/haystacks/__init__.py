"""Essays and facts that are hidden in them."""
