"""Start of a search: codes that gradients or a smoother loss have found."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from skmohn._core._tuned import tuned
from skmohn.blm._local_search import Trainer, train
from skmohn.blm._network import DatasetProblem
from skmohn.blm._search import SearchOptions
from skmohn.blm._straight_through import has_gradient, train_quantized
from skmohn.blm._training_state import Codes


@dataclass(frozen=True)
class StartConstants:
    """Choice of the start."""

    # Weights from which on gradients choose it.
    min_weights: int = tuned(1000, "benchmarks/blm/large_tables.py")
    # Of the moves, and of the seconds if they are limited, by a smooth loss.
    smooth_fraction: float = tuned(0.5, "benchmarks/blm/losses.py")


_START = StartConstants()

Starts = Sequence[Codes | None]
# Seed and start of each.
Runs = Sequence[tuple[Sequence[int], Codes | None]]


def starts_quantized(
    problem: DatasetProblem, options: SearchOptions, search: str
) -> bool:
    """Whether gradients choose the start; refuse it where there are none."""
    if options.init == "quantized":
        if has_gradient(problem):
            return True
        raise ValueError(
            'init="quantized" needs gradients, which callable losses, activation='
            '"step" and recurrent networks do not have here: set init="bounded"'
        )
    # Published searches, and starts that the user has described, stay as they are.
    is_described = options.w_init != "auto" or options.sparsity > 0
    is_published = search != "adaptive" or options.telescopic not in ("auto", None)
    if options.init != "auto" or is_described or is_published:
        return False
    return has_gradient(problem) and problem.layout.n_weights >= _START.min_weights


def find_quantized_starts(
    trainer: Trainer[DatasetProblem],
    seeds: Sequence[Sequence[int]],
    n_jobs: int | None,
    deadline: float,
) -> Starts:
    """Codes of quantization-aware training for each run."""
    # Apart from the random numbers of the search.
    sequences = [np.random.SeedSequence(seed).spawn(1)[0] for seed in seeds]
    parallel: Any = Parallel(n_jobs=n_jobs, prefer="threads")
    return parallel(
        delayed(train_quantized)(
            trainer.problem,
            trainer.moves.n_bits,
            np.random.default_rng(sequence),
            deadline,
        )
        for sequence in sequences
    )


def split_moves(
    trainer: Trainer[DatasetProblem], smooth: dict[str, Any]
) -> tuple[Trainer[DatasetProblem], Trainer[DatasetProblem]]:
    """Trainer with a smooth loss for the first moves, and that for the others."""
    n_first = int(_START.smooth_fraction * trainer.max_flips)
    validation = trainer.validation
    if isinstance(validation, DatasetProblem):
        # Validation losses are without a penalty.
        validation = replace(validation, **{**smooth, "alpha": 0.0})
    first = replace(
        trainer,
        problem=replace(trainer.problem, **smooth),
        validation=validation,
        max_flips=n_first,
    )
    return first, replace(trainer, max_flips=trainer.max_flips - n_first)


def find_smooth_starts(
    trainer: Trainer[DatasetProblem],  # with the smooth loss
    seeds: Sequence[Sequence[int]],
    starts: Starts,
    n_jobs: int | None,
    deadline: float,
) -> Starts:
    """Codes that the search with a smooth loss ends with, for each run."""
    if deadline < inf:
        now = time.perf_counter()
        deadline = now + _START.smooth_fraction * (deadline - now)
    pairs = enumerate(zip(seeds, starts, strict=True))
    states = [trainer.begin(seed, start, index) for index, (seed, start) in pairs]
    states, _ = train(
        trainer,
        states,
        order="parallel",
        n_jobs=n_jobs,
        report=lambda advanced, best: False,
        deadline=deadline,
    )
    return [state.best_codes for state in sorted(states, key=lambda each: each.index)]
