"""A learner against a game or a log: compiled loops, one round at a time, replay."""
