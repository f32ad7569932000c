"""Words that the JSON of the service had before version 0.3, of the same meaning as the agent's words.

Requests and journals may have them. Responses have `lines` and `line` beside the new words until version 0.4.
"""

from collections.abc import Mapping
from typing import Any

LEARN = {"when told": "answer", "at close": "close"}
NEW = {"lines": "constraints", "line": "constraint"}


def modern(plain: Mapping[str, object]) -> dict[str, object]:
    """Return the body of a request or of a record with the words of today."""
    body = _renamed(plain, "lines", "line")
    for name in ("caps", "watchdog"):
        rules = body.get(name)
        if isinstance(rules, list):
            body[name] = [_renamed(rule, "line") if isinstance(rule, dict) else rule for rule in rules]
            for rule in body[name]:  # type: ignore[attr-defined]  # the list of the line above
                if isinstance(rule, dict) and rule.get("when_spent") == "fallback":  # the only value that it had
                    del rule["when_spent"]
    answers, safety = body.get("answers"), body.get("safety")
    if isinstance(answers, dict) and answers.get("learn") in LEARN:
        body["answers"] = {**answers, "learn": LEARN[answers["learn"]]}
    if isinstance(safety, dict) and isinstance(safety.get("floors"), dict) and isinstance(safety.get("shares", {}), dict):
        rest = {name: value for name, value in safety.items() if name != "floors"}
        body["safety"] = {**rest, "shares": safety["floors"] | safety.get("shares", {})}
    return body


def _renamed(plain: Mapping[str, object], *names: str) -> dict[str, object]:
    """Return plain data with the new words in place of the old ones; both may be there if they say the same."""
    for name in names:
        if name in plain and plain.get(NEW[name], plain[name]) != plain[name]:
            raise ValueError(f"{name} is an earlier word for {NEW[name]}: use one of them, got both with other values")
    return {NEW[name] if name in names else name: value for name, value in plain.items()}


def with_old(plain: dict[str, Any]) -> dict[str, Any]:
    """Return a set-up or a status with the old words beside the new ones."""
    for name in ("caps", "watchdog"):
        if name in plain:
            plain[name] = [{**rule, "line": rule["constraint"]} for rule in plain[name]]
    return {**plain, "lines": plain["constraints"]}
