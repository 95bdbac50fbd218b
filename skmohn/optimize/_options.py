"""What each method can be told, and what it has no use for."""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval


class _Temperatures:
    """Two positive finite numbers, the first not below the second."""

    def is_satisfied_by(self, value):
        """Whether a value is such a pair."""
        try:
            hot, cold = (float(temperature) for temperature in value)
        except (TypeError, ValueError):
            return False
        return bool(0 < cold <= hot < np.inf)

    def __str__(self):
        return "two finite numbers above 0, the higher first"


_COUNT = Interval(Integral, 1, None, closed="left")
_COUNT_OR_0 = Interval(Integral, 0, None, closed="left")
# Beyond this, indices into a table would not fit.
_WIDTH = Interval(Integral, 0, 30, closed="both")
_ORDER = Interval(Integral, 1, 30, closed="both")

OPTIONS = {
    "auto": {"max_width": _WIDTH, "n_sweeps": _COUNT},
    "hill_climb": {},
    "annealing": {"n_sweeps": _COUNT, "temperatures": _Temperatures()},
    "tabu": {"n_steps": _COUNT, "tenure": _COUNT_OR_0},
    "weight_satisfaction": {"max_order": _ORDER},
    "exact": {"max_width": _WIDTH},
}


def check_options(method, options):
    """Refuse options that a method does not have, and values that make no sense.

    Parameters
    ----------
    method : str

    options : dict or None

    Returns
    -------
    options : dict
    """
    options = {} if options is None else dict(options)
    allowed = OPTIONS[method]
    for name, value in options.items():
        if name not in allowed:
            known = ", ".join(map(repr, allowed)) or "none"
            raise ValueError(
                f"options has {name!r}, which method={method!r} does not know; it "
                f"knows {known}"
            )
        if not allowed[name].is_satisfied_by(value):
            raise ValueError(
                f"options[{name!r}] must be {allowed[name]}, got {value!r}"
            )
    return options


def check_use(method, *, x0, n_restarts, return_optima, n_jobs):
    """Refuse what a method would have to ignore."""
    if method == "exact":
        given = {"x0": x0, "n_restarts": n_restarts, "n_jobs": n_jobs}
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f'{name} means nothing to method="exact", which searches once and '
                    "from no point: leave it out"
                )
    if return_optima and method in ("exact", "auto"):
        raise ValueError(
            f"return_optima needs a method that ends at local optima, and "
            f"method={method!r} does not"
        )
