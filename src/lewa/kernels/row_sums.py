"""The sums of rounds that are laid out."""

from lewa.kernels.jit import exact, program_or
from lewa.types import Matrix, Vector


@exact
def _add_row(row: Vector, sums: Vector) -> None:
    for i in range(sums.size):
        sums[i] += row[i]


def _sum_rows(rows: Matrix, sums: Vector) -> None:
    sums[:] = rows.sum(axis=0)


@program_or(_sum_rows)
def sum_rows(rows: Matrix, sums: Vector) -> None:
    """sums_i <- sum_t rows_ti, in the order of t: the same bits as NumPy's for two columns or more"""
    for i in range(sums.size):
        sums[i] = rows[0, i]
    for t in range(1, rows.shape[0]):
        _add_row(rows[t], sums)
