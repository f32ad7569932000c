"""Twists: a game inside another one, which comes late, gets noisy, is scaled, or loses actions."""
