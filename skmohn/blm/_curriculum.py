"""Black-box objectives: what a user passes, and what comes back from it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, isnan
from numbers import Integral

import numpy as np


@dataclass(frozen=True)
class Stage:
    """One stage of a curriculum.

    Parameters
    ----------
    objective : callable
        Called as ``objective(policy, rng, incumbent)``; returns the loss.
    goal : float, default=None
        Loss at which the next stage starts. A run that misses it within
        `max_evaluations` ends. None uses all evaluations.
    max_evaluations : int, default=None
        Maximum number of evaluations; None for that of the estimator.

    Examples
    --------
    >>> from skmohn.blm import Stage
    >>> from skmohn.datasets import InvertedPendulum
    >>> short = InvertedPendulum(duration=2.0, transient=0.0, n_simulations=16)
    >>> [Stage(short, goal=0.1, max_evaluations=1500), Stage(InvertedPendulum())]
    [Stage(...), Stage(...)]
    """

    objective: Callable
    goal: float | None = None
    max_evaluations: int | None = None


def read_stages(objective, goal, max_evaluations):
    """The curriculum that a user means, with every limit filled in.

    Parameters
    ----------
    objective : callable, Stage or sequence of these

    goal : float or None
        Of the last one, unless that is a Stage.

    max_evaluations : int
        Of those that do not say.

    Returns
    -------
    stages : tuple of Stage
    """
    given = objective
    if callable(objective) or isinstance(objective, Stage):
        given = [objective]
    try:
        given = list(given)
    except TypeError:
        raise TypeError(
            "objective must be callable, a Stage or a sequence of these, got "
            f"{objective!r}"
        ) from None
    if not given:
        raise ValueError("objective has no stages")
    stages = []
    for place, stage in enumerate(given, start=1):
        if not isinstance(stage, Stage):
            stage = Stage(stage, goal if place == len(given) else None)
        if not callable(stage.objective):
            raise TypeError(
                f"the objective of stage {place} must be callable, got "
                f"{stage.objective!r}"
            )
        limit = stage.max_evaluations
        limit = max_evaluations if limit is None else limit
        if not isinstance(limit, Integral) or limit < 1:
            raise ValueError(
                f"max_evaluations of stage {place} must be a positive integer, got "
                f"{limit!r}"
            )
        stages.append(replace(stage, max_evaluations=limit))
    return tuple(stages)


def read_size(name, size, stages):
    """Number of inputs or outputs: that of the user, of the objectives, or both."""
    for place, stage in enumerate(stages, start=1):
        found = getattr(stage.objective, name, None)
        if found is None:
            continue
        if size is not None and found != size:
            what = "observations" if name == "n_inputs" else "actions"
            raise ValueError(
                f"{what} of stage {place} have shape {(found,)}, but those of the "
                f"controller {(size,)}: change {name}"
            )
        size = found
    if size is None:
        raise ValueError(
            f"{name}=None, but the objective has no attribute of that name: pass "
            f"{name} to the estimator"
        )
    return int(size)


def call_objective(objective, policy, place, incumbent, where):
    """Value of an objective, which has to be a number; NaN is the worst of all."""
    try:
        loss = objective(policy, np.random.default_rng(place), incumbent)
    except Exception as error:
        error.add_note(f"Raised by the objective ({where}).")
        raise
    try:
        loss = float(loss)
    except (TypeError, ValueError):
        raise TypeError(
            f"the objective must return a number, got {loss!r} ({where})"
        ) from None
    return inf if isnan(loss) else loss
