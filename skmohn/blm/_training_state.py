"""A training run: its present codes, the best ones, and where it is resumed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn.blm._search_kernels import Search

Codes = NDArray[np.integer]


class Stream(IntEnum):
    """Purposes of random numbers that must not depend on each other."""

    STARTS, MINIMA, OBJECTIVES, SEARCHES = range(4)


class Evaluated(NamedTuple):
    """Codes, and their mean loss over a number of evaluations."""

    codes: Codes
    loss: float
    n_evaluations: int = 1


@dataclass(eq=False)
class TrainingState:
    """State of a training run; it can be sent to another process and resumed there."""

    seed: Sequence[int]  # of all random numbers of the run
    index: int = 0  # which restart it is
    # Present codes and state of the search; None before the first evaluation.
    search: Search = field(init=False, repr=False)
    network: Any = None  # network of the present codes, while the state is advanced
    # Of problems with one stream of random numbers.
    rng: np.random.Generator | None = None
    stage: int = 0  # present stage
    # Stages that have reached their goals, or their ends without one.
    n_stages_done: int = 0
    evaluations: int = 0  # moves or objective calls so far
    stage_evaluations: int = 0  # the same in this stage
    n_evaluations: int = 1  # of the present codes, whose mean is their loss
    best_minimum: Evaluated | None = None  # best local minimum of this stage
    # Latest evaluation of a black box that was not bounded.
    reference_evaluation: tuple[int, Codes, list[int], float] | None = None
    validated: Evaluated | None = None  # codes with the latest validation loss
    # (n_weights,), int32; those with the lowest validation loss or, without validation,
    # the lowest loss of the latest stage.
    best_codes: Codes = field(init=False, repr=False)
    best_loss: float = inf  # of `best_codes`
    # Stage of `best_loss`, -1 for none; the last one with validation.
    best_stage: int = -1
    # Last `best_loss` that improved by more than the tolerance.
    reference_loss: float = inf
    patience_used: int = 0  # epochs since `reference_loss`
    records: list[dict[str, Any]] = field(default_factory=list)  # one for each epoch
    stopping_reason: str | None = None  # None while it can be advanced
    succeeded: bool = False  # a goal was reached

    @property
    def is_begun(self) -> bool:
        """Whether any codes have been evaluated."""
        return hasattr(self, "search")

    @property
    def loss(self) -> float:
        """Loss of the present codes."""
        return float(self.search.state[0].loss)

    @loss.setter
    def loss(self, loss: float) -> None:
        self.search.state[0].loss = loss

    @property
    def present(self) -> Evaluated:
        """Present codes."""
        return Evaluated(self.search.codes, self.loss, self.n_evaluations)

    @property
    def lowest(self) -> Evaluated:
        """Codes of lowest loss in this stage."""
        minimum = self.best_minimum
        if minimum is not None and minimum.loss < self.loss:
            return minimum
        return self.present

    @property
    def rank(self) -> tuple[int, float, int]:
        """Key to compare states, the smaller the better."""
        return -self.best_stage, self.best_loss, self.index
