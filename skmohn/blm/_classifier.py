"""Classification with a network trained on its weight bits."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skmohn._core._fitting import History, all_or_nothing
from skmohn._core._sklearn import StrOptions, check_partial_fit_first_call, fit_context
from skmohn._core._types import TableLike, available_if
from skmohn.blm import _kernels as kernels
from skmohn.blm._base import BaseBLM
from skmohn.blm._conversion import fill_mlp
from skmohn.blm._labels import Labels
from skmohn.blm._samples import SequenceScoreMixin
from skmohn.blm._search import SearchOptions

_LOSSES = {
    "squared": kernels.LOGISTIC_SQUARED,
    "hinge": kernels.HINGE,
    "zero_one": kernels.ZERO_ONE,
    "cross_entropy": kernels.CROSS_ENTROPY,
}


def has_probabilities(estimator: Any) -> bool:
    """Whether the outputs are probabilities, as last fitted or else as to be fitted."""
    if hasattr(estimator, "out_activation_"):
        return estimator.out_activation_ != "identity"
    return _means_probabilities(estimator.loss)


def _has_raw_outputs(estimator: Any) -> bool:
    return not has_probabilities(estimator)


def _means_probabilities(loss: str | Callable) -> bool:
    return loss in ("cross_entropy", "squared")


class BLMClassifier(SequenceScoreMixin, ClassifierMixin, BaseBLM):
    """Neural network classifier with low-bit weights, trained without gradients.

    The weights of a binary learning machine (BLM) are small integers times a step size.
    Training flips their bits and keeps changes that lower the loss, so weights may have
    few bits, activations need no gradient, and the loss may have any form. Targets are
    binary, multiclass or multilabel.

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
    loss : {"cross_entropy", "squared", "hinge", "zero_one"} or callable, \
            default="cross_entropy"
        Loss to minimize: cross-entropy of softmax outputs (logistic if binary or
        multilabel), squared error of logistic outputs (as published), one-vs-rest
        hinge, or the error rate, which has no gradient: the first half of the moves
        lowers the cross-entropy, the others ignore `alpha`. For callables, see
        `decomposable`. The first two provide :meth:`predict_proba`, the others
        :meth:`decision_function`.
    decomposable : bool, default=True
        Whether a callable `loss` takes a target (0 or 1) and an output, two floats, and
        its mean over all samples is minimized; numba compiles it. If False, it takes
        all targets and outputs at once, ``loss(y_true, outputs)``, and returns the
        value to minimize, such as the negative of a scikit-learn metric: arrays of
        shape (n_samples,), or (n_samples, n_outputs) with a column for each of several
        classes or labels. Outputs are those of :meth:`decision_function`. If the
        weights of samples differ, it needs a parameter `sample_weight`. The first half
        of the moves lowers the cross-entropy, the others ignore `alpha`.
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
        less, and at most 6, with `n_inputs` inputs per unit of the layer.
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
        the noise, the fraction of the variance of the classes that neither ridge
        regression nor one with Gaussian kernels predicts of left-out samples, and to
        the square root of the number of samples, 1000 at most, times the effective rank
        of the inputs; for sequences it is 3. A fit that goes on keeps it.
    standardize : bool, default=True
        Whether to standardize the inputs; those of two values, such as one-hot columns,
        become -1 and +1 less their mean. The few values far off all others of an input
        (at each end up to one in 50 samples, or one in ten where they are off by a
        hundred ranges of the others, which warns; at most five) then count as its
        median in `fit`, unless the loss is one of all outputs.
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
        Whether to hold out a stratified part of the samples that decides which weights
        to keep and when to stop. Passing `X_val` and `y_val` to `fit` does the same.
    validation_fraction : float, default=0.1
        Fraction of the samples held out by `early_stopping`.
    warm_start : bool, default=False
        Whether `fit` continues from the previous weights, with the same scales and
        categories. Sizes, bits, ranges and activation must not change.
    class_weight : dict, "balanced" or None, default=None
        Class weights for training and validation; for a multilabel target a list of
        dicts or "balanced".
    random_state : int, RandomState instance or None, default=None
        Seed for starts, moves and the samples held out.
    n_jobs : int, default=None
        Number of runs to train in parallel. It does not affect the result.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels; indices of the labels for a multilabel target.
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
    input_scaler_ : StandardScaler or None
        Scaler of the inputs.
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
    BLMRegressor : For regression.
    sklearn.neural_network.MLPClassifier : Trained by gradients.

    References
    ----------
    .. [1] Brunato, M. and Battiti, R. (2017). A telescopic binary learning machine for
       training neural networks. IEEE Trans. Neural Networks and Learning Systems 28(3).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmohn import BLMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BLMClassifier((5,), n_bits=4, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.nbytes_
    22
    """

    classes_: np.ndarray
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
    out_activation_: str
    n_layers_: int
    n_outputs_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    _parameter_constraints = {
        **BaseBLM._parameter_constraints,
        "loss": [StrOptions(set(_LOSSES)), callable],
        "class_weight": [StrOptions({"balanced"}), dict, list, None],
    }
    _target_type = Labels

    def __init__(
        self,
        hidden_layer_sizes: ArrayLike = (20,),
        activation: str = "tanh",
        loss: str | Callable = "cross_entropy",
        *,
        decomposable: bool = True,
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
        class_weight: Mapping | Sequence[Mapping] | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.loss = loss
        self.decomposable = decomposable
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
        self.class_weight = class_weight
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
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or 0 and 1 for each of several labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Integers count repeated samples: a weight of 2 equals the sample twice.
            Other weights are scaled to a mean of 1.
        X_val, y_val : array-like of the same form, default=None
            Validation samples; see `early_stopping`.

        Returns
        -------
        BLMClassifier
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
        self._classes_wanted = None
        resume = self.warm_start and hasattr(self, "codes_")
        return self._fit(X, y, sample_weight, X_val, y_val, resume=resume)

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Train for one epoch on these samples, starting from the current weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; those of the first call also set the scales and categories.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.
        classes : array-like of shape (n_classes,), default=None
            All possible labels; required in the first call.

        Returns
        -------
        BLMClassifier
            The fitted estimator.
        """
        if check_partial_fit_first_call(self, classes):
            self._classes_wanted = np.unique(np.asarray(classes))
        return self._fit_epoch(X, y, sample_weight)

    def predict(self, X: TableLike) -> NDArray | list[NDArray]:
        """Predict classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Class labels.
        """
        outputs = self._outputs(X)
        # Raw outputs are compared with 0, probabilities with one half.
        threshold = 0.5 if has_probabilities(self) else 0.0
        return self._answers_to(self._targets.decode(outputs, threshold), X)

    @available_if(has_probabilities)
    def predict_proba(self, X: TableLike) -> NDArray | list[NDArray]:
        """Predict class probabilities, for the losses "cross_entropy" and "squared".

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probability of each label for a multilabel target. Logistic outputs of
            several classes are normalized.
        """
        outputs = self._outputs(X)
        return self._answers_to(self._targets.probabilities(outputs), X)

    @available_if(has_probabilities)
    def predict_log_proba(self, X: TableLike) -> NDArray | list[NDArray]:
        """Predict log probabilities of the classes; see `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Minus infinity if the probability is 0.
        """
        outputs = self._outputs(X)
        probabilities = self._targets.probabilities(outputs)
        with np.errstate(divide="ignore"):
            return self._answers_to(np.log(probabilities), X)

    @available_if(_has_raw_outputs)
    def decision_function(self, X: TableLike) -> NDArray | list[NDArray]:
        """Return the raw outputs, for the losses "hinge", "zero_one" and callables.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes and for labels that apply; with
            several classes, the largest is predicted.
        """
        outputs = self._outputs(X)
        return self._answers_to(self._targets.scores(outputs), X)

    def to_mlp(self) -> MLPClassifier:
        """Convert the network to an equal one of scikit-learn, with scales folded in.

        One that has read categories, or missing values in `fit`, has none: encode them
        in front of it, in a Pipeline.

        Returns
        -------
        MLPClassifier
            Fitted, for tools that read such networks.
        """
        check_is_fitted(self)
        if not has_probabilities(self):
            raise ValueError(
                "the outputs of an MLPClassifier are probabilities: fit with "
                'loss="cross_entropy" or loss="squared"'
            )
        if self._targets.one_of_many and self.out_activation_ == "logistic":
            raise ValueError(
                "an MLPClassifier of several classes does not normalize logistic "
                'outputs: fit with loss="cross_entropy"'
            )
        mlp = fill_mlp(self, MLPClassifier(), self._targets.examples())
        mlp.classes_ = self.classes_
        return mlp

    def _loss_of(self) -> tuple[int, float, Callable | None]:
        if callable(self.loss):
            return self._loss_of_user(self.loss)
        if self.loss == "cross_entropy":
            return self._smooth_loss(), 0.0, None
        if self.loss == "zero_one" and self._targets.one_of_many:
            return kernels.MISSES, 0.0, None
        return _LOSSES[self.loss], 0.0, None

    def _smooth_loss(self) -> int:
        if self._targets.one_of_many:
            return kernels.SOFTMAX
        return kernels.CROSS_ENTROPY

    def _out_activation(self) -> str:
        """Activation of the outputs that the loss requires."""
        if not _means_probabilities(self.loss):
            return "identity"
        is_softmax = self.loss == "cross_entropy" and self._targets.one_of_many
        return "softmax" if is_softmax else "logistic"

    def _read_mlp(self, mlp: MLPClassifier) -> None:
        # Of several classes an MLPClassifier has a softmax.
        multilabel = mlp.n_outputs_ > 1 and mlp.out_activation_ == "logistic"
        self._set_targets(Labels(mlp.classes_, multilabel))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
