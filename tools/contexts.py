"""Learners of contexts and their rivals on real data: what `make contexts` runs.

    python -m tools.contexts FOLDER             writes docs/contexts.md
    python -m tools.contexts FOLDER WORD...     measures only rows whose title has one of the words; the page has the others
                                                (`agent` is the time of an agent's decision)

A set is NAME.npz with rewards (T, K), price (K,), context_label (T,) and context_confidence (T,). The digits of scikit-learn
come with it. Nothing of the sets is kept but the figures.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from math import pi, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np

import lewa
from lewa.context import as_context
from lewa.games import Delay, Table
from lewa.learners import AnytimeProvedSquareCbLewa, PacedLinUcb, ProvedSquareCbLewa, SquareCbLewa, chosen_for, find
from lewa.learners.base import Learner
from lewa.measures.best_play import best_fixed_play
from lewa.types import Indices, Matrix, Vector
from tools.context_goals import BLIND, CURVED, IN_HINDSIGHT, WITH_DELAY, with_goals

PAGE = Path(__file__).parent.parent / "docs" / "contexts.md"
LIMITS = {
    "context_speech_command": (8.0, 15.0, 20.0),
    "context_speech_audiomnist": (8.0, 15.0),
    "context_text_imdb": (0.3, 0.7, 1.5),
}
MIXERS = {name: find(name) for shown in ("bandit", "full") for name in chosen_for("policies", shown)}
SHUFFLES = (0, 1)
LATE = 1000
WAVES = 127  # random Fourier features of the digits
CENTRES, GAMMA = 255, 2.0  # kernel features of the digits: how many, and gamma of exp(-gamma |x - centre|^2)
EVERY, MEMORY, CONSTANT = (
    100,
    5000.0,
    0.1,
)  # of a reference: rounds between fits; rounds; the penalty of the constant feature
KNOTS, PENALTY = 4, 10.0  # of the confidence as a curve; of each of its features and of the labels


INTRO = """# Contexts on data

Written by `make contexts`. All learners but `lewa-policies` have bandit feedback. Reward is in per cent of the best policy
that sees the group of each round, computed in hindsight at the same limit; for the digits the group is the digit itself.
`used` is the spending as a share of the limit; the excess over 1 is the net violation. The last column is the CPU time of
one decision and its answer in the simulator, in microseconds. In the agent, a `pull` and its `update` with 32 features and
10 actions take {agent:.0f} us, in the fastest of seven blocks of 500 calls.

The context of the three services is the answer of the cheapest one: its label and its confidence. Random order is the mean
of {shuffles} shuffles. The rounds of the digits are drawn at random, so their file order is one more random order. The
policies of `exp4-lewa`, its variants and `lewa-policies` ask a more expensive service if the cheap one is unsure; there are
none for the digits.

Conclusions: on the services, one learner per group earns little more than the fixed mixture, because each group has to keep
the limit by itself; the value of a context is that the budget can move to the groups where it pays. (For the digits, the
group reveals the answer.) Learners with the constants of theorems earn less, or overspend at first.

Three rows are references, not learners. In the first one, `squarecb-lewa` has its answers at once, but the best fixed
mixture plays the first 1,000 rounds. With late answers a learner earns no more than that if it plays the best fixed mixture
until the first answer comes and is later at most as good as with answers at once. The other two see the reward of every
action, and have the best fixed price in hindsight. Both take the action with the largest prediction of a ridge regression,
less the price. One fits it to all rounds at once, and shows what linear functions of these features can earn. The other
fits it to the rounds that are at least 1,000 rounds old, discounted as `squarecb-lewa` does, and shows what the delay costs
a learner that is told everything.

The digits have two further rows. Random Fourier features are a fixed map of the pixels. Kernel features are the likeness of
an image to {centres} centres of clusters of the images, exp(-{gamma:g} |x - centre|^2), made orthogonal by the method of
Nystroem. The centres come from the images without their digits. Their number, the width, `ridge=0.1` in place of 1, and the
expected reward 1/10 of every action were chosen with knowledge of this set.

The services have two rows with a curved confidence. The confidence is declared with {knots} knots. With `ridge={penalty:g}`
in place of 1 the learner needs more answers before it trusts a label. These settings are the best of about ten that were
tried on context_speech_command, on the same rounds.

