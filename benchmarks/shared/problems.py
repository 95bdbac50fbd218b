"""The seed problems: functions that the articles learn from samples.

Published figures are those of Swingler (2020), Learning and searching pseudo-Boolean
surrogate functions from small samples, Evolutionary Computation 28(2).
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from skmohn.datasets import make_bmda_quadratic, make_ising, make_mk_trap


class SeedProblem(NamedTuple):
    """A family of functions with what was published and what is aimed at.

    Attributes
    ----------
    name : str
    make : callable
        Draws an instance, given `n_samples` and `random_state`.
    published_samples : int
    published_seconds : float or None
    seconds : float
        Aim for the median at that number of samples.
    speed_up : float or None
        Aim for the ratio to the published algorithm, timed in the same run.
    fewest : int
        Samples that must be enough for every instance.
    fewest_aim : int
        Samples that should be enough.
    """

    name: str
    make: Callable
    published_samples: int
    published_seconds: float | None
    seconds: float
    speed_up: float | None
    fewest: int
    fewest_aim: int


def _ising(couplings, *shape):
    return partial(make_ising, shape, couplings=couplings, optimum=False)


def _trap(k, m):
    return partial(make_mk_trap, k, m, shuffle=True)


_ROWS = (
    ("Ising 10x10 pm1", _ising("pm1", 10, 10), 3000, None, 0.4, 10, 1100, 900),
    ("Ising 10x10 gauss", _ising("gaussian", 10, 10), 3000, None, 0.4, 10, 800, 600),
    ("Ising 5x5x5 pm1", _ising("pm1", 5, 5, 5), 5000, None, 2.0, None, 2000, 2000),
    (
        "Ising 5x5x5 gauss",
        _ising("gaussian", 5, 5, 5),
        5000,
        None,
        2.0,
        None,
        1300,
        1300,
    ),
    ("4-trap 40", _trap(4, 10), 2000, 22, 0.1, 10, 800, 600),
    ("4-trap 80", _trap(4, 20), 10000, 170, 0.3, 40, 1500, 1500),
    ("5-trap 25", _trap(5, 5), 1000, 8, 0.1, None, 600, 600),
    ("5-trap 50", _trap(5, 10), 20000, 295, 0.6, None, 1400, 1400),
    ("quadratic 40", partial(make_bmda_quadratic, 40), 390, None, 0.1, None, 180, 180),
    ("quadratic 80", partial(make_bmda_quadratic, 80), 1580, None, 0.1, None, 350, 350),
    (
        "quadratic 120",
        partial(make_bmda_quadratic, 120),
        3570,
        None,
        0.1,
        None,
        500,
        500,
    ),
)
SEED_PROBLEMS = {row[0]: SeedProblem(*row) for row in _ROWS}
