"""Optuna's studies, whose trials are chosen by the search for black boxes."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skmohn._core._fitting import warn_caller
from skmohn._core._optional import import_optional
from skmohn._core._sklearn import Interval, StrOptions, validate_parameter_constraints
from skmohn._core._tuned import tuned
from skmohn.optimize import BlackBoxOptimizer
from skmohn.optimize._portfolio import EXTERNAL, SOURCES

optuna = import_optional("optuna", "MOHNSampler")
_State = optuna.trial.TrialState
# A point of the search: by the names of parameters, what stands for their values.
Point = dict[str, Any]
_CONSTRAINTS = {
    "seed": [Interval(Integral, 0, 2**32 - 1, closed="both"), None],
    "noise": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    "independent_sampler": [optuna.samplers.BaseSampler, None],
    "constraints_func": [callable, None],
}
_FINISHED = (_State.COMPLETE, _State.PRUNED, _State.FAIL)
# The attribute of a trial that names its source in the search.
_SOURCE = "mohn:source"


@dataclass(frozen=True)
class SamplerConstants:
    """Trials of a study."""

    # Many trials are added in so many parts: how well earlier parts predict later ones
    # measures how good predictions are.
    n_parts: int = tuned(4, "benchmarks/ablation.py")
    # Parameters of more values are left to the independent sampler.
    max_values: int = tuned(100, "cost")
    # Larger values count as infinite: squares of what they differ by would be.
    max_value: float = tuned(1e149, "rounding")


_SAMPLER = SamplerConstants()


class MOHNSampler(optuna.samplers.BaseSampler):
    """Optuna sampler for switches, categories and integers that interact.

    A :class:`~skmohn.optimize.BlackBoxOptimizer` chooses the trials of a study. It
    takes categorical parameters, integers of at most 100 values and conditional
    parameters that every complete trial has. All others, such as floats and integers on
    a logarithmic scale, are left to another sampler.

    Parameters
    ----------
    seed : int, default=None
        Seed. A study of one process without threads is then repeatable.
    noise : float or "auto", default="auto"
        Standard deviation of the noise in the values; 0 if there is none. "auto"
        repeats a few trials to find out. See
        :class:`~skmohn.optimize.BlackBoxOptimizer`.
    independent_sampler : optuna.samplers.BaseSampler, default=None
        Samples the other parameters, and the first trial. None for
        ``TPESampler(seed=seed)``.
    constraints_func : callable, default=None
        Called with each trial that is complete or pruned; returns a sequence of
        numbers, which are positive if a constraint is violated. Constraints that trials
        set themselves count as well.

    Raises
    ------
    ImportError
        If optuna is not installed.
    ValueError
        In studies of several objectives.

    See Also
    --------
    skmohn.optimize.BlackBoxOptimizer : The same search without Optuna.

    Notes
    -----
    The sampler uses only the trials of the study, so a study may begin with trials of
    other samplers, and several processes may work on it. A running trial is not
    repeated.

    A trial that is pruned counts as the worst complete one; one that violates
    constraints counts as worse, depending on the violation; one that failed is not
    repeated. Infinite values, and those beyond 1e149, count as the best or worst of the
    others. A trial whose parameters are not among the values searched, such as an
    enqueued one, does not count; if TPESampler cannot read one, parameters are drawn at
    random, with a warning. Once every combination of values has been tried, and
    repeated if there is noise, the independent sampler takes over.

    Examples
    --------
    >>> import optuna
    >>> from skmohn.integrations import MOHNSampler
    >>> def objective(trial):
    ...     switches = [trial.suggest_categorical(f"s{i}", [0, 1]) for i in range(4)]
    ...     level = trial.suggest_int("level", 1, 9)
    ...     return (level - 5) ** 2 + (sum(switches) - 2) ** 2
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=MOHNSampler(seed=0))
    >>> study.optimize(objective, n_trials=60)
    >>> study.best_value
    0.0
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        noise: float | str = "auto",
        independent_sampler: Any = None,
        constraints_func: Callable[[Any], Sequence[float]] | None = None,
    ) -> None:
        validate_parameter_constraints(
            _CONSTRAINTS,
            {
                "seed": seed,
                "noise": noise,
                "independent_sampler": independent_sampler,
                "constraints_func": constraints_func,
            },
            caller_name="MOHNSampler",
        )
        self.noise = noise
        self.constraints_func = constraints_func
        self.independent_sampler = independent_sampler
        self._random = None
        if independent_sampler is None:
            self.independent_sampler = optuna.samplers.TPESampler(seed=seed)
            self._random = optuna.samplers.RandomSampler(seed=seed)
        self._seed = int(check_random_state(seed).randint(2**31))
        self._lock = threading.Lock()
        self._search = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_lock": None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__ = {**state, "_lock": threading.Lock()}

    def reseed_rng(self) -> None:
        """Draw another seed, in a copy of the sampler as for a further thread."""
        self._seed = int(np.random.SeedSequence().generate_state(1)[0] >> 1)
        # Threads share this search, which asks for no point twice. A process with a
        # copy of it would.
        if self._search is not None and self._search.process != os.getpid():
            self._search = None
        self.independent_sampler.reseed_rng()
        if self._random is not None:
            self._random.reseed_rng()

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
        """Find the parameters that are searched together.

        Parameters
        ----------
        study : optuna.Study
            The study.
        trial : optuna.trial.FrozenTrial
            The new trial.

        Returns
        -------
        dict of str to BaseDistribution
            Those with few values that all complete trials have, or all finished trials
            if none is complete.
        """
        self._raise_error_if_multi_objective(study)
        trials = study.get_trials(deepcopy=False)
        common = optuna.search_space.intersection_search_space(trials)
        ended = [trial for trial in trials if trial.state in _FINISHED]
        if all(trial.state != _State.COMPLETE for trial in ended):
            # Otherwise what has failed would be drawn again until something succeeds.
            common = _common_distributions(ended)
        return {
            name: d
            for name, d in common.items()
            if 2 <= _count(d) <= _SAMPLER.max_values
        }

    def sample_relative(
        self, study: Any, trial: Any, search_space: dict[str, Any]
    ) -> dict[str, Any]:
        """Choose the parameters of a trial.

        Parameters
        ----------
        study : optuna.Study
            The study.
        trial : optuna.trial.FrozenTrial
            The new trial.
        search_space : dict of str to BaseDistribution
            Parameters to choose.

        Returns
        -------
        dict of str to object
            Their values.
        """
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        with self._lock:
            params, source = self._choose(study, trial, search_space)
        # A trial some of whose parameters are given is of no source.
        if "fixed_params" not in trial.system_attrs:
            study._storage.set_trial_system_attr(trial._trial_id, _SOURCE, source)
        return params

    def _choose(
        self, study: Any, trial: Any, search_space: dict[str, Any]
    ) -> tuple[dict[str, Any], str]:
        """Parameters of a trial, and what chose them."""
        trials = [
            other
            for other in study.get_trials(deepcopy=False)
            if other.number != trial.number
            and all(other.distributions.get(n) == d for n, d in search_space.items())
        ]
        codes = {name: _codes(d) for name, d in search_space.items()}
        points = {
            other.number: point
            for other in trials
            if (point := _encode(other.params, search_space, codes)) is not None
        }
        trials = [other for other in trials if other.number in points]
        losses = _losses(trials, study.direction)
        identity = study.study_name, search_space, self._read_noise(points, losses)
        if self._search is None or not self._search.continues(identity, losses):
            self._search = _Search(identity, codes, self._seed)
        self._search.learn(trials, points, losses)
        running = [t.number for t in trials if t.state not in _FINISHED]
        return self._search.next([points[number] for number in running])

    def _read_noise(
        self, points: Mapping[int, Point], losses: dict[int, float]
    ) -> float | str:
        """Noise as given; "auto" where trials contradict a noise of 0."""
        if self.noise != 0.0:
            return self.noise
        known = {}
        for number, loss in losses.items():
            key = tuple(points[number].items())
            if not np.isnan(loss) and known.setdefault(key, loss) != loss:
                warn_caller(
                    f"noise=0, but trial {number} has a different value than an "
                    "earlier one with the same parameters: noise is estimated instead; "
                    'pass noise="auto" or its standard deviation'
                )
                return "auto"
        return self.noise

    def sample_independent(
        self, study: Any, trial: Any, param_name: str, param_distribution: Any
    ) -> Any:
        """Choose one parameter that is not searched together with others.

        Parameters
        ----------
        study : optuna.Study
            The study.
        trial : optuna.trial.FrozenTrial
            The trial.
        param_name : str
            Name of the parameter.
        param_distribution : optuna.distributions.BaseDistribution
            Its values.

        Returns
        -------
        object
            The value.
        """
        self._raise_error_if_multi_objective(study)
        where = study, trial, param_name, param_distribution
        try:
            return self.independent_sampler.sample_independent(*where)
        except (ArithmeticError, TypeError, ValueError) as error:
            # A stored trial that it cannot read; what users pass has its own errors.
            if self._random is None:
                raise
            warn_caller(
                f"{param_name} is drawn at random, because TPESampler cannot read the "
                f"trials of this study: {error}"
            )
            return self._random.sample_independent(*where)

    def before_trial(self, study: Any, trial: Any) -> None:
        """Tell the independent sampler that a trial begins.

        Parameters
        ----------
        study : optuna.Study
            The study.
        trial : optuna.trial.FrozenTrial
            The trial.
        """
        self.independent_sampler.before_trial(study, trial)

    def after_trial(
        self, study: Any, trial: Any, state: Any, values: Sequence[float] | None
    ) -> None:
        """Evaluate the constraints of a trial that has ended.

        Parameters
        ----------
        study : optuna.Study
            The study.
        trial : optuna.trial.FrozenTrial
            The trial.
        state : optuna.trial.TrialState
            How it ended.
        values : sequence of float or None
            Its values.
        """
        if self.constraints_func is not None:
            from optuna.samplers._base import _process_constraints_after_trial

            _process_constraints_after_trial(self.constraints_func, study, trial, state)
        self.independent_sampler.after_trial(study, trial, state, values)


