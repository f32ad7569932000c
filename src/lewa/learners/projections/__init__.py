"""Learners that estimate the constraints and project their play onto what may meet the floors."""
