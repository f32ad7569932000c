"""What an agent's calls cost, as ratios that hold on a busy machine too: `python benchmarks/agent.py [LEARNER]`.

Every figure is the median over rounds of CPU time. Batches are compared with single calls that are timed in turn with them.
"""

import gc
import sys
import time
from collections.abc import Callable
from statistics import median

import numpy as np

import lewa

K, ROUNDS, SIZE, OPEN = 10, 15, 1000, 100_000
Outcome = dict[str, float]


def new(learner: str, **more: object) -> lewa.Agent:
    actions, limit = [f"model-{n}" for n in range(K)], lewa.at_most("cost", 0.4)
    return lewa.Agent(actions, [limit], learner=learner, horizon=10**6, **{"seed": 0, **more})  # type: ignore[arg-type]


def seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def single(agent: lewa.Agent, outcomes: list[Outcome]) -> None:
    for values in outcomes:
        agent.update(agent.pull(), **values)


def batch(agent: lewa.Agent, outcomes: list[Outcome]) -> None:
    agent.update_many(list(zip(agent.pull_many(len(outcomes)), outcomes, strict=True)))


def main() -> None:
    learner = sys.argv[1] if len(sys.argv) > 1 else "auto"
    dice = np.random.default_rng(0)
    outcomes = [{"reward": reward, "cost": 0.7 * cost} for reward, cost in dice.random((SIZE, 2)).tolist()]
    one, many = new(learner), new(learner)
    single(one, outcomes)
    batch(many, outcomes)
    gc.collect()
    gc.freeze()  # what the compiler left would be looked through again and again, in the middle of a measurement
    pairs = [(seconds(lambda: single(one, outcomes)), seconds(lambda: batch(many, outcomes))) for _ in range(ROUNDS)]
    alone, together = (median(column) / SIZE * 1e6 for column in zip(*pairs, strict=True))
    print(f"{one.setup.learner_name}, {K} actions")
    print(f"pull + update             {alone:6.1f} us a decision")
    free = new(learner, governor="off")
    single(free, outcomes)
    turns = [(seconds(lambda: single(one, outcomes)), seconds(lambda: single(free, outcomes))) for _ in range(ROUNDS)]
    print(f"with a silent governor    {median(a / b for a, b in turns):6.3f} times as much as without one")
    print(f"pull_many + update_many   {together:6.1f} us a decision, {median(a / b for a, b in pairs):.1f} times cheaper")
    full = new(learner, answers=lewa.Answers(max_open=OPEN))
    few = median(seconds(one.status) for _ in range(ROUNDS))
    full.pull_many(OPEN)
    status = median(seconds(full.status) for _ in range(ROUNDS))
    print(f"status                    {1e3 * few:6.1f} ms, with {OPEN:,} open decisions {1e3 * status:.1f} ms")
    print(f"snapshot                  {1e3 * median(seconds(full.snapshot) for _ in range(5)):6.1f} ms with those")


if __name__ == "__main__":
    main()
