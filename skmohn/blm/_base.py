"""What the classifier and the regressor share: from samples to a trained network."""

import time
from numbers import Integral, Real
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
)

from skmohn._core._fitting import FitLoop, warn_caller
from skmohn._core._html import HTMLRepr
from skmohn._core._options import Nested, control_of
from skmohn._core._quantiles import pull_in
from skmohn._core._scaling import fitted_scaler
from skmohn._core._sklearn import (
    N_JOBS,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    safe_indexing,
    with_callbacks,
)
from skmohn._core._text import refuse_text
from skmohn._core._times import validate_columns
from skmohn._core._validation import (
    as_counts,
    densify,
    is_pair_given,
    to_numpy,
    weighted_rows,
)
from skmohn.blm._codec import auto_bound, auto_range
from skmohn.blm._conversion import network_attributes, restore_network
from skmohn.blm._device.export import DeviceMixin
from skmohn.blm._device.network import of_estimator
from skmohn.blm._network import ACTIVATIONS, Layout, read_hidden_sizes
from skmohn.blm._rounding import round_mlp
from skmohn.blm._samples import Samples, form_of, learn_form
from skmohn.blm._search import WORST, Moves, SearchOptions, Start
from skmohn.blm._serialization import write_network
from skmohn.blm._training import MOVES_PER_EPOCH, Plan, train

# Moves tried per weight when max_flips is "auto".
_AUTO_FLIPS = 500


def _positive(kind):
    return Interval(kind, 0, None, closed="neither")