class _Search:
    """Search of one study and space, with the trials that it has read."""

    # Its identity is the name of the study, the distributions of the parameters by
    # their names, and the noise.

    def __init__(
        self,
        identity: tuple[str, dict[str, Any], float | str],
        codes: dict[str, list],
        seed: int,
    ) -> None:
        self.identity = identity
        _, self._distributions, noise = identity
        self._optimizer = BlackBoxOptimizer(codes, noise=noise, random_state=seed)
        self._learned = {}
        self.process = os.getpid()

    def continues(
        self,
        identity: tuple[str, dict[str, Any], float | str],
        losses: dict[int, float],
    ) -> bool:
        """Whether it is this search, and the losses it has learned are the same."""
        return identity == self.identity and all(
            number in losses and np.array_equal(losses[number], loss, equal_nan=True)
            for number, loss in self._learned.items()
        )

    def learn(
        self,
        trials: Sequence[Any],
        points: Mapping[int, Point],
        losses: dict[int, float],
    ) -> None:
        """Add the trials that have ended since."""
        not_learned = losses.keys() - self._learned.keys()
        new = [trial for trial in trials if trial.number in not_learned]
        n_parts = _SAMPLER.n_parts if len(new) > _SAMPLER.n_parts else 1
        for first, end in pairwise(np.linspace(0, len(new), n_parts + 1, dtype=int)):
            part = new[first:end]
            found = {trial.number: losses[trial.number] for trial in part}
            self._optimizer.tell(
                [points[number] for number in found],
                list(found.values()),
                [_source(trial) for trial in part],
            )
            self._learned.update(found)

    def next(self, taken: Sequence[Point]) -> tuple[dict[str, Any], str]:
        """Parameters of the next trial and their source; none where all were tried."""
        # What runs elsewhere is proposed once at most: it is pending from then on.
        for _ in range(len(taken) + 1):
            points = self._optimizer.ask()
            if points and points[0] not in taken:
                source = self._optimizer.pending_[-1]["source"]
                return self._decode(points[0]), source
        return {}, EXTERNAL

    def _decode(self, point: Point) -> dict[str, Any]:
        """Codes as values."""
        return {
            name: _value(distribution, int(point[name]))
            for name, distribution in self._distributions.items()
        }


