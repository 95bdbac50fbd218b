"""Two interleaved spirals, the classical test of networks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

from skmohn._core._sklearn import validate_params
from skmohn.datasets._sampling import Count, Number, require_room


@validate_params(
    {
        "n_samples": [Count(2)],
        "noise": [Number(0)],
        "random_state": ["random_state"],
        "return_X_y": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def make_two_spirals(
    n_samples: int = 194,
    *,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
    return_X_y: bool = False,
) -> Any:
    """Generate the two spirals of Lang and Witbrock.

    Two arms wind around each other three times. Only the arm separates the classes,
    which a network with one hidden layer can hardly learn.

    Parameters
    ----------
    n_samples : int, default=194
        Number of points, half on each arm (the first gets an odd one). 194 gives the
        points of the CMU benchmark.
    noise : float, default=0.0
        Standard deviation of Gaussian noise on the coordinates, which reach to 6.5.
    random_state : int, RandomState instance or None, default=None
        Seed for the noise.
    return_X_y : bool, default=False
        Whether to return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    Bunch or tuple (X, y)
        With ``X`` of shape (n_samples, 2) and ``y`` of shape (n_samples,), 0 or 1.

    References
    ----------
    .. [1] Lang, K. and Witbrock, M. (1988). Learning to tell two spirals apart.
       Proceedings of the 1988 Connectionist Models Summer School.

    Examples
    --------
    >>> from skmohn.datasets import make_two_spirals
    >>> spirals = make_two_spirals()
    >>> spirals.X.shape
    (194, 2)
    >>> int(spirals.y.sum())
    97
    """
    require_room(int(n_samples), 2)
    rng = check_random_state(random_state)
    first = _arm(n_samples - n_samples // 2)
    second = -_arm(n_samples // 2)
    X = np.vstack([first, second])
    y = np.repeat([1, 0], [len(first), len(second)])
    X += noise * rng.standard_normal(X.shape)
    return (X, y) if return_X_y else Bunch(X=X, y=y)


def _arm(n_points: int) -> NDArray[np.float64]:
    """Points of one arm, from its outer end: shape (n_points, 2)."""
    # 97 points in steps of 1/16 of a half turn, the last at a radius of half a unit.
    step = np.linspace(0.0, 96.0, n_points)
    angle, radius = step * np.pi / 16.0, 6.5 * (104.0 - step) / 104.0
    return np.column_stack([radius * np.sin(angle), radius * np.cos(angle)])
