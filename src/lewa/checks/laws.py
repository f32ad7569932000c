"""Laws: functions that return if their subject obeys, and fail with a sentence if it does not."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

Law: TypeAlias = Callable[..., None]


class Result(NamedTuple):
    """The result of one law on one example; the sentence describes the failure, and is empty without one."""

    law: str
    example: str
    sentence: str


def hold(condition: object, sentence: str, *values: object) -> None:
    """Fail with the sentence unless the condition is true; unlike `assert` also under `python -O`.

    The values take the places of `{}` in the sentence, which is only then written: arrays take long to print.
    """
    if not condition:
        raise AssertionError(sentence.format(*values) if values else sentence)


def refuse(nonsense: str, call: Callable[..., object], *arguments: object) -> None:
    """Check that the call ends in a ValueError of one line."""
    try:
        call(*arguments)
    except ValueError as error:
        hold(len(str(error).splitlines()) == 1, f"the error for {nonsense} is {str(error)!r}; it must be one line")
    except Exception as error:
        hold(False, f"{nonsense} raises {type(error).__name__} ({error}); it must raise ValueError")
    else:
        hold(False, f"{nonsense} is accepted; it must raise ValueError")


def put(law: Law, example: str, *subject: object) -> Result:
    """Test a subject against a law; a subject that raises any other error breaks the law too."""
    try:
        law(*subject)
    except AssertionError as broken:
        return Result(law.__name__, example, str(broken))
    except Exception as error:
        return Result(law.__name__, example, f"it raised {type(error).__name__}: {error}")
    return Result(law.__name__, example, "")
