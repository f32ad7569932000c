"""Words that `Agent` had before version 0.3; they are accepted until 0.4, with a warning that names the new word."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec

from lewa.agent.governor.rule import as_governor
from lewa.agent.options import Answers, ContextOptions, JournalOptions, LearnerOptions

P = ParamSpec("P")
POSITIONAL = ("self", "actions", "constraints", "reward_range", "horizon", "learner", "seed")
# By argument: its record, the field that a value without a record stands for, and the field of each old word.
WORDS: dict[str, tuple[type[Any], str, dict[str, str]]] = {
    "learner": (LearnerOptions, "name", {"settings": "settings", "feedback": "feedback", "goal": "goal"}),
    "answers": (
        Answers,
        "",
        {
            "max_pending": "max_open",
            "expire_after": "close_after",
            "unanswered": "unanswered",
            "learn": "learn",
            "expected": "expected",
        },
    ),
    "context": (ContextOptions, "columns", {"policies": "policies", "regressor": "regressor", "keep_context": "keep"}),
    "journal": (JournalOptions, "path", {"sync": "sync", "plays": "plays"}),
}


def accept_old_words(begin: Callable[P, None]) -> Callable[P, None]:
    """Let the constructor of an agent take the old words too."""

    @wraps(begin)
    def with_old_words(*args: P.args, **options: P.kwargs) -> None:
        given_now: dict[str, Any] = dict(options)
        for name, (kind, first, words) in WORDS.items():
            olds = {word: given_now.pop(word) for word in words if word in given_now}
            if not olds:
                continue
            place = POSITIONAL.index(name) if name in POSITIONAL else len(args)
            if place < len(args):
                raise TypeError(f"pass {name}=... by name beside {', '.join(olds)}")
            fields = {words[word]: value for word, value in olds.items() if value is not None}
            _deprecate(", ".join(olds), f"{name}=lewa.{kind.__name__}({', '.join(f'{words[word]}=...' for word in olds)})")
            if fields:
                given_now[name] = _joined(given_now.get(name), kind, first, fields)
        if "safe" in given_now:
            _deprecate("safe", "governor=lewa.Governor(safe=...)")
            if (safe := given_now.pop("safe")) is not None:
                given_now["governor"] = as_governor(given_now.get("governor", "auto"), safe)
        callback: Any = None
        if "on_verdict" in given_now:
            _deprecate("on_verdict", "the attribute on_verdict of the agent")
            callback = given_now.pop("on_verdict")
        begin(*args, **given_now)
        if callback is not None:
            args[0].on_verdict = callback  # type: ignore[attr-defined]  # the agent

    return with_old_words


def _deprecate(old: str, new: str) -> None:
    warnings.warn(f"{old}: an earlier word of Agent, accepted until 0.4; use {new}", DeprecationWarning, stacklevel=3)


def _joined(value: object, kind: type[Any], first: str, fields: dict[str, object]) -> object:
    """Return the record of an argument with these fields; a value that is no record is its first field."""
    if isinstance(value, kind):
        return replace(value, **fields)
    if kind is JournalOptions and value is None:
        raise ValueError("sync and plays need a journal: pass journal=PATH")
    return kind(**fields) if value is None else kind(**{first: value, **fields})
