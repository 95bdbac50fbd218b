"""How far rows of new groups are from predictions, by fits without their group."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from skmohn._core._tuned import tuned
from skmohn.mohn._outliers import Fit, Targets
from skmohn.mohn._table.rows import members_of
from skmohn.mohn._training_data import TrainingData


@dataclass(frozen=True)
class GroupConstants:
    """Fits without some groups."""

    # Fits, each without as large a part of the groups.
    n_folds: int = tuned(5, "benchmarks/ablation.py")


_GROUPS = GroupConstants()


def squares_of_new_groups(
    fit: Fit,
    solve: Callable[[TrainingData], Fit],
    targets: Targets,
    outliers: NDArray[np.bool_],
) -> NDArray[np.float64] | None:
    """Mean squared distance of each group, in predictive standard deviations."""
    # Terms and hyperparameters, too, are learned without the group: by those of all,
    # its own effect seems to be known. None where it is not known.
    samples = fit.samples
    group = samples.rows.group
    if group is None or fit.model is None or fit.has_planes:
        return None
    # Terms without a model have no intervals.
    if fit.solution.model is None:
        return None
    n_groups = len(np.unique(group))
    # Groups of one row are rows.
    if not 3 <= n_groups < len(group) or fit.solution.is_stopped:
        return None
    splitter: Any = GroupKFold(
        min(_GROUPS.n_folds, n_groups), shuffle=True, random_state=samples.seed
    )
    rows = cast(NDArray[np.intp], samples.row_index)
    squares = np.zeros(len(outliers))
    for _, test in splitter.split(rows, groups=group):
        new = np.zeros(len(outliers), dtype=bool)
        new[rows[test]] = True
        part = solve(targets.read(without=outliers | new))
        if part.model is None:
            return None
        squares[new] = targets.predict(new, part)[0] ** 2
    found = np.array([squares[rows[some]].mean() for some in members_of(group)])
    return found if np.all(np.isfinite(found)) else None
