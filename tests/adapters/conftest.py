"""Libraries whose pins fit nowhere here: `make build/peers/installed` fetches their files, of which the tests import some.

The files are theirs, unchanged, on today's numpy and scikit-learn. What is left out: the `__init__` of their packages, which
import all they have (MuJoCo, PyTorch); and torch, pandas and seaborn, which obp names at the head of some files, for
tensors, slates and figures, and which are empty here.
"""

import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

PEERS = Path(__file__).parents[2] / "build" / "peers"


def fetched(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    if not (PEERS / "installed").exists():
        pytest.skip(f"{packages[0]} is not there: its pins conflict with ours, and `make build/peers/installed` fetches it")
    monkeypatch.syspath_prepend(str(PEERS))
    for name in packages:
        bare = ModuleType(name)
        bare.__path__ = [str(PEERS / name.replace(".", "/"))]
        monkeypatch.setitem(sys.modules, name, bare)


@pytest.fixture(scope="module")
def obp() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        fetched(patch, "obp", "obp.ope", "obp.dataset")
        with pytest.MonkeyPatch.context() as while_importing:
            for name, uses in {"torch": ("tensor", "Tensor"), "pandas": ("DataFrame",), "seaborn": ()}.items():
                empty = ModuleType(name)
                empty.__dict__.update(dict.fromkeys(uses, object))
                while_importing.setitem(sys.modules, name, empty)
            names = ("ope.estimators", "ope.meta", "ope.regression_model", "dataset.synthetic", "utils")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of escape sequences in its docstrings
                modules = [import_module(f"obp.{name}") for name in names]
        yield SimpleNamespace(**{name: value for module in modules for name, value in vars(module).items()})


@pytest.fixture(scope="module")
def safety_gymnasium() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        fetched(patch, "safety_gymnasium", "safety_gymnasium.wrappers", "safety_gymnasium.utils")
        names = ("wrappers.gymnasium_conversion", "utils.passive_env_checker")
        modules = [import_module(f"safety_gymnasium.{name}") for name in names]
        yield SimpleNamespace(**{name: value for module in modules for name, value in vars(module).items()})
