"""The base class of learners that run an inner learner."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import make_dataclass
from functools import partial
from inspect import signature
from typing import Any, ClassVar, NamedTuple, Self

from lewa.feedback import feedback_kind
from lewa.kernels import annotated_types, comparable, state_type
from lewa.kernels import dispatch as rule
from lewa.learners.base import Bandit, Full, Learner, OfClass, Rescaling, Vector
from lewa.learners.parameter_checks import require
from lewa.learners.problem import settings_help


def _tuned(kind: Any) -> Callable[..., object]:
    """Return `tuned` of a wrapper: `made_by` around learners with the tuning of their class."""
    tuned = partial(kind.made_by, kind.kind.tuned)
    takes = [key for key, item in signature(tuned).parameters.items() if item.default is not item.empty]
    inner = "    **settings\n        Settings of the inner learner."
    tuned.__doc__ = f"{kind.made_by.__doc__}\n\n{settings_help(takes)}\n{inner}"
    return tuned


SHARED = ("unbounded", "compiled", "weighs_propensities", "reads_play", "quotes_prices")  # with the inner learner


class Wrapper(Learner):
    """A learner that runs an inner learner. Its parameters and its state depend on the inner learner.

    So there is a class for each inner learner: `Doubling.of(Lewa)` makes it once, and afterwards it is `Lewa.Doubling`.
    By that name another process finds its compiled code. The methods here are shared by all wrappers: compiled code
    calls `rule.inside`, which is dispatched by the type of the wrapped learner, for the inner learner and its state.
    """

    kind: ClassVar[type[Learner]]  # of the learner inside
    ending: ClassVar[str]  # of the one line for lists
    tuned = OfClass(_tuned)

    @classmethod
    def of(cls, kind: type[Learner]) -> type[Self]:
        """Return the wrapper class for this kind of inner learner."""
        made: Any = vars(kind).get(cls.__name__)
        if made is None:
            state = _state(cls, kind)
            about = (kind.__doc__ or kind.__name__).strip().splitlines()[0].removesuffix(".")
            attributes = {
                "__doc__": f"{about}; {cls.ending}.",
                "__module__": kind.__module__,
                "__qualname__": f"{kind.__qualname__}.{cls.__name__}",
                "kind": kind,
                "State": state,
                "feedback": feedback_kind(kind),
                **{name: getattr(kind, name) for name in SHARED},
                "keeps_shares": kind.keeps_shares and not cls.restarts,
                **cls.rules(kind),
            }
            fields = list(cls.fields_around(kind).items())
            made = make_dataclass(f"{kind.__name__}{cls.__name__}", fields, bases=(cls,), namespace=attributes, frozen=True)
            made.__module__, made.__qualname__ = kind.__module__, f"{kind.__qualname__}.{cls.__name__}"
            setattr(kind, cls.__name__, made)
        return made  # type: ignore[no-any-return]

    @classmethod
    def fields_around(cls, kind: type[Learner]) -> dict[str, object]:
        """Return the parameters of the wrapped learner, and their types."""
        raise NotImplementedError

    @classmethod
    def state_around(cls) -> dict[str, object]:
        """Return the fields of the state besides that of the inner learner."""
        raise NotImplementedError

    @classmethod
    def rules(cls, kind: type[Learner]) -> dict[str, object]:
        """Return the functions that compiled code finds by the type of the wrapped learner."""
        return {"inside": cls.opener(kind)}

    @classmethod
    def opener(cls, kind: type[Learner]) -> Callable[..., tuple[object, object]]:
        """Return the function by which compiled code gets the inner learner and its state."""
        raise NotImplementedError

    @classmethod
    def made_by(cls, make: Callable[..., Learner], *sizes: Any, **settings: Any) -> Self:
        """Return the wrapped learner around the learners that `make` returns.

        Parameters
        ----------
        make
            Makes the inner learner: `kind.tuned`, or `lewa.learners.make` with its name.
        sizes, settings
            K, T and c0; the settings of the wrapper, and those of the inner learner.
        """
        raise NotImplementedError

    @classmethod
    def refuse_reserves(cls, settings: Mapping[str, object]) -> None:
        """Refuse an inner learner with reserves: they belong to its floors and its horizon, which this wrapper changes."""
        law = (
            f"{cls.kind.__name__} cannot have reserves inside {cls.__mro__[1].__name__}: run it by itself, or with reserve=0"
        )
        require(not settings.get("reserve"), law, reserve=settings.get("reserve"))

    def play(self, s: object, p: Vector) -> None:
        learner, state = rule.inside(self, s)
        rule.play(learner, state, p)

    def choose(self, s: object, u: float) -> tuple[int, float]:
        """Draw an action, if the inner learner draws by itself."""
        learner, state = rule.inside(self, s)
        return rule.choose(learner, state, u)

    def charge(self, s: object, action: int) -> None:
        learner, state = rule.inside(self, s)
        rule.charge(learner, state, action)

    def release(self, s: object, charged: Vector) -> None:
        learner, state = rule.inside(self, s)
        rule.release(learner, state, charged)

    def learn(self, s: object, seen: Full | Bandit) -> None:
        learner, state = rule.inside(self, s)
        rule.learn(learner, state, seen)

    def inner_at(self, s: Any) -> Learner:
        """Return the inner learner that runs in this state."""
        raise NotImplementedError

    def hold_back(self, s: Any, there: Vector, play: Vector, unknown: Sequence[int]) -> None:
        """Let the inner learner do so."""
        self.inner_at(s).hold_back(s, there, play, unknown)

    def changed(self, s: Any, floor: Vector, units: Rescaling | None) -> tuple[Self, Any]:
        sole = units is None or self.kind.changed is Learner.changed
        require(sole, "this learner cannot change the range of a constraint", learner=type(self).__name__)
        return super().changed(s, floor, units)

    def __reduce__(self) -> tuple[object, ...]:
        wrapper = type(self).__mro__[1]
        return _again, (wrapper, self.kind, tuple(self.parameters.values()))


def _state(wrapper: type[Wrapper], kind: type[Learner]) -> Any:
    named: Any = NamedTuple  # its fields depend on the learner inside, and no type checker can know them
    fields = {**annotated_types(state_type(kind)), **wrapper.state_around()}
    state = comparable(named(f"{kind.__name__}{wrapper.__name__}State", list(fields.items())))
    state.__module__, state.__qualname__ = kind.__module__, f"{kind.__qualname__}.{wrapper.__name__}.State"
    setattr(state, "__reduce__", lambda self: (_state_again, (wrapper, kind, tuple(self))))  # noqa: B010 (typed otherwise)
    return state


def _again(wrapper: type[Wrapper], kind: type[Learner], values: Sequence[object]) -> Wrapper:
    return wrapper.of(kind)(*values)


def _state_again(wrapper: type[Wrapper], kind: type[Learner], values: Sequence[object]) -> object:
    return state_type(wrapper.of(kind))(*values)