With shuffled contexts every feature is noise: this shows what a context costs that says nothing.

Answers that are 1,000 rounds late cost little if nothing changes. In the first 1,000 rounds there is no answer at all. On
the digits this alone costs more than 2 %; the goals name the figures. A learner that does not know the prices spends what
the average action costs, several times the limit, and has to pay it back: compare the rows with expected prices. In file
order the meaning of a context changes, and old answers are about another meaning: on context_speech_command the reference
that is told everything, 1,000 rounds late, earns less than `squarecb-lewa` with late answers.
"""


BY_ROUND = ("rewards", "contexts", "groups", "advice", "curved")  # fields of a problem


class Problem(NamedTuple):
    """Rounds in some order, with what is known of each, and the limit on what a round costs on average."""

    rewards: Matrix
    price: Vector
    limit: float
    contexts: Matrix
    groups: Indices  # what a policy of groups sees
    advice: Matrix  # (T, P K), of policies for exp4-lewa
    curved: Matrix  # (T, d), the features with a curved confidence; none for the digits

    @property
    def unit(self) -> float:
        """The price that is a cost of 1."""
        return float(self.price.max())

    def game(self, contexts: Matrix | None) -> Table:
        return Table(self.rewards, 1 - self.price / self.unit, contexts)

    def shuffled(self, seed: int) -> "Problem":
        order = np.random.default_rng(seed).permutation(len(self.rewards))
        return self.rows(order)

    def rows(self, places: Indices | slice) -> "Problem":
        return self._replace(**{name: getattr(self, name)[places] for name in BY_ROUND})


class Row(NamedTuple):
    reward: float  # as a share of the group policy's
    used: float  # of the limit
    time: float  # seconds a decision, of the CPU


class Kernel(NamedTuple):
    """Nystroem features of the kernel exp(-gamma |x - y|^2): their inner products are the kernel, as far as centres reach.

    The centres are those of clusters of the images, without their digits.
    """

    centres: Matrix
    root: Matrix  # of the inverse of the kernel between the centres

    @classmethod
    def of(cls, points: Matrix) -> "Kernel":
        from sklearn.cluster import KMeans

        centres = KMeans(CENTRES, n_init=1, random_state=0).fit(np.unique(points, axis=0)).cluster_centers_
        values, vectors = np.linalg.eigh(cls(centres, np.eye(CENTRES)).features(centres))
        return cls(centres, vectors / np.sqrt(np.maximum(values, 1e-8)) @ vectors.T)

    def features(self, points: Matrix) -> Matrix:
        squares = (points**2).sum(axis=1)[:, None] + (self.centres**2).sum(axis=1) - 2 * points @ self.centres.T
        features: Matrix = np.exp(-GAMMA * np.maximum(squares, 0)) @ self.root
        return features


def group_optimum(rewards: Matrix, price: Vector, limit: float, groups: Indices) -> float:
    """Return the reward per round of the best policy that sees the group, in hindsight, at this limit."""
    names, place = np.unique(groups, return_inverse=True)
    total = np.zeros((names.size, rewards.shape[1]))
    np.add.at(total, place, rewards)
    count, T = np.bincount(place), len(rewards)

    def at(dual: float) -> tuple[float, float]:
        best = np.argmax(total - dual * count[:, None] * price, axis=1)
        return float(total[np.arange(names.size), best].sum()) / T, float((count * price[best]).sum()) / T

    low, high = 0.0, 100.0 / float(price.max())
    if at(low)[1] <= limit:
        return at(low)[0]
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle)[1] > limit else (low, middle)
    (more, dear), (less, cheap) = at(low), at(high)
    return less + (more - less) * (limit - cheap) / (dear - cheap) if dear > cheap else less


def play(problem: Problem, learner: Learner, contexts: Matrix | None, late: int = 0) -> Indices:
    game = problem.game(contexts)
    trace = lewa.play(learner, Delay(game, late) if late else game, rounds=len(problem.rewards), every_round=True, workers=1)
    assert trace.actions is not None
    actions: Indices = trace.actions[0]
    return actions


def play_waves(problem: Problem, learner: Learner) -> Indices:
    """Return the actions with random Fourier features of the features, in which a linear function can be curved."""
    dice, d = np.random.default_rng(0), problem.contexts.shape[1] - 1
    turns = problem.contexts[:, 1:] @ dice.normal(scale=sqrt(2), size=(d, WAVES)) + dice.uniform(0, 2 * pi, size=WAVES)
    context, waves = as_context(lewa.vector("waves", WAVES)), np.cos(turns) * sqrt(1 / WAVES)
    return play(problem, learner, context.encode_rows({"waves": list(waves)}))


def play_kernel(problem: Problem, kernel: Kernel, learner: Learner) -> Indices:
    """Return the actions with the features of the kernel, which is linear in them."""
    context = as_context(lewa.vector("kernel", CENTRES), most=1 + CENTRES)
    return play(problem, learner, context.encode_rows({"kernel": list(kernel.features(problem.contexts[:, 1:]))}))


def play_by_group(problem: Problem) -> Indices:
    """Return the actions of one `squarecb-lewa` without context for each group; each keeps the limit by itself.

    It is no learner of the package: it is several, each with its own rounds and its own debt.
    """
    actions = np.zeros(len(problem.rewards), dtype=np.int64)
    for group in np.unique(problem.groups):
        rows = np.flatnonzero(problem.groups == group)
        part = problem._replace(rewards=problem.rewards[rows])
        learner = SquareCbLewa.tuned(problem.rewards.shape[1], len(rows), 1 - problem.limit / problem.unit)
        actions[rows] = play(part, learner, None)
    return actions


def makers(problem: Problem) -> dict[str, Callable[[Problem], Indices]]:
    """Return every learner and rival: a function from a problem to the actions that it takes."""
    (T, K), floor, d = problem.rewards.shape, 1 - problem.limit / problem.unit, problem.contexts.shape[1]
    policies = problem.advice.shape[1] // K
    kernel = None if policies else Kernel.of(problem.contexts[:, 1:])
    return {
        "squarecb-lewa": lambda p: play(p, SquareCbLewa.tuned(K, T, floor, features=d), p.contexts),
        "squarecb-lewa, without context": lambda p: play(p, SquareCbLewa.tuned(K, T, floor), None),
        f"squarecb-lewa, answers {LATE:,} late": lambda p: play(
            p, SquareCbLewa.tuned(K, T, floor, features=d), p.contexts, late=LATE
        ),
        "squarecb-lewa, prices expected": lambda p: play(
            p, SquareCbLewa.tuned(K, T, floor, means=[1 - p.price / p.unit], features=d), p.contexts
        ),
        f"squarecb-lewa, prices expected, answers {LATE:,} late": lambda p: play(
            p, SquareCbLewa.tuned(K, T, floor, means=[1 - p.price / p.unit], features=d), p.contexts, late=LATE
        ),
        "squarecb-lewa, contexts shuffled": lambda p: play(
            p, SquareCbLewa.tuned(K, T, floor, features=d), np.random.default_rng(0).permutation(p.contexts)
        ),
        **(
            {
                f"squarecb-lewa, {CURVED}": lambda p: play(p, _smooth(p), p.curved),
                f"squarecb-lewa, {CURVED}, answers {LATE:,} late": lambda p: play(p, _smooth(p), p.curved, late=LATE),
            }
            if problem.curved.size
            else {}
        ),
        **(
            {
                f"squarecb-lewa, {WAVES} random Fourier features": lambda p: play_waves(p, _wide(K, T, floor)),
                f"squarecb-lewa, {CENTRES} kernel features": lambda p: play_kernel(p, kernel, _sharp(K, T, floor)),
            }
            if kernel is not None
            else {}
        ),
        "proved-squarecb-lewa": lambda p: play(p, ProvedSquareCbLewa.tuned(K, T, floor, features=d), p.contexts),
        "proved-squarecb-lewa, prices known": lambda p: play(
            p, ProvedSquareCbLewa.tuned(K, T, floor, features=d, known=[1 - p.price / p.unit]), p.contexts
        ),
        "anytime-proved-squarecb-lewa": lambda p: play(
            p, AnytimeProvedSquareCbLewa.tuned(K, T, floor, features=d), p.contexts
        ),
        **{
            f"{name}, {policies} policies": lambda p, kind=kind: play(  # type: ignore[misc]
                p, kind.tuned(K, T, floor, policies=policies), p.advice
            )
            for name, kind in MIXERS.items()
            if policies
        },
        "paced-linucb, prices known": lambda p: play(
            p, PacedLinUcb.tuned(K, T, floor, means=[1 - p.price / p.unit], features=d), p.contexts
        ),
        "one squarecb-lewa per group": play_by_group,
    }


def _wide(actions: int, rounds: int, floor: float) -> Learner:
    return SquareCbLewa.tuned(actions, rounds, floor, features=1 + WAVES)


def _sharp(actions: int, rounds: int, floor: float) -> Learner:
    """Return the learner for the kernel features; its penalty and the rewards expected were chosen for the digits."""
    rewards = [1 / actions] * actions
    return SquareCbLewa.tuned(actions, rounds, floor, rewards=rewards, features=1 + CENTRES, ridge=0.1)


def _smooth(problem: Problem) -> Learner:
    (T, K), floor, d = problem.rewards.shape, 1 - problem.limit / problem.unit, problem.curved.shape[1]
    return SquareCbLewa.tuned(K, T, floor, features=d, ridge=PENALTY)


# What a policy that is linear in the features could earn at most. Both references see the reward of every action, and have
# the best fixed price in hindsight: what a learner loses against them is the cost of learning; what they lose is in the
# features or in the delay.


class Reference(NamedTuple):
    reward: float  # per round
    spent: float  # per round


def in_hindsight(rewards: Matrix, price: Vector, limit: float, contexts: Matrix) -> Reference:
    """Return what the policy by one regression on all rounds comes to."""
    penalty = _penalty(contexts)
    theta = np.linalg.solve(contexts.T @ contexts + penalty, contexts.T @ (rewards - 0.5))
    return at_best_price(contexts @ theta, rewards, price, limit)


def with_delay(rewards: Matrix, price: Vector, limit: float, contexts: Matrix, late: int) -> Reference:
    """Return the same if the regression is made of the rounds that are at least `late` rounds old, and forgets."""
    T, d = contexts.shape
    products, sums, penalty = np.zeros((d, d)), np.zeros((d, rewards.shape[1])), _penalty(contexts)
    scores, told = np.zeros(rewards.shape), 0
    for start in range(0, T, EVERY):
        end = max(start - late, 0)
        if end > told:
            x, fade = contexts[told:end], np.exp((told - end) / MEMORY)
            products, sums = fade * products + x.T @ x, fade * sums + x.T @ (rewards[told:end] - 0.5)
            told = end
        scores[start : start + EVERY] = contexts[start : start + EVERY] @ np.linalg.solve(products + penalty, sums)
    return at_best_price(scores, rewards, price, limit)


def at_best_price(scores: Matrix, rewards: Matrix, price: Vector, limit: float) -> Reference:
    """Return what the largest score less price comes to, at the fixed price that spends the limit."""
    rows = np.arange(len(rewards))

    def at(dual: float) -> Reference:
        best = np.argmax(scores - dual * price, axis=1)
        return Reference(float(rewards[rows, best].mean()), float(price[best].mean()))

    low, high = 0.0, 100.0 / float(price.max())
    if at(low).spent <= limit:
        return at(low)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle).spent > limit else (low, middle)
    (more, dear), (less, cheap) = at(low), at(high)
    share = (limit - cheap) / (dear - cheap) if dear > cheap else 0.0
    return Reference(less + share * (more - less), cheap + share * (dear - cheap))


def _penalty(contexts: Matrix) -> Matrix:
    penalty: Matrix = np.eye(contexts.shape[1])
    penalty[0, 0] = CONSTANT
    return penalty


def references(orders: list[Problem], file: Problem, optimum: float) -> list[str]:
    """Return the rows that are no learners: see the beginning of the page."""

    def row(title: str, make: Callable[[Problem], Reference]) -> str:
        random, fixed = [make(order) for order in orders], make(file)
        reward, spent = (float(np.mean([result[i] for result in random])) for i in range(2))
        pairs = ((reward, spent), fixed)
        cells = " | ".join(f"{earned / optimum:.1%} | {paid / file.limit:.3f}" for earned, paid in pairs)
        return f"| {title} | {cells} | - |"

    return [
        *([row(BLIND, blind)] if len(file.rewards) >= LATE * 20 else []),
        row(IN_HINDSIGHT, lambda p: in_hindsight(p.rewards, p.price, p.limit, p.contexts)),
        row(WITH_DELAY, lambda p: with_delay(p.rewards, p.price, p.limit, p.contexts, LATE)),
    ]


def blind(problem: Problem) -> Reference:
    """Return what `squarecb-lewa` earns if the best fixed mixture replaces the rounds before the first late answer."""
    (T, K), floor, d = problem.rewards.shape, 1 - problem.limit / problem.unit, problem.contexts.shape[1]
    actions = play(problem, SquareCbLewa.tuned(K, T, floor, features=d), problem.contexts)
    mixture = best_fixed_play(problem.rewards.mean(axis=0), [1 - problem.price / problem.unit], [floor]).play
    earned, spent = problem.rewards[np.arange(LATE, T), actions[LATE:]].sum(), problem.price[actions[LATE:]].sum()
    before = Reference(float((problem.rewards[:LATE] @ mixture).sum()), LATE * float(problem.price @ mixture))
    return Reference((before.reward + float(earned)) / T, (before.spent + float(spent)) / T)


def measure(problem: Problem, make: Callable[[Problem], Indices], optimum: float) -> Row:
    start = time.process_time()
    actions = make(problem)
    seconds = (time.process_time() - start) / len(actions)
    reward = float(problem.rewards[np.arange(len(actions)), actions].mean())
    return Row(reward / optimum, float(problem.price[actions].mean()) / problem.limit, seconds)


def read_set(path: Path, limit: float) -> Problem:
    """Return a set of calls that a cheap service answers first: its label and its confidence are the context."""
    data = np.load(path, allow_pickle=False)
    label, confidence = data["context_label"], data["context_confidence"].astype(np.float64)
    labels, rows = (
        lewa.category("label", sorted(set(label.tolist()))),
        {"label": label.tolist(), "confidence": list(confidence)},
    )
    features, curved = (
        as_context([labels, lewa.number("confidence", (0, 1), knots=knots)]).encode_rows(rows) for knots in (0, KNOTS)
    )
    decile = np.searchsorted(np.quantile(confidence, np.linspace(0, 1, 11)[1:-1]), confidence)
    rewards, price = data["rewards"].astype(np.float64), data["price"].astype(np.float64)
    advice = threshold_advice(confidence, rewards.shape[1])
    return Problem(rewards, price, limit, features, label.astype(np.int64) * 100 + decile, advice, curved)


def threshold_advice(confidence: Vector, actions: int) -> Matrix:
    """Return policies that take the cheap action, the last, if it is sure enough, and otherwise one of the others."""
    cuts, others = np.quantile(confidence, np.linspace(0.1, 0.9, 9)), range(actions - 1)
    choices = [np.where(confidence >= cut, actions - 1, other) for cut in cuts for other in others]
    return np.concatenate([np.eye(actions)[choice] for choice in choices], axis=1)


def digits(limit: float, rounds: int = 20_000) -> Problem:
    """Return scikit-learn's digits: naming the digit a pays 1 if it is right, and costs (1 + a)/10."""
    from sklearn.datasets import load_digits

    images, target = load_digits(return_X_y=True)
    rows = np.random.default_rng(7).integers(len(target), size=rounds)
    context = as_context(lewa.vector("image", 64))
    features = np.array([context.encode({"image": image / np.linalg.norm(image)}) for image in images])[rows]
    price = (1 + np.arange(10)) / 10
    none = np.zeros((rounds, 0))
    return Problem(np.eye(10)[target[rows]], price, limit, features, target[rows].astype(np.int64), none, none)


