"""What the classifier and the regressor share: from samples to a trained network."""

import time
from numbers import Integral, Real
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_is_fitted,
)

from skmohn._core._control import Nested
from skmohn._core._fitting import FitLoop, warn_caller
from skmohn._core._rows import order_of
from skmohn._core._scaling import fitted_scaler
from skmohn._core._times import validate_columns
from skmohn._core._validation import as_counts, densify, is_pair_given
from skmohn.blm._codec import auto_bound, auto_range
from skmohn.blm._network import (
    ACTIVATIONS,
    Layout,
    Problem,
    forward,
    read_hidden_sizes,
)
from skmohn.blm._policy import SequenceProblem, outputs_of
from skmohn.blm._search import WORST, Moves, SearchControl, Start
from skmohn.blm._sequences import (
    SequenceForm,
    hold_out,
    lay_out,
)
from skmohn.blm._storage import (
    network_attributes,
    read_network,
    write_network,
)
from skmohn.blm._training import MOVES_PER_EPOCH, Plan, train

# Moves tried per weight when max_flips is "auto".
_AUTO_FLIPS = 500


def _positive(kind):
    return Interval(kind, 0, None, closed="neither")


class BaseBLM(Nested, SequenceForm, CallbackSupportMixin, BaseEstimator):
    """Network trained by local search on the bits of its weights."""

    _controls = {"search_control": SearchControl}
    _parameter_constraints = {
        "hidden_layer_sizes": [
            "array-like",
            Interval(Integral, 1, None, closed="left"),
        ],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "recurrent": ["boolean", StrOptions({"steps", "sequences"})],
        "n_bits": [Interval(Integral, 2, 24, closed="both")],
        "w_max": [_positive(Real), "array-like", StrOptions({"auto"})],
        "search": [StrOptions({"adaptive", "gray"})],
        "search_control": [SearchControl, None],
        "perturbation": [Interval(Real, 0, 1, closed="both")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "standardize": ["boolean"],
        "n_restarts": [Interval(Integral, 1, None, closed="left")],
        "ensemble": [Interval(Integral, 1, None, closed="left")],
        "max_flips": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_time": [_positive(Real), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    # Whether StandardScaler scales the targets, and the built-in loss whose outputs are
    # as raw as those of a loss that the user has written.
    _scales_targets = False
    _raw_loss = "hinge"

    # ------------------------------------------------------------------- fitting

    @with_callbacks
    def _fit(self, X, y, sample_weight, X_val, y_val, *, go_on, epochs=None):
        """Learn; with `go_on` from the present weights and codings."""
        self._check_parameters()
        seconds = np.inf if self.max_time is None else self.max_time
        deadline = time.perf_counter() + seconds
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        given = X, y, metadata
        y, y_val = densify(y), densify(y_val)
        read = self._read_sequences if self.recurrent else self._read_rows
        samples = read(X, y, sample_weight, learn=not go_on)
        if not samples[2].any():
            raise ValueError("sample_weight is zero for every sample")
        validation = self._read_validation(X_val, y_val, y)
        if validation is None and self.early_stopping:
            samples, validation = self._hold_out(*samples)
        if not self.recurrent:
            samples = _merge_rows(*samples)
        if not go_on:
            self._learn_scales(*samples[:3])
        plan = self._plan(samples, validation, epochs)
        self._search(plan, given, go_on, deadline)
        # An epoch of partial_fit need not be the last one.
        if epochs is None and _was_cut_short(self.stopping_reason_, self.loss_curve_):
            warn_caller(
                f"the loss was still falling after max_flips={plan.max_flips} moves: "
                "raise max_flips",
                ConvergenceWarning,
            )
        return self

    def _read_rows(self, X, y, sample_weight, learn):
        """Inputs, targets and weights of the samples that count."""
        self._per_step = None
        X, targets = self._read_samples(X, y, learn)
        weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        weights = as_counts(weights * self._class_weights(y))
        counts = weights > 0
        if counts.all():
            return X, targets, weights
        return X[counts], targets[counts], weights[counts]

    def _fit_epoch(self, X, y, sample_weight):
        """Train for one epoch, whatever `max_flips` is."""
        go_on = hasattr(self, "codes_")
        return self._fit(X, y, sample_weight, None, None, go_on=go_on, epochs=1)

    def _search(self, plan, given, go_on, deadline):
        random_state = check_random_state(self.random_state)
        seeds = random_state.randint(2**31, size=(self.n_restarts, 1)).tolist()
        starts = [None] * self.n_restarts
        self._n_continued = self._n_continued + 1 if go_on else 0
        if go_on:
            self._check_same_network(plan.w_max)
            starts[0] = self.codes_
            # With the seed alone every call would try the same moves again.
            seeds = [[*seed, self._n_continued] for seed in seeds]
        runs = []
        for seed, start in zip(seeds, starts, strict=True):
            if not runs or time.perf_counter() < deadline:
                runs.append(plan.begin(seed, start))
        n_weights = plan.problem.layout.n_weights
        n_epochs = -(-plan.max_flips // (MOVES_PER_EPOCH * n_weights))
        loop = FitLoop(self, *given, n_epochs, lambda run: self._fitted([run], plan))
        runs = train(
            plan,
            runs,
            self.n_jobs,
            lambda run: loop.step(run.records[-1], run),
            deadline,
        )
        loop.finish(runs[0])
        if runs[0].best_loss >= WORST:
            raise ValueError(
                "no weights with a finite loss were found: a loss of your own must "
                "return numbers for outputs near zero, and huge values of X and y need "
                "standardize=True"
            )
        for name, value in self._fitted(runs, plan).items():
            setattr(self, name, value)
        self.history_ = loop.history
        self.n_iter_ = len(runs[0].records) - 1
        self.stopping_reason_ = runs[0].reason

    def _fitted(self, runs, plan):
        """Fitted attributes, given the runs from the best on."""
        members = [run.best_codes for run in runs[: self.ensemble]]
        return {
            **network_attributes(members, plan.problem.layout, self.n_bits, plan.step),
            "_made_with": self._network_parameters(),
            "_loss": self._raw_loss if callable(self.loss) else self.loss,
            "w_max_": plan.w_max,
            "n_movable_bits_": int(runs[0].search.state[0].bits),
            "loss_": float(runs[0].best_loss),
            "loss_curve_": [record["loss"] for record in runs[0].records],
            "out_activation_": self._out_activation(),
        }

    def _plan(self, samples, validation, epochs):
        n_inputs, n_outputs = samples[0].shape[1], samples[1].shape[1]
        sizes = n_inputs, *self._hidden_sizes(), n_outputs
        layout = Layout(sizes, bool(self.recurrent))
        kind = SequenceProblem if self.recurrent else Problem
        layout.require_memory(len(samples[0]), self.n_bits)
        loss, number, own = self._loss_of(n_outputs)
        # Where all samples are right nothing else has a slope: it would undo the rest.
        alpha = 0.0 if self.loss == "zero_one" else self.alpha
        problems = [
            None
            if part is None
            else kind(
                layout=layout,
                activation=self.activation,
                loss=loss,
                loss_number=number,
                own_loss=own,
                X=_single(self._scale_inputs(part[0]), "X"),
                y=_single(self._scale_targets(part[1]), "y"),
                sample_weight=part[2].astype(np.float32),
                alpha=alpha,
                **({"lengths": part[3]} if self.recurrent else {}),
            )
            for part, alpha in ((samples, alpha), (validation, 0.0))
        ]
        max_flips = self.max_flips
        if epochs is not None:
            max_flips = epochs * MOVES_PER_EPOCH * layout.n_weights
        elif max_flips == "auto":
            max_flips = _AUTO_FLIPS * layout.n_weights
        control = self._control("search_control")
        return Plan(
            problem=problems[0],
            validation=problems[1],
            moves=Moves.of(control, self.n_bits, self.search, telescopic=None),
            start=Start.of(control, layout.spread(auto_bound(layout.sizes[:-1]))),
            w_max=self._w_max(layout),
            perturbation=self.perturbation,
            max_flips=max_flips,
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change,
        )

    def _w_max(self, layout):
        """Largest weight of each layer."""
        n_layers = len(layout.sizes) - 1
        if isinstance(self.w_max, str):
            is_scaled = self._scales_targets and self.standardize and n_layers > 1
            return auto_range(self.n_bits, layout.sizes[:-1], is_scaled)
        if isinstance(self.w_max, Real):
            return np.full(n_layers, float(self.w_max))
        w_max = check_array(
            self.w_max, dtype=float, ensure_2d=False, input_name="w_max"
        )
        if w_max.shape != (n_layers,) or not np.all(w_max > 0):
            raise ValueError(
                f"w_max must be a positive number, or one for each of the {n_layers} "
                f"layers of weights, got {self.w_max!r}"
            )
        return w_max

    # ---------------------------------------------------------------- validation

    def _check_parameters(self):
        """Check what concerns several parameters."""
        if self.ensemble > self.n_restarts:
            raise ValueError(
                f"ensemble={self.ensemble} averages that many runs, but n_restarts="
                f"{self.n_restarts}: raise n_restarts"
            )

    def _hidden_sizes(self):
        return read_hidden_sizes(self.hidden_layer_sizes)

    def _network_parameters(self):
        """The parameters without which the weights mean nothing."""
        return {
            "hidden_layer_sizes": self._hidden_sizes(),
            "recurrent": bool(self.recurrent),
            "activation": self.activation,
            "n_bits": int(self.n_bits),
            "standardize": bool(self.standardize),
        }

    def _check_same_network(self, w_max):
        """Going on from other weights makes sense for the same network alone."""
        now = self._network_parameters()
        changed = [name for name in now if now[name] != self._made_with[name]]
        if not changed and not np.array_equal(w_max, self.w_max_):
            changed = ["w_max"]
        if changed:
            raise ValueError(
                f"{' and '.join(changed)} changed since the fit that warm_start or "
                "partial_fit goes on from: keep to what it was, or fit anew"
            )

    def _read_table(self, X, **options):
        options = {"dtype": np.float64, "accept_sparse": "csr", **options}
        found = validate_columns(self, X, **options)
        if "y" in options:
            return densify(found[0]), found[1]
        return densify(found)

    def _read_validation(self, X_val, y_val, y):
        """Samples of the user that say which weights are best; None without."""
        if not is_pair_given(X_val, y_val):
            return None
        lengths, counts = (), 1.0
        if self.recurrent:
            X_val, y_val, counts, *lengths = self._lay_out(X_val, y_val)
            y = self._targets_of_rows(y)
        X_val, targets = self._read_samples(X_val, y_val, learn=False)
        weights = counts * self._class_weights(y_val, y) * np.ones(len(X_val))
        if not weights.any():
            raise ValueError(
                "class_weight is zero for the classes of all samples of X_val: pass "
                "some that count"
            )
        return X_val, targets, as_counts(weights), *lengths

    def _hold_out(self, X, targets, weights, lengths=None):
        n_samples = len(X) if lengths is None else len(lengths)
        if n_samples * self.validation_fraction < 1 or n_samples < 4:
            raise ValueError(
                f"early_stopping holds out validation_fraction="
                f"{self.validation_fraction} of {n_samples} samples, which leaves "
                "nothing to validate on; pass X_val and y_val or set "
                "early_stopping=False"
            )
        if self.recurrent:
            last = targets[np.cumsum(lengths) - 1]
            strata = None if self._per_step else self._strata(last)
            samples = X, targets, weights, lengths
            return hold_out(
                samples, self.validation_fraction, self.random_state, strata
            )
        parts = train_test_split(
            X,
            targets,
            weights,
            test_size=self.validation_fraction,
            random_state=check_random_state(self.random_state).randint(2**31),
            stratify=self._strata(targets),
        )
        return parts[::2], parts[1::2]

    # -------------------------------------------------------------------- scaling

    def _learn_scales(self, X, targets, weights):
        """Standardise with scikit-learn's scaler, if asked to."""
        self.input_scaler_ = self.target_scaler_ = None
        if self.standardize:
            # A step of a sequence is an input even where no output is judged.
            seen = None if self.recurrent else weights
            self.input_scaler_ = fitted_scaler(X, "X", seen)
            if self._scales_targets:
                self.target_scaler_ = fitted_scaler(targets, "y", weights)

    def _scale_inputs(self, X):
        return X if self.input_scaler_ is None else self.input_scaler_.transform(X)

    def _scale_targets(self, targets):
        scaler = self.target_scaler_
        return targets if scaler is None else scaler.transform(targets)

    def _outputs(self, X):
        """Mean of the members' outputs, shape (n_samples, n_outputs)."""
        check_is_fitted(self)
        run, lengths = forward, ()
        if self._made_with["recurrent"]:
            X, *lengths = lay_out(X)
            run = outputs_of
        X = self._scale_inputs(self._read_table(X, reset=False))
        activation = self._made_with["activation"]
        outputs = [
            run(X, *lengths, *member, activation, self.out_activation_)
            for member in self.members_
        ]
        return np.mean(outputs, axis=0)

    # -------------------------------------------------------------------- storage

    def to_packed(self):
        """Write the best network at `n_bits` bits per weight.

        Returns
        -------
        bytes
            A header (what is needed to predict: sizes, activations, scales, classes)
            and then the Gray codes of the weights, `nbytes_` bytes. Of a loss that you
            have written nothing is kept.
        """
        check_is_fitted(self)
        return write_network(self)

    @classmethod
    def from_packed(cls, packed) -> Self:
        """Read a network that :meth:`to_packed` has written.

        Parameters
        ----------
        packed : bytes
            What that method returned.

        Returns
        -------
        estimator
            Ready to predict.

        Raises
        ------
        ValueError
            When the bytes are not those of such an estimator.
        """
        return read_network(cls, packed)

    def __sklearn_tags__(self):
        """Say what the estimator can take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _single(table, name):
    """Convert to single precision, in which networks are trained."""
    largest = max(table.max(initial=0.0), -table.min(initial=0.0))
    if largest > np.finfo(np.float32).max:
        raise ValueError(
            f"{name} has values too large for float32: standardize=True brings them "
            "into range"
        )
    return table.astype(np.float32)


def _merge_rows(X, targets, weights):
    """Merge equal samples.

    Then a repeated sample is one with a double weight, to the last bit; else rounding
    would send the searches to different minima.
    """
    table = np.column_stack([X, targets])
    # Zeros of either sign are equal, and so are their bytes then.
    table += 0.0
    order = order_of(table)
    table, weights = table[order], weights[order]
    is_new = np.append(True, np.any(table[1:] != table[:-1], axis=1))
    if not is_new.all():
        table = table[is_new]
        weights = np.add.reduceat(weights, np.flatnonzero(is_new))
    return table[:, : X.shape[1]], table[:, X.shape[1] :], weights


def _was_cut_short(reason, curve):
    """Whether the last tenth of all epochs still lowered the loss by a hundredth."""
    return (
        reason == "max_flips"
        and curve[-1] < 0.99 * curve[-max(len(curve) // 10, 3) :][0]
    )
