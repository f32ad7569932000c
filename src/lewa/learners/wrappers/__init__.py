"""Learners that run another learner: in epochs, with raised floors, or with a safe action."""
