"""Compiled loops over rounds and compiled single steps, for any learner."""
