"""Which hyperparameters matter and which interact: parts of the variance."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from skmohn._core._fitting import History, gather_warnings
from skmohn._core._tuned import tuned
from skmohn.model_selection._param_space import ParamSpace, Setting
from skmohn.mohn import MOHNRegressor


@dataclass(frozen=True)
class InteractionConstants:
    """Estimate of the parts of the variance."""

    # Quasi-random settings, twice so many for each part.
    n_settings: int = tuned(1024, "cost")


_INTERACTIONS = InteractionConstants()


def analyze_variance(
    space: ParamSpace,
    settings: Sequence[Setting],
    scores: NDArray[np.float64],
    seed: int,
) -> History:
    """Parts of the variance of a score that parameters and their pairs explain."""
    # Functional analysis of variance of a Gaussian process that is fitted to the
    # scores (Hutter, Hoos and Leyton-Brown, 2014), with Sobol indices by pick and
    # freeze (Saltelli et al., 2010): of the settings drawn twice, some parameters of
    # the second ones are those of the first.
    names = [space.grid_name, *(p.name for p in space.varying)]
    sizes = [len(space.grids), *(len(p.values) for p in space.varying)]
    free = [j for j, size in enumerate(sizes) if size > 1]
    if len(settings) < 2 or not free or np.ptp(scores) == 0.0:
        return History()
    model = MOHNRegressor("gp", outliers="keep", random_state=seed)
    with gather_warnings():
        model.fit(space.encode_rows(settings)[:, free], scores)
    n, d = _INTERACTIONS.n_settings, len(names)
    drawn = qmc.Sobol(2 * d, scramble=False).random(n)
    first, second = np.split(drawn, 2, axis=1)

    def predict(quantiles: NDArray[np.float64]) -> NDArray[np.float64]:
        return model.predict(space.rows_at(quantiles)[:, free])

    base = predict(first)
    variance = float(base.var())
    if variance == 0.0:
        return History()

    def explained(frozen: Sequence[int]) -> float:
        mixed = second.copy()
        mixed[:, frozen] = first[:, frozen]
        return float(np.cov(base, predict(mixed), bias=True)[0, 1]) / variance

    main = {j: explained([j]) for j in free}
    parts: dict[tuple[str, ...], float] = {(names[j],): main[j] for j in free}
    for i, j in combinations(free, 2):
        parts[names[i], names[j]] = explained([i, j]) - main[i] - main[j]
    records = [
        {"parameters": of, "variance_fraction": min(max(part, 0.0), 1.0)}
        for of, part in parts.items()
    ]
    return History(sorted(records, key=lambda r: -r["variance_fraction"]))
