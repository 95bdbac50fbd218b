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
    """Codes, and the mean loss of so many evaluations."""

    codes: Codes
    loss: float
    n_evaluations: int = 1


@dataclass(eq=False)
class TrainingState:
    """One training run; it can be sent to another process and resumed there.

    Attributes
    ----------
    seed : sequence of int
        Of all that it draws.
    index : int
        Which restart it is.
    search : Search
        Present codes and state of the search; missing before the first evaluation.
    network : object
        Network of the present codes, while the state is advanced.
    rng : Generator or None
        Of problems with one stream of random numbers.
    stage, n_stages_done : int
        Present stage; stages that have reached their goals, or their ends without one.
    evaluations, stage_evaluations : int
        Moves or objective calls so far, and in this stage.
    n_evaluations : int
        Evaluations of the present codes, whose mean is their loss.
    best_minimum : Evaluated or None
        Best local minimum of this stage.
    reference_evaluation : tuple of (stage, codes, seeds, loss) or None
        Latest evaluation of a black box that was not bounded.
    validated : Evaluated or None
        Codes with the latest validation loss.
    best_codes : ndarray of shape (n_weights,), int32
        Those with the lowest validation loss or, without validation, the lowest loss of
        the latest stage.
    best_loss : float
        That loss.
    best_stage : int
        Stage whose loss it is, -1 for none; the last one with validation.
    reference_loss : float
        Last `best_loss` that improved by more than the tolerance.
    patience_used : int
        Epochs since then.
    records : list of dict
        One for each epoch.
    stopping_reason : str or None
        None while it can be advanced.
    succeeded : bool
        Whether a goal was reached.
    """

    seed: Sequence[int]
    index: int = 0
    search: Search = field(init=False, repr=False)
    network: Any = None
    rng: np.random.Generator | None = None
    stage: int = 0
    n_stages_done: int = 0
    evaluations: int = 0
    stage_evaluations: int = 0
    n_evaluations: int = 1
    best_minimum: Evaluated | None = None
    reference_evaluation: tuple[int, Codes, list[int], float] | None = None
    validated: Evaluated | None = None
    best_codes: Codes = field(init=False, repr=False)
    best_loss: float = inf
    best_stage: int = -1
    reference_loss: float = inf
    patience_used: int = 0
    records: list[dict[str, Any]] = field(default_factory=list)
    stopping_reason: str | None = None
    succeeded: bool = False

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
        """The present codes."""
        return Evaluated(self.search.codes, self.loss, self.n_evaluations)

    @property
    def lowest(self) -> Evaluated:
        """The codes of lowest loss in this stage."""
        minimum = self.best_minimum
        if minimum is not None and minimum.loss < self.loss:
            return minimum
        return self.present

    @property
    def rank(self) -> tuple[int, float, int]:
        """The smaller the better."""
        return -self.best_stage, self.best_loss, self.index
