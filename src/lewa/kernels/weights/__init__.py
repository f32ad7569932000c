"""Weights of actions, kept as logarithms, one family per file."""
