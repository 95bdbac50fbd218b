"""Fit of a spike-and-slab model to samples, an order at a time."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skmohn._core._memory import format_bytes
from skmohn._core._tuned import tuned
from skmohn.mohn._design.terms import count_sets
from skmohn.mohn._models import LISTING, FitResult
from skmohn.mohn._options import FitSettings, Report
from skmohn.mohn._spike_slab.fit import STARTS, fit_additive, fit_spike_slab, memory_of
from skmohn.mohn._spike_slab.model import SpikeSlabModel
from skmohn.mohn._spike_slab.vamp import Start
from skmohn.mohn._table.target import UNCHANGED, Transform
from skmohn.mohn._training_data import TrainingData, ValidationData


@dataclass(frozen=True)
class SpikeSlabWorkConstants:
    """Work and orders of spike-and-slab models."""

    # Highest order by default, unless there are too many sets.
    max_order: int = tuned(3, "benchmarks/ablation.py")
    max_sets: int = tuned(50_000, "cost")
    # Rough nanoseconds of a fit: of the decomposition, by the cubed number of rows or
    # sets, and by the square of it for each set; and of about 100 iterations of each
    # start, by entries of the columns and by sets.
    work_per_cube: float = tuned(0.6, "cost")
    work_per_square: float = tuned(0.2, "cost")
    work_per_entry: float = tuned(17.0, "cost")
    work_per_set: float = tuned(8000.0, "cost")
    # Work limit of order 3, or beside other models.
    max_work: float = tuned(4e9, "cost")
    # Work limit of order 3 beside other models, and its start: it is worth a second
    # where rows are few, and runs from the sparsest start ended as those from all did
    # (three polynomials, traps and heredity, 150 to 500 rows).
    max_work_brief: float = tuned(8e8, "cost")
    # Order up to which the limit is higher: the highest of the classifier.
    max_order_brief: int = tuned(2, "cost")


SPIKE_SLAB_WORK = SpikeSlabWorkConstants()
_BRIEF = (Start(0.02, 0.35, True),)


def solve_spike_slab(
    samples: TrainingData, settings: FitSettings, report: Report, is_brief: bool = False
) -> FitResult | None:
    """Learn the posterior of all sets of low orders; keep the shortest description."""
    # Sets are never preselected by their correlation with the target: of many thousands
    # the best interpolate any target, and the evidence would be that of a fit to noise.
    # The target is not constant, and columns vary. `is_brief` skips fits of more than
    # seconds. None if all runs diverge; MemoryError if the lowest order exceeds
    # `memory_budget`.
    n_rows, n_inputs = samples.inputs.shape
    orders = _orders(n_rows, n_inputs, settings, is_brief)
    inputs, best, coverage = samples.rows.as_float().inputs, None, []
    for order in orders:
        starts = _starts(order, is_brief)
        model = fit_spike_slab(
            inputs,
            samples.y,
            samples.sample_weight,
            order,
            starts,
            samples.seed,
            SPIKE_SLAB_WORK.max_work_brief if is_brief else SPIKE_SLAB_WORK.max_work,
        )
        n_sets = math.comb(n_inputs, order)
        coverage.append({"order": order, "possible": n_sets, "tried": n_sets})
        if model is None:
            continue
        if best is None or model.description_length() < best.description_length():
            best = model
        if report(
            _record(model, order, samples.validation),
            model.significant_terms()[0],
            model,
        ):
            break
    if best is None:
        return None
    graph, errors = best.significant_terms(settings.max_order)
    n_sets, highest = len(best.candidates.terms), len(best.candidates.terms[-1])
    rate = LISTING.max_mean_exclusion
    reason = (
        f"posterior mean of all {n_sets:,} sets up to order {highest}; "
        f"{len(graph.terms)} of them are listed, at most {rate:.1%} "
        "expected to be false"
    )
    return FitResult.of_model(best, (graph, errors), reason, coverage)


def refit_spike_slab(
    model: SpikeSlabModel, samples: TrainingData, train: NDArray[np.intp]
) -> SpikeSlabModel | None:
    """Fit the sets of a model to some rows, by message passing; None if it diverges."""
    order = len(model.candidates.terms[-1])
    weights = samples.sample_weight
    return fit_spike_slab(
        samples.rows.as_float().take(train).inputs,
        samples.y[train],
        None if weights is None else weights[train],
        order,
        _starts(order, is_brief=True),
        samples.seed,
        max_work=0.0,
    )


def solve_additive(
    samples: TrainingData, transform: Transform = UNCHANGED
) -> FitResult:
    """Learn weights of single inputs alone, see `fit_additive`."""
    rows = samples.rows.as_float()
    model = fit_additive(rows.inputs, samples.y, samples.sample_weight, transform)
    if model.is_transformed:
        model = model.with_range(rows, samples.y, samples.sample_weight)
    graph, errors = model.significant_terms()
    n_terms = len(model.candidates.terms)
    coverage = [{"order": 1, "possible": rows.inputs.shape[1], "tried": n_terms}]
    on_scale = f", for the target's {model.transform}" if model.is_transformed else ""
    reason = (
        f"ridge regression on {n_terms:,} columns by its evidence{on_scale}; "
        f"{len(graph.terms)} of them are significant"
    )
    return FitResult.of_model(model, (graph, errors), reason, coverage)


def is_affordable(
    n_rows: int, n_sets: int, settings: FitSettings, n_outputs: int = 1
) -> bool:
    """Whether a fit fits in memory and takes seconds at most."""
    return _fits(n_sets, n_rows, settings.memory_budget) and (
        n_outputs * work_of(n_sets, n_rows) <= SPIKE_SLAB_WORK.max_work
    )


def _orders(n_rows: int, n_inputs: int, settings: FitSettings, is_brief: bool) -> range:
    """Orders up to `max_order`, or up to the highest affordable one."""
    # Raises MemoryError if that of `max_order`, or the first, exceeds `memory_budget`.
    highest = min(settings.max_order or SPIKE_SLAB_WORK.max_order, n_inputs)
    if settings.max_order is None:
        while highest > 1 and _is_much(n_rows, n_inputs, highest, settings, is_brief):
            highest -= 1
    n_sets = count_sets(n_inputs, highest)
    if not _fits(n_sets, n_rows, settings.memory_budget):
        raise MemoryError(
            f'strategy="spike_slab" with {n_sets:,} sets up to order {highest} needs '
            f"{format_bytes(memory_of(n_sets, n_rows))} of memory, but memory_budget "
            f"is {format_bytes(settings.memory_budget)}: raise it or lower max_order"
        )
    return range(1, highest + 1)


def _is_much(
    n_rows: int, n_inputs: int, order: int, settings: FitSettings, is_brief: bool
) -> bool:
    """Whether all sets up to an order are too many."""
    n_sets = count_sets(n_inputs, order)
    if n_sets > SPIKE_SLAB_WORK.max_sets or not _fits(
        n_sets, n_rows, settings.memory_budget
    ):
        return True
    is_high = order > SPIKE_SLAB_WORK.max_order_brief
    if not (is_high or is_brief):
        return False
    constants, is_short = SPIKE_SLAB_WORK, is_high and is_brief
    max_work = constants.max_work_brief if is_short else constants.max_work
    return work_of(n_sets, n_rows, len(_starts(order, is_brief))) > max_work


def _starts(order: int, is_brief: bool) -> tuple[Start, ...]:
    return _BRIEF if is_brief and order > SPIKE_SLAB_WORK.max_order_brief else STARTS


def _fits(n_sets: int, n_rows: int, memory_budget: float) -> bool:
    return memory_of(n_sets, n_rows) <= memory_budget


def work_of(n_sets: int, n_rows: int, n_starts: int = len(STARTS)) -> float:
    """Rough nanoseconds of a fit, from counts alone."""
    smaller = float(min(n_sets, n_rows))
    of_set = SPIKE_SLAB_WORK.work_per_square * smaller**2 + n_starts * (
        SPIKE_SLAB_WORK.work_per_entry * smaller + SPIKE_SLAB_WORK.work_per_set
    )
    return SPIKE_SLAB_WORK.work_per_cube * smaller**3 + n_sets * of_set


def _record(
    model: SpikeSlabModel, order: int, held: ValidationData | None
) -> dict[str, object]:
    return {
        "order": order,
        "description_length": model.description_length(),
        "noise": model.noise_std(),
        "validation_rmse": held and held.rmse(model.predictive_mean),
        "n_weights": len(model.significant_terms()[0].terms),
    }
