"""Optuna's studies, whose trials are chosen by the search for black boxes."""

import os
import threading
from itertools import pairwise
from numbers import Real

import numpy as np
from sklearn.utils import check_random_state

from skmohn._core._optional import import_optional
from skmohn._core._sklearn import Interval, StrOptions, validate_parameter_constraints
from skmohn.optimize import BlackBoxOptimizer

optuna = import_optional("optuna", "MOHNSampler")
_State = optuna.trial.TrialState
_FINISHED = (_State.COMPLETE, _State.PRUNED, _State.FAIL)
# Where a trial says which stream of the search has asked for it.
_STREAM = "mohn:stream"
# Many trials are told in so many parts: how well earlier parts predict later ones says
# how good predictions are.
_PARTS = 4
# Parameters of more values are left to the independent sampler.
_MOST_VALUES = 100


class MOHNSampler(optuna.samplers.BaseSampler):
    """Optuna sampler for switches, categories and whole numbers that interact.

    A :class:`~skmohn.optimize.BlackBoxOptimizer` chooses the trials of a study. It
    takes categorical parameters, integers of at most 100 values and, of conditional
    parameters, those that every complete trial has. All others, such as floats and
    integers on a logarithmic scale, are left to another sampler.

    Parameters
    ----------
    seed : int, default=None
        Seed. A study of one process without threads is then repeatable.
    noise : float or "auto", default="auto"
        Standard deviation of the noise in the values; 0 if there is none. "auto"
        repeats a trial to see. See :class:`~skmohn.optimize.BlackBoxOptimizer`.
    independent_sampler : optuna.samplers.BaseSampler, default=None
        Samples the other parameters, and the first trial. None for
        ``TPESampler(seed=seed)``.
    constraints_func : callable, default=None
        Called with each trial that is complete or pruned; returns a sequence of
        numbers, which are positive where a constraint is violated. Constraints that
        trials set themselves count as well.

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
    All that the sampler knows is in the trials of the study, so a study may begin with
    trials of other samplers, and several processes may work on it. A trial that is
    running is not repeated.

    A trial that is pruned counts as the worst complete one; one that violates
    constraints counts as worse, by how much it violates them; one that failed is not
    repeated. Infinite values count as the best or worst finite ones. Once every
    combination of values has been tried, the independent sampler takes over.

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
        seed=None,
        noise="auto",
        independent_sampler=None,
        constraints_func=None,
    ):
        validate_parameter_constraints(
            {"noise": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})]},
            {"noise": noise},
            caller_name="MOHNSampler",
        )
        self.noise = noise
        self.constraints_func = constraints_func
        self.independent_sampler = independent_sampler
        if independent_sampler is None:
            self.independent_sampler = optuna.samplers.TPESampler(seed=seed)
        self._seed = int(check_random_state(seed).randint(2**31))
        self._lock = threading.Lock()
        self._search = None

    def __getstate__(self):
        return {**vars(self), "_lock": None}

    def __setstate__(self, state):
        self.__dict__ = {**state, "_lock": threading.Lock()}

    def reseed_rng(self):
        """Draw another seed, in a copy of the sampler as for a further thread."""
        self._seed = int(np.random.SeedSequence().generate_state(1)[0] >> 1)
        # Threads share this search, which asks for no point twice. A process with a
        # copy of it would.
        if self._search is not None and self._search.process != os.getpid():
            self._search = None
        self.independent_sampler.reseed_rng()

    def infer_relative_search_space(self, study, trial):
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
            Those that all complete trials have, if they have few values.
        """
        self._raise_error_if_multi_objective(study)
        trials = study.get_trials(deepcopy=False)
        common = optuna.search_space.intersection_search_space(trials)
        return {name: d for name, d in common.items() if 2 <= _count(d) <= _MOST_VALUES}

    def sample_relative(self, study, trial, search_space):
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
            params, stream = self._choose(study, trial, search_space)
        # A trial some of whose parameters are given is of no stream.
        if "fixed_params" not in trial.system_attrs:
            study._storage.set_trial_system_attr(trial._trial_id, _STREAM, stream)
        return params

    def _choose(self, study, trial, search_space):
        """Parameters of a trial, and what chose them."""
        trials = [
            other
            for other in study.get_trials(deepcopy=False)
            if other.number != trial.number
            and all(other.distributions.get(n) == d for n, d in search_space.items())
        ]
        losses = _losses(trials, study.direction)
        identity = study.study_name, search_space
        if self._search is None or not self._search.continues(identity, losses):
            self._search = _Search(identity, self.noise, self._seed)
        running = [other for other in trials if other.state not in _FINISHED]
        self._search.learn(trials, losses)
        return self._search.next(running)

    def sample_independent(self, study, trial, param_name, param_distribution):
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
        return self.independent_sampler.sample_independent(
            study, trial, param_name, param_distribution
        )

    def before_trial(self, study, trial):
        """Tell the independent sampler that a trial begins.

        Parameters
        ----------
        study : optuna.Study
            The study.
        trial : optuna.trial.FrozenTrial
            The trial.
        """
        self.independent_sampler.before_trial(study, trial)

    def after_trial(self, study, trial, state, values):
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
    """A search of one study and space, as far as it has been told of its trials.

    Parameters
    ----------
    identity : tuple
        Name of the study, and distributions of the parameters by their names.

    noise : float or "auto"

    seed : int
    """

    def __init__(self, identity, noise, seed):
        self.identity = identity
        _, self._distributions = identity
        self._places = {name: _places(d) for name, d in self._distributions.items()}
        self._optimizer = BlackBoxOptimizer(
            self._places, noise=noise, random_state=seed
        )
        self._told = {}
        self.process = os.getpid()

    def continues(self, identity, losses):
        """Whether it is this search, and what it was told of still holds."""
        return identity == self.identity and all(
            number in losses and np.array_equal(losses[number], loss, equal_nan=True)
            for number, loss in self._told.items()
        )

    def learn(self, trials, losses):
        """Tell of the trials that have ended since."""
        not_told = losses.keys() - self._told.keys()
        new = [trial for trial in trials if trial.number in not_told]
        n_parts = _PARTS if len(new) > _PARTS else 1
        for first, end in pairwise(np.linspace(0, len(new), n_parts + 1, dtype=int)):
            part = new[first:end]
            found = {trial.number: losses[trial.number] for trial in part}
            self._optimizer.tell(
                [self._encode(trial.params) for trial in part],
                list(found.values()),
                [trial.system_attrs.get(_STREAM, "told") for trial in part],
            )
            self._told.update(found)

    def next(self, running):
        """Parameters of the next trial and their stream; none where all were tried."""
        taken = [self._encode(trial.params) for trial in running]
        # What runs elsewhere is asked for once at most: it is pending from then on.
        for _ in range(len(taken) + 1):
            points = self._optimizer.ask()
            if points and points[0] not in taken:
                stream = self._optimizer.asked_[-1]["stream"]
                return self._decode(points[0]), stream
        return {}, "told"

    def _encode(self, params):
        """Parameters as places among their values."""
        return {
            name: self._places[name][_index(distribution, params[name])]
            for name, distribution in self._distributions.items()
        }

    def _decode(self, point):
        """Places as values."""
        return {
            name: _value(distribution, int(point[name]))
            for name, distribution in self._distributions.items()
        }


