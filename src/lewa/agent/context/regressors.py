"""Regressors of scikit-learn, of river, or like them, in the place of the ridge of squarecb-lewa.

They are Python objects that learn, so they are not saved: a journal that is read from its start teaches them again. The
learner itself reads what they predict from the features of a decision, which its record has.
"""

import warnings
from copy import deepcopy
from inspect import signature
from typing import Any, Protocol

import numpy as np

from lewa.agent.records import Decision
from lewa.agent.setup import Setup
from lewa.learners import SquareCbLewa
from lewa.learners.base import Learner
from lewa.learners.squarecb_lewa import RegressorSquareCbLewa, WidthSquareCbLewa
from lewa.types import Matrix, Vector
from lewa.validation import short_repr

WHOLE_RANGE, WIDEST = 1.0, 1e6  # standard deviations: of an action without answers, and the largest that is used
NEAR = 1e-6  # by which predictions may differ from those on record: other machines round otherwise
NOT_SAVED = (
    "a fitted regressor is not saved: make the agent with a journal, and open it by "
    "Agent.open(path, regressor=...), which fits the regressor again"
)


class Model(Protocol):
    """A regressor, whichever library it is from: from the features of a request to a number."""

    def predict(self, x: Vector) -> Any:
        """Return the prediction at these features."""

    def predict_with_width(self, x: Vector) -> tuple[Any, Any]:
        """Return the prediction and its standard deviation; only of a regressor that `has_widths`."""

    def learn(self, x: Vector, y: float) -> None:
        """Learn one answer."""


class OfRows:
    """A regressor as scikit-learn has it, by rows of a matrix."""

    def __init__(self, model: Any, names: list[str]) -> None:
        self.model = model

    def predict(self, x: Vector) -> Any:
        """Return the prediction at these features."""
        return self.model.predict(x.reshape(1, -1))[0]

    def predict_with_width(self, x: Vector) -> tuple[Any, Any]:
        """Return the prediction and its standard deviation."""
        mean, deviation = self.model.predict(x.reshape(1, -1), return_std=True)
        return mean[0], deviation[0]

    def learn(self, x: Vector, y: float) -> None:
        """Learn one answer."""
        self.model.partial_fit(x.reshape(1, -1), np.array([y]))


class OfNames:
    """A regressor as river has it, by dictionaries."""

    def __init__(self, model: Any, names: list[str]) -> None:
        self.model, self.names = model, names

    def predict(self, x: Vector) -> Any:
        """Return the prediction at these features."""
        return self.model.predict_one(dict(zip(self.names, x.tolist(), strict=True)))

    def predict_with_width(self, x: Vector) -> tuple[Any, Any]:
        """Raise TypeError: a distribution of river is one of answers, with their noise."""
        raise TypeError("river has no standard deviation of a prediction without the noise of an answer")

    def learn(self, x: Vector, y: float) -> None:
        """Learn one answer."""
        self.model.learn_one(dict(zip(self.names, x.tolist(), strict=True)), y)


class Regressors:
    """One regressor for each action and quantity: the reward, and the cost of each constraint.

    It learns by how much an answer differs from what was expected of the action, in units of the range. Before an action
    was answered, and where a regressor fails, what is expected is predicted.
    """

    def __init__(self, regressor: object, setup: Setup) -> None:
        learner, context = setup.learner, setup.context
        assert isinstance(learner, SquareCbLewa)
        assert context is not None
        self._prior: Matrix = learner.prior
        self._actions, self._fields, self._inputs = setup.actions, setup.fields, context.size
        self._wide, names = isinstance(learner, WidthSquareCbLewa), context.feature_names
        _try(_as_model(_copy(regressor), names), context.size, regressor, self._wide)
        self._models = [[_as_model(_copy(regressor), names) for _ in setup.fields] for _ in setup.actions]
        self._answered = [False] * len(setup.actions)
        self._failures: dict[tuple[int, int], tuple[int, str]] = {}  # by action and quantity: how many, and the last
        self._repeats = True  # whether it predicted what is on record
        self._difference: str | None = None  # a warning that waits until its record is taken
        self._interrupt: BaseException | None = None  # such as KeyboardInterrupt, of an answer that had been taken

    def look(self, x: Vector) -> Vector:
        """Return the features of a decision: those of its context, the predictions at them, and perhaps their widths."""
        targets, K = self._prior.shape
        pairs = np.array([self._predict(k, o, x) for k in range(K) for o in range(targets)])
        return np.concatenate([x, pairs[:, 0], pairs[:, 1]] if self._wide else [x, pairs[:, 0]])

    def _predict(self, k: int, o: int, x: Vector) -> tuple[float, float]:
        """Return a prediction and its standard deviation; that is the whole range where nothing is known."""
        expected, width, model = float(self._prior[o, k]), WHOLE_RANGE, self._models[k][o]
        if not self._answered[k]:
            return expected, width
        try:
            mean, deviation = model.predict_with_width(x) if self._wide else (model.predict(x), width)
            y, width = expected + float(mean), float(deviation)
        except Exception as error:
            self._fail(k, o, error)
            return expected, WHOLE_RANGE
        if not (np.isfinite(y) and np.isfinite(width) and width >= 0):
            bad = f"its standard deviation is {width}" if np.isfinite(y) else f"it predicts {y}"
            self._fail(k, o, ValueError(bad))
            return expected, WHOLE_RANGE
        return min(max(y, 0.0), 1.0) if o == 0 else max(y, 0.0), min(width, WIDEST)  # a cost may be above its range

    def learn(self, features: Vector, k: int, units: Vector) -> None:
        """Learn the answer to a decision with these features, in units of [0, 1]: the reward, then the constraints.

        The answer is in the learner and in the statistics by now, so an interrupt waits until its record is taken: `tell`.
        """
        x = features[: self._inputs].copy()
        self._answered[k] = True
        for o, unit in enumerate(units.tolist()):
            try:
                self._models[k][o].learn(x, (unit if o == 0 else 1 - unit) - float(self._prior[o, k]))
            except Exception as error:
                self._fail(k, o, error)
            except BaseException as error:
                self._fail(k, o, error)
                self._interrupt = error

    def tell(self) -> None:
        """Raise an interrupt, or warn of a difference, that came while a record was taken."""
        interrupt, difference = self._interrupt, self._difference
        self._interrupt = self._difference = None
        if interrupt is not None:
            raise interrupt
        if difference is not None:
            warnings.warn(difference, stacklevel=4)

    def _fail(self, k: int, o: int, error: BaseException) -> None:
        count, _ = self._failures.get((k, o), (0, ""))
        self._failures[k, o] = count + 1, _in_words(error)

    def problems(self) -> list[str]:
        """Return one sentence for each regressor that has failed."""
        return [
            f"the regressor of the {self._fields[o]} of {self._actions[k]!r} failed in {count} "
            f"{'prediction or answer' if count == 1 else 'predictions or answers'}; its expected value was used instead; "
            f"last error: {error}"
            for (k, o), (count, error) in list(self._failures.items())
        ]

    def compare(self, decision: Decision) -> None:
        """Predict once more what a recorded decision was made by; `tell` says so, once, if it is something else."""
        features = np.array(decision.features)
        again = self.look(features[: self._inputs])
        if self._repeats and np.abs(again - features).max() > NEAR:
            self._repeats = False
            self._difference = (
                f"the regressor does not repeat its prediction for decision {decision.id}: it is another one, or it is "
                "random without a seed; the agent continues with this regressor"
            )


