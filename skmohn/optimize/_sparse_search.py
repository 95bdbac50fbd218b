"""Sparse models of uniform samples: when one is fitted, a part at each evaluation."""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skmohn._core._fitting import gather_warnings
from skmohn._core._tuned import tuned
from skmohn._core._units import power_of_two_scale
from skmohn._core._walsh import WalshPolynomial
from skmohn.mohn import MOHNRegressor
from skmohn.mohn._engine import ExactFitTest, Pursuit, PursuitControl, make_design
from skmohn.optimize._archive import Archive
from skmohn.optimize._model_search import minimize
from skmohn.optimize._space import Space


@dataclass(frozen=True)
class SparseSearchConstants:
    """Schedule and cost of sparse searches."""

    # Evaluations before the first model, at least.
    min_samples: int = tuned(8, "benchmarks/ablation.py")
    # A model is tried when the samples have grown by this factor since the last trial;
    # by the second one where more samples than most functions need have not led to one.
    growth: float = tuned(1.05, "benchmarks/ablation.py")
    slow_growth: float = tuned(1.5, "benchmarks/ablation.py")
    # Samples that most functions need.
    n_samples_per_variable: int = tuned(30, "benchmarks/ablation.py")
    # What a trial may cost between two evaluations, about nanoseconds: at least, and
    # for each pair of variables. It goes on after the next one.
    min_work: float = tuned(3e7, "cost")
    work_per_pair: float = tuned(7e4, "cost")
    # What each step of a trial costs besides; an entry of a column that messages go by.
    work_per_step: float = tuned(5e5, "cost")
    work_per_entry: float = tuned(8.0, "cost")
    # Weights of a trial's model, at most: what solving with so many may cost for each
    # cubed weight, and the fraction of the samples that they may be in any case.
    work_per_cubed_weight: float = tuned(0.1, "cost")
    max_weights_fraction: float = tuned(0.5, "benchmarks/ablation.py")
    # What screening high orders may cost in a trial; no order may cost more than a
    # part.
    max_screening_work: float = tuned(1e8, "cost")


SPARSE_SEARCH = SparseSearchConstants()


class SparseCandidate(NamedTuple):
    """Sparse model of all evaluations, and its best point."""

    graph: WalshPolynomial  # of the free variables as -1 and +1
    state: np.ndarray
    is_exact: bool  # the model reproduces all evaluations
    is_proved: bool  # besides, no point of the model is better


class PursuitRun:
    """Pursuit on some samples, a part at a time."""

    # Its progress is not part of its state: a copy, and one that was interrupted, go
    # over the same parts again. A part ends after so many nanoseconds of `work`, from
    # counts; inputs are -1 and +1.

    def __init__(
        self, inputs: NDArray[np.float64], values: NDArray[np.float64], work: float
    ) -> None:
        self.inputs, self.values, self.work = inputs, values, work
        self._running = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_running": None}

    def result(self, n_parts: int) -> tuple[WalshPolynomial, bool] | None:
        """Do the next part, after `n_parts` others."""
        # Returned are the model and whether it is exact; None while there is more to
        # do.
        n_done, search, steps = self._running or (0, *self._start())
        # An interrupt leaves nothing that could go on. Parts that were done before and
        # count no longer are not done again: they ended nothing.
        self._running = None
        reason = None
        while n_done <= n_parts and reason is None:
            reason = self._do_part(steps)
            n_done += 1
        if reason is None:
            self._running = n_done, search, steps
            return None
        unit = power_of_two_scale(self.values)
        graph = WalshPolynomial.sort(search.model.terms, unit * search.model.coef, 0.0)
        terms = [term for term in graph.terms if term]
        is_exact = reason == "exact" and ExactFitTest(
            self.inputs, self.values / unit
        ).is_significant(terms)
        return graph, is_exact

    def _start(self) -> tuple[Pursuit, Generator[float, None, str]]:
        design = make_design(self.inputs.astype(np.int8), None)
        n_inputs = self.inputs.shape[1]
        order = 2
        while order < n_inputs and design.screening_cost(order + 1) <= self.work:
            order += 1
        n_samples, n_pairs = len(self.values), n_inputs * (n_inputs + 1) // 2
        n_columns = max(
            self.work / (SPARSE_SEARCH.work_per_entry * n_samples), 2 * n_pairs
        )
        control = PursuitControl(
            n_inputs,
            work_budget=SPARSE_SEARCH.max_screening_work,
            memory_budget=PursuitControl.memory_of(n_columns, n_samples),
            max_screened=order,
        )
        search = Pursuit(design, self.values / power_of_two_scale(self.values), control)
        max_weights = max(
            np.cbrt(self.work / SPARSE_SEARCH.work_per_cubed_weight),
            SPARSE_SEARCH.max_weights_fraction * n_samples,
        )
        search.max_weights = min(search.max_weights, int(max_weights))
        return search, search.steps()

    def _do_part(self, steps: Generator[float, None, str]) -> str | None:
        """Spend the work budget; return the stopping reason if the pursuit ended."""
        spent = 0.0
        while spent < self.work:
            try:
                spent += SPARSE_SEARCH.work_per_step + next(steps)
            except StopIteration as end:
                return end.value
        return None


