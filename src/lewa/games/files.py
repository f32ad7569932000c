"""Tables and logs of the user's, read from .npz, .csv, .csv.gz and .parquet files."""

import gzip
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from lewa.games.log import Log
from lewa.games.table import Table

LAYOUT = (
    "a table has the columns reward:ACTION and NAME:ACTION for each constraint NAME, or, one row per round and action, "
    "round (or t), action, reward, and constraints named c, c1, c2 and so on; a column propensity makes it a bandit log"
)


def read(path: str | Path) -> Table | Log:
    """The game in a file, or a sentence that says why it is none."""
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        if path.suffix == ".npz":
            return _from_npz(path)
        return _from_columns(_columns(path), path)
    except (OSError, EOFError, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise ValueError(f"{path.name} cannot be read, it may be cut short: {error}") from error
    except ValueError as error:
        if "allow_pickle" in str(error):  # NumPy's advice for what is no array file at all
            raise ValueError(f"{path.name} is no .npz file of arrays") from None
        raise


def _from_npz(path: Path) -> Table:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        missing = [name for name in ("rewards", "constraints") if name not in arrays]
        if missing:
            raise ValueError(f"{path.name} must hold rewards (T, K) and constraints (T, K, m), got {', '.join(arrays)}")
        return Table(arrays["rewards"], arrays["constraints"])


def _columns(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    try:
        from pyarrow import ArrowInvalid, csv, parquet
    except ImportError:
        raise ValueError(f"reading {path.name} takes pyarrow: pip install 'lewa[tables]'") from None
    try:
        if path.suffix == ".parquet":
            table = parquet.read_table(path)
        elif path.suffix == ".csv" or path.suffixes[-2:] == [".csv", ".gz"]:
            text = gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()  # noqa: SIM115 (read at once)
            table = csv.read_csv(io.BytesIO(text))
        else:
            raise ValueError(f"a table is a .npz, .csv, .csv.gz or .parquet file, got {path.name}")
    except ArrowInvalid as error:
        raise ValueError(f"{path.name} cannot be read: {str(error).splitlines()[0]}") from error
    twice = [name for name in table.column_names if table.column_names.count(name) > 1]
    if twice:
        raise ValueError(f"{path.name} has two columns named {twice[0]!r}")
    return {name: table.column(name).to_numpy() for name in table.column_names}


def _from_columns(columns: dict[str, np.ndarray[Any, Any]], path: Path) -> Table | Log:
    wide = [name.removeprefix("reward:") for name in columns if name.startswith("reward:")]
    if wide:
        kinds = list(dict.fromkeys(name.split(":")[0] for name in columns if ":" in name and not name.startswith("reward:")))
        wanted = [f"{kind}:{action}" for kind in kinds for action in wide]
        missing = [name for name in wanted if name not in columns]
        if missing or not kinds:
            raise ValueError(f"{path.name} lacks the column {(missing or ['NAME:ACTION'])[0]}; {LAYOUT}")
        rewards = np.column_stack([_number(columns, f"reward:{action}", path) for action in wide])
        kept = [np.column_stack([_number(columns, f"{kind}:{action}", path) for action in wide]) for kind in kinds]
        return Table(rewards, np.stack(kept, axis=2))

    clock = next((name for name in ("round", "t") if name in columns), "round")
    kept_names = sorted((name for name in columns if re.fullmatch(r"c\d*", name)), key=lambda name: int(name[1:] or 0))
    missing = [name for name in (clock, "action", "reward", *(kept_names or ["c"])) if name not in columns]
    if missing:
        raise ValueError(f"{path.name} lacks the column {missing[0]}; {LAYOUT}")
    names, action = np.unique(columns["action"], return_inverse=True)
    reward = _number(columns, "reward", path)
    constraints = np.column_stack([_number(columns, name, path) for name in kept_names])
    if "propensity" in columns:
        return Log(action, _number(columns, "propensity", path), reward, constraints, len(names))
    rounds, row = np.unique(columns[clock], return_inverse=True)
    T, K = len(rounds), len(names)
    seen = np.zeros((T, K), dtype=np.int64)
    np.add.at(seen, (row, action), 1)
    if (seen != 1).any():
        t, i = np.argwhere(seen != 1)[0]
        raise ValueError(
            f"{path.name} must show every action once in every round, or a propensity for each row; round {rounds[t]} shows "
            f"action {names[i]} {seen[t, i]} times"
        )
    rewards, kept_cube = np.empty((T, K)), np.empty((T, K, len(kept_names)))
    rewards[row, action] = reward
    kept_cube[row, action] = constraints
    return Table(rewards, kept_cube)


def _number(columns: dict[str, np.ndarray[Any, Any]], name: str, path: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        return columns[name].astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the column {name} of {path.name} must hold numbers") from None
