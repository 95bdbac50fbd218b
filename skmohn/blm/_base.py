"""Base of classifier and regressor: from samples to a trained network."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from math import ceil
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from skmohn._core._categories import Categories, column_names
from skmohn._core._estimator import EstimatorMixin
from skmohn._core._fitting import FitLoop, warn_caller
from skmohn._core._options import Nested, control_of
from skmohn._core._rows import TILE, row_slices
from skmohn._core._scaling import (
    fitted_input_scaler,
    fitted_scaler,
    standardize_checked,
)
from skmohn._core._sklearn import (
    N_JOBS,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    with_callbacks,
)
from skmohn._core._tables import ALL_NUMBERS
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike
from skmohn._core._validation import is_pair_given
from skmohn.blm import _kernels as kernels
from skmohn.blm._codec import auto_bound, auto_range, grid_step
from skmohn.blm._conversion import network_attributes, restore_network, round_mlp
from skmohn.blm._device.export import DeviceMixin
from skmohn.blm._device.network import Network, of_estimator
from skmohn.blm._inputs import InputCoding
from skmohn.blm._labels import Labels, RealTargets
from skmohn.blm._local_search import Trainer, train
from skmohn.blm._network import (
    ACTIVATIONS,
    FARTHEST_INPUT,
    DatasetProblem,
    Layout,
    address_of_own_loss,
    read_hidden_sizes,
    read_w_max,
)
from skmohn.blm._penalty import choose_alpha
from skmohn.blm._samples import (
    SampleForm,
    Samples,
    SequenceForm,
    TableForm,
    form_of,
    hold_out,
    read_samples,
    read_table,
)
from skmohn.blm._search import WORST, InitOptions, MoveOptions, SearchOptions
from skmohn.blm._serialization import write_network
from skmohn.blm._start import (
    Runs,
    Starts,
    find_quantized_starts,
    find_smooth_starts,
    split_moves,
    starts_quantized,
)
from skmohn.blm._training_state import TrainingState


@dataclass(frozen=True)
class MoveConstants:
    """Moves of the weight search."""

    # Moves per weight between two checks of the loss, the clock and the validation
    # samples.
    n_per_epoch: int = tuned(10, "cost")
    # Moves tried per weight when max_flips is "auto".
    n_per_weight: int = tuned(500, "cost")


_MOVES = MoveConstants()


def _positive(kind: type) -> Interval:
    return Interval(kind, 0, None, closed="neither")


class BaseBLM(
    DeviceMixin, Nested, EstimatorMixin, CallbackSupportMixin, BaseEstimator, ABC
):
    """Network trained by local search on the bits of its weights."""

    _when_long = "set max_time, or lower max_flips, to end it earlier"
    _controls = {"search_options": SearchOptions}
    _parameter_constraints = {
        "hidden_layer_sizes": [
            "array-like",
            Interval(Integral, 1, None, closed="left"),
        ],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "decomposable": ["boolean"],
        "recurrent": ["boolean", StrOptions({"steps", "sequences"})],
        "n_bits": [Interval(Integral, 2, 24, closed="both")],
        "w_max": [_positive(Real), "array-like", StrOptions({"auto"})],
        "search": [StrOptions({"adaptive", "gray"})],
        "search_options": [SearchOptions, None],
        "perturbation": [Interval(Real, 0, 1, closed="both")],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "standardize": ["boolean"],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "handle_unknown": [StrOptions({"error", "missing"})],
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

    # Parameters of both estimators, and what a fit has learned.
    hidden_layer_sizes: ArrayLike
    activation: str
    loss: str | Callable[..., float]
    decomposable: bool
    recurrent: bool | str
    n_bits: int
    w_max: ArrayLike
    search: str
    perturbation: float
    alpha: float | str
    standardize: bool
    categorical_features: ArrayLike | None
    handle_unknown: str
    n_restarts: int
    ensemble: int
    max_flips: int | str
    max_time: float | None
    tol: float
    n_iter_no_change: int
    early_stopping: bool
    validation_fraction: float
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    n_features_in_: int
    codes_: NDArray[np.int32]
    w_max_: NDArray[np.float64]
    alpha_: float
    _is_alpha_chosen: bool
    coefs_: list[NDArray[np.float64]]
    nbytes_: int
    members_: list[tuple[Any, ...]]
    loss_: float
    _loss_name: str  # in a fact
    loss_curve_: list[float]
    out_activation_: str
    _made_with: dict[str, Any]
    _input_dtype: str
    _time_zones: dict[int, tzinfo | str | None]
    _targets: Any
    _categories: Categories

    # What learns how targets are encoded; labels and weights of classes, if there are.
    _target_type: type[Labels] | type[RealTargets]
    _classes_wanted: NDArray | None = None
    class_weight: Any = None
    # Whether StandardScaler scales the targets, and the built-in loss whose outputs are
    # as raw as those of a loss that the user has written.
    _scales_targets = False
    _raw_loss = "hinge"

    # ------------------------------------------------------------------- fitting

    @with_callbacks
    def _fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        X_val: TableLike,
        y_val: ArrayLike | None,
        *,
        resume: bool,
        epochs: int | None = None,
    ) -> Self:
        """Train; with `resume` from the present weights and scales."""
        deadline = time.perf_counter() + (self.max_time or np.inf)
        self._check_parameters(resume)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        samples, validation_samples = self._read(
            X, y, sample_weight, X_val, y_val, resume
        )
        if not resume:
            self._learn_scales(samples)
        trainer = self._trainer(samples, validation_samples, epochs, resume)
        trainer, runs = self._plan_runs(trainer, resume, epochs, deadline)
        self._search(trainer, (X, y, metadata), runs, deadline)
        self._warn_if_cut_short(trainer, epochs)
        return self

    def _fit_epoch(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> Self:
        """Train for one epoch, whatever `max_flips` is."""
        resume = hasattr(self, "codes_")
        return self._fit(X, y, sample_weight, None, None, resume=resume, epochs=1)

    def _plan_runs(
        self,
        trainer: Trainer[DatasetProblem],
        resume: bool,
        epochs: int | None,
        deadline: float,
    ) -> tuple[Trainer[DatasetProblem], Runs]:
        """Seed and start of each run, and the trainer of the moves that are left."""
        random_state = check_random_state(self.random_state)
        seeds = random_state.randint(2**31, size=(self.n_restarts, 1)).tolist()
        starts: Starts = [None] * self.n_restarts
        self._n_continued = self._n_continued + 1 if resume else 0
        if resume:
            if not np.array_equal(self._w_max(trainer.problem.layout), self.w_max_):
                raise _is_another_network(["w_max"])
            starts = [self.codes_, *starts[1:]]
            # With the seed alone every call would try the same moves again.
            seeds = [[*seed, self._n_continued] for seed in seeds]
        # An epoch of partial_fit is one of the search.
        elif epochs is None:
            trainer, starts = self._find_starts(trainer, seeds, deadline)
        return trainer, list(zip(seeds, starts, strict=True))

    def _find_starts(
        self,
        trainer: Trainer[DatasetProblem],
        seeds: Sequence[Sequence[int]],
        deadline: float,
    ) -> tuple[Trainer[DatasetProblem], Starts]:
        """Trainer of the moves that are left, and codes to start from, if found."""
        options, n_jobs = control_of(self, "search_options"), self.n_jobs
        starts: Starts = [None] * len(seeds)
        first = trainer
        if self._is_flat:
            smooth = {"loss": self._smooth_loss(), "own_loss": None}
            first, trainer = split_moves(trainer, {**smooth, "alpha": self.alpha_})
        if starts_quantized(first.problem, options, self.search):
            starts = find_quantized_starts(first, seeds, n_jobs, deadline)
        if self._is_flat:
            starts = find_smooth_starts(first, seeds, starts, n_jobs, deadline)
        return trainer, starts

    def _search(
        self,
        trainer: Trainer[DatasetProblem],
        training_data: tuple[Any, Any, Any],
        runs: Runs,
        deadline: float,
    ) -> None:
        states = []
        for index, (seed, start) in enumerate(runs):
            if not states or time.perf_counter() < deadline:
                states.append(trainer.begin(seed, start, index))
        n_epochs = ceil(trainer.max_flips / trainer.epoch)
        make_attributes = lambda best: self._fitted([best], trainer)  # noqa: E731
        loop = FitLoop(self, *training_data, n_epochs, make_attributes)
        states, reason = train(
            trainer,
            states,
            order="parallel",
            n_jobs=self.n_jobs,
            report=lambda _, best: loop.step(best.records[-1], best),
            deadline=deadline,
        )
        best = states[0]
        loop.finish(best)
        if best.best_loss >= WORST:
            raise ValueError(
                "no weights with a finite loss were found: a custom loss must return "
                "finite numbers for outputs near zero, and huge values of X and y need "
                "standardize=True"
            )
        vars(self).update(self._fitted(states, trainer))
        self.history_ = loop.history
        self.n_iter_ = len(best.records) - 1
        self.stopping_reason_ = str(best.stopping_reason or reason)

    def _fitted(
        self, states: list[TrainingState], trainer: Trainer[DatasetProblem]
    ) -> dict[str, Any]:
        """Fitted attributes, given the runs from the best on."""
        best, problem = states[0], trainer.problem
        members = [state.best_codes for state in states[: self.ensemble]]
        return {
            **network_attributes(members, problem.layout, self.n_bits, problem.step),
            "_made_with": self._network_parameters(),
            "_loss": self._raw_loss if callable(self.loss) else self.loss,
            "_loss_name": "custom" if callable(self.loss) else self.loss,
            "w_max_": self._w_max(problem.layout),
            "n_movable_bits_": int(best.search.state[0].bits),
            "loss_": float(best.best_loss),
            "loss_curve_": [record["loss"] for record in best.records],
            "out_activation_": self._out_activation(),
        }

    def _warn_if_cut_short(
        self, trainer: Trainer[DatasetProblem], epochs: int | None
    ) -> None:
        """Warn if the loss fell by a hundredth in the last tenth of all epochs."""
        curve = self.loss_curve_
        is_falling = curve[-1] < 0.99 * curve[-max(len(curve) // 10, 3) :][0]
        # An epoch of partial_fit need not be the last one.
        if epochs is None and self.stopping_reason_ == "max_flips" and is_falling:
            warn_caller(
                "the loss was still falling after max_flips="
                f"{trainer.max_flips} moves: raise max_flips",
                ConvergenceWarning,
            )

    def _trainer(
        self,
        samples: Samples,
        validation_samples: Samples | None,
        epochs: int | None,
        resume: bool,
    ) -> Trainer[DatasetProblem]:
        samples = self._merged(samples)
        n_inputs, n_outputs = samples.X.shape[1], samples.targets.shape[1]
        sizes = n_inputs, *self._hidden_sizes(), n_outputs
        layout = Layout(sizes, bool(self.recurrent))
        layout.require_memory(len(samples.X), self.n_bits)
        loss, number, own = self._loss_of()
        options = {
            "layout": layout,
            "step": layout.spread(grid_step(self.n_bits, self._w_max(layout))),
            "activation": self.activation,
            "loss": loss,
            "loss_number": number,
            "own_loss": own,
        }
        samples = self._scaled(samples)
        problem = samples.problem(**options)
        # As the scales, what the first samples have said stays.
        is_auto = self.alpha == "auto"
        if not (resume and is_auto and getattr(self, "_is_alpha_chosen", False)):
            self.alpha_ = self._alpha_of(problem)
        self._is_alpha_chosen = is_auto
        # Where the loss is flat the penalty alone has a slope: it would undo the rest.
        if not self._is_flat:
            problem = replace(problem, alpha=self.alpha_)
        validation = None
        if validation_samples is not None:
            validation = self._scaled(validation_samples).problem(**options)
        epoch, max_flips = _MOVES.n_per_epoch * layout.n_weights, self.max_flips
        if epochs is not None:
            max_flips = epochs * epoch
        elif isinstance(max_flips, str):
            max_flips = _MOVES.n_per_weight * layout.n_weights
        control = control_of(self, "search_options")
        return Trainer(
            problem=problem,
            validation=validation,
            moves=MoveOptions.of(control, self.n_bits, self.search, telescopic=None),
            init=InitOptions.of(control, layout.spread(auto_bound(sizes[:-1]))),
            perturbation=self.perturbation,
            epoch=epoch,
            max_flips=max_flips,
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change,
        )

    def _alpha_of(self, problem: DatasetProblem) -> float:
        """Penalty of the weights."""
        if isinstance(self.alpha, str):
            return choose_alpha(problem, are_classes=not self._targets.is_numeric)
        return float(self.alpha)

    def _w_max(self, layout: Layout) -> NDArray[np.float64]:
        """Largest weight of each layer."""
        n_layers = len(layout.sizes) - 1
        if isinstance(self.w_max, str):
            is_scaled = self._scales_targets and self.standardize and n_layers > 1
            return auto_range(self.n_bits, layout.sizes[:-1], is_scaled)
        if isinstance(self.w_max, Real):
            return np.full(n_layers, float(self.w_max))
        return read_w_max(self.w_max, n_layers)

    @property
    def _is_flat(self) -> bool:
        """Whether the loss may have no slope, so that a smooth one comes first."""
        return self.loss == "zero_one" or not self.decomposable

    def _loss_of_user(
        self, loss: Callable[..., float]
    ) -> tuple[int, float, Callable[..., float]]:
        """Loss of the kernels for a function of the user."""
        if not self.decomposable:
            return kernels.OWN_OF_ALL, 0.0, loss
        address_of_own_loss(loss)  # refuses what cannot be one
        return kernels.OWN, 0.0, loss

    # ---------------------------------------------------------- of each estimator

    @abstractmethod
    def _loss_of(self) -> tuple[int, float, Callable | None]:
        """The loss of the kernels, its parameter, and that of the user."""

    @abstractmethod
    def _smooth_loss(self) -> int:
        """Loss of the kernels that comes before one without slopes."""

    @abstractmethod
    def _out_activation(self) -> str:
        """Activation of the outputs that the loss requires."""

    # ---------------------------------------------------------------- validation

    def _check_parameters(self, resume: bool) -> None:
        """Check what concerns several parameters, or an earlier fit."""
        if self.ensemble > self.n_restarts:
            raise ValueError(
                f"ensemble={self.ensemble} needs that many runs, but n_restarts="
                f"{self.n_restarts}: raise n_restarts"
            )
        if not self.decomposable and not callable(self.loss):
            raise ValueError(
                f"decomposable=False needs a callable loss of all outputs, but "
                f"loss={self.loss!r} is a mean over samples: set decomposable=True"
            )
        if resume:
            now, before = self._network_parameters(), self._made_with
            changed = [name for name in now if now[name] != before[name]]
            if changed:
                raise _is_another_network(changed)

    def _hidden_sizes(self) -> tuple[int, ...]:
        return read_hidden_sizes(self.hidden_layer_sizes)

    def _network_parameters(self) -> dict[str, Any]:
        """Parameters that define the network of the weights."""
        categorical = self.categorical_features
        if not (categorical is None or isinstance(categorical, str)):
            categorical = np.asarray(categorical).tolist()
        return {
            "hidden_layer_sizes": self._hidden_sizes(),
            "recurrent": bool(self.recurrent),
            "activation": self.activation,
            "n_bits": int(self.n_bits),
            "standardize": bool(self.standardize),
            "categorical_features": categorical,
        }

    @property
    def _form(self) -> TableForm | SequenceForm:
        """Form of a sample."""
        return form_of(self._per_step)

    def _read(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        X_val: TableLike,
        y_val: ArrayLike | None,
        resume: bool,
    ) -> tuple[Samples, Samples | None]:
        """Samples to train on, and those to validate on, or None without."""
        form = SampleForm(
            estimator=self,
            target_type=self._target_type,
            classes=self._classes_wanted,
            class_weight=self.class_weight,
            rows=self._form if resume else None,
            targets=self._targets if resume else None,
            inputs=self._inputs if resume else None,
        )
        if resume:
            unknown = self.handle_unknown
            self._categories = replace(self._categories, handle_unknown=unknown)
        samples, form = read_samples(form, X, y, sample_weight)
        self._inputs = form.inputs
        samples, validation_samples = samples.drop_zero_weight(), None
        if not samples.weights.any():
            raise ValueError("sample_weight is zero for every sample")
        samples = self._without_lone(samples)
        if is_pair_given(X_val, y_val):
            validation_samples, _ = read_samples(form, X_val, y_val)
            validation_samples = self._without_lone(validation_samples)
            if not validation_samples.weights.any():
                raise ValueError(
                    "class_weight is zero for all samples of X_val: pass samples of "
                    "other classes"
                )
        elif self.early_stopping:
            seed = check_random_state(self.random_state).randint(2**31)
            fraction = self.validation_fraction
            samples, validation_samples = hold_out(form, samples, fraction, seed)
        self._per_step = form.rows.per_step
        self._set_targets(form.targets)
        if self.standardize:
            samples = samples.pull_in_fills(self._scales_targets)
            if validation_samples is not None:
                validation_samples = validation_samples.pull_in_fills(
                    self._scales_targets
                )
        return samples, validation_samples

    def _without_lone(self, samples: Samples) -> Samples:
        """Replace outlying values, unless the loss is one of all outputs."""
        if not (self.decomposable and self.standardize):
            return samples
        columns = getattr(self, "feature_names_in_", range(self.n_features_in_))
        names = self._input_names([f"column {name}" for name in columns])
        return samples.without_lone(self._scales_targets, names)

    def _input_names(self, columns: Sequence[str] | None = None) -> list[str]:
        """Names of the inputs of the network, by those of the columns."""
        columns = column_names(self) if columns is None else columns
        return self._inputs.names(columns, self._categories.known())

    def _merged(self, samples: Samples) -> Samples:
        """Merge equal samples, unless the loss is one of all outputs."""
        return samples.deduplicate() if self.decomposable else samples

    def _set_targets(self, targets: Labels | RealTargets) -> None:
        """Store the encoding of targets, and set its public attributes."""
        self._targets = targets
        for name, value in targets.attributes.items():
            setattr(self, name, value)

    # -------------------------------------------------------------------- scaling

    def _learn_scales(self, samples: Samples) -> None:
        """Standardize with scikit-learn's scaler, if requested."""
        self.input_scaler_ = self.target_scaler_ = None
        if self.standardize:
            # What lies far off is looked for among all rows: equal ones are no lone
            # ones.
            samples = self._merged(samples.pull_in(self._scales_targets))
            seen = samples.weights_of_inputs
            self.input_scaler_ = fitted_input_scaler(samples.X, seen)
            if self._scales_targets:
                weights = samples.weights
                self.target_scaler_ = fitted_scaler(samples.targets, "y", weights)
        if self._inputs.is_plain:
            self._inputs = self._with_means(samples)

    def _with_means(self, samples: Samples) -> InputCoding:
        """Coding of numbers, with their means for values that are missing later."""
        if self.input_scaler_ is not None:
            # Packed networks have no others.
            scaler: Any = self.input_scaler_
            return InputCoding.plain(scaler.mean_)
        if samples.lengths is not None:
            return self._inputs
        return self._inputs.with_means_of(samples.X, samples.weights)

    def _scale_inputs(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        scaler = self.input_scaler_
        return X if scaler is None else standardize_checked(scaler, X)

    def _scaled(self, samples: Samples) -> Samples:
        """Samples as networks learn them, in single precision."""
        X, targets = self._scale_inputs(samples.X), samples.targets
        scaler: Any = self.target_scaler_
        if scaler is not None:
            targets = scaler.transform(targets)
        return samples._replace(
            X=_single(X, "X"),
            targets=_single(targets, "y"),
            weights=samples.weights.astype(np.float32),
        )

    def _outputs(self, X: TableLike) -> NDArray[np.float64]:
        """Mean of the members' outputs, shape (n_rows, n_outputs)."""
        check_is_fitted(self)
        X, lengths = self._table_of(X, dtype=ALL_NUMBERS)
        # Sequences are whole. Of rows, some at a time: what is computed on the way is
        # as large as they are.
        blocks = [slice(None)]
        if lengths is None:
            blocks = row_slices((len(X), max(X.shape[1], self._inputs.n_inputs)), TILE)
        return np.concatenate([self._outputs_of(X[rows], lengths) for rows in blocks])

    def _outputs_of(self, X: NDArray, lengths: Any) -> NDArray[np.float64]:
        """Mean of the members' outputs for rows of a table that was checked."""
        X = self._inputs.encode(X, getattr(self, "feature_names_in_", None))
        with np.errstate(over="ignore"):
            X = self._scale_inputs(X.astype(np.float64, copy=False))
        # Sums of what is further out would overflow.
        X = np.clip(X, -FARTHEST_INPUT, FARTHEST_INPUT)
        how = self._made_with["activation"], self.out_activation_
        outputs = [
            self._form.outputs(X, lengths, member, *how) for member in self.members_
        ]
        return np.mean(outputs, axis=0)

    def _table_of(
        self, X: TableLike, **options: Any
    ) -> tuple[NDArray, NDArray[np.int64] | None]:
        """Table to predict on, and lengths of the sequences if any."""
        X, lengths = self._form.inputs(X)
        return read_table(self, X, of_sequences=lengths is not None, **options), lengths

    def _rows_of(
        self, X: TableLike, **options: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
        """Inputs as a device takes them, and lengths of the sequences if any."""
        X, lengths = self._table_of(X, **options)
        # A device that is given columns as they are reads what is not finite by itself.
        if self._inputs.is_plain and not options.get("ensure_all_finite", True):
            return X, lengths
        # To a device the number of no category is zeros.
        coding = self._inputs.without_means_of_groups()
        return coding.encode(X, getattr(self, "feature_names_in_", None)), lengths

    def _answers_to(self, rows: NDArray, X: TableLike) -> Any:
        """Answers to rows in the form of the targets."""
        return self._form.answers(rows, X)

    def _list_facts(self) -> list[str]:
        """Layers, bits and bytes, the loss, and why the search ended."""
        sizes = [len(self.coefs_[0]), *(coef.shape[1] for coef in self.coefs_)]
        n_weights, n_bits = len(self.codes_), self._made_with["n_bits"]
        facts = [
            f"layers of {', '.join(map(str, sizes))} units, inputs first",
            f"{n_weights:,} weights of {n_bits} bits: {self.nbytes_:,} bytes",
        ]
        # Those that were loaded have no loss.
        if not hasattr(self, "loss_"):
            return facts
        return [
            *facts,
            f"loss ({self._loss_name}): {self.loss_:.4g}; epochs: {self.n_iter_:,}",
            f"end of the search: {self.stopping_reason_}",
        ]

    # -------------------------------------------------------------------- storage

    def _device_network(self) -> Network:
        labels = None if self._targets.is_numeric else self._targets
        return of_estimator(self, self._made_with, labels)

    def to_packed(self, *, names: bool = False, single: bool = False) -> bytes:
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
            layers, means and scales, categories, labels other than 0, 1, 2 ..., then
            the Gray codes of the weights, `nbytes_` bytes. A custom loss is not stored.

        Raises
        ------
        ValueError
            If classes are neither text nor numbers, or categories of a column not all
            text, all booleans or all numbers; if more than 1000 columns are
            categorical; or if `single` and a mean or a scale is beyond single
            precision.

        Warns
        -----
        UserWarning
            If `single` moves a mean by over a thousandth of a standard deviation, as
            that of seconds since 1970, if columns hold times, whose zones are not
            stored, and if the model averages an `ensemble`, whose other networks are
            not.
        """
        check_is_fitted(self)
        return write_network(self, names, single)

    @classmethod
    def from_packed(cls, packed: bytes) -> Self:
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
    def from_mlp(
        cls,
        mlp: MLPClassifier | MLPRegressor,
        X: TableLike,
        n_bits: int = 4,
        **parameters: Any,
    ) -> Self:
        """Round the weights of a trained network of scikit-learn.

        The result can predict as it is; `fit` continues from there, with the search on
        bits.

        Parameters
        ----------
        mlp : MLPClassifier or MLPRegressor
            Fitted.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows as `mlp` reads them. They set the scales, if `standardize`, and the
            range of each layer: of ten fractions of its largest weight, the one whose
            sums on at most 1000 of the rows are nearest to those of `mlp`.
        n_bits : int, default=4
            Bits of a weight. With 8 or more, rounding by itself costs next to nothing.
        **parameters
            Other parameters of the estimator. `mlp` determines layers and activation;
            `warm_start` is true, so that `fit` continues.

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

    def __sklearn_tags__(self) -> Tags:
        """Describe the inputs that the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # Steps of sequences are known numbers.
        tags.input_tags.categorical = tags.input_tags.allow_nan = not self.recurrent
        return tags


def _single(table: NDArray[np.float64], name: str) -> NDArray[np.float32]:
    """Convert to single precision, in which networks are trained."""
    largest = max(table.max(initial=0.0), -table.min(initial=0.0))
    if largest > np.finfo(np.float32).max:
        raise ValueError(
            f"{name} has values too large for float32: rescale them or set "
            "standardize=True"
        )
    return table.astype(np.float32)


def _is_another_network(changed: Sequence[str]) -> ValueError:
    """Error on parameters that changed since the fit to continue."""
    return ValueError(
        f"{' and '.join(changed)} changed since the fit that warm_start or "
        "partial_fit continues: restore the old value or fit anew"
    )
