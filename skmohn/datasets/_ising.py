"""Spin glasses."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skmohn._core._sklearn import StrOptions, validate_params
from skmohn._core._validation import is_integer
from skmohn._core._walsh import WalshPolynomial
from skmohn.datasets._sampling import (
    OPTIMUM_CONSTRAINT,
    SAMPLING_CONSTRAINTS,
    find_optima,
    require_room,
    sample,
)


@validate_params(
    SAMPLING_CONSTRAINTS
    | {
        "shape": [list, tuple],
        "couplings": [StrOptions({"pm1", "gaussian"})],
        "optimum": OPTIMUM_CONSTRAINT,
    },
    prefer_skip_nested_validation=True,
)
def make_ising(
    shape: Sequence[int] = (10, 10),
    *,
    n_samples: int = 1000,
    couplings: str = "pm1",
    noise: float = 0.0,
    snr: float | None = None,
    coding: str = "pm1",
    optimum: bool | str = "auto",
    random_state: int | np.random.RandomState | None = None,
    return_X_y: bool = False,
) -> Any:
    """Generate energies of an Ising spin glass on a torus.

    The energy of the spins s in {-1, +1}^n is ``E(s) = -sum J_ij s_i s_j`` over the
    edges of a periodic grid: each spin is linked to the next along each side, and the
    last to the first. All terms are of order 2, and flipping all spins changes nothing.

    Parameters
    ----------
    shape : tuple of int, default=(10, 10)
        Sides of the torus, any number of them; features are its sites in C order.
        L x L has 2 L^2 edges, L x L x L has 3 L^3. A side of length 1 has no edges;
        along a side of length 2 the two edges between the same spins are one, with the
        sum of both couplings (no term if that is 0).
    n_samples : int, default=1000
        Number of samples, uniform over {-1, +1}^n.
    couplings : {"pm1", "gaussian"}, default="pm1"
        Distribution of the J_ij: -1 and +1 with equal probability, or standard
        normal. "pm1" gives many ground states, "gaussian" two.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise on `y`, in units of `y`.
    snr : float, default=None
        Signal-to-noise ratio, instead of `noise`: the variance of E over all inputs,
        which is the sum of the squared couplings, divided by that of the noise.
    coding : {"pm1", "binary"}, default="pm1"
        Values of `X`: -1 and +1, or 0 and 1 with 1 for +1.
    optimum : {"auto", True, False}, default="auto"
        Whether to find the exact lowest and highest energy: "auto" if that takes no
        time
        (up to 20 spins, rings and strips of any length, 8 x 8), True also if it takes a
        second (10 x 10; larger ones are refused), False never.
    random_state : int, RandomState instance or None, default=None
        Seed for the couplings, the samples and the noise, in this order: the same
        integer gives the same couplings if other parameters change.
    return_X_y : bool, default=False
        Whether to return ``(X, y)`` instead of a Bunch.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the fields

        X : ndarray of shape (n_samples, n_features)
            The spins, float64.
        y : ndarray of shape (n_samples,)
            The energies, with noise.
        terms : list of tuple of int
            The edges: pairs of feature indices, sorted.
        weights : ndarray of shape (len(terms),)
            ``-J_ij`` of each edge, for -1/+1 inputs whatever the coding.
        intercept : float
            0.
        noise : float
            Standard deviation of the noise used.
        minimum, maximum : float or None
            Lowest and highest energy without noise; None if not found.
        x_minimum, x_maximum : ndarray of shape (n_features,) or None
            Spins with that energy, coded like `X`.
        direction : str
            "minimize".
        feature_names : list of str
            ``s3_4`` is the spin in row 3 and column 4.
        DESCR : str
            Description of the problem.
    (X, y) : tuple if ``return_X_y=True``
        Only inputs and targets.

    Raises
    ------
    ValueError
        If a parameter is out of range, no side is longer than 1, both `noise` and
        `snr` are given, or ``optimum=True`` needs more than about 2**26 steps.

    References
    ----------
    .. [1] K. Swingler, "Learning and Searching Pseudo-Boolean Surrogate Functions from
           Small Samples", Evolutionary Computation 28(2), 2020, section 4.2.

    .. [2] S. Shakya, A. Brownlee, J. McCall, F. Fournier and G. Owusu, "A fully
           multivariate DEUM algorithm", IEEE Congress on Evolutionary Computation,
           2009.

    Examples
    --------
    >>> from skmohn.datasets import make_ising
    >>> data = make_ising((4, 4), n_samples=100, random_state=0)
    >>> data.X.shape
    (100, 16)
    >>> len(data.terms)
    32
    >>> bool(data.minimum <= data.y.min())
    True
    """
    if not all(is_integer(side) and side >= 1 for side in shape):
        raise ValueError(f"shape must hold integers >= 1, got {shape!r}.")
    if not any(side > 1 for side in shape):
        raise ValueError(f"shape needs a side longer than 1, got {shape!r}.")
    n_sites = math.prod(map(int, shape))
    require_room(n_samples, n_sites, n_sites * sum(side > 2 for side in shape))
    rng = check_random_state(random_state)
    sites = np.arange(np.prod(shape)).reshape(shape)
    edges = np.concatenate(
        [
            np.column_stack([sites.ravel(), np.roll(sites, -1, axis).ravel()])
            for axis, side in enumerate(shape)
            if side > 1
        ]
    )
    if couplings == "pm1":
        strengths = rng.choice([-1.0, 1.0], size=len(edges))
    else:
        strengths = rng.standard_normal(len(edges))
    energy = WalshPolynomial.collect(zip(edges.tolist(), -strengths, strict=True))
    torus = " x ".join(map(str, shape))
    return sample(
        energy,
        sites.size,
        rng,
        n_samples=n_samples,
        noise=noise,
        snr=snr,
        coding=coding,
        return_X_y=return_X_y,
        optima=find_optima(
            energy, sites.size, optimum=False if return_X_y else optimum
        ),
        direction="minimize",
        descr=f"Energy of an Ising spin glass, {torus} torus, {couplings} couplings.",
        feature_names=[
            "s" + "_".join(map(str, site)) for site in product(*map(range, shape))
        ],
    )
