"""Evaluate the proved bounds for exactly the given parameters; docs/theory.md has the statements and their proofs.

The functions that are named after learners take the learner, the number of actions K, the number of rounds T and a
`Setting`, the assumptions about the game. They return the guarantees of the learner, the best first. In all modules `floor`
is c0, `epsilon` the probability with which a bound may fail, `source` or `name` the name of a theorem, `late` or `delays`
the delays of the answers, and `start` the state from which a bound counts."""
