"""Hostile command lines, and the files that they name."""

import contextlib
import json
import shlex
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import NamedTuple

from tests.fuzz import hostile, service

from lewa import games, learners

FEW = ["1", "2", "5", "20"]  # rounds that are played at once
REFUSED = ["0", "-1", "0.5", "x", "", "9" * 100, "nan", "1e400"]  # rounds that nobody can play


class Command(NamedTuple):
    """A command line, without `lewa`; its files are in the folder that it is run in."""

    words: list[str]

    def __str__(self) -> str:
        short = (word if len(word) <= 80 else f"{word[:60]}... ({len(word)} characters)" for word in self.words)
        return shlex.join(["lewa", *short])


def make(rng: Random, folder: Path, index: int) -> Command:
    """Write the files of a command and return it."""
    builder = rng.choices(list(BUILDERS), weights=list(BUILDERS.values()))[0]
    words = builder(rng, folder, index)
    if builder is service.serve:  # another word might start a server
        return Command(words)
    if rng.random() < 0.1 and words:
        words[rng.randrange(len(words))] = hostile.word(rng)
    if rng.random() < 0.08:
        extra = ["--nonsense", "--json", "--floor", "--help", "-x", "--", "extra"]
        words.insert(rng.randrange(len(words) + 1), rng.choice(extra))
    if rng.random() < 0.04 and words:
        del words[rng.randrange(len(words))]
    minutes = words[:1] == ["reproduce"] or (words[:1] == ["check"] and set(words) & set(learners.ALL))
    return Command(["learners"] if minutes else words)  # honest work that takes minutes


def _rounds(rng: Random) -> str:
    return rng.choice(FEW if rng.random() < 0.8 else REFUSED)


def _floor(rng: Random) -> list[str]:
    values = ["0.5", "0.6", "0", "1"] if rng.random() < 0.7 else hostile.NUMBERS
    return [word for _ in range(rng.choice([1, 1, 1, 1, 2, 0])) for word in ("--floor", rng.choice(values))]


def _learner(rng: Random) -> str:
    name = rng.choice([*learners.ALL, "auto"])
    others = [f"{name}+doubling", f"{name}+tightened", f"{name}+governed", f"{name}@printed", name[:-1], hostile.word(rng)]
    return rng.choice([name] * 8 + others)


def _settings(rng: Random) -> list[str]:
    names = ["eta", "mu", "gamma", "delta", "b", "kappa", "tuning", "epsilon", "share", "safe", "margin", "rewards", "floor"]
    pairs = [f"{rng.choice(names)}={hostile.number(rng)}" for _ in range(rng.choice([0, 0, 0, 1, 2]))]
    return [word for pair in pairs for word in ("--set", rng.choice([pair, pair, hostile.word(rng)]))]


def _json(rng: Random) -> list[str]:
    return ["--json"] if rng.random() < 0.5 else []


def play(rng: Random, folder: Path, index: int) -> list[str]:
    name = rng.choice(list(games.ALL))
    twist = rng.choice(["", "", "", "+delay", "+noise", "+scale", "+dropping", "+delay+noise", "+x"])
    words = ["play", name + twist, "--learner", _learner(rng), "--rounds", _rounds(rng)]
    words += [*_floor(rng), "--seeds", rng.choice(["1", "1", "2", "0", "-1", "x", "9" * 100]), *_settings(rng), *_json(rng)]
    return words + (["--trace", rng.choice(["t.npz", "no/t.npz", ".", ""])] if rng.random() < 0.1 else [])


def lists(rng: Random, folder: Path, index: int) -> list[str]:
    if rng.random() < 0.5:
        return ["learners", *_json(rng)]
    return ["games", *_floor(rng), "--rounds", _rounds(rng), *_json(rng)]


def guarantee(rng: Random, folder: Path, index: int) -> list[str]:
    words = ["guarantee", _learner(rng), "--actions", rng.choice(["2", "10", "1", *hostile.NUMBERS])]
    words += ["--rounds", rng.choice(["1", "1000", "1000000000", *hostile.NUMBERS])]
    words += [*_floor(rng), *_settings(rng), *_json(rng)]
    for option in ("--epsilon", "--slater", "--variation"):
        if rng.random() < 0.3:
            words += [option, rng.choice(["0.1", "0.01", *hostile.NUMBERS])]
    if rng.random() < 0.4:
        words += ["--constraints", rng.choice(["iid", "constant", "arbitrary", "x"])]
    return words + (["--adversary", rng.choice(["oblivious", "adaptive", "x"])] if rng.random() < 0.3 else [])


def advise(rng: Random, folder: Path, index: int) -> list[str]:
    words = ["advise", "--feedback", rng.choice(["full", "bandit", "x"]), *_floor(rng), *_json(rng)]
    words += ["--actions", rng.choice(["2", "10", "3", *hostile.NUMBERS])]
    for option in ("--rounds", "--epsilon", "--slater", "--safe", "--corruption"):
        if rng.random() < 0.3:
            words += [option, rng.choice(["1", "0.1", "1000", *hostile.NUMBERS])]
    for flag in ("--every-round", "--strict", "--adaptive"):
        words += [flag] if rng.random() < 0.3 else []
    return words


