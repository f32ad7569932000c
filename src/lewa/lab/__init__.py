"""Run studies: experiments with many games, learners, horizons and seeds."""
