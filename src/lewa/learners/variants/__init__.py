"""Learners that follow from the boxes of the paper, with proofs of their own."""
