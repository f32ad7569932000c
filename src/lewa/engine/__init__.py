"""Compiled loops over rounds, compiled single steps, and the session that drives a learner with them."""
