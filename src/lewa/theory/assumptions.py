"""How a bound holds, and what its theorem assumes, in the words that guarantees print."""

PATHWISE = "pathwise"
EXPECTED = "expected [E V]+"
EXPECTED_INSIDE = "expected E[V]+"
PROBABLE = "high probability"

FEASIBLE = "some play meets every floor"
CONSTANT = "the constraints are the same every round"
MEAN = "given the past, the observed constraints have a fixed mean"
UNSEEN = "given the past, rewards and constraints do not depend on the action drawn"
MISSING = (
    "where actions are missing, regret is relative to policies that do not take them, and some of these meet the floors"
)
SHARES = (
    "regret is relative to plays that contain the shares that are added to the learner's play, and some of these meet the "
    "floors"
)
EVERY_ROUND = (
    "against plays that meet the floors in every round, of which at least one exists; violation of the observed constraints"
)
EACH_ACTION = (
    "against mixtures of actions that each meet the floors in every round, of which at least one exists; violation of "
    "the observed constraints"
)
ROUND_BY_ROUND = (
    "in every round, of which at least one exists"  # what these two and the same about raised floors have in common
)
OBLIVIOUS = "rewards are fixed in advance, or independent of the learner and of the constraints' noise"
IN_ADVANCE = "the comparator is fixed in advance"
STILL = "given the past, rewards have a fixed mean"
