"""Regression with a network trained on its weight bits."""

from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from skmohn._core._fitting import History, all_or_nothing
from skmohn._core._scaling import restore_checked
from skmohn._core._sklearn import Interval, StrOptions, fit_context
from skmohn._core._types import TableLike
from skmohn.blm import _kernels as kernels
from skmohn.blm._base import BaseBLM
from skmohn.blm._conversion import fill_mlp
from skmohn.blm._labels import RealTargets
from skmohn.blm._samples import SequenceScoreMixin
from skmohn.blm._search import SearchOptions

_LOSSES = {
    "squared": kernels.SQUARED,
    "absolute": kernels.ABSOLUTE,
    "huber": kernels.HUBER,
    "pinball": kernels.PINBALL,
}


class BLMRegressor(SequenceScoreMixin, MultiOutputMixin, RegressorMixin, BaseBLM):
    """Neural network regressor with low-bit weights, trained without gradients.

    The weights of a binary learning machine (BLM) are small integers times a step size.
    Training flips their bits and keeps changes that lower the loss, so weights may have
    few bits, activations need no gradient, and the loss may have any form.

    Tables may have categories and missing values. A missing number counts as the mean
    of its column in `fit`. If values of a column were missing in `fit`, numbers get a
    further 0/1 input that marks missing ones, and missing categories form a category of
    their own; otherwise the inputs of a missing category are at their means.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(20,)
        Units in each hidden layer; empty for a linear model.
    activation : {"tanh", "logistic", "relu", "step", "identity"}, default="tanh"
        Activation of the hidden units. "step" is 1 above zero, else 0.
    loss : {"squared", "absolute", "huber", "pinball"} or callable, default="squared"
        Loss to minimize; for callables, see `decomposable`. With `standardize`, these
        and "huber" get standardized targets.
    decomposable : bool, default=True
        Whether a callable `loss` takes a target and an output, two floats, and its mean
        over all samples is minimized; numba compiles it. If False, it takes all targets
        and outputs at once, ``loss(y_true, outputs)``, and returns the value to
        minimize, such as the negative of a rank correlation: arrays of shape
        (n_samples,), or (n_samples, n_outputs) for several targets. If the weights of
        samples differ, it needs a parameter `sample_weight`. The first half of the
        moves lowers the squared error, the others ignore `alpha`.
    quantile : float, default=0.5
        Quantile that "pinball" predicts.
    epsilon : float, default=1.35
        Error above which "huber" is linear.
    recurrent : bool, "steps" or "sequences", default=False
        Whether hidden units also receive the previous outputs of their layer (Elman). X
        is then an array of shape (n_sequences, n_steps, n_features) or a list of arrays
        or data frames of shape (n_steps, n_features), whose columns are those of the
        first and, later, of `fit`; y has a target per step or per sequence. True infers
        from y which of these; pass "steps" or "sequences" if both fit.
    n_bits : int, default=12
        Bits per weight, 2 to 24. A weight is an integer times
        ``w_max / (2 ** (n_bits - 1) - 1)`` ([1]_ Eq 1).
    w_max : float, array-like of a float for each layer, or "auto", default="auto"
        Largest weight. It regularizes and, with few bits, sets the resolution. "auto"
        is ``2 ** (n_bits / 2 - 1)`` times ``2.4 / sqrt(n_inputs)`` or 0.6, whichever is
        less, and at most 6, with `n_inputs` inputs per unit of the layer; for outputs
        of hidden units that predict standardized targets, ``0.48 / sqrt(n_inputs)``
        replaces 0.6.
    search : {"adaptive", "gray"}, default="adaptive"
        Which moves to try. "adaptive" keeps a signed step per weight that doubles if it
        helps and shrinks if it does not, and mixes in single bits; "gray" flips single
        bits of the Gray code in random order, as published.
    search_options : SearchOptions, default=None
        Options of the search, such as its random start; None for the defaults.
    perturbation : float, default=0.01
        Fraction of the weights (at least one) to redraw at a local minimum, before the
        search continues from the best one (iterated local search). 0 ends the run
        there.
    alpha : float or "auto", default="auto"
        L2 penalty of the weights, as in scikit-learn's MLP. "auto" is in proportion to
        the noise, the fraction of the variance of the targets that neither ridge
        regression nor one with Gaussian kernels predicts of left-out samples, and to
        the square root of the number of samples, 1000 at most, times the effective rank
        of the inputs; for sequences it is 3. A fit that goes on keeps it.
    standardize : bool, default=True
        Whether to standardize inputs and targets; inputs of two values, such as one-hot
        columns, become -1 and +1 less their mean. The few values far off all others of
        an input (at each end up to one in 50 samples, or one in ten where they are off
        by a hundred ranges of the others, which warns; at most five) then count as its
        median in `fit`, and samples with such targets are left out, with a warning,
        unless the loss is one of all outputs.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
            default="from_dtype"
        Columns that hold categories: a mask, indices or names. "from_dtype" takes text
        and categorical dtypes, but leaves out text that differs in ten rows and 95% of
        them or more, as ids do. Each category is a 0/1 input; of two categories, only
        the second. Sequences have none.
    handle_unknown : {"error", "missing"}, default="error"
        Whether to reject a category not seen in `fit` or treat it as missing.
    n_restarts : int, default=1
        Number of runs from different random starts ([1]_ "repeated local search").
    ensemble : int, default=1
        Number of the best runs whose outputs are averaged.
    max_flips : int or "auto", default="auto"
        Maximum number of moves tried per run; "auto" is 500 per weight.
    max_time : float, default=None
        Seconds after which the fit ends. The result then depends on the computer.
    tol : float, default=0.0001
        Smallest improvement of the loss that counts, as a fraction of the loss.
    n_iter_no_change : int, default=10
        Number of epochs (10 moves per weight each) without improvement that ends a run.
    early_stopping : bool, default=False
        Whether to hold out a part of the samples that decides which weights to keep and
        when to stop. Passing `X_val` and `y_val` to `fit` does the same.
    validation_fraction : float, default=0.1
        Fraction of the samples held out by `early_stopping`.
    warm_start : bool, default=False
        Whether `fit` continues from the previous weights, with the same scales and
        categories. Sizes, bits, ranges and activation must not change.
    random_state : int, RandomState instance or None, default=None
        Seed for starts, moves and the samples held out.
    n_jobs : int, default=None
        Number of runs to train in parallel. It does not affect the result.

    Attributes
    ----------
    coefs_ : list of ndarrays of shape (n_in, n_out)
        Weights of each layer, as in scikit-learn's MLP.
    intercepts_ : list of ndarrays of shape (n_out,)
        Biases of each layer.
    codes_ : ndarray of shape (n_weights,), int32
        Weights as integers, unit by unit, the bias of each unit first.
    w_max_ : ndarray of shape (n_layers,)
        Largest weight of each layer of weights.
    alpha_ : float
        L2 penalty of the weights.
    nbytes_, n_movable_bits_ : int
        Bytes of all weights at `n_bits` each; bits free to move at the end.
    members_ : list of (coefs, intercepts)
        The networks that predict together, the best first.
    loss_ : float
        Loss of the best network, on the validation samples if there are any.
    loss_curve_ : list of float
        Training loss of the best run, at the start and after each epoch.
    history_ : History
        One dict per epoch of the best run: ``loss``, ``rmse`` (None unless the loss is
        squared), ``validation_loss``, ``bits`` (free to move), ``explored`` (fraction
        of the moves tried per success), ``flips``, ``accepted`` and ``seconds``.
        ``history_.to_frame()`` returns a DataFrame.
    n_iter_ : int
        Number of epochs of the best run.
    stopping_reason_ : str
        Why the best run ended.
    input_scaler_, target_scaler_ : StandardScaler or None
        Scalers of inputs and targets.
    out_activation_ : str
        Activation of the outputs.
    n_layers_, n_outputs_ : int
        Number of layers, including inputs and outputs; number of outputs.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    See Also
    --------
    BLMClassifier : For classification.
    sklearn.neural_network.MLPRegressor : Trained by gradients.

    References
    ----------
    .. [1] Brunato, M. and Battiti, R. (2017). A telescopic binary learning machine for
       training neural networks. IEEE Trans. Neural Networks and Learning Systems 28(3).

    Examples
    --------
    >>> import numpy as np
    >>> from skmohn import BLMRegressor
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> y = np.sin(X).ravel()
    >>> model = BLMRegressor((10,), n_bits=8, alpha=0, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    >>> model.nbytes_
    31
    """

    coefs_: list[np.ndarray]
    intercepts_: list[np.ndarray]
    codes_: np.ndarray
    w_max_: np.ndarray
    alpha_: float
    nbytes_: int
    n_movable_bits_: int
    members_: list[tuple[list[np.ndarray], list[np.ndarray]]]
    loss_: float
    loss_curve_: list[float]
    history_: History
    n_iter_: int
    stopping_reason_: str
    input_scaler_: StandardScaler | None
    target_scaler_: StandardScaler | None
    out_activation_: str
    n_layers_: int
    n_outputs_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    _parameter_constraints = {
        **BaseBLM._parameter_constraints,
        "loss": [StrOptions(set(_LOSSES)), callable],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
    }
    _target_type = RealTargets
    _scales_targets = True
    _raw_loss = "squared"

    def __init__(
        self,
        hidden_layer_sizes: ArrayLike = (20,),
        activation: str = "tanh",
        loss: str | Callable = "squared",
        *,
        decomposable: bool = True,
        quantile: float = 0.5,
        epsilon: float = 1.35,
        recurrent: bool | str = False,
        n_bits: int = 12,
        w_max: ArrayLike = "auto",
        search: str = "adaptive",
        search_options: SearchOptions | None = None,
        perturbation: float = 0.01,
        alpha: float | str = "auto",
        standardize: bool = True,
        categorical_features: ArrayLike | None = "from_dtype",
        handle_unknown: str = "error",
        n_restarts: int = 1,
        ensemble: int = 1,
        max_flips: int | str = "auto",
        max_time: float | None = None,
        tol: float = 1e-4,
        n_iter_no_change: int = 10,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.loss = loss
        self.decomposable = decomposable
        self.quantile = quantile
        self.epsilon = epsilon
        self.recurrent = recurrent
        self.n_bits = n_bits
        self.w_max = w_max
        self.search = search
        self.search_options = search_options
        self.perturbation = perturbation
        self.alpha = alpha
        self.standardize = standardize
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown
        self.n_restarts = n_restarts
        self.ensemble = ensemble
        self.max_flips = max_flips
        self.max_time = max_time
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        X_val: TableLike = None,
        y_val: ArrayLike | None = None,
    ) -> Self:
        """Train the network.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples; NaN means missing. Sparse input is converted to dense.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Integers count repeated samples: a weight of 2 equals the sample twice.
            Other weights are scaled to a mean of 1.
        X_val, y_val : array-like of the same form, default=None
            Validation samples; see `early_stopping`.

        Returns
        -------
        BLMRegressor
            The fitted estimator.

        Raises
        ------
        ValueError, MemoryError
            For invalid input and for networks that do not fit in memory.

        Warns
        -----
        ConvergenceWarning
            If the loss was still falling at `max_flips`.
        """
        resume = self.warm_start and hasattr(self, "codes_")
        return self._fit(X, y, sample_weight, X_val, y_val, resume=resume)

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train for one epoch on these samples, starting from the current weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; those of the first call also set the scales and categories.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        BLMRegressor
            The fitted estimator.
        """
        return self._fit_epoch(X, y, sample_weight)

    def predict(self, X: TableLike) -> NDArray | list[NDArray]:
        """Predict the targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predicted values.
        """
        outputs = self._outputs(X)
        if self.target_scaler_ is not None:
            outputs = restore_checked(self.target_scaler_, outputs)
        return self._answers_to(outputs, X)

    def _answers_to(self, rows: NDArray, X: TableLike) -> Any:
        rows = rows.ravel() if self._targets.one_dimensional else rows
        return super()._answers_to(rows, X)

    def to_mlp(self) -> MLPRegressor:
        """Convert the network to an equal one of scikit-learn, with scales folded in.

        One that has read categories, or missing values in `fit`, has none: encode them
        in front of it, in a Pipeline.

        Returns
        -------
        MLPRegressor
            Fitted, for tools that read such networks.
        """
        check_is_fitted(self)
        return fill_mlp(self, MLPRegressor())

    def _loss_of(self) -> tuple[int, float, Callable | None]:
        number = self.quantile if self.loss == "pinball" else self.epsilon
        if callable(self.loss):
            return self._loss_of_user(self.loss)
        return _LOSSES[self.loss], float(number), None

    def _smooth_loss(self) -> int:
        return kernels.SQUARED

    def _out_activation(self) -> str:
        return "identity"

    def _read_mlp(self, mlp: MLPRegressor) -> None:
        self._set_targets(RealTargets(mlp.n_outputs_, mlp.n_outputs_ == 1))
