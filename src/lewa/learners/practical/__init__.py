"""Learners for practice: their constants were chosen by measurements, and nothing is proved of them."""