class SparseModelSearch:
    """Uniform samples, until a sparse model is exact."""

    def __init__(self, space: Space) -> None:
        self.space = space
        # Model of the last trial, exact or not.
        self.interactions = WalshPolynomial((), np.empty(0), 0.0)
        self._next_run = SPARSE_SEARCH.min_samples
        self._run: PursuitRun | None = None
        self._n_done = 0

    def find(
        self, archive: Archive, deviation: float, seed: int, n_parts: int
    ) -> SparseCandidate | None:
        """Go on learning a sparse model, or begin if the samples have grown enough."""
        # With a deviation of the noise no model can be exact, and it is learned at
        # once; else `n_parts` of a run are done.
        if not self.space.is_binary:
            return None
        if deviation:
            self._run = None
            if (samples := self._samples(archive)) is None:
                return None
            X, values, counts = samples
            self.interactions = graph = _learn_noisy(X, values, counts, seed)
            return self._search(graph, False, archive, seed) if graph.terms else None
        sparse_candidate = None
        for _ in range(n_parts):
            sparse_candidate = sparse_candidate or self._do_part(archive, seed)
        return sparse_candidate

    def _samples(
        self, archive: Archive
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.integer]] | None:
        """Inputs, values and counts of samples, if it is time for a trial."""
        some = archive.is_sample
        n_samples, n_free = int(some.sum()), len(self.space.free)
        if n_samples < self._next_run:
            return None
        is_likely = n_samples < SPARSE_SEARCH.n_samples_per_variable * n_free
        self._next_run = n_samples * (
            SPARSE_SEARCH.growth if is_likely else SPARSE_SEARCH.slow_growth
        )
        values = archive.values[some]
        if np.ptp(values) == 0.0 or not np.any(archive.is_feasible):
            return None
        return (
            self.space.rows(archive.states[some]).inputs,
            values,
            archive.counts[some],
        )

    def _do_part(self, archive: Archive, seed: int) -> SparseCandidate | None:
        """Do a part of a trial; return what it finds, once it is done and exact."""
        if self._run is None:
            if (samples := self._samples(archive)) is None:
                return None
            X, values, _ = samples
            n_pairs = math.comb(len(self.space.free), 2)
            work = max(SPARSE_SEARCH.min_work, SPARSE_SEARCH.work_per_pair * n_pairs)
            self._run, self._n_done = PursuitRun(X, values, work), 0
        result = self._run.result(self._n_done)
        self._n_done += 1
        if result is None:
            return None
        self._run = None
        self.interactions, is_exact = result
        if not is_exact or not self.interactions.terms:
            return None
        X = self.space.rows(archive.states).inputs
        wrong = np.abs(self.interactions.predict(X) - archive.values)
        if wrong.max() > archive.rounding():
            return None
        return self._search(self.interactions, True, archive, seed)

    def _search(
        self, graph: WalshPolynomial, is_exact: bool, archive: Archive, seed: int
    ) -> SparseCandidate:
        """Best feasible point of a model."""
        space = self.space

        def predict(states: NDArray[np.integer]) -> NDArray[np.float64]:
            return graph.predict(space.rows(states).inputs)

        if space.listed is not None:
            state = space.listed[np.argmin(predict(space.listed))]
            return SparseCandidate(graph, state, is_exact, is_exact)
        if space.is_constrained:
            rng = np.random.default_rng(seed)
            ends = [
                _descend(predict, archive.states[i], space, rng)
                for i in archive.order()[:10]
            ]
            _, state = min(ends, key=lambda end: end[0])
            return SparseCandidate(graph, state, is_exact, False)
        found = minimize(graph, random_state=seed)
        state = archive.states[archive.order()[0]].copy()
        used = np.asarray(found.variables, dtype=int)
        state[space.free[used]] = (found.x > 0).astype(np.int64)
        return SparseCandidate(graph, state, is_exact, is_exact and found.optimal)


def _learn_noisy(
    X: NDArray[np.float64],
    values: NDArray[np.float64],
    counts: NDArray[np.integer],
    seed: int,
) -> WalshPolynomial:
    """Sparse model that the noise supports."""
    with gather_warnings():
        model = MOHNRegressor("pursuit", outliers="keep", random_state=seed)
        model.fit(X, values, sample_weight=counts)
    return WalshPolynomial.sort(model.terms_, model.weights_, model.intercept_)


def _descend(
    predict: Callable[[NDArray[np.integer]], NDArray[np.float64]],
    state: NDArray[np.integer],
    space: Space,
    rng: np.random.Generator,
) -> tuple[float, NDArray[np.integer]]:
    """Go to the best neighbor until none is better."""
    value = float(predict(state[None])[0])
    while True:
        near = space.neighbors(state, rng)
        values = predict(near)
        k = int(np.argmin(values))
        if values[k] >= value:
            return value, state
        state, value = near[k], float(values[k])
