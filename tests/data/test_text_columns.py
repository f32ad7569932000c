"""Text from Arrow is read as its different cells, and is what the same cells in a list are."""

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import lewa
from lewa.data import sheet as sheets
from lewa.data.columns import Columns, from_columns
from lewa.data.files import columns_of
from lewa.data.sheet import Coded, Sheet

TEXT: list[object] = ["b", "a", "a", "ç", "b"]
DECIMALS: list[object] = [Decimal("0.50"), Decimal("1.25"), Decimal("0.50")]
WITH_UNUSED = pa.DictionaryArray.from_arrays(pa.array([2, 1, 1, 3, 4]), pa.array(["no row", "a", "b", "ç", "b", None]))
TWO_DICTIONARIES = pa.chunked_array([pa.array(part).dictionary_encode() for part in (TEXT[:2], TEXT[2:])])
COLUMNS: dict[str, tuple[Any, list[object]]] = {
    "text": (pa.array(TEXT), TEXT),
    "large text": (pa.array(TEXT, pa.large_string()), TEXT),
    "bytes": (pa.array([str(cell).encode() for cell in TEXT]), TEXT),
    "a dictionary with unused and repeated cells": (WITH_UNUSED, TEXT),
    "two chunks": (pa.chunked_array([pa.array(TEXT[:2]), pa.array(TEXT[2:])]), TEXT),
    "two dictionaries": (TWO_DICTIONARIES, TEXT),
    "decimals": (pa.array(DECIMALS), DECIMALS),
    "numbers as text": (pa.array(["0.5", "2", "0.5"]), ["0.5", "2", "0.5"]),
}


def both(column: Any, cells: list[object]) -> tuple[Sheet, Sheet]:
    """Return the column as it comes from Arrow, and as a list, after 10 other rows of the file."""
    arrow = Sheet.of(columns_of(pa.table({"x": column}), "data"), "data")
    assert isinstance(arrow.columns["x"], Coded)
    return arrow._replace(first=10), Sheet.of({"x": cells}, "data")._replace(first=10)


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_has_the_same_labels_and_numbers_as_its_cells_in_a_list(kind: str) -> None:
    one, other = both(*COLUMNS[kind])
    assert one.labels("x").tolist() == other.labels("x").tolist()
    for mine, its in zip(one.distinct("x"), other.distinct("x"), strict=True):
        assert mine.tolist() == its.tolist()
    if kind in ("decimals", "numbers as text"):
        assert one.numbers("x").tolist() == other.numbers("x").tolist()
    else:
        with pytest.raises(ValueError, match="the column x of data must hold numbers"):
            one.numbers("x")


MISSING: dict[str, tuple[list[object], str]] = {
    "a null": (
        ["a", "b", None, "a"],
        "the column x of data has a missing cell in row 13: fill in the value or leave",
    ),
    "empty text": (["a", "", "b", ""], "the column x of data has 2 missing cells, the first in row 12: fill in"),
    "only nulls": ([None, None], "the column x of data has 2 missing cells, the first in row 11: fill in"),
}


@pytest.mark.parametrize("what", MISSING)
@pytest.mark.parametrize("method", ["labels", "distinct", "numbers"])
def test_a_missing_cell_is_named_by_its_row(what: str, method: str) -> None:
    cells, message = MISSING[what]
    for sheet in both(pa.array(cells, pa.string()), cells):
        with pytest.raises(ValueError, match=message):
            getattr(sheet, method)("x")


def test_a_missing_cell_of_a_categorical_column_of_numbers_is_named_by_its_row() -> None:
    for cells in ([0.2, 0.9, None, 0.5], [2, 9, None, 5]):
        sheet = Sheet.of(columns_of(pa.table({"x": pa.array(cells).dictionary_encode()}), "data"), "data")
        with pytest.raises(ValueError, match="the column x of data has a missing cell in row 3"):
            sheet.numbers("x")
    whole = columns_of(pa.table({"x": pa.array([0.9, 0.2, 0.9]).dictionary_encode()}), "data")
    assert Sheet.of(whole, "data").numbers("x").tolist() == [0.9, 0.2, 0.9]


def test_a_missing_cell_of_a_categorical_reward_of_pandas_is_refused() -> None:
    pd = pytest.importorskip("pandas")
    rewards = pd.Categorical([0.2, 0.9, None, 0.5])
    frame = pd.DataFrame({"t": [0, 0, 1, 1], "a": ["x", "y", "x", "y"], "quality": rewards, "cost": [0.1, 0.2, 0.3, 0.4]})
    with pytest.raises(ValueError, match="has a missing cell in row 3"):
        from_columns(frame, Columns(round="t", action="a", reward="quality", at_most=["cost"]))


def test_numbers_in_text_must_be_finite() -> None:
    for sheet in both(pa.array(["1", "inf"]), ["1", "inf"]):
        with pytest.raises(ValueError, match="the column x of data must hold finite numbers"):
            sheet.numbers("x")


def test_a_row_group_has_each_different_cell_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    for name in ("_label", "_is_missing"):
        plain = getattr(sheets, name)

        def counted(cell: object, name: str = name, plain: Any = plain) -> object:
            calls[name] += 1
            return plain(cell)

        monkeypatch.setattr(sheets, name, counted)
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, 600)
    log = {"action": np.array(["large", "small"])[a], "reward": a * rng.random(600), "cost": rng.random(600)}
    parquet.write_table(pa.table({**log, "propensity": np.full(600, 0.5)}), tmp_path / "0.parquet", row_group_size=100)
    lewa.frontier(tmp_path, points=2)
    assert calls == {"_label": 36, "_is_missing": 36}  # 2 actions, 6 groups, each read 3 times: to check, estimate and value
