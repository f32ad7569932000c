from typing import Any

import numpy as np
import pytest

import lewa
from lewa.kernels import compiled_form, load, pack, unpack

EVERY = pytest.mark.parametrize("kind", [pytest.param(kind, id=name) for name, kind in lewa.learners.ALL.items()])


def filled(learner: Any, actions: int) -> Any:
    """A state whose every number is another one."""
    state, rng = learner.start(actions), np.random.default_rng(0)
    for leaf in leaves(state):
        leaf[...] = rng.random(leaf.shape)
    return state


def leaves(record: Any) -> list[Any]:
    fields = record if isinstance(record, tuple) else record.parameters.values()
    return [leaf for field in fields for leaf in (leaves(field) if isinstance(field, tuple) else [field])]


def assert_same(one: Any, other: Any) -> None:
    for a, b in zip(leaves(one), leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.shape(a) == np.shape(b)


@EVERY
def test_what_is_packed_is_unpacked_again(kind: Any) -> None:
    for learner, actions in kind.examples():
        state = filled(learner, actions)
        again, state_again = unpack(type(learner), pack(learner, state))
        assert type(again) is compiled_form(type(learner))
        assert type(learner)(*again) == learner
        assert_same(again, learner)
        assert type(state_again) is type(state)
        assert state_again == state
        assert_same(state_again, state)


@EVERY
def test_unpacked_arrays_are_views_of_the_buffer_that_do_not_overlap(kind: Any) -> None:
    for learner, actions in kind.examples():
        memory = pack(learner, learner.start(actions))
        arrays = [leaf for leaf in leaves(unpack(type(learner), memory)) if isinstance(leaf, np.ndarray)]
        for n, array in enumerate(arrays):
            array[...] = n
        for n, array in enumerate(arrays):
            assert array.size == 0 or np.shares_memory(array, memory)
            assert (array == n).all()


@EVERY
def test_packing_copies(kind: Any) -> None:
    for learner, actions in kind.examples():
        state = learner.start(actions)
        memory = pack(learner, state)
        memory[:] = np.nan
        assert state == learner.start(actions)
        assert_same(state, learner.start(actions))


@EVERY
def test_a_buffer_that_is_written_to_is_unpacked_anew(kind: Any) -> None:
    """Plain Python keeps the records of the last buffer; a scalar among the parameters is a copy."""
    for learner, actions in kind.examples():
        memory, state = pack(learner, learner.start(actions)), filled(learner, actions)
        unpack(type(learner), memory)
        memory[:] = pack(learner, state)
        assert_same(unpack(type(learner), memory)[1], state)
        first = int(memory[0])  # the header ends where the first parameter begins
        memory[first : first + 1] += 0.5
        parameters = unpack(type(learner), memory)[0]
        assert np.ravel(leaves(parameters)[0])[0] == memory[first]


def test_loading_something_else_is_refused_with_the_fields_it_should_have() -> None:
    with pytest.raises(ValueError, match=r"a saved Lewa has the fields \['delta', 'eta', 'floor', 'mu'\], got \['eta'\]"):
        load(lewa.learners.Lewa, {"eta": 0.1})