def problems(folder: Path) -> Iterator[tuple[str, Problem]]:
    for name, limits in LIMITS.items():
        for limit in limits:
            if (folder / f"{name}.npz").exists():
                yield name, read_set(folder / f"{name}.npz", limit)
    for limit in (0.45, 0.3):
        yield "digits", digits(limit)


def time_of_agent(features: int = 32, actions: int = 10, rounds: int = 500, blocks: int = 8) -> float:
    """Return the CPU seconds of one `pull` and its `update`, with a number and an embedding as the context.

    It is the least of the blocks but the first, in which everything is compiled: other programs may be running.
    """
    columns = [lewa.number("tokens", (0, 1)), lewa.vector("embedding", features - 2)]
    agent = lewa.Agent(list(range(actions)), lewa.at_most("cost", 0.4), context=columns, seed=0)
    dice, seconds = np.random.default_rng(0), []
    for _ in range(blocks):
        requests, answers = dice.random((rounds, features - 2)), dice.random((rounds, 2)).tolist()
        start = time.process_time()
        for t in range(rounds):
            decision = agent.pull(context={"tokens": 0.3, "embedding": requests[t]})
            agent.update(decision, reward=answers[t][0], cost=answers[t][1])
        seconds.append((time.process_time() - start) / rounds)
    return min(seconds[1:])


