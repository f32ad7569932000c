"""Many games, on purpose."""