def _common_distributions(trials: Sequence[Any]) -> dict[str, Any]:
    """Distributions of the parameters that all trials have alike."""
    first, *others = [trial.distributions for trial in trials] or [{}]
    return {
        name: d
        for name, d in sorted(first.items())
        if all(other.get(name) == d for other in others)
    }


def _count(distribution: Any) -> int:
    """Number of values that are searched; 0 for parameters that are not."""
    if isinstance(distribution, optuna.distributions.CategoricalDistribution):
        return len(distribution.choices)
    if isinstance(distribution, optuna.distributions.IntDistribution):
        width = distribution.high - distribution.low
        return 0 if distribution.log else width // distribution.step + 1
    return 0


def _codes(distribution: Any) -> list:
    """Numbers of the values, as strings where neighbors are not alike."""
    codes = list(range(_count(distribution)))
    if isinstance(distribution, optuna.distributions.CategoricalDistribution):
        choices = distribution.choices
        are_numbers = all(isinstance(choice, Real) for choice in choices)
        if not (are_numbers and all(a < b for a, b in pairwise(choices))):
            return list(map(str, codes))
    return codes


def _encode(
    params: Mapping[str, Any], search_space: dict[str, Any], codes: dict[str, list]
) -> Point | None:
    """Codes of parameters; None where a value is not searched."""
    point = {}
    for name, distribution in search_space.items():
        index = _index(distribution, params[name])
        if index is None:
            return None
        point[name] = codes[name][index]
    return point


