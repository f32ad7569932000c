"""Twists, which change a game: late feedback, noise, a narrower range, or missing actions."""