def as_regressor_name(regressor: object, contextual: bool) -> str | None:
    """Return the name of a regressor's class, or None without one; raise ValueError for another object."""
    if regressor is None:
        return None
    if not contextual:
        raise ValueError("a regressor needs a context: declare it by Agent(..., context=[...]), got context=None")
    _as_model(regressor, [])
    return type(regressor).__name__


def has_widths(regressor: object) -> bool:
    """Return whether a regressor says how sure it is of a prediction, by the argument that scikit-learn has for it."""
    try:
        return "return_std" in signature(regressor.predict).parameters  # type: ignore[attr-defined]
    except (AttributeError, TypeError, ValueError):
        return False


def for_regressor(name: str, learner: Learner, regressor: object) -> Learner:
    """Return the learner with room for what regressors predict; refuse one that has no ridge in whose place they stand."""
    if not isinstance(learner, SquareCbLewa):
        raise ValueError(f"a regressor replaces the ridge of squarecb-lewa and needs that learner, got learner={name!r}")
    return (WidthSquareCbLewa if has_widths(regressor) else RegressorSquareCbLewa)(**learner.parameters)


def bind(setup: Setup, regressor: object) -> Regressors | None:
    """Return the regressors of an agent; None if it has none. Refuse one too few, or one too many."""
    if setup.regressor is None and regressor is None:
        return None
    if setup.regressor is None:
        raise ValueError(f"this agent was made without a regressor, got {short_repr(regressor)}")
    if regressor is None:
        raise ValueError(f"this agent was made with a {setup.regressor}: {NOT_SAVED}")
    if (name := as_regressor_name(regressor, contextual=True)) != setup.regressor:
        raise ValueError(f"this agent was made with a {setup.regressor}: pass a regressor of that class, got a {name}")
    if isinstance(setup.learner, WidthSquareCbLewa) and not has_widths(regressor):
        raise ValueError(
            f"this agent was made with a {setup.regressor} that returns standard deviations: pass a regressor whose predict "
            f"takes return_std, got {short_repr(regressor)}"
        )
    return Regressors(regressor, setup)


def _as_model(regressor: Any, names: list[str]) -> Model:
    if isinstance(regressor, type):
        raise ValueError(f"a regressor must be an object, such as {regressor.__name__}(), got the class")
    for kind, verbs in ((OfNames, ("learn_one", "predict_one")), (OfRows, ("partial_fit", "predict"))):
        if all(callable(getattr(regressor, verb, None)) for verb in verbs):
            return kind(regressor, names)
    raise ValueError(
        "a regressor must have partial_fit and predict, as in scikit-learn, or learn_one and predict_one, as in river, "
        f"got {short_repr(regressor)}"
    )


def _try(model: Model, features: int, regressor: object, wide: bool) -> None:
    """Refuse a regressor that cannot learn one answer, or predicts no number then."""
    try:
        model.learn(np.ones(features), 0.25)
        for number in model.predict_with_width(np.ones(features)) if wide else (model.predict(np.ones(features)),):
            float(number)
    except Exception as error:
        width = ", and its standard deviation with return_std=True" if wide else ""
        raise ValueError(
            f"a regressor must learn single answers and predict a number{width}, got {type(regressor).__name__}: "
            f"{_in_words(error)}"
        ) from error


def _copy(regressor: object) -> object:
    try:
        return deepcopy(regressor)
    except Exception as error:
        raise ValueError(
            "copy.deepcopy must be able to copy a regressor, because each action and quantity has its own copy, got "
            f"{type(regressor).__name__}: {_in_words(error)}"
        ) from error


def _in_words(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