def _columns(rng: Random) -> list[str]:
    words = []
    for option in ("--reward", "--at-most", "--at-least", "--action", "--round", "--propensity"):
        if rng.random() < 0.12:
            names = ["reward", "c", "cost", "action", "round", "propensity", "reward=0..1", "c=1..0", "c=0..1e400"]
            name = rng.choice(names)
            words += [option, rng.choice([name, name, "action=0:none", "action=a:x,b:x", hostile.word(rng)])]
    return words


def frontier(rng: Random, folder: Path, index: int) -> list[str]:
    words = ["frontier", hostile.data_file(rng, folder), *_columns(rng)]
    if rng.random() < 0.5:  # a log replays no learner
        words += ["--learner", rng.choice(["lewa", "bandit-lewa"]), "--seeds", "1"]
    words += ["--points", rng.choice(["2", "1", "0", "x"])] if rng.random() < 0.9 else []
    words += ["--budget", rng.choice(["0.5", *hostile.NUMBERS])] if rng.random() < 0.3 else []
    words += ["--line", rng.choice(["c=0.5", "c", "=", "c=x", "cost=nan", hostile.word(rng)])] if rng.random() < 0.15 else []
    outs = ["f.json", "f.csv", "f.svg", "f.gif", "no/f.svg", "", ".", "x\ny.json"]
    return words + (["--out", rng.choice(outs)] if rng.random() < 0.15 else []) + _json(rng)


def replay(rng: Random, folder: Path, index: int) -> list[str]:
    words = ["replay", hostile.data_file(rng, folder), "--learner", _learner(rng), *_columns(rng), "--seeds", "1"]
    words += ["--feedback", rng.choice(["full", "bandit", "x"])] if rng.random() < 0.2 else []
    return [*words, *_floor(rng), *_settings(rng), *_json(rng)]


def check(rng: Random, folder: Path, index: int) -> list[str]:
    return ["check", hostile.module(rng, folder, index)]


def run(rng: Random, folder: Path, index: int) -> list[str]:
    name = rng.choice(["study.toml", "study.toml", "nothing.toml", ".", ""])
    (folder / "study.toml").write_bytes(hostile.toml_text(rng))
    workers = rng.choice(["1", "1", "0", "-1", "x", "9" * 100])
    where = ["--out", rng.choice(["results", "study.toml", "", "a/b"])] if rng.random() < 0.3 else []
    return ["run", name, "--workers", workers, *where] + (["--cluster", "x"] if rng.random() < 0.05 else [])


@cache
def _results() -> Path:
    """Return a small folder of results, which is then spoiled."""
    from lewa.lab.run import run_study
    from lewa.lab.study import parse

    folder = Path(mkdtemp(prefix="lewa-fuzz-"))
    text = 'name = "s"\nrounds = [10, 20]\nseeds = 1\n'
    text += '[[games]]\nname = "bernoulli"\nfloor = 0.6\n[[learners]]\nname = "lewa"\n'
    with ThreadPoolExecutor(1) as executor:
        run_study(parse(text), folder, executor=executor)
    return folder


def report(rng: Random, folder: Path, index: int) -> list[str]:
    results = folder / "results"
    shutil.copytree(_results(), results)
    if rng.random() < 0.3:
        trees = [[], 3, "x", None, {}, {"lines": 3}, {"verdicts": [{}]}, [[1]], {"claims": []}]
        (results / "verdicts.json").write_text(json.dumps(rng.choice(trees)))
    for _ in range(rng.choice([1, 1, 2])):
        file = rng.choice([path for path in results.rglob("*") if path.is_file()] or [results / "x"])
        match rng.randrange(4):
            case 0:
                file.unlink(missing_ok=True)
            case 1:
                file.write_bytes(hostile.corrupt(rng, file.read_bytes() if file.is_file() else b""))
            case 2:
                texts = ["", "3", "[]", "null", '"x"', "{}", "[" * 3000, "{", "NaN", '{"lewa": 3}', "\n\n"]
                file.write_text(rng.choice(texts))
            case _ if file.suffix == ".json" and file.is_file():
                with contextlib.suppress(ValueError, RecursionError):  # it may be spoiled already
                    file.write_text(json.dumps(hostile.mutate(rng, json.loads(file.read_text()))))
    return ["report", rng.choice(["results", "results", "results", "results", ".", "nothing", "results/study.toml", ""])]


def warm(rng: Random, folder: Path, index: int) -> list[str]:
    return ["warm", *(_learner(rng) for _ in range(rng.choice([0, 1, 1, 2])))]


def anything(rng: Random, folder: Path, index: int) -> list[str]:
    return [hostile.word(rng) for _ in range(rng.randrange(4))]


BUILDERS: dict[Callable[[Random, Path, int], list[str]], float] = {
    frontier: 26,
    replay: 14,
    play: 12,
    guarantee: 14,
    advise: 8,
    check: 8,
    run: 7,
    report: 5,
    lists: 1,
    warm: 1,
    service.keys: 4,
    service.agents: 1,
    service.journal: 5,
    service.serve: 2,
    anything: 3,
}