def head(name: str, problem: Problem, optimum: float) -> list[str]:
    """Return the lines of one problem above its rows."""
    fixed = group_optimum(problem.rewards, problem.price, problem.limit, np.zeros(len(problem.rewards), dtype=np.int64))
    T, groups = len(problem.rewards), np.unique(problem.groups).size
    return [
        f"### {name}, limit {problem.limit:g}",
        "",
        f"{T:,} rounds, {problem.contexts.shape[1]} features. The best policy that sees {groups} groups earns "
        f"{optimum:.4f} per round, the best fixed mixture {fixed / optimum:.1%} of that.",
        "",
        "| | random order | used | file order | used | us |",
        "|---|---|---|---|---|---|",
    ]


def table(name: str, problem: Problem, page: str = "", words: Sequence[str] = ("",)) -> list[str]:
    """Return the lines of one problem: every learner in random order (the mean of the shuffles) and in file order.

    Rows whose title has none of the words are those of the page, if it has them.
    """
    optimum = group_optimum(problem.rewards, problem.price, problem.limit, problem.groups)
    lines, orders = head(name, problem, optimum), [problem.shuffled(seed) for seed in SHUFFLES]
    before = page.partition(f"\n{lines[0]}\n")[2].partition("\n#")[0].split("\n")
    for title, make in makers(problem).items():
        if len(problem.rewards) < LATE * 20 and "late" in title:
            continue
        if not any(word in title for word in words):
            lines += [line for line in before if line.startswith(f"| {title} |")]
            continue
        make(orders[0].rows(slice(50)))
        random = [measure(order, make, optimum) for order in orders]
        file = measure(problem, make, optimum)
        reward, used, seconds = (float(np.mean([row[i] for row in random])) for i in range(3))
        cells = f"{reward:.1%} | {used:.3f} | {file.reward:.1%} | {file.used:.3f} | {1e6 * seconds:.1f}"
        lines.append(f"| {title} | {cells} |")
        print(name, problem.limit, title, cells, file=sys.stderr, flush=True)
    return [*lines, *references(orders, problem, optimum), ""]


def write(folder: Path, page: str, words: Sequence[str]) -> str:
    before = re.search(r"take (\d+) us", " ".join(page.split()))
    keeps = before is not None and not any(word in "agent" for word in words)
    agent = float(before[1]) if before is not None and keeps else 1e6 * time_of_agent()
    settings = {"centres": CENTRES, "gamma": GAMMA, "knots": KNOTS, "penalty": PENALTY}
    lines = [INTRO.format(agent=agent, shuffles=len(SHUFFLES), **settings)]
    for name, problem in problems(folder):
        lines += table(name, problem, page, words)
    return with_goals("\n".join(lines))


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if given is None or not given.is_dir():
        print(f"tools/contexts.py takes a folder of sets, got {given or 'none'}: docs/contexts.md stays as it is")
        sys.exit(0)
    new = write(given, PAGE.read_text(), sys.argv[2:] or [""])
    _, mark, router = PAGE.read_text().partition("\n## Beside the published router")  # written by tools.router
    PAGE.write_text(new + mark + router)
