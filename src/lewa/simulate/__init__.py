"""Learners played against games, replayed on logs, and at work in an application."""
