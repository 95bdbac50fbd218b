"""NK landscapes."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skmohn._core._sklearn import StrOptions, validate_params
from skmohn.datasets._blocks import sum_of_tables
from skmohn.datasets._sampling import (
    OPTIMUM_CONSTRAINT,
    SAMPLING_CONSTRAINTS,
    Count,
    find_optima,
    require_room,
    sample,
)


@validate_params(
    SAMPLING_CONSTRAINTS
    | {
        "n_features": [Count(1)],
        # A table has 2**(k + 1) entries, and as many weights.
        "k": [Count(0, 15)],
        "neighbors": [StrOptions({"nearest", "random"})],
        "optimum": OPTIMUM_CONSTRAINT,
    },
    prefer_skip_nested_validation=True,
)
def make_nk(
    n_features: int = 30,
    k: int = 3,
    *,
    n_samples: int = 1000,
    neighbors: str = "nearest",
    noise: float = 0.0,
    snr: float | None = None,
    coding: str = "pm1",
    optimum: bool | str = "auto",
    random_state: int | np.random.RandomState | None = None,
    return_X_y: bool = False,
) -> Any:
    """Generate an NK landscape.

    Each feature has a table of contributions, uniform on [0, 1), indexed by its value
    and those of its k neighbors; `y` is the mean contribution. Landscapes range from a
    single peak (k = 0) to no correlation between adjacent inputs
    (``k = n_features - 1``). All ``2**(k + 1)`` weights over a feature and its
    neighbors are present.

    Parameters
    ----------
    n_features : int, default=30
        Number of features, N.
    k : int, default=3
        Number of neighbors of a feature, K, below `n_features` and at most 15. Time is
        proportional to the up to ``n_features * 2**(k + 1)`` weights.
    n_samples : int, default=1000
        Number of samples, uniform over all inputs.
    neighbors : {"nearest", "random"}, default="nearest"
        The next k features on a ring, or k others at random.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise on `y`, in units of `y`.
    snr : float, default=None
        Signal-to-noise ratio, instead of `noise`: the variance of the function over all
        inputs divided by that of the noise.
    coding : {"pm1", "binary"}, default="pm1"
        Values of `X`: -1 and +1, or 0 and 1 with 1 for +1.
    optimum : {"auto", True, False}, default="auto"
        Whether to find the exact lowest and highest value: "auto" if that takes no time
        (up to 20 features, nearest neighbors up to about k = 6), True also if it takes
        a second (more is refused), False never.
    random_state : int, RandomState instance or None, default=None
        Seed for neighbors and tables, the samples and the noise, in this order: the
        same integer gives the same landscape if `n_samples` or the noise change.
    return_X_y : bool, default=False
        Whether to return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the fields of :func:`make_mk_trap`; `minimum`, `maximum`, `x_minimum` and
        `x_maximum` are None if not found, `direction` is "maximize", and

        blocks : ndarray of shape (n_features, k + 1)
            Each feature, then its neighbors.
        tables : ndarray of shape (n_features, 2**(k + 1))
            The contributions; bit j of the column is the value of ``blocks[:, j]``.
    (X, y) : tuple if ``return_X_y=True``
        Only inputs and targets.

    Raises
    ------
    ValueError
        If a parameter is out of range, `k` is not below `n_features`, both `noise` and
        `snr` are given, or ``optimum=True`` needs more than about 2**26 steps.

    References
    ----------
    .. [1] S. A. Kauffman and E. D. Weinberger, "The NK model of rugged fitness
           landscapes and its application to maturation of the immune response",
           Journal of Theoretical Biology 141(2), 1989, pages 211-245.

    .. [2] A. H. Wright, R. K. Thompson and J. Zhang, "The computational complexity of
           N-K fitness functions", IEEE Transactions on Evolutionary Computation 4(4),
           2000, pages 373-379.

    Examples
    --------
    >>> from skmohn.datasets import make_nk
    >>> data = make_nk(30, 2, random_state=0)
    >>> data.X.shape, max(len(term) for term in data.terms)
    ((1000, 30), 3)
    >>> bool(data.minimum <= data.y.min() and data.y.max() <= data.maximum)
    True
    """
    if k >= n_features:
        raise ValueError(f"k must be below n_features={n_features}, got {k}.")
    require_room(n_samples, int(n_features), int(n_features) << int(k))
    rng = check_random_state(random_state)
    if neighbors == "nearest":
        blocks = np.add.outer(np.arange(n_features), np.arange(k + 1)) % n_features
    else:
        others = [
            rng.choice(n_features - 1, k, replace=False) for _ in range(n_features)
        ]
        # Drawn among the n_features - 1 others: skip the feature itself.
        blocks = np.array([[i, *(o + (o >= i))] for i, o in enumerate(others)])
    tables = rng.uniform(size=(n_features, 2 ** (k + 1)))
    landscape = sum_of_tables(blocks, tables / n_features)
    return sample(
        landscape,
        n_features,
        rng,
        n_samples=n_samples,
        noise=noise,
        snr=snr,
        coding=coding,
        return_X_y=return_X_y,
        optima=find_optima(
            landscape, n_features, optimum=False if return_X_y else optimum
        ),
        direction="maximize",
        descr=f"NK landscape with N={n_features}, K={k} and {neighbors} neighbors.",
        blocks=blocks,
        tables=tables,
    )
