"""Learners that look at the context of a round, or at the advice of policies, with proofs."""
