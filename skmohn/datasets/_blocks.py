"""Sums of one small table over disjoint blocks: traps and the quadratic of BMDA."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skmohn._core._sklearn import validate_params
from skmohn._core._walsh import WalshPolynomial
from skmohn._core._walsh_kernels import transform
from skmohn.datasets._sampling import (
    SAMPLING_CONSTRAINTS,
    Count,
    Optima,
    require_room,
    sample,
)


@validate_params(
    SAMPLING_CONSTRAINTS
    | {
        # A table has 2**k entries, and as many weights.
        "k": [Count(1, 16)],
        "m": [Count(1)],
        "shuffle": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def make_mk_trap(
    k: int = 4,
    m: int = 10,
    *,
    n_samples: int = 1000,
    shuffle: bool = False,
    noise: float = 0.0,
    snr: float | None = None,
    coding: str = "pm1",
    random_state: int | np.random.RandomState | None = None,
    return_X_y: bool = False,
) -> Any:
    """Generate a sum of m deceptive traps of k bits each.

    A trap with u of its k bits set is worth k if ``u == k``, else ``k - 1 - u``: every
    cleared bit is a gain, unless all are set. Each trap needs all ``2**k`` weights over
    its bits.

    Parameters
    ----------
    k : int, default=4
        Bits per trap, at most 16.
    m : int, default=10
        Number of traps; there are ``k * m`` features.
    n_samples : int, default=1000
        Number of samples, uniform over all inputs.
    shuffle : bool, default=False
        Whether to assign features to traps at random; otherwise the first k are the
        first trap, and so on, as in the literature.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise on `y`, in units of `y`.
    snr : float, default=None
        Signal-to-noise ratio, instead of `noise`: the variance of the function over all
        inputs divided by that of the noise.
    coding : {"pm1", "binary"}, default="pm1"
        Values of `X`: -1 and +1, or 0 and 1; a bit is set where it is 1.
    random_state : int, RandomState instance or None, default=None
        Seed for the shuffling, the samples and the noise, in this order.
    return_X_y : bool, default=False
        Whether to return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the fields

        X : ndarray of shape (n_samples, n_features)
            The inputs, float64.
        y : ndarray of shape (n_samples,)
            The sums of the traps, with noise.
        terms : list of tuple of int
            Feature indices of each true Walsh weight, sorted by order.
        weights : ndarray of shape (len(terms),)
            The weights, for -1/+1 inputs whatever the coding.
        intercept : float
            Mean over all inputs.
        noise : float
            Standard deviation of the noise used.
        minimum, maximum : float
            0 and ``k * m``.
        x_minimum, x_maximum : ndarray of shape (n_features,)
            Inputs with that value, coded like `X`; the maximum is at all ones.
        direction : str
            "maximize".
        blocks : ndarray of shape (m, k)
            Feature indices of each trap.
        feature_names : list of str
            ``x0``, ``x1``, ...
        DESCR : str
            Description of the problem.
    (X, y) : tuple if ``return_X_y=True``
        Only inputs and targets.

    Raises
    ------
    ValueError
        If a parameter is out of range, or both `noise` and `snr` are given.

    References
    ----------
    .. [1] K. Deb and D. E. Goldberg, "Analyzing Deception in Trap Functions",
           Foundations of Genetic Algorithms 2, 1993.

    .. [2] K. Swingler, "Learning and Searching Pseudo-Boolean Surrogate Functions from
           Small Samples", Evolutionary Computation 28(2), 2020, section 4.4.

    Examples
    --------
    >>> from skmohn.datasets import make_mk_trap
    >>> data = make_mk_trap(k=4, m=3, coding="binary", random_state=0)
    >>> data.X.shape, len(data.terms), data.maximum
    ((1000, 12), 45, 12.0)
    >>> data.x_maximum
    array([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.])
    """
    require_room(n_samples, int(k) * int(m), 2 ** int(k) * int(m))
    rng = check_random_state(random_state)
    blocks = _deal(rng, m, k, shuffle)
    ones = np.array([index.bit_count() for index in range(2**k)])
    trap = np.where(ones == k, k, k - 1 - ones).astype(np.float64)
    return sample(
        sum_of_tables(blocks, np.tile(trap, (m, 1))),
        k * m,
        rng,
        n_samples=n_samples,
        noise=noise,
        snr=snr,
        coding=coding,
        return_X_y=return_X_y,
        optima=_known_optima(blocks, k * m),
        direction="maximize",
        descr=f"Sum of {m} deceptive traps of {k} bits each.",
        blocks=blocks,
    )


@validate_params(
    SAMPLING_CONSTRAINTS | {"n_features": [Count(2)], "shuffle": ["boolean"]},
    prefer_skip_nested_validation=True,
)
def make_bmda_quadratic(
    n_features: int = 40,
    *,
    n_samples: int = 1000,
    shuffle: bool = True,
    noise: float = 0.0,
    snr: float | None = None,
    coding: str = "pm1",
    random_state: int | np.random.RandomState | None = None,
    return_X_y: bool = False,
) -> Any:
    """Generate the quadratic function that introduced BMDA.

    Each bit belongs to one pair, and a pair of bits a, b is worth
    ``0.9 - 0.9 (a + b) + 1.9 a b``: 1 if both are set, 0.9 if none is, 0 otherwise.
    A search that looks at one bit at a time mistakes 00 for 11.

    Parameters
    ----------
    n_features : int, default=40
        Number of bits, even.
    n_samples : int, default=1000
        Number of samples, uniform over all inputs.
    shuffle : bool, default=True
        Whether to pair features at random; otherwise each even feature is paired with
        the next.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise on `y`, in units of `y`.
    snr : float, default=None
        Signal-to-noise ratio, instead of `noise`: the variance of the function over all
        inputs divided by that of the noise.
    coding : {"pm1", "binary"}, default="pm1"
        Values of `X`: -1 and +1, or 0 and 1; a bit is set where it is 1.
    random_state : int, RandomState instance or None, default=None
        Seed for the pairs, the samples and the noise, in this order: the same integer
        gives the same pairs if `n_samples` or the noise change.
    return_X_y : bool, default=False
        Whether to return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the fields of :func:`make_mk_trap`; `minimum` is 0, `maximum` is
        ``n_features / 2`` at all ones, `direction` is "maximize" and `blocks`, of
        shape (n_features / 2, 2), holds the pairs.
    (X, y) : tuple if ``return_X_y=True``
        Only inputs and targets.

    Raises
    ------
    ValueError
        If a parameter is out of range, `n_features` is odd, or both `noise` and `snr`
        are given.

    References
    ----------
    .. [1] M. Pelikan and H. Muehlenbein, "The Bivariate Marginal Distribution
           Algorithm", Advances in Soft Computing, 1999, pages 521-535.

    Examples
    --------
    >>> from skmohn.datasets import make_bmda_quadratic
    >>> data = make_bmda_quadratic(6, shuffle=False, random_state=0)
    >>> data.terms
    [(0,), (1,), (2,), (3,), (4,), (5,), (0, 1), (2, 3), (4, 5)]
    >>> data.weights.round(3)
    array([0.025, 0.025, 0.025, 0.025, 0.025, 0.025, 0.475, 0.475, 0.475])
    """
    if n_features % 2:
        raise ValueError(f"n_features must be even to be paired, got {n_features}.")
    require_room(n_samples, int(n_features), 3 * (int(n_features) // 2))
    rng = check_random_state(random_state)
    blocks = _deal(rng, n_features // 2, 2, shuffle)
    return sample(
        sum_of_tables(blocks, np.tile([0.9, 0.0, 0.0, 1.0], (len(blocks), 1))),
        n_features,
        rng,
        n_samples=n_samples,
        noise=noise,
        snr=snr,
        coding=coding,
        return_X_y=return_X_y,
        optima=_known_optima(blocks, len(blocks)),
        direction="maximize",
        descr=f"Quadratic of Pelikan and Muehlenbein on {n_features // 2} pairs.",
        blocks=blocks,
    )


def _deal(
    rng: np.random.RandomState, n_blocks: int, size: int, shuffle: bool
) -> NDArray[np.intp]:
    features = np.arange(n_blocks * size)
    return (rng.permutation(features) if shuffle else features).reshape(n_blocks, size)


def _known_optima(blocks: NDArray[np.intp], maximum: float) -> Optima:
    """Optima of trap and quadratic: one bit of each block cleared, or none."""
    # The minimum is 0 in both.
    x_maximum = np.ones(blocks.size)
    x_minimum = x_maximum.copy()
    x_minimum[blocks[:, 0]] = -1.0
    return (0.0, x_minimum), (float(maximum), x_maximum)


def sum_of_tables(
    blocks: NDArray[np.intp], tables: NDArray[np.float64]
) -> WalshPolynomial:
    """Expand f(x) = sum_b tables[b][x restricted to blocks[b]], O(n_blocks k 2**k)."""
    # Bit j of the last index of a table is 1 where variable ``blocks[b, j]`` is +1.
    size = tables.shape[1]
    # The transform has 1 for -1, and for the variables of a set.
    weights = tables[:, ::-1].copy()
    for row in weights:
        transform(row, size)
    subsets = [
        [j for j in range(blocks.shape[1]) if index >> j & 1] for index in range(size)
    ]
    return WalshPolynomial.collect(
        ([block[j] for j in subset], weight)
        for block, row in zip(blocks.tolist(), (weights / size).tolist(), strict=True)
        for subset, weight in zip(subsets, row, strict=True)
    )
