"""Features of a context: declared, fixed, without state."""

import json
import re
from math import nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lewa
from lewa.context import MOST_FEATURES, as_context
from lewa.context.columns import stable_hash

COLUMNS = [
    lewa.number("tokens", (0, 4000)),
    lewa.number("hour", (0, 24), knots=4),
    lewa.category("task", ["code", "chat"], buckets=3),
    lewa.text("prompt", 16),
    lewa.vector("embedding", 3),
]
CONTEXT = as_context(COLUMNS)
numbers = st.floats(-1e12, 1e12) | st.none() | st.just(nan)
AGAIN = as_context(json.loads(json.dumps(CONTEXT.plain())))


@given(
    tokens=numbers,
    hour=numbers,
    task=st.text() | st.integers() | st.none(),
    prompt=st.text() | st.none(),
    embedding=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3) | st.none(),
)
def test_the_constant_comes_first_and_squares_sum_to_at_most_two(**values: object) -> None:
    x = CONTEXT.encode(values)
    assert x.shape == (CONTEXT.size,) == (1 + 1 + 4 + 5 + 16 + 3,)
    assert x[0] == 1
    assert x @ x <= 2 + 1e-12
    assert AGAIN.encode(values).tobytes() == x.tobytes()


def test_a_context_survives_json() -> None:
    assert AGAIN == CONTEXT


def test_what_is_missing_is_zeros_whether_it_is_none_nan_or_not_given() -> None:
    nothing = CONTEXT.encode({})
    assert nothing.tolist() == [1.0, *[0.0] * (CONTEXT.size - 1)]
    assert CONTEXT.encode({"tokens": None, "hour": nan, "prompt": None}).tolist() == nothing.tolist()


def test_features_are_those_of_the_declaration() -> None:
    one = as_context([lewa.number("x", (10, 30))])
    assert [one.encode({"x": x})[1] for x in (10, 20, 25, 99)] == [-1, 0, 0.5, 1]
    hats = as_context(lewa.number("x", (0, 1), knots=3))
    assert hats.encode({"x": 0.75}).tolist() == [1, 0, 0.5, 0.5]
    task = as_context([lewa.category("task", ["code", "chat"]), lewa.category("size", [1, 2], buckets=1)])
    assert task.encode({"task": "chat", "size": 7}) == pytest.approx([1, 0, 1 / sqrt(2), 0, 0, 1 / sqrt(2)])
    assert task.encode({"task": "poem"}).tolist() == [1, 0, 0, 0, 0, 0]
    assert as_context(lewa.vector("v", 2)).encode({"v": [0.3, 0.4]}).tolist() == [1, 0.3, 0.4]


def test_texts_are_hashed_the_same_in_every_process() -> None:
    assert stable_hash("hello world") == 5814608031911216775
    prompt = as_context(lewa.text("prompt", 8))
    x = prompt.encode({"prompt": "Write CODE, write code"})
    assert x[1:] @ x[1:] == pytest.approx(1)
    assert (x == prompt.encode({"prompt": "write code write code!"})).all()
    assert (x != prompt.encode({"prompt": "write a poem"})).any()


def test_many_rows_are_the_rows_one_by_one() -> None:
    rows = CONTEXT.encode_rows(
        {
            "tokens": [1, 2],
            "hour": [3.0, nan],
            "task": ["code", "x"],
            "prompt": ["a b", None],
            "embedding": [None, [1, 2, 3]],
        }
    )
    assert rows[0].tolist() == CONTEXT.encode({"tokens": 1, "hour": 3.0, "task": "code", "prompt": "a b"}).tolist()
    assert rows[1].tolist() == CONTEXT.encode({"tokens": 2, "task": "x", "embedding": np.array([1, 2, 3])}).tolist()


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"token": 3}, "the context has no 'token'; did you mean 'tokens'?"),
        ({"tokens": "many"}, "tokens must be a number, got 'many'"),
        ({"tokens": float("inf")}, "tokens must be a finite number, got inf"),
        ({"task": 0.5}, "task must be a text or a whole number, got 0.5"),
        ({"prompt": 3}, "prompt must be a text, got 3"),
        ({"embedding": [1, 2]}, "embedding must be 3 finite numbers, got [1, 2]"),
        ({"embedding": [1, 2, nan]}, "embedding must be 3 finite numbers"),
        (7, "a context must map names to values, for tokens, hour, task, prompt, embedding, got 7"),
    ],
)
def test_a_bad_context_gets_one_sentence(values: object, sentence: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(sentence)) as error:
        CONTEXT.encode(values)
    assert len(str(error.value).splitlines()) == 1


def test_bad_declarations_get_one_sentence() -> None:
    for wrong, sentence in (
        (lambda: lewa.number("x", (1, 0)), "low < high"),
        (lambda: lewa.number("x", (0, 1), knots=1), "knots must be 0, or at least 2"),
        (lambda: lewa.number("", (0, 1)), "name of a column must be a text"),
        (lambda: lewa.category("x", "abc"), "must be a list"),
        (lambda: lewa.category("x", ["a", "a"]), "must be distinct"),
        (lambda: lewa.category("x", []), "at least one level or bucket"),
        (lambda: lewa.text("x", 0), "size must be an integer of at least 1"),
        (lambda: lewa.vector("x", -1), "size must be an integer of at least 1"),
        (lambda: as_context([]), "at least one of"),
        (lambda: as_context(np.array(1j)), "must be a list of"),
        (lambda: as_context([*COLUMNS, COLUMNS[0]]), "distinct names"),
        (lambda: as_context(lewa.text("x", MOST_FEATURES)), "at most 128 features, got 129"),
    ):
        with pytest.raises(ValueError, match=sentence):
            wrong()
