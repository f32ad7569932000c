"""The small sums of one round, and of rounds that are laid out."""

from lewa.feedback import Full
from lewa.kernels.jit import exact, program_or, rule
from lewa.types import Matrix, Vector


@rule
def positive(x: float) -> float:
    """[x]+"""
    return max(x, 0.0)


@rule
def total(x: Vector) -> float:
    """sum_i x_i"""
    z = 0.0
    for i in range(x.size):
        z += x[i]
    return z


@rule
def dot(x: Vector, y: Vector) -> float:
    """x . y"""
    z = 0.0
    for i in range(x.size):
        z += x[i] * y[i]
    return z


@rule
def means(p: Vector, c: Matrix, out: Vector) -> None:
    """out_j <- p . c_j"""
    for j in range(out.size):
        z = 0.0
        for i in range(p.size):
            z += p[i] * c[j, i]
        out[j] = z


@rule
def observe(p: Vector, seen: Full) -> float:
    """p . r, and p . c into seen.met: one pass when there is one constraint."""
    r, c, met = seen.rewards, seen.constraints, seen.met
    if met.size == 1:
        earned, constraint = 0.0, 0.0
        for i in range(p.size):
            earned += p[i] * r[i]
            constraint += p[i] * c[0, i]
        met[0] = constraint
        return earned
    means(p, c, met)
    return dot(p, r)


@rule
def play_largest(p: Vector) -> None:
    """p <- 1 where p is largest, divided evenly among ties, and 0 elsewhere"""
    top, ties = p[0], 0.0
    for i in range(p.size):
        top = max(top, p[i])
    for i in range(p.size):
        p[i] = 1.0 if p[i] == top else 0.0
        ties += p[i]
    for i in range(p.size):
        p[i] /= ties


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
