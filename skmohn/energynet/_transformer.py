"""EnergyNetTransformer: validate, code, grow, expose."""

from numbers import Integral, Real
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import Interval, StrOptions

from skmohn._core._control import Nested
from skmohn._core._fitting import FitLoop, History, all_or_nothing
from skmohn.energynet._building import GIVEN_DEPTH, Builder, PaperControl, widths_of
from skmohn.energynet._coding import MINMAX, UnitCoding
from skmohn.energynet._fitted import FittedStackMixin
from skmohn.energynet._growth import GIVEN_REASON
from skmohn.energynet._scoring import Monitor


class EnergyNetTransformer(
    Nested, FittedStackMixin, CallbackSupportMixin, BaseEstimator
):
    """Layers of hidden units whose number is found from the data, without labels.

    Each layer is a restricted Boltzmann machine trained by centred persistent
    contrastive divergence. A layer grows while its units are worth their price in
    likelihood, and the stack while a further layer shortens the description of the
    data. The features are the probabilities of the hidden units.

    Parameters
    ----------
    growth : {"description_length", "paper", None}, default="description_length"
        How the widths of the layers are found where `n_components` does not give them.

        - ``"description_length"``: units are added while most of them raise the
          log-likelihood by more than their price, half the logarithm of the number of
          samples for each parameter; units that do not are dropped. The width depends
          little on learning rate and batch size.
        - ``"paper"``: EnergyNet [1]_. An infinite machine [2]_, trained by contrastive
          divergence, lets units be born until there are no more than the `threshold`
          of `paper_control` for each step. Then it is made a plain machine. Layers pay
          the Rademacher bound. The width depends on learning rate and batch size as
          much as on the data.
        - None: they are not, and have to be given.

    n_components : int or array-like of int, default=None
        Number of units of the layer, or of each layer from the bottom up, which then do
        not grow; None where they are to be found. Wide layers give better features than
        those whose units are all worth their price, which give the better model for its
        size.

    max_layers : int, default=10
        Most layers that grow (T in [1]_). The first one always stays; a further one
        stays if it shortens the description, and if not it is the last one tried.

    kappa : float, default=1.0
        Factor of the price of a unit in ``growth="description_length"``: the lower, the
        wider. 1 is the price of a two-part code.

    coding : {"auto", "thermometer", "minmax", "probability"}, default="auto"
        How columns become visible units, which are bits or probabilities of bits.

        - ``"thermometer"``: a unit for each of `n_bins` - 1 thresholds between
          quantiles (:class:`~sklearn.preprocessing.KBinsDiscretizer`), 1 where the
          value reaches it.
        - ``"minmax"``: the range seen in `fit` becomes [0, 1].
        - ``"probability"``: numbers from 0 to 1, as they are; others are refused.
        - ``"auto"``: bits as they are; other columns within [0, 1] too, if most of
          their values are near the ends, as the grey levels of drawings are; all else,
          such as measurements that were scaled to [0, 1], as thermometers.

        All but "probability" take later values beyond the range for its end.

    n_bins : int, default=8
        Most levels of a thermometer. A column of fewer values has a level for each.
        :meth:`score` compares them: it is a density in the units of X.

    layer : int or "all", default=-1
        The layer whose hidden probabilities :meth:`transform` returns: 0 is the lowest
        one, -1 the highest one, "all" puts all side by side from the lowest up.

    standardize : bool, default=True
        Whether the columns that :meth:`transform` returns have mean 0 and variance 1 on
        the training data. Linear models need it: many probabilities hardly vary.

    append_input : bool, default=False
        Whether they are followed by the columns of X.

    polish : int or "auto", default="auto"
        Epochs of training by centred persistent contrastive divergence when the width
        of a layer is settled. "auto" is as many as make the learning rates sum to 300:
        3000 steps by default. 0 with ``growth="paper"`` is the paper to the letter, at
        the price of a machine that models the data badly.

    learning_rate : float or "auto", default="auto"
        Learning rate, which falls linearly to 0 while a layer's width stays the same.
        "auto" is 0.2, and 0.01 while ``growth="paper"`` grows; there it is constant.

    batch_size : int or "auto", default="auto"
        Samples of a step; "auto" is 50, and 10 while ``growth="paper"`` grows.

    l2 : float or "auto", default="auto"
        Price of half the squared weights, in nats per sample. "auto" is a quarter by
        the number of samples: the weights then have a normal prior of standard
        deviation 2.

    paper_control : PaperControl, default=None
        What only ``growth="paper"`` has: a :class:`PaperControl`. None for its
        defaults.

    max_units : int, default=2000
        Most units of a layer that grows.

    max_steps : int, default=1000000
        Most steps of training before the width of a layer is settled.

    n_temperatures : int, default=10000
        Intermediate machines of annealed importance sampling, which estimates partition
        functions. Fewer flatter a model, by nats if it has hundreds of units.

    n_draws : int, default=300
        Draws of the hidden units for each sample in the likelihood of several layers.

    monitor : int, default=None
        Epochs from one log-likelihood in `history_` to the next, or more of them where
        there is no record so soon, for
        :class:`~skmohn.inspection.LikelihoodDisplay`. It is that of the stack as it is,
        of at most 2000 samples, exact for some 16 units or fewer on a side, and else
        estimated with at most 1000 temperatures: with hundreds of units this may take
        longer than the epochs. None for no such records.

    warm_start : bool, default=False
        Whether `fit` trains the layers of the previous fit further. Widths and coding
        stay as they were.

    random_state : int, RandomState instance or None, default=None
        Determines first weights, orders of samples and chains.

    Attributes
    ----------
    n_components_per_layer_ : list of int
        Units of each layer, from the bottom to the top; the lists below are in the same
        order.

    weights_ : list of ndarrays of shape (n_units, n_inputs), float32
        Of the first layer the inputs are the visible units of all columns, those of a
        thermometer side by side.

    hidden_bias_ : list of ndarrays of shape (n_units,), float32
        Biases of the hidden units.

    visible_bias_ : list of ndarrays of shape (n_inputs,), float32
        Biases of their inputs.

    log_likelihood_ : list of float
        Of the samples of `fit`, in nats per sample, by the stack up to each layer, as
        that of :meth:`score`; an estimate from 2000 samples at most. This and the next
        two are there after a fit that grew and was not stopped by a callback;
        :meth:`score` is always there.

    complexity_ : list of float
        Price of the stack up to each layer, in nats.

    description_length_ : list of float
        Complexity minus the log-likelihood of all samples, in nats.

    stopping_reason_ : str
        Why there are no more layers.

    width_reasons_ : list of str
        Why each layer has its width.

    coding_ : UnitCoding
        How each column became visible units: its ``kind``, ``low`` and ``high``,
        ``thresholds`` and ``levels``.

    scalers_ : list of StandardScaler
        What standardises the probabilities of each layer and, last, the columns of X.

    history_ : History
        One record per epoch (of few samples, per epochs that make 20 steps), decision
        and finished layer: ``layer``, ``stage`` ("start", "grow", "drop", "train",
        "polish" or "layer"), ``units``, ``steps``; ``epochs``, those since the record
        before; ``clock``, the sum of the learning rates, or ``gamma``, the units for
        each step; ``price`` and ``paying``, the number of units worth it, at a
        decision; and the measures above when a layer is finished, of one that is
        clearly not worth it by a tenth of the samples and temperatures. With `monitor`
        also the number of the ``epoch``, the ``log_likelihood`` and the
        ``validation_log_likelihood``.
        ``history_.to_frame()`` needs pandas.

    n_iter_ : int
        Number of these records, and of calls of `partial_fit` since.

    n_samples_seen_ : int
        Number of samples, repeated as their weights say, of `fit` and of the calls of
        `partial_fit` since.

    n_features_in_ : int
        Number of columns seen in `fit`.

    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when all are strings.

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
    scalers_: list[StandardScaler]
    history_: History
    n_iter_: int
    n_samples_seen_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    _parameter_constraints = {
        "growth": [StrOptions({"description_length", "paper"}), None],
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            "array-like",
            None,
        ],
        "max_layers": [Interval(Integral, 1, None, closed="left")],
        "kappa": [Interval(Real, 0, None, closed="neither")],
        "coding": [StrOptions({"auto", "thermometer", "minmax", "probability"})],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "layer": [Integral, StrOptions({"all"})],
        "standardize": ["boolean"],
        "append_input": ["boolean"],
        "polish": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "learning_rate": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto"}),
        ],
        "batch_size": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "l2": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "paper_control": [PaperControl, None],
        "max_units": [Interval(Integral, 1, None, closed="left")],
        "max_steps": [Interval(Integral, 1, None, closed="left")],
        "n_temperatures": [Interval(Integral, 1, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "monitor": [Interval(Integral, 1, None, closed="left"), None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }
    _controls = {"paper_control": PaperControl}

    def __init__(
        self,
        growth: str | None = "description_length",
        n_components=None,
        *,
        max_layers=10,
        kappa=1.0,
        coding="auto",
        n_bins=8,
        layer: int | str = -1,
        standardize=True,
        append_input=False,
        polish: int | str = "auto",
        learning_rate: float | str = "auto",
        batch_size: int | str = "auto",
        l2: float | str = "auto",
        paper_control: PaperControl | None = None,
        max_units=2000,
        max_steps=1_000_000,
        n_temperatures=10_000,
        n_draws=300,
        monitor=None,
        warm_start=False,
        random_state=None,
    ):
        self.growth = growth
        self.n_components = n_components
        self.max_layers = max_layers
        self.kappa = kappa
        self.coding = coding
        self.n_bins = n_bins
        self.layer = layer
        self.standardize = standardize
        self.append_input = append_input
        self.polish = polish
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.l2 = l2
        self.paper_control = paper_control
        self.max_units = max_units
        self.max_steps = max_steps
        self.n_temperatures = n_temperatures
        self.n_draws = n_draws
        self.monitor = monitor
        self.warm_start = warm_start
        self.random_state = random_state

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y=None, X_val=None, sample_weight=None) -> Self:
        """Find the layers and train them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            At least 2 samples. Sparse input is made dense. Samples with NaN are left
            out, with a warning.

        y : None
            Not used.

        X_val : {array-like, sparse matrix} of shape (n_validation, n_features), \
                default=None
            Further samples whose log-likelihood is recorded too. Needs `monitor`.

        sample_weight : array-like of shape (n_samples,), default=None
            Whole numbers say how often a sample is there: the fit is the same, to the
            bit, as that of repeated rows. Others are relative, with a mean of 1: a
            sample is there as often as its weight, rounded up or down.

        Returns
        -------
        EnergyNetTransformer
            The fitted estimator itself.

        Raises
        ------
        ValueError
            For bad input; the message names the parameter or column. Also when the
            weights grow beyond all bounds: lower `learning_rate`.

        Warns
        -----
        ConvergenceWarning
            When a layer was still growing at `max_units` or `max_steps`.
        """
        go_on, given = self.warm_start and hasattr(self, "weights_"), X
        X, units = self._read_samples(X, sample_weight, learn=not go_on)
        rbms, self._seed = self.layers_ if go_on else None, self._new_seed()
        builder = Builder(self, self._seed, len(units), self.coding_.thermometers)
        monitor = self._monitor(X, units, X_val)
        loop = FitLoop(
            self, given, y, None, builder.n_records(units, rbms),
            lambda make_rbms: self._fitted(make_rbms(), X, units),
        )  # fmt: skip
        built = builder.build(units, monitor.watch(loop.step), rbms)
        loop.finish(lambda: built.rbms)
        return self._expose(built, X, units, loop.history)

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None) -> Self:
        """Train each layer for one epoch on these samples; its width stays.

        The first call finds the layers as `fit` does; those of given widths begin with
        random weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Those of the first call, at least 2, also set the coding. Samples with NaN
            are left out, with a warning.

        y : None
            Not used.

        sample_weight : array-like of shape (n_samples,), default=None
            As those of `fit`.

        Returns
        -------
        EnergyNetTransformer
            The fitted estimator itself. What it said of the likelihood of samples is
            withdrawn, as it was said of other weights.
        """
        is_first = not hasattr(self, "weights_")
        if is_first and widths_of(self) is None:
            return self.fit(X, sample_weight=sample_weight)
        X, units = self._read_samples(X, sample_weight, learn=is_first)
        if is_first:
            self._seed, self.n_iter_, self.n_samples_seen_ = self._new_seed(), 0, 0
        self.n_samples_seen_ += len(units)
        rbms = None if is_first else self.layers_
        # Other random numbers for each call.
        seed = np.random.SeedSequence([self._seed, self.n_iter_]).generate_state(1)
        builder = Builder(
            self, self._seed, self.n_samples_seen_, self.coding_.thermometers
        )
        rbms = builder.train_epoch(units, rbms, int(seed[0]))
        self._set_fitted(rbms, X, units, earlier=None if is_first else self.scalers_)
        if is_first:
            self.stopping_reason_ = GIVEN_DEPTH
            self.width_reasons_ = [GIVEN_REASON] * len(rbms)
            self.history_ = History()
        self.n_iter_ += 1
        return self

    def _monitor(self, X, units, X_val):
        """What completes the records of a fit."""
        if X_val is not None and self.monitor is None:
            raise ValueError(
                "X_val is there to be recorded, and monitor=None records nothing: "
                "set monitor to the epochs from one record to the next"
            )
        density = self.coding_.log_density(X)
        tables = {"log_likelihood": units}
        within = {
            "log_likelihood": density.mean(),
            "description_length": -density.sum(),
        }
        if X_val is not None:
            X_val = self._read_table(X_val, ensure_all_finite=True)
            tables["validation_log_likelihood"] = self._encode(X_val)
            density = self.coding_.log_density(X_val)
            within["validation_log_likelihood"] = density.mean()
        options = self.n_temperatures, self.n_draws, self._seed
        return Monitor(within, self.monitor, tables, *options)

    def __sklearn_tags__(self):
        """Say what the estimator can take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.coding != MINMAX
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
