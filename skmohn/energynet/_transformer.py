"""EnergyNetTransformer: validate, code, build, expose; and what fitted layers do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal, Self, TypeAlias, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, assert_all_finite, check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from skmohn._core._categories import Categories
from skmohn._core._estimator import ComputedProperty, EstimatorMixin
from skmohn._core._fitting import FitLoop, History, all_or_nothing, one_blas_thread
from skmohn._core._names import input_names, unique_names
from skmohn._core._options import Nested
from skmohn._core._rows import join_blocks
from skmohn._core._scaling import require_finite, standardize_checked
from skmohn._core._sklearn import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
    with_callbacks,
)
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike, check_array
from skmohn._core._validation import require_fitted, to_numpy
from skmohn.energynet._coding import MINMAX, UnitCoding
from skmohn.energynet._conditional import expect_missing, impute, sample_missing
from skmohn.energynet._features import (
    batches,
    check_layer,
    feature_blocks,
    learn_scalers,
)
from skmohn.energynet._growth import GIVEN_REASON
from skmohn.energynet._layout import Layout
from skmohn.energynet._partition import (
    LogPartition,
    converged_log_partition,
    draw_enumerated,
    is_enumerable,
    warn_if_unreliable,
)
from skmohn.energynet._portfolio import LAYERS, DensityPortfolio
from skmohn.energynet._rbm import RBM, draw_stream, draw_visible
from skmohn.energynet._scoring import Monitor, Scorer
from skmohn.energynet._stack_trainer import (
    GIVEN_DEPTH,
    InfiniteRBMOptions,
    StackTrainer,
    TrainedStack,
    warn_of_limits,
    widths_of,
)
from skmohn.energynet._table import (
    Encoded,
    Table,
    as_written,
    encode,
    in_precision,
    name_numbers,
    unseen_categories,
    write_completed,
)

# Attributes that say how well layers describe the samples of a fit.
GrowthName: TypeAlias = Literal["held_out", "description_length", "infinite_rbm"]
_MEASURED = ("log_likelihood_", "complexity_", "description_length_")


@dataclass(frozen=True)
class PassConstants:
    """Means of layers."""

    # Rows that stand for the data where only their means are needed.
    n_rows: int = tuned(1000, "benchmarks/ablation.py")


_PASS = PassConstants()


class EnergyNetTransformer(
    Nested, EstimatorMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator
):
    """Layers of hidden units whose number is learned from the data, without labels.

    Each layer is a restricted Boltzmann machine, trained by centered persistent
    contrastive divergence. Its width maximizes the likelihood of held-out samples, and
    layers are added while that shortens the description of the data. Features are the
    probabilities of the hidden units.

    Parameters
    ----------
    growth : {"held_out", "description_length", "infinite_rbm", None}, \
            default="held_out"
        How to find the widths of layers that are not set by `n_components`.

        - ``"held_out"``: train layers of up to 64 units, and of 128, 256 and so on
          while a doubling raises the log-likelihood of a held-out fifth of the samples
          by about a quarter of a nat; average the widths, weighted by how near each is
          to the best, and train on all samples; at most as many units as there are
          distinct samples, or units in the layer below. The default, because it gives
          the better density and the better features.
        - ``"description_length"``: add units while most of them raise the
          log-likelihood by more than their cost, half the log of the number of samples
          per parameter, and drop those that do not. The fewest units that describe the
          data; the width depends little on learning rate and batch size.
        - ``"infinite_rbm"``: EnergyNet [1]_. An infinite RBM [2]_ trained by
          contrastive divergence adds units until fewer than
          `InfiniteRBMOptions.threshold` appear per step; then it becomes a plain
          RBM. Layers cost the Rademacher bound. The width depends on learning rate
          and batch size as much as on the data.
        - None: do not grow; `n_components` is required.
    n_components : int or array-like of int, default=None
        Fixed width of the layer, or of each layer from the bottom up; None to grow.
        A few hundred units give good features if you do not want to wait for growth.
    max_layers : int, default=10
        Maximum number of layers that grow (T in [1]_). The first one always stays; a
        further one stays if it shortens the description, otherwise growth ends.
    unit_cost : float, default=1.0
        Factor of the cost of a unit, which further layers must be worth and, with
        ``growth="description_length"``, the units of each layer; lower costs give
        deeper and wider networks. 1 is the cost in a two-part code.
    coding : {"auto", "thermometer", "minmax", "probability"}, default="auto"
        How columns become visible units, which are bits or probabilities.

        - ``"thermometer"``: one unit for each of `n_bins` - 1 thresholds between
          quantiles (:class:`~sklearn.preprocessing.KBinsDiscretizer`), 1 if the value
          reaches it.
        - ``"minmax"``: scale the range seen in `fit` to [0, 1].
        - ``"probability"``: numbers in [0, 1] as they are; others are refused.
        - ``"auto"``: as they are for bits and for columns within [0, 1] in which at
          least a third of the values are 0 or 1, such as gray levels of drawings;
          thermometers for all others.

        All but "probability" clip later values to the range.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
            default="from_dtype"
        Columns that hold categories: a mask, indices or names. "from_dtype" takes text
        and categorical dtypes, but leaves out text that differs in at least ten rows
        and 95% of them, as IDs do: :meth:`impute` keeps it, :meth:`sample` returns NaN
        there. A categorical column is one visible variable, whatever `coding` is.
    handle_unknown : {"error", "missing"}, default="error"
        Whether to reject a category not seen in `fit` or treat it as missing; in
        :meth:`score_samples` it is then less likely than all categories seen.
    n_bins : int, default=8
        Maximum number of levels of a thermometer. Compare values with :meth:`score`,
        which is a density in the units of X.
    whiten : bool, default=False
        Whether to transform numbers to uncorrelated ones before they are binned into
        levels; each is first power-transformed to be as nearly normal as possible [3]_.
        For correlated columns this gives a far better density, so set it for
        :meth:`score_samples`, :meth:`sample` and :meth:`impute`; features for other
        learners are usually worse. Columns with at most `n_bins` distinct values, no
        more than half the number of samples, stay as they are, and so do those in which
        most samples have the same value.
    density : {"auto", "layers"}, default="auto"
        Density of :meth:`score_samples`. Other methods use the layers.

        - ``"auto"``: with ``growth="held_out"`` and no `n_components`, a mixture of the
          layers, of a hidden Chow-Liu tree [4]_ and of a mixture of Chow-Liu trees
          [5]_, whose weights maximize the likelihood of the fifth of the samples that
          none was trained on. A clearly best one gets all the weight. After a further
          `partial_fit`, only the layers are used, since the others do not learn
          further.
        - ``"layers"``: only the layers. If set after `fit`, the trees are ignored.
    layer : int or "all", default=-1
        Layer that :meth:`transform` returns: 0 is the lowest, -1 the highest, "all"
        concatenates all.
    standardize : bool, default=True
        Whether :meth:`transform` scales its output to mean 0 and variance 1 on the
        training data. Linear models need this, since many probabilities hardly vary.
    passthrough : bool, default=False
        Whether :meth:`transform` appends the columns of X, with an indicator for each
        category. It helps classifiers on small tables, where few units grow, and hurts
        them on images.
    n_final_epochs : int or "auto", default="auto"
        Epochs of centered persistent contrastive divergence once the width of a layer
        is settled. "auto" trains until the learning rates sum to 300, 3000 steps for up
        to 100 columns. With ``growth="infinite_rbm"``, 0 follows the paper exactly but
        models the data badly.
    learning_rate : float or "auto", default="auto"
        Learning rate, which falls linearly to 0 once the width is settled. "auto" is
        0.2, or a constant 0.01 while ``growth="infinite_rbm"`` grows. Beyond 100
        columns it is divided by the cube root of their number in hundreds, as far as
        `n_final_epochs` leaves time.
    batch_size : int or "auto", default="auto"
        Samples per step; "auto" is 50, or 10 while ``growth="infinite_rbm"`` grows.
        Beyond 100 columns it is multiplied by the square of the same cube root.
    l2 : float or "auto", default="auto"
        Penalty on half the squared weights, in nats per sample. "auto" stands for a
        normal prior: with standard deviation 1, one over the number of samples; or with
        2, a quarter of that, for layers that grow by ``"description_length"`` or
        ``"infinite_rbm"``, whose units also have a cost. In a layer with more than one
        unit per five samples it rises with the number of units, up to fourfold, to
        prevent overfitting.
    infinite_rbm_options : InfiniteRBMOptions, default=None
        Options of ``growth="infinite_rbm"``; None for the defaults.
    max_units : int, default=2000
        Maximum number of units of a layer that grows.
    max_steps : int, default=1000000
        Maximum number of training steps before the width of a layer is settled.
    n_temperatures : int, default=10000
        Largest number of intermediate distributions in annealed importance sampling,
        which estimates partition functions. Fewer are used if two estimates agree and
        the standard error is at most 0.05 nats; four times as many if they are not
        enough. Too few overestimate the likelihood, by nats with hundreds of units.
    n_draws : int, default=300
        Draws of the hidden units per sample for the likelihood of several layers. Not
        needed if the first layer has at most 12 units: their states are summed.
    monitor : int, default=None
        Number of epochs between log-likelihoods in `history_`, for
        :class:`~skmohn.inspection.LikelihoodDisplay`; None for none. They use at most
        2000 samples and 1000 temperatures and may take longer than the epochs
        themselves with hundreds of units.
    warm_start : bool, default=False
        Whether `fit` trains the layers of the previous fit further, with the same
        widths and coding.
    random_state : int, RandomState instance or None, default=None
        Seed for initial weights, sample order and chains.

    Attributes
    ----------
    n_components_per_layer_ : list of int
        Width of each layer, from bottom to top, as in the lists below.
    weights_ : list of ndarrays of shape (n_units, n_inputs), float32
        Weights. The first layer's inputs are the visible units of all columns.
    hidden_bias_ : list of ndarrays of shape (n_units,), float32
        Biases of the hidden units.
    visible_bias_ : list of ndarrays of shape (n_inputs,), float32
        Biases of their inputs.
    log_likelihood_ : list of float
        Mean log-likelihood of the known values of the training samples (at most 2000 of
        them) under the stack up to each layer, in nats; with `whiten`, missing numbers
        count as the values drawn for them. Like the next two, only after a fit that
        grew to its end.
    complexity_ : list of float
        Cost of the stack up to each layer, in nats.
    description_length_ : list of float
        Complexity minus the log-likelihood of all samples, in nats; minus their mean
        with ``InfiniteRBMOptions(likelihood="mean")``.
    stopping_reason_ : str
        Why no more layers were added.
    width_reasons_ : list of str
        Why each layer has its width.
    ensemble_weights_ : dict
        Weights of ``"layers"``, ``"tree"`` (the hidden one) and ``"tree_mixture"`` in
        :meth:`score_samples`.
    coding_ : UnitCoding
        How each column became visible units: its ``kind``, ``low`` and ``high``,
        ``thresholds`` and ``levels``.
    scalers_ : list of StandardScaler
        Scalers of each layer's probabilities and, last, of the columns of X.
    history_ : History
        One dict per epoch, growth decision and finished layer, such as ``layer``,
        ``stage`` ("start", "grow", "drop", "train", "final" or "layer"), ``units``,
        ``steps`` and, at decisions, ``price`` and ``paying`` (units worth it) or, with
        ``growth="held_out"``, ``held_out_log_likelihood``; with
        `monitor` also ``epoch``, ``log_likelihood`` and ``validation_log_likelihood``.
        ``history_.to_frame()`` returns a DataFrame.
    n_iter_ : int
        Length of the history, plus the later calls of `partial_fit`.
    n_samples_seen_ : int
        Number of samples of `fit` and of later calls of `partial_fit`, repeated by
        their weights.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    See Also
    --------
    sklearn.neural_network.BernoulliRBM : One layer of given width.
    EnergyNetClassifier : Neural network on the architecture found.

    References
    ----------
    .. [1] Kristiansen and Gonzalvo, "EnergyNet: energy-based adaptive structural
       learning of artificial neural network architectures" (2017).
    .. [2] Côté and Larochelle, "An infinite restricted Boltzmann machine", Neural
       Computation 28 (2016).
    .. [3] Kessy, Lewin and Strimmer, "Optimal whitening and decorrelation", The
       American Statistician 72 (2018).
    .. [4] Liu and Van den Broeck, "Tractable regularization of probabilistic
       circuits", NeurIPS (2021).
    .. [5] Meila and Jordan, "Learning with mixtures of trees", Journal of Machine
       Learning Research 1 (2000).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmohn import EnergyNetTransformer
    >>> X = load_digits().data / 16
    >>> net = EnergyNetTransformer(n_components=50, random_state=0)
    >>> net.fit_transform(X).shape
    (1797, 50)
    """

    n_components_per_layer_: list[int]
    weights_: list[np.ndarray]
    hidden_bias_: list[np.ndarray]
    visible_bias_: list[np.ndarray]
    log_likelihood_: list[float]
    complexity_: list[float]
    description_length_: list[float]
    stopping_reason_: str
    width_reasons_: list[str]
    coding_: UnitCoding
    _categories: Categories
    scalers_: list[StandardScaler]
    history_: History
    n_iter_: int
    n_samples_seen_: int
    n_features_in_: int
    feature_names_in_: np.ndarray
    _log_partitions: list[LogPartition | None]
    _portfolio: DensityPortfolio | None
    _input_means: list[np.ndarray]
    _seed: int

    _parameter_constraints = {
        "growth": [StrOptions(set(get_args(GrowthName))), None],
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            "array-like",
            None,
        ],
        "max_layers": [Interval(Integral, 1, None, closed="left")],
        "unit_cost": [Interval(Real, 0, None, closed="neither")],
        "coding": [StrOptions({"auto", "thermometer", "minmax", "probability"})],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "handle_unknown": [StrOptions({"error", "missing"})],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "whiten": ["boolean"],
        "density": [StrOptions({"auto", "layers"})],
        "layer": [Integral, StrOptions({"all"})],
        "standardize": ["boolean"],
        "passthrough": ["boolean"],
        "n_final_epochs": [
            Interval(Integral, 0, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "learning_rate": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto"}),
        ],
        "batch_size": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "l2": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "infinite_rbm_options": [InfiniteRBMOptions, None],
        "max_units": [Interval(Integral, 1, None, closed="left")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
        "n_temperatures": [Interval(Integral, 1, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "monitor": [Interval(Integral, 1, None, closed="left"), None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }
    _when_long = "use fewer rows, or set n_components instead of growth"
    _controls = {"infinite_rbm_options": InfiniteRBMOptions}

    def __init__(
        self,
        growth: GrowthName | None = "held_out",
        n_components: ArrayLike | None = None,
        *,
        max_layers: int = 10,
        unit_cost: float = 1.0,
        coding: str = "auto",
        categorical_features: ArrayLike | None = "from_dtype",
        handle_unknown: str = "error",
        n_bins: int = 8,
        whiten: bool = False,
        density: str = "auto",
        layer: int | str = -1,
        standardize: bool = True,
        passthrough: bool = False,
        n_final_epochs: int | str = "auto",
        learning_rate: float | str = "auto",
        batch_size: int | str = "auto",
        l2: float | str = "auto",
        infinite_rbm_options: InfiniteRBMOptions | None = None,
        max_units: int = 2000,
        max_steps: int = 1_000_000,
        n_temperatures: int = 10_000,
        n_draws: int = 300,
        monitor: int | None = None,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.growth = growth
        self.n_components = n_components
        self.max_layers = max_layers
        self.unit_cost = unit_cost
        self.coding = coding
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.n_bins = n_bins
        self.whiten = whiten
        self.density = density
        self.layer = layer
        self.standardize = standardize
        self.passthrough = passthrough
        self.n_final_epochs = n_final_epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.l2 = l2
        self.infinite_rbm_options = infinite_rbm_options
        self.max_units = max_units
        self.max_steps = max_steps
        self.n_temperatures = n_temperatures
        self.n_draws = n_draws
        self.monitor = monitor
        self.warm_start = warm_start
        self.random_state = random_state

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self,
        X: TableLike,
        y: object | None = None,
        X_val: TableLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Find the layers and train them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            At least 2 samples. Sparse input is converted to dense. NaN means missing:
            training then redraws the value in each step, given the others. The few
            values far from all others in a numeric column (at each end up to one in 50
            samples, or one in ten, with a warning, if they are off by a hundred ranges
            of the others; at most five) count as missing, too, except with
            ``coding="minmax"``.
        y : None
            Not used.
        X_val : {array-like, sparse matrix} of shape (n_validation, n_features), \
                default=None
            Validation samples whose log-likelihood is recorded; needs `monitor`.
        sample_weight : array-like of shape (n_samples,), default=None
            Integers count repeated samples, with identical results. Other weights are
            scaled to a mean of 1; each sample is repeated as often as its weight,
            rounded up or down.

        Returns
        -------
        EnergyNetTransformer
            The fitted estimator.

        Raises
        ------
        ValueError
            For invalid input; the message names the parameter or column. Also if
            training diverges: lower `learning_rate`.

        Warns
        -----
        ConvergenceWarning
            If a layer was still growing at `max_units` or `max_steps`, or when wider
            ones would have taken many minutes.
        """
        go_on, given = self.warm_start and hasattr(self, "weights_"), X
        self._seed = self._new_seed()
        encoded = self._encode_samples(X, sample_weight, learn=not go_on)
        rbms = self._arranged_layers() if go_on else None
        trainer = StackTrainer(self, self._seed, len(encoded))
        monitor = self._monitor(encoded, X_val, trainer.weight)
        loop = FitLoop(
            self, given, y, None, trainer.n_records(encoded, rbms),
            lambda make_rbms: self._fitted(make_rbms(), encoded),
        )  # fmt: skip
        built = trainer.build(encoded, monitor.watch(loop.step), rbms)
        self._expose(built, encoded, monitor.within["log_likelihood"], loop)
        return self

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: TableLike,
        y: object | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train each layer for one epoch on these samples, keeping its width.

        The first call finds the layers as `fit` does; layers of fixed width start from
        random weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; those of the first call, at least 2, also set the coding. NaN means
            missing, as in `fit`.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`.

        Returns
        -------
        EnergyNetTransformer
            The fitted estimator, without the likelihoods of the earlier weights.
        """
        is_first = not hasattr(self, "weights_")
        if is_first and widths_of(self) is None:
            return self.fit(X, sample_weight=sample_weight)
        if is_first:
            self._seed, self.n_iter_, self.n_samples_seen_ = self._new_seed(), 0, 0
        encoded = self._encode_samples(X, sample_weight, is_first, not is_first)
        self.n_samples_seen_ += len(encoded)
        rbms = None if is_first else self._arranged_layers()
        # Other random numbers for each call.
        seed = np.random.SeedSequence([self._seed, self.n_iter_]).generate_state(1)
        trainer = StackTrainer(self, self._seed, self.n_samples_seen_)
        rbms = trainer.train_epoch(encoded, rbms, int(seed[0]))
        earlier = None if is_first else self.scalers_
        self._set_fitted(self._fitted(rbms, encoded, earlier))
        if is_first:
            self.stopping_reason_ = GIVEN_DEPTH
            self.width_reasons_ = [GIVEN_REASON] * len(rbms)
            self.history_ = History()
        self.n_iter_ += 1
        return self

    def transform(self, X: TableLike) -> NDArray:
        """Compute the probabilities of the hidden units.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples. NaN means missing: the first layer's probabilities are then means
            over the possible values.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            As set by `layer`, `standardize` and `passthrough`. Higher layers are
            computed from the probabilities of the layer below; appended columns are
            imputed.
        """
        require_fitted(self, "weights_")
        table = self._read_table(X, keep_dtype=True)
        if self.standardize and self.passthrough:
            require_finite(self.scalers_[-1], "X")
        parts = (self._transform_batch(table.take(rows)) for rows in batches(table))
        return join_blocks(parts, len(table))

    def impute(
        self,
        X: TableLike,
        *,
        strategy: str = "mean",
        n_draws: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> Any:
        """Replace NaN with expected, or drawn, values given the known ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples with NaN for missing values.
        strategy : {"mean", "mode"}, default="mean"
            Expected value, which for bits is the probability of a 1, or most probable
            value. Categories are always the most probable ones.
        n_draws : int, default=None
            Number of completed tables to draw instead, for multiple imputation.
        random_state : int, RandomState instance or None, default=None
            Seed for draws.

        Returns
        -------
        ndarray of shape (n_samples, n_features) or list of ndarray
            The completed samples, in the container set by ``set_output``; with
            `n_draws`, a list of them. Missing values follow the distribution of the
            first layer. Means, and the probabilities of draws, are exact if the hidden
            units, or the missing values, have at most 4096 states; otherwise they come
            from chains or, for whitened columns, from at least 100 weighted draws;
            draws of numbers are within their level. No number leaves the range seen in
            `fit`. Missing booleans and integers are filled with booleans and integers,
            and data frames keep the types of their columns.
        """
        check_is_fitted(self)
        table = self._read_table(X)
        of_columns = self.layers_[0], self.coding_, table
        if n_draws is None:
            tables = [impute(*of_columns, strategy, self._seed)]
        else:
            tables = sample_missing(*of_columns, n_draws, random_state)
        tables = [write_completed(values, table, self, X) for values in tables]
        return tables[0] if n_draws is None else tables

    def inverse_transform(self, X: TableLike) -> NDArray:
        """Reconstruct samples from the output of :meth:`transform`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            Features. With ``layer="all"`` only the highest layer is used; appended
            columns are ignored.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Computed downward, each layer's probabilities from those above.
        """
        check_is_fitted(self)
        X = check_array(to_numpy(X), dtype=np.float64, input_name="X")
        n_columns = len(self.get_feature_names_out())
        if X.shape[1] != n_columns:
            raise ValueError(
                f"X has {X.shape[1]} features, but transform returns {n_columns}"
            )
        shown = [k for k in self._shown() if k < len(self.weights_)]
        top, widths = shown[-1], [self.n_components_per_layer_[k] for k in shown]
        states = X[:, sum(widths[:-1]) : sum(widths)]
        if self.standardize:
            states = self.scalers_[top].inverse_transform(states)
        states = np.clip(states, 0.0, 1.0)
        for rbm in reversed(self.layers_[: top + 1]):
            states = rbm.visible_probabilities(states)
        return as_written(self.coding_.decode(states), self._categories)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray:
        """Name the columns of :meth:`transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Column names of X; None for those seen in `fit`.

        Returns
        -------
        ndarray of str
            ``"layer0_unit0"`` and so on; appended columns keep their names, extended by
            those of categories.
        """
        check_is_fitted(self)
        names = input_names(self, input_features)
        widths, shown = self.n_components_per_layer_, self._shown()
        appended = []
        if len(widths) in shown:
            appended = name_numbers(list(names), self._categories.known())
        blocks = [
            unique_names([f"layer{k}_unit{i}" for i in range(width)], appended)
            for k, width in enumerate(widths)
        ]
        blocks.append(appended)
        return np.concatenate([blocks[k] for k in shown]).astype(object)

    @one_blas_thread
    def sample(
        self,
        n_samples: int = 1,
        n_steps: int = 1000,
        random_state: int | np.random.RandomState | None = None,
    ) -> NDArray:
        """Draw samples from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples, each from its own chain.
        n_steps : int, default=1000
            Gibbs steps in the highest layer, starting from random bits. None are needed
            if it has so few hidden or visible units, about 16, that its log partition
            function is exact: their states are drawn directly.
        random_state : int, RandomState instance or None, default=None
            Pass an int for reproducible samples.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            In the units of X: bits for columns within [0, 1]; for thermometers numbers
            within levels, or the value that most samples of a level had, with the same
            frequency. Booleans if all columns are; in a table with numbers they are 0.0
            and 1.0.
        """
        check_is_fitted(self)
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        check_scalar(n_steps, "n_steps", Integral, min_val=1)
        random_state = check_random_state(random_state)
        *lower, top = self.layers_
        if is_enumerable(top):
            states = draw_enumerated(top, n_samples, random_state)
        else:
            states = top.sample(n_samples, n_steps, random_state=random_state)
        stream = draw_stream(random_state)
        for rbm in reversed(lower):
            logits = states @ rbm.weights
            states = np.empty_like(logits)
            draw_visible(logits, rbm.visible_bias, rbm.groups, stream, states)
        drawn = self.coding_.draw(states, random_state)
        return self._categories.write_drawn(drawn)

    def _list_facts(self) -> list[str]:
        """Units of columns and layers, reasons for the widths, and the likelihood."""
        n_units = int(self.coding_.n_units.sum())
        widths = ", ".join(f"{width:,}" for width in self.n_components_per_layer_)
        facts = [
            f"{self.n_features_in_:,} columns as {n_units:,} visible units",
            f"widths of the layers, from bottom to top: {widths}",
            *dict.fromkeys(self.width_reasons_),
            self.stopping_reason_,
        ]
        # Only after a fit that grew to its end.
        if likelihoods := getattr(self, "log_likelihood_", None):
            facts.append(f"mean log-likelihood of the rows: {likelihoods[-1]:.4g} nats")
        return facts

    def score_samples(self, X: TableLike) -> NDArray[np.float64]:
        """Compute or estimate the log-likelihood of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; for NaN, the likelihood is that of the known values.

        Returns
        -------
        ndarray of shape (n_samples,)
            In nats. For thermometers, a density in the units of X: uniform within
            levels, with exponential tails. For other columns, the probability of bits,
            averaged over bits drawn with the given probabilities; values outside [0, 1]
            or the range of "minmax" lose one nat per range of distance. Constant
            columns do not count. A category not seen in `fit`, with
            ``handle_unknown="missing"``, has the probability of one seen half a time,
            and at most half that of any known one in its place. The result of a sample
            does not depend on the others.

        Raises
        ------
        ValueError
            If a sample has more than 4096 completions and there are several layers.
        """
        check_is_fitted(self)
        table = self._read_table(X, keep_dtype=True)
        return self._score_table(table, unseen_categories(table, X))

    @overload
    def score(
        self, X: TableLike, y: object | None = ..., *, return_std: Literal[False] = ...
    ) -> float: ...

    @overload
    def score(
        self, X: TableLike, y: object | None = ..., *, return_std: Literal[True]
    ) -> tuple[float, float]: ...

    def score(
        self, X: TableLike, y: object | None = None, *, return_std: bool = False
    ) -> float | tuple[float, float]:
        """Compute or estimate the mean log-likelihood.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : None
            Not used.
        return_std : bool, default=False
            Whether to also return the standard error of the log partition function.

        Returns
        -------
        float
            Mean of :meth:`score_samples`, in nats per sample.
        float
            With `return_std`, the standard error from annealed importance sampling that
            all samples share, 0 if no partition function is estimated. The real error
            may be twice as large if few chains are effective;
            ``log_partition_[-1].effective_sample_size`` is their number.
        """
        mean = float(self.score_samples(X).mean())
        if not return_std:
            return mean
        if self.ensemble_weights_[LAYERS] == 0.0:
            return mean, 0.0
        return mean, float(
            self._log_partition_of(len(self.weights_) - 1).standard_error
        )

    @property
    def layers_(self) -> list[RBM]:
        """Layers from the bottom up, a list of :class:`~skmohn.energynet.RBM`."""
        require_fitted(self, "weights_")
        parts = self.weights_, self.hidden_bias_, self.visible_bias_
        first, *others = zip(*parts, strict=True)
        return [RBM(*first, self.coding_.groups), *(RBM(*layer) for layer in others)]

    @property
    def ensemble_weights_(self) -> dict[str, float]:
        """Weights of the members of the density, by name."""
        check_is_fitted(self)
        if self._portfolio is None or self.density == "layers":
            return {LAYERS: 1.0}
        return dict(self._portfolio.weights)

    @ComputedProperty
    def log_partition_(self) -> list[LogPartition]:
        """Log partition function of each layer, a list of LogPartition.

        Those that `fit` did not need are computed on access, by annealed importance
        sampling with at most `n_temperatures`, or four times as many if the effective
        sample size is below 10; a warning is issued if it still is.
        """
        check_is_fitted(self)
        return [self._log_partition_of(k) for k in range(len(self.weights_))]

    def __sklearn_tags__(self) -> Tags:
        """Describe the inputs that the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.coding != MINMAX
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _score_table(
        self, table: Table, unseen: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Log-likelihoods of rows; `unseen` marks categories not there in fit."""
        portfolio = self._portfolio if self.density == "auto" else None
        needs_layers = portfolio is None or portfolio.has_layers
        scorer = Scorer(
            self.layers_, self.coding_, self.n_draws, self._seed,
            self._log_partition_of(len(self.weights_) - 1) if needs_layers else None,
            portfolio,
        )  # fmt: skip
        scores = [
            scorer.score(self._encode(table.take(rows)), rows.start, unseen[rows])
            for rows in batches(table)
        ]
        return np.concatenate(scores)

    def _monitor(
        self, encoded: Encoded, X_val: TableLike | None, weight: float
    ) -> Monitor:
        """Monitor of a fit; `weight` is the factor of a mean log-likelihood."""
        tables = {"log_likelihood": encoded}
        if X_val is not None:
            table = self._read_table(X_val)
            assert_all_finite(table.values, input_name="X_val")
            arranged = self._encode(table).arrange(self.coding_)
            tables["validation_log_likelihood"] = arranged
        return Monitor.of(self, self.coding_, tables, weight, self._seed)

    def _transform_batch(self, table: Table) -> NDArray:
        encoded, coding, layers = self._encode(table), self.coding_, self.layers_
        X, visible, hidden = expect_missing(layers[0], coding, encoded, self._seed)
        X = coding.complete(X, visible)
        numbers = coding.numbers(X, visible)
        blocks = feature_blocks(layers, encoded.units, numbers, hidden)
        if self.standardize:
            blocks = [
                standardize_checked(self.scalers_[k], blocks[k]) for k in self._shown()
            ]
        else:
            blocks = [blocks[k] for k in self._shown()]
        return in_precision(np.hstack(blocks).astype(X.dtype, copy=False), table)

    def _encode_samples(
        self,
        X: TableLike,
        sample_weight: ArrayLike | None,
        learn: bool,
        are_new: bool = False,
    ) -> Encoded:
        """Check samples and parameters; encode the samples to train on."""
        # `are_new`: the coding was learned from others.
        widths = widths_of(self)
        if widths is not None:
            check_layer(self.layer, len(widths))
            if not learn and widths != self.n_components_per_layer_:
                raise ValueError(
                    "n_components changed since the fit that warm_start or partial_fit "
                    "continues: restore the old value or fit anew"
                )
        table = self._read_table(X, reset=learn, weights=[sample_weight])
        table = table.repeat(sample_weight)
        if learn and self.coding != MINMAX:
            table = table.mark_lone()
        # A single sample leaves nothing to learn from.
        table = table.drop_unknown(2 if learn else 1)
        if learn:
            table = table.round()
            known = self._categories.known()
            self.coding_ = UnitCoding.learn(
                table.values, self.coding, self.n_bins, table.names,
                {j: len(categories) for j, categories in known.items()},
                self._seed if self.whiten else None,
            )  # fmt: skip
        return encode(table, self.coding_, self._seed, are_new)

    def _new_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _fitted(
        self,
        rbms: Sequence[RBM],
        encoded: Encoded,
        earlier: list[StandardScaler] | None = None,
    ) -> dict[str, Any]:
        """Fitted attributes of layers, with the scalers of earlier samples if any."""
        # Layers and units are in the layout that was learned from.
        coding, X = self.coding_, encoded.values
        rbms = [coding.layout.restore_rbm(rbms[0], coding.groups), *rbms[1:]]
        if np.isnan(X).any():
            X = coding.complete(X, coding.layout.restore(encoded.units))
        scalers, input_means = learn_scalers(rbms, coding, X, encoded.units, earlier)
        if self.standardize and self.passthrough:
            require_finite(scalers[-1], "X")
        return {
            "n_components_per_layer_": [rbm.n_hidden for rbm in rbms],
            "weights_": [rbm.weights for rbm in rbms],
            "hidden_bias_": [rbm.hidden_bias for rbm in rbms],
            "visible_bias_": [rbm.visible_bias for rbm in rbms],
            "scalers_": scalers,
            "_log_partitions": [None] * len(rbms),
            "_portfolio": None,
            "_input_means": input_means,
        }

    def _set_fitted(self, fitted: dict[str, Any]) -> None:
        """Set attributes of layers; measures of other layers are removed."""
        for name in _MEASURED:
            vars(self).pop(name, None)
        vars(self).update(fitted)

    def _expose(
        self, built: TrainedStack, encoded: Encoded, log_density: float, loop: FitLoop
    ) -> None:
        """End a fit: set attributes, warn of layers that did not converge."""
        # `log_density` is the mean over values within their levels.
        fitted = self._fitted(built.rbms, encoded)
        if self.density == "auto" and built.held_out is not None:
            fitted["_portfolio"] = DensityPortfolio.learn(
                encoded, built.held_out, self._seed
            )
        loop.attributes = lambda: fitted
        loop.finish()
        self._set_fitted(fitted)
        self.stopping_reason_ = built.reason
        self.width_reasons_ = built.width_reasons
        if built.log_partitions is not None:
            layout, (first, *others) = self.coding_.layout, built.log_partitions
            self._log_partitions = [_restore(first, layout, built.rbms[0]), *others]
            for k, found in enumerate(built.log_partitions):
                warn_if_unreliable(found, k)
            measured = built.measured(log_density)
            vars(self).update(zip(_MEASURED, measured, strict=True))
        self.history_, self.n_iter_ = loop.history, len(loop.history)
        self.n_samples_seen_ = len(encoded)
        warn_of_limits(self, built.limits)

    @one_blas_thread
    def _log_partition_of(self, k: int) -> LogPartition:
        found = self._log_partitions[k]
        if found is None:
            rbm, mean = self._arranged_layers()[k], self._input_means[k]
            if k == 0:
                (mean,) = self.coding_.layout.arrange(mean[None].copy())
            found = converged_log_partition(
                rbm,
                np.broadcast_to(mean, (_PASS.n_rows, len(mean))),
                n_temperatures=self.n_temperatures,
                random_state=self._seed,
            )
            if k == 0:
                found = _restore(found, self.coding_.layout, rbm)
            self._log_partitions[k] = found
            warn_if_unreliable(found, k)
        return found

    def _arranged_layers(self) -> list[RBM]:
        """Layers in the layout that they are trained in."""
        first, *others = self.layers_
        return [self.coding_.layout.arrange_rbm(first), *others]

    def _shown(self) -> list[int]:
        """Blocks that make up the features."""
        n_layers = len(self.weights_)
        if isinstance(self.layer, str):
            shown = list(range(n_layers))
        else:
            check_layer(self.layer, n_layers)
            shown = [range(n_layers)[self.layer]]
        return shown + [n_layers] * self.passthrough

    def _encode(self, table: Table) -> Encoded:
        return Encoded.of(table.values, self.coding_, table.names)

    def _read_table(
        self,
        X: TableLike,
        reset: bool = False,
        weights: Sequence[ArrayLike | None] = (),
        keep_dtype: bool = False,
    ) -> Table:
        is_minmax = self.coding == MINMAX or (not reset and MINMAX in self.coding_.kind)
        return Table.read(
            self,
            X,
            reset=reset,
            allow_missing=not is_minmax,
            weights=weights,
            keep_dtype=keep_dtype,
        )


def _restore(
    log_partition: LogPartition, layout: Layout, arranged: RBM
) -> LogPartition:
    """Log partition function of the units of columns."""
    value = log_partition.value - layout.log_volume(arranged)
    return replace(log_partition, value=value)
