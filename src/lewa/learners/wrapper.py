"""What the learners that run another one inside them have in common."""

from typing import Any, NamedTuple


def about(kind: Any) -> str:
    """The first line of its docstring, without the full stop."""
    return str(kind.__doc__ or kind.__name__).strip().splitlines()[0].removesuffix(".")


def fields(name: str, kinds: dict[str, Any]) -> Any:
    """A named tuple of these fields; which ones they are depends on the learner inside, and no type checker can know."""
    named: Any = NamedTuple
    return named(name, list(kinds.items()))


def settle(made: Any, kind: Any, suffix: str, home: dict[str, Any]) -> None:
    """Give a class that was made for the learner inside a name of its own, by which its module has it: so what is compiled
    for it is found on disk again, and its instances can be pickled."""
    made.__name__ = kind.__name__ + suffix
    made.__qualname__ = f"{kind.__module__}_{kind.__qualname__}{suffix}".replace(".", "_").replace("<locals>", "")
    made.__module__ = home["__name__"]
    home[made.__qualname__] = made