def _count(distribution):
    """Number of values that are searched; 0 for parameters that are not."""
    if isinstance(distribution, optuna.distributions.CategoricalDistribution):
        return len(distribution.choices)
    if isinstance(distribution, optuna.distributions.IntDistribution):
        width = distribution.high - distribution.low
        return 0 if distribution.log else width // distribution.step + 1
    return 0


def _places(distribution):
    """Places of the values, as strings where neighbors are not alike."""
    places = list(range(_count(distribution)))
    if isinstance(distribution, optuna.distributions.CategoricalDistribution):
        choices = distribution.choices
        are_numbers = all(isinstance(choice, Real) for choice in choices)
        if not (are_numbers and all(a < b for a, b in pairwise(choices))):
            return list(map(str, places))
    return places


def _index(distribution, value):
    """Place of a value."""
    internal = int(distribution.to_internal_repr(value))
    if isinstance(distribution, optuna.distributions.IntDistribution):
        return (internal - distribution.low) // distribution.step
    return internal


def _value(distribution, place):
    """Value at a place."""
    if isinstance(distribution, optuna.distributions.IntDistribution):
        return distribution.low + place * distribution.step
    return distribution.choices[place]


def _losses(trials, direction):
    """What the trials that have ended count as, by their numbers; small is good."""
    sign = 1.0 if direction == optuna.study.StudyDirection.MINIMIZE else -1.0
    violations = {t.number: _violation(t) for t in trials if t.state in _FINISHED}
    complete = {
        t.number: sign * t.value
        for t in trials
        if t.state == _State.COMPLETE and not violations[t.number]
    }
    finite = [value for value in complete.values() if np.isfinite(value)] or [0.0]
    best, worst = min(finite), max(finite)
    spread, most = worst - best or 1.0, max(violations.values(), default=0.0)
    losses = {}
    for trial in trials:
        number = trial.number
        if number in complete:
            losses[number] = float(np.clip(complete[number], best, worst))
        elif trial.state == _State.FAIL:
            losses[number] = np.nan
        elif trial.state in _FINISHED:
            share = violations[number] / most if most else 0.0
            losses[number] = worst + spread * share
    return losses


def _violation(trial):
    """Sum of what a trial lacks to satisfy its constraints."""
    if hasattr(trial, "constraints"):
        constraints = trial.constraints.values()
    else:  # before Optuna 5
        constraints = trial.system_attrs.get("constraints") or ()
    return sum(max(float(value), 0.0) for value in constraints)
