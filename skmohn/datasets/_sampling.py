"""Draw samples of a known function: what all generators share."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from skmohn._core._elimination import find_neighbors, maximize_by_order, order_by_degree
from skmohn._core._sklearn import Interval, Options, StrOptions
from skmohn._core._tuned import tuned
from skmohn._core._validation import require_memory
from skmohn._core._walsh import WalshPolynomial, evaluate, flatten_sets

# Minimum and maximum: the value and the spins that have it, or None twice.
Optima: TypeAlias = tuple[
    tuple[float | None, NDArray | None], tuple[float | None, NDArray | None]
]
# Table entries that elimination may compute. The first take no time, and are enough for
# whatever 20 variables do; the second take a second and at most a gigabyte, and are
# enough for the 10 x 10 torus.
_MAX_ENTRIES: dict[bool | str, int] = {"auto": 2**21, True: 2**26}


@dataclass(frozen=True)
class NumberConstants:
    """Limits of parameters."""

    # Squares of larger numbers would be infinite.
    max_number: float = tuned(1e150, "rounding")


_NUMBERS = NumberConstants()


@dataclass(frozen=True)
class RoomConstants:
    """Bytes that a problem takes at least."""

    cell: int = tuned(9, "cost")  # of X, and of spins
    feature: int = tuned(60, "cost")  # its name
    term: int = tuned(100, "cost")  # a tuple of integers


ROOM = RoomConstants()


class Count(Interval):
    """Integer; True is none, though Python takes it for 1."""

    def __init__(self, minimum: int, maximum: int | None = None) -> None:
        closed = "left" if maximum is None else "both"
        super().__init__(Integral, minimum, maximum, closed=closed)

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether a value is such a number."""
        return not isinstance(val, bool) and super().is_satisfied_by(val)


class Number(Interval):
    """Number whose square is finite; True is none, though Python takes it for 1."""

    def __init__(
        self, minimum: float, maximum: float = _NUMBERS.max_number, closed: str = "both"
    ) -> None:
        super().__init__(Real, minimum, maximum, closed=closed)

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether a value is such a number."""
        if isinstance(val, bool) or not isinstance(val, Real):
            return False
        try:
            # In fewer bytes the largest would be infinite.
            return super().is_satisfied_by(float(val))
        except OverflowError:  # an integer that no float can be
            return False


SAMPLING_CONSTRAINTS = {
    "n_samples": [Count(1)],
    "noise": [Number(0.0)],
    "snr": [None, Number(0.0, closed="right")],
    "coding": [StrOptions({"pm1", "binary"})],
    "random_state": ["random_state"],
    "return_X_y": ["boolean"],
}

OPTIMUM_CONSTRAINT = [StrOptions({"auto"}), Options(bool, {True, False})]


def require_room(n_samples: int, n_features: int, n_terms: int = 0) -> None:
    """Refuse samples and terms that do not fit in memory, before any are drawn."""
    n_bytes = int(n_samples) * n_features * ROOM.cell + n_features * ROOM.feature
    n_bytes += n_terms * ROOM.term
    require_memory(
        # More is no float.
        float(min(n_bytes, 10**300)),
        f"a problem of {_shown(n_features)} features and {_shown(n_samples)} samples",
        "lower n_features or n_samples",
    )


def _shown(number: int) -> str:
    """Number as text, briefly if it has many digits."""
    return f"{number:,}" if number < 10**15 else f"at least {10**15:.0e}"


def find_optima(
    polynomial: WalshPolynomial, n_features: int, *, optimum: bool | str
) -> Optima:
    """Minimum and maximum of a function, where they are wanted and not too costly."""
    unknown = (None, None), (None, None)
    if optimum is False:
        return unknown
    max_entries = _MAX_ENTRIES[optimum]
    # A table over k variables and the one to eliminate has 2^(k + 1) entries.
    order = order_by_degree(
        find_neighbors(polynomial, n_features), max_width=max_entries.bit_length() - 2
    )
    if not order.held and order.cost <= max_entries:
        advice = 'use optimum="auto" or optimum=False'
        low, high = (
            maximize_by_order(polynomial.times(sign), order, -1, advice)
            for sign in (-1.0, 1.0)
        )
        return (
            (polynomial.exact_value(low), low),
            (polynomial.exact_value(high), high),
        )
    if optimum is True:
        raise ValueError(
            "optimum=True: the interactions of this function are too entangled for an "
            f"exact optimum with at most {max_entries} table entries. "
            'Use optimum="auto" or optimum=False.'
        )
    return unknown


def sample(
    polynomial: WalshPolynomial,
    n_features: int,
    rng: np.random.RandomState,
    *,
    n_samples: int,
    noise: float,
    snr: float | None,
    coding: str,
    return_X_y: bool,
    optima: Optima,
    direction: str,
    descr: str,
    feature_names: list[str] | None = None,
    **extra: Any,
) -> Any:
    """Bunch, or (X, y), of uniform random inputs to a function."""
    # The random numbers continue those of the problem: the number of samples, the noise
    # and the coding do not change it. `extra` are further fields of the Bunch.
    if snr is not None:
        if noise:
            raise ValueError(
                f"noise={noise} and snr={snr} both set the noise: give one of them."
            )
        noise = np.sqrt(polynomial.variance / snr)
    spins = 2 * rng.randint(2, size=(n_samples, n_features), dtype=np.int8) - 1
    # The constant comes first, so that rounding is that of a plain sum.
    weights = np.array([polynomial.intercept, *polynomial.weights])
    y = evaluate(spins, *flatten_sets([(), *polynomial.terms]), weights)
    if noise:
        y += noise * rng.standard_normal(n_samples)

    def encode(spins: NDArray) -> NDArray[np.float64]:
        return (spins if coding == "pm1" else spins > 0).astype(np.float64)

    X = encode(spins)
    if return_X_y:
        return X, y
    ends = {}
    for end, (value, x) in zip(("minimum", "maximum"), optima, strict=True):
        ends[end] = value
        ends[f"x_{end}"] = None if x is None else encode(x)
    return Bunch(
        X=X,
        y=y,
        terms=list(polynomial.terms),
        weights=polynomial.weights,
        intercept=polynomial.intercept,
        noise=float(noise),
        feature_names=feature_names or [f"x{i}" for i in range(n_features)],
        direction=direction,
        DESCR=descr,
        **ends,
        **extra,
    )
