"""Journals: their rows, the stores that hold them, and the thread that writes. The store in PostgreSQL needs an extra."""