def _index(distribution: Any, value: Any) -> int | None:
    """Index of a value; None where it is out of range or between two steps."""
    try:
        if isinstance(distribution, optuna.distributions.IntDistribution):
            index = (value - distribution.low) / distribution.step
        else:
            index = distribution.to_internal_repr(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(index) if index in range(_count(distribution)) else None


def _source(trial: Any) -> str:
    """Source of a trial; another sampler if that is not known."""
    source = trial.system_attrs.get(_SOURCE)
    return source if isinstance(source, str) and source in SOURCES else EXTERNAL


def _value(distribution: Any, index: int) -> Any:
    """Value of an index."""
    if isinstance(distribution, optuna.distributions.IntDistribution):
        return distribution.low + index * distribution.step
    return distribution.choices[index]


def _losses(trials: Sequence[Any], direction: Any) -> dict[int, float]:
    """Losses of the trials that have ended, by their numbers; small is good."""
    sign = 1.0 if direction == optuna.study.StudyDirection.MINIMIZE else -1.0
    violations = {t.number: _violation(t) for t in trials if t.state in _FINISHED}
    complete = {
        t.number: sign * t.value
        for t in trials
        if t.state == _State.COMPLETE and not violations[t.number]
    }
    usual = [
        value for value in complete.values() if abs(value) <= _SAMPLER.max_value
    ] or [0.0]
    best, worst = min(usual), max(usual)
    spread, largest = worst - best or 1.0, max(violations.values(), default=0.0)
    losses = {}
    for trial in trials:
        number = trial.number
        if number in complete:
            losses[number] = float(np.clip(complete[number], best, worst))
        elif trial.state == _State.FAIL:
            losses[number] = np.nan
        elif trial.state in _FINISHED:
            fraction = violations[number] / largest if largest else 0.0
            losses[number] = worst + spread * fraction
    return losses


def _violation(trial: Any) -> float:
    """Sum of what a trial lacks to satisfy its constraints, at most 1e149."""
    try:
        if hasattr(trial, "constraints"):
            constraints = trial.constraints.values()
        else:  # before Optuna 5
            constraints = trial.system_attrs.get("constraints") or ()
        numbers = [float(value) for value in constraints]
    except (TypeError, ValueError, OverflowError):
        return _SAMPLER.max_value
    # Nor does what is not a number satisfy one.
    lacks = [
        _SAMPLER.max_value if np.isnan(number) else max(number, 0.0)
        for number in numbers
    ]
    return min(sum(lacks), _SAMPLER.max_value)
