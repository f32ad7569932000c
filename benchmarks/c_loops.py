"""The rulers: loops fused by hand in C (loops.c), built with gcc where there is one."""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
from benchmarks.rounds import FLOOR, coins, rows_of

from lewa.kernels import keys
from lewa.learners import Learner
from lewa.types import Vector

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
FLAGS = ["-O3", "-march=native", "-fopenmp-simd", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"]
KEY = keys(3)


@cache
def c_library() -> ctypes.CDLL | None:
    """Build loops.c for this machine; return None if there is no gcc."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return None
    target = Path(tempfile.mkdtemp()) / "loops.so"
    source = Path(__file__).with_name("loops.c")
    subprocess.run([gcc, *FLAGS, "-shared", "-fPIC", "-o", target, source, "-lm"], check=True)
    return ctypes.CDLL(str(target))


def pointer(array: Array) -> ctypes.c_void_p:
    """Return an array as C sees it."""
    return array.ctypes.data_as(ctypes.c_void_p)


def in_c(name: str, learner: Learner, actions: int, rounds: int, sums: Vector | None = None) -> Callable[[], int]:
    """Return the C loop of that name with the learner's parameters; it adds what it measures to `sums`, as Tally does."""
    call = getattr(c_library(), name)
    numbers = [ctypes.c_double(value) for field, value in learner.parameters.items() if field != "floor"]
    head = [ctypes.c_int(rounds), ctypes.c_int(actions), *numbers, ctypes.c_double(FLOOR)]
    scratch = [np.empty(actions) for _ in range(4 if name == "hp_bandit_lewa" else 2)]
    arrays: tuple[Array, ...] = rows_of(actions) if name == "lewa" else coins(actions)
    last = [ctypes.c_int(len(arrays[0]))] if name == "lewa" else [ctypes.c_uint64(int(key)) for key in KEY]
    world = [*map(pointer, arrays), *last]
    sums = np.zeros(6) if sums is None else sums
    keep = (arrays, scratch, sums)  # what C points at must stay alive as long as the variant

    def variant() -> int:
        call(*head, *world, *map(pointer, keep[1]), pointer(sums))
        return rounds

    return variant