class BaseBLM(DeviceMixin, Nested, HTMLRepr, CallbackSupportMixin, BaseEstimator):
    """Network trained by local search on the bits of its weights."""

    _when_long = "max_time or a lower max_flips ends it earlier"
    _controls = {"search_options": SearchOptions}
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
        "search_options": [SearchOptions, None],
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
        "n_jobs": [*N_JOBS],
    }

    # Whether StandardScaler scales the targets, and the built-in loss whose outputs are
    # as raw as those of a loss that the user has written.
    _scales_targets = False
    _raw_loss = "hinge"

    # ------------------------------------------------------------------- fitting

    @with_callbacks
    def _fit(self, X, y, sample_weight, X_val, y_val, *, go_on, epochs=None):
        """Learn; with `go_on` from the present weights and codings."""
        deadline = time.perf_counter() + (self.max_time or np.inf)
        self._check_parameters(go_on)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        samples, judges = self._read(X, y, sample_weight, X_val, y_val, not go_on)
        if not go_on:
            self._learn_scales(samples)
        plan = self._plan(samples, judges, epochs)
        self._search(plan, (X, y, metadata), go_on, deadline)
        self._warn_if_cut_short(plan, epochs)
        return self

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
            if not np.array_equal(plan.w_max, self.w_max_):
                raise _is_another_network(["w_max"])
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
                "no weights with a finite loss were found: a custom loss must return "
                "finite numbers for outputs near zero, and huge values of X and y need "
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

    def _warn_if_cut_short(self, plan, epochs):
        # An epoch of partial_fit need not be the last one.
        if epochs is None and _was_cut_short(self.stopping_reason_, self.loss_curve_):
            warn_caller(
                f"the loss was still falling after max_flips={plan.max_flips} moves: "
                "raise max_flips",
                ConvergenceWarning,
            )

    def _plan(self, samples, judges, epochs):
        n_inputs, n_outputs = samples.X.shape[1], samples.targets.shape[1]
        sizes = n_inputs, *self._hidden_sizes(), n_outputs
        layout = Layout(sizes, bool(self.recurrent))
        layout.require_memory(len(samples.X), self.n_bits)
        loss, number, own = self._loss_of(n_outputs)
        # Where all samples are right nothing else has a slope: it would undo the rest.
        alpha = 0.0 if self.loss == "zero_one" else self.alpha
        options = {
            "layout": layout,
            "activation": self.activation,
            "loss": loss,
            "loss_number": number,
            "own_loss": own,
        }
        samples = self._scaled(samples)
        problem = self._form.problem(samples, alpha=alpha, **options)
        validation = None
        if judges is not None:
            validation = self._form.problem(self._scaled(judges), **options)
        max_flips = self.max_flips
        if epochs is not None:
            max_flips = epochs * MOVES_PER_EPOCH * layout.n_weights
        elif max_flips == "auto":
            max_flips = _AUTO_FLIPS * layout.n_weights
        control = control_of(self, "search_options")
        return Plan(
            problem=problem,
            validation=validation,
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

    def _check_parameters(self, go_on):
        """Check what concerns several parameters, or an earlier fit."""
        if self.ensemble > self.n_restarts:
            raise ValueError(
                f"ensemble={self.ensemble} needs that many runs, but n_restarts="
                f"{self.n_restarts}: raise n_restarts"
            )
        if go_on:
            now, before = self._network_parameters(), self._made_with
            changed = [name for name in now if now[name] != before[name]]
            if changed:
                raise _is_another_network(changed)

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

    def _read_table(self, X, **options):
        options = {"dtype": np.float64, "accept_sparse": "csr", **options}
        refuse_text(X, (), ", but numbers are needed: OneHotEncoder makes some of {it}")
        found = validate_columns(self, X, **options)
        if "y" in options:
            return densify(found[0]), found[1]
        return densify(found)

    @property
    def _form(self):
        """What a sample is."""
        return form_of(self._per_step)

    def _read(self, X, y, sample_weight, X_val, y_val, learn):
        """Samples to learn from, and those that judge, or None without."""
        y, y_val = densify(y), densify(y_val)
        kept = None if y is None else weighted_rows(X, [sample_weight])
        if kept is not None:
            # Nothing is learned from the others, such as scales and classes.
            check_consistent_length(X, y)
            X, y, sample_weight = (
                safe_indexing(part, kept) for part in (X, y, to_numpy(sample_weight))
            )
        if learn:
            form = learn_form(self.recurrent, X, y, is_classifier(self))
            self._per_step = form.per_step
        rows = self._form.rows(X, y, sample_weight)
        X, targets = self._read_samples(rows.X, rows.y, learn)
        given = check_sample_weight(rows.sample_weight, X, ensure_non_negative=True)
        weights = np.zeros(len(X))
        by_class = self._class_weights(rows.targets)
        weights[rows.judged] = as_counts(given[rows.judged] * by_class)
        samples = self._form.drop_zero_weight(
            Samples(X, targets, weights, rows.lengths)
        )
        if not samples.weights.any():
            raise ValueError("sample_weight is zero for every sample")
        judges = self._read_validation(X_val, y_val, rows.targets)
        if judges is None and self.early_stopping:
            samples, judges = self._hold_out(samples)
        return self._form.merged(samples), judges

    def _read_validation(self, X_val, y_val, learned_from):
        """Samples of the user that say which weights are best; None without."""
        if not is_pair_given(X_val, y_val):
            return None
        rows = self._form.rows(X_val, y_val)
        X_val, targets = self._read_samples(rows.X, rows.y, learn=False)
        weights = np.zeros(len(X_val))
        weights[rows.judged] = self._class_weights(rows.targets, learned_from)
        if not weights.any():
            raise ValueError(
                "class_weight is zero for all samples of X_val: pass samples of other "
                "classes"
            )
        return Samples(X_val, targets, as_counts(weights), rows.lengths)

    def _hold_out(self, samples):
        n_samples = samples.n_samples
        if n_samples * self.validation_fraction < 1 or n_samples < 4:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of {n_samples} "
                "samples leaves nothing to validate on: pass X_val and y_val or "
                "set early_stopping=False"
            )
        outcomes = self._form.outcomes(samples)
        return self._form.hold_out(
            samples,
            self.validation_fraction,
            check_random_state(self.random_state).randint(2**31),
            None if outcomes is None else self._strata(outcomes),
        )

    # -------------------------------------------------------------------- scaling

    def _learn_scales(self, samples):
        """Standardize with scikit-learn's scaler, if asked to."""
        self.input_scaler_ = self.target_scaler_ = None
        if self.standardize:
            # A step of a sequence is an input even where no output is judged.
            seen = None if self.recurrent else samples.weights
            self.input_scaler_ = fitted_scaler(samples.X, "X", seen)
            if self._scales_targets:
                weights = samples.weights
                self.target_scaler_ = fitted_scaler(samples.targets, "y", weights)

    def _scale_inputs(self, X):
        return X if self.input_scaler_ is None else self.input_scaler_.transform(X)

    def _scaled(self, samples):
        """Samples as networks learn them, in single precision."""
        # Squares of a lone value far off would be all that is learned.
        X, targets = samples.X, samples.targets
        if self.input_scaler_ is not None:
            X = self.input_scaler_.transform(pull_in(X))
        if self.target_scaler_ is not None:
            targets = self.target_scaler_.transform(pull_in(targets))
        return samples._replace(
            X=_single(X, "X"),
            targets=_single(targets, "y"),
            weights=samples.weights.astype(np.float32),
        )

    def _outputs(self, X):
        """Mean of the members' outputs, shape (n_rows, n_outputs)."""
        check_is_fitted(self)
        X, lengths = self._rows_of(X)
        X = self._scale_inputs(X)
        how = self._made_with["activation"], self.out_activation_
        outputs = [
            self._form.outputs(X, lengths, member, *how) for member in self.members_
        ]
        return np.mean(outputs, axis=0)

    def _rows_of(self, X, **options):
        """What a user predicts on: rows, and lengths of the sequences if any."""
        X, lengths = self._form.inputs(X)
        return self._read_table(X, reset=False, **options), lengths

    def _answers_to(self, rows, X):
        """Answers to rows in the form of the targets."""
        return self._form.answers(rows, X)

    # -------------------------------------------------------------------- storage

    def _device_network(self):
        return of_estimator(self, self._made_with, getattr(self, "_labels", None))

    def to_packed(self, *, names=False, single=False):
        """Store the best network in `n_bits` bits per weight.

        Parameters
        ----------
        names : bool, default=False
            Whether to store the names of columns.
        single : bool, default=False
            Whether to store means and scales in single precision: half as many bytes,
            and predictions that are equal to about 1e-6 where columns are near zero.

        Returns
        -------
        bytes
            A header of 18 bytes with a digest of all others, sizes and ranges of the
            layers, means and scales, labels other than 0, 1, 2 ..., then the Gray codes
            of the weights, `nbytes_` bytes. A custom loss is not stored.

        Raises
        ------
        ValueError
            If classes are neither text nor numbers, or if `single` and a mean or a
            scale is beyond single precision.

        Warns
        -----
        UserWarning
            If `single` moves a mean by over a thousandth of a standard deviation, as
            that of seconds since 1970, and if columns hold times, whose zones are not
            stored.
        """
        check_is_fitted(self)
        return write_network(self, names, single)

    @classmethod
    def from_packed(cls, packed) -> Self:
        """Load a network stored by :meth:`to_packed`.

        Parameters
        ----------
        packed : bytes
            What `to_packed` returned, also that of an earlier version. It may come from
            elsewhere: nothing in it is run, and all of it is validated before memory is
            taken, which is in proportion to its length.

        Returns
        -------
        estimator
            Ready to predict.

        Raises
        ------
        TypeError
            If `packed` is not bytes.
        ValueError
            If the bytes are not those of such an estimator, or not all as they were
            stored.
        """
        return restore_network(cls, packed)

    @classmethod
    def from_mlp(cls, mlp, X, n_bits=4, **parameters) -> Self:
        """Round the weights of a trained network of scikit-learn.

        The result predicts as it is; `fit` goes on from there, by the search on bits.

        Parameters
        ----------
        mlp : MLPClassifier or MLPRegressor
            Fitted.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows as `mlp` sees them. They set the scales, if `standardize`, and the
            range of each layer: of ten fractions of its largest weight that whose sums
            on at most 1000 of the rows are nearest to those of `mlp`.
        n_bits : int, default=4
            Bits of a weight. With 8 and more, rounding alone costs next to nothing.
        **parameters
            Other parameters of the estimator. `mlp` says which layers and activation it
            has; `warm_start` is true, so that `fit` goes on.

        Returns
        -------
        estimator
            Ready to predict.

        Raises
        ------
        TypeError, ValueError
            If `mlp` is of another kind, is not fitted, or has not seen such columns.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.neural_network import MLPClassifier
        >>> from skmohn import BLMClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> mlp = MLPClassifier((5,), "tanh", solver="lbfgs", random_state=0)
        >>> mlp = mlp.set_params(alpha=3.0, max_iter=2000).fit(X, y)
        >>> model = BLMClassifier.from_mlp(mlp, X, n_bits=2, random_state=0)
        >>> model.score(X, y) < model.fit(X, y).score(X, y)
        True
        """
        return round_mlp(cls, mlp, X, n_bits, parameters)

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
            f"{name} has values too large for float32: rescale them or set "
            "standardize=True"
        )
    return table.astype(np.float32)


def _is_another_network(changed):
    """Going on from other weights makes sense for the same network alone."""
    return ValueError(
        f"{' and '.join(changed)} changed since the fit that warm_start or "
        "partial_fit continues: restore the old value or fit anew"
    )


def _was_cut_short(reason, curve):
    """Whether the last tenth of all epochs still lowered the loss by a hundredth."""
    return (
        reason == "max_flips"
        and curve[-1] < 0.99 * curve[-max(len(curve) // 10, 3) :][0]
    )
