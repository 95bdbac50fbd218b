"""Classification with a network trained on its weight bits."""

from collections.abc import Callable
from math import ceil
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import LabelBinarizer, StandardScaler
from sklearn.utils import compute_sample_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted

from skmohn._core._fitting import History, all_or_nothing
from skmohn.blm import _kernels as kernels
from skmohn.blm._base import BaseBLM
from skmohn.blm._forms import SequenceScoreMixin
from skmohn.blm._labels import Labels
from skmohn.blm._network import compile_loss
from skmohn.blm._search import SearchControl
from skmohn.blm._storage import fill_mlp

_LOSSES = {
    "squared": kernels.LOGISTIC_SQUARED,
    "hinge": kernels.HINGE,
    "zero_one": kernels.ZERO_ONE,
    "cross_entropy": kernels.CROSS_ENTROPY,
}


def has_probabilities(estimator):
    """Whether the outputs are probabilities, as last fitted or else as to be fitted."""
    if hasattr(estimator, "out_activation_"):
        return estimator.out_activation_ != "identity"
    return _means_probabilities(estimator.loss)


def _has_raw_outputs(estimator):
    return not has_probabilities(estimator)


def _means_probabilities(loss):
    return loss in ("cross_entropy", "squared")


class BLMClassifier(SequenceScoreMixin, ClassifierMixin, BaseBLM):
    """Neural network for classification, trained without derivatives on weight bits.

    Weights are small whole numbers times a step; training flips their bits and keeps
    what lowers the loss: weights of few bits, activations without slope and any loss
    will do. Targets are binary, of several classes, or multilabel indicators.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(20,)
        Units of each hidden layer; empty for a linear model.

    activation : {"tanh", "logistic", "relu", "step", "identity"}, default="tanh"
        Of the hidden units. "step" is 1 above zero and 0 elsewhere.

    loss : {"cross_entropy", "squared", "hinge", "zero_one"} or callable, \
            default="cross_entropy"
        What is minimised: cross-entropy of softmax outputs (logistic ones if binary or
        multilabel), squared error of logistic outputs (as published), hinge of each
        class against the rest, or the share of errors (ties among them), for fine
        tuning (``warm_start``) and without `alpha`. A callable takes a target, 0 or 1,
        and an output; numba compiles it. The first two have :meth:`predict_proba`, the
        others :meth:`decision_function`.

    recurrent : bool, "steps" or "sequences", default=False
        Whether hidden units hear their own layer's outputs of a step ago (Elman). X is
        then no table, but an array of shape (n_sequences, n_steps, n_features) or a
        list of arrays of shape (n_steps, n_features); y has a target for each sequence,
        or an array of them for each of its steps, and predictions have the form of y.
        "steps" and "sequences" say what the targets belong to; with True the shape of y
        says it, and where it fits both they are needed.

    n_bits : int, default=12
        Bits of a weight, 2 to 24. A weight is a whole multiple of
        ``w_max / (2 ** (n_bits - 1) - 1)`` ([1]_ Eq 1).

    w_max : float, array-like of a float for each layer, or "auto", default="auto"
        Largest weight. It also regularises, and with few bits it decides how fine the
        weights are. "auto" is, for a layer whose units have `n_inputs` inputs,
        ``2 ** (n_bits / 2 - 1)`` times ``2.4 / sqrt(n_inputs)`` or 0.6 if that is less,
        and never more than 6.

    search : {"adaptive", "gray"}, default="adaptive"
        The moves. "adaptive" gives each weight a signed step that doubles when it
        helps and shrinks when it does not, and tries single bits in between; "gray"
        flips single bits of the Gray code in random order, as published.

    search_control : SearchControl, default=None
        Random start, neighbourhood and telescope of the search; None for all defaults.

    perturbation : float, default=0.01
        Share of the weights (at least one) that are drawn anew at a local minimum, the
        best so far, from where the search goes on (iterated local search). With few
        bits minima are near, and this is better than new starts. 0 ends the run there.

    alpha : float, default=3.0
        Price of the squared weights, as in scikit-learn's MLP.

    standardize : bool, default=True
        Whether scikit-learn's StandardScaler scales the inputs.

    n_restarts : int, default=1
        Independent runs from new random starts ([1]_ "repeated local search").

    ensemble : int, default=1
        How many of the runs, from the best on, predict together (the mean of their
        outputs).

    max_flips : int or "auto", default="auto"
        Most moves tried in a run; "auto" is 500 for each weight.

    max_time : float, default=None
        Seconds after which the fit ends; the result then depends on the machine.

    tol : float, default=0.0001
        Improvement of the loss that counts, as a share of it.

    n_iter_no_change : int, default=10
        Epochs (10 moves a weight) without such an improvement that end a run.

    early_stopping : bool, default=False
        Whether to hold out a part of the samples, with the same shares of the classes,
        that says which weights are best and when to stop. Passing `X_val` and `y_val`
        to `fit` has the same effect; `class_weight` applies to both.

    validation_fraction : float, default=0.1
        Share of the samples held out by `early_stopping`.

    warm_start : bool, default=False
        Whether `fit` goes on from the weights of the previous fit, by other moves. The
        scales stay as they were, and so must sizes, bits, ranges and activation.

    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as elsewhere in scikit-learn; for a multilabel target a
        list of dictionaries or "balanced".

    random_state : int, RandomState instance or None, default=None
        Determines the starts, the order of the moves and the samples held out.

    n_jobs : int, default=None
        Runs trained at once by joblib. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels; label numbers for a multilabel target.

    coefs_ : list of ndarrays of shape (n_in, n_out)
        Weights of each layer, as in scikit-learn's MLP.

    intercepts_ : list of ndarrays of shape (n_out,)
        Biases of each layer.

    codes_ : ndarray of shape (n_weights,), int32
        The whole numbers behind them, unit by unit, of each unit the bias first.

    weight_bits_ : ndarray of shape (n_weights, n_bits), uint8
        Their Gray codes, the highest bit first.

    w_max_ : ndarray of shape (n_layers,)
        Largest weight of each layer of weights.

    nbytes_, n_movable_bits_ : int
        Bytes that the weights take at `n_bits` each; bits that may move at the end.

    members_ : list of (coefs, intercepts)
        The networks that predict together, the best first.

    loss_ : float
        Loss of the best network, on the validation samples if there are any.

    loss_curve_ : list of float
        Training loss at the start and after each epoch, of the best run.

    history_ : History
        One record per epoch, of the best run so far: ``loss``, ``rmse`` (None unless
        the loss is squared), ``validation_loss``, ``bits`` (that may move),
        ``explored`` (moves tried per success, as a share of the neighbourhood),
        ``flips``, ``accepted``, ``seconds``. ``history_.to_frame()`` needs pandas.

    n_iter_ : int
        Epochs of the best run.

    stopping_reason_ : str
        Why the best run ended.

    input_scaler_ : StandardScaler or None
        What scales the inputs.

    out_activation_ : str
        Activation of the outputs.

    n_layers_, n_outputs_ : int
        Number of layers, with inputs and outputs, and number of outputs.

    n_features_in_ : int
        Number of columns seen in `fit`.

    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when all are strings.

    See Also
    --------
    BLMRegressor : For regression.

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
    weight_bits_: np.ndarray
    w_max_: np.ndarray
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

    def __init__(
        self,
        hidden_layer_sizes: ArrayLike = (20,),
        activation="tanh",
        loss: str | Callable = "cross_entropy",
        *,
        recurrent: bool | str = False,
        n_bits=12,
        w_max: ArrayLike = "auto",
        search="adaptive",
        search_control: SearchControl | None = None,
        perturbation=0.01,
        alpha=3.0,
        standardize=True,
        n_restarts=1,
        ensemble=1,
        max_flips: int | str = "auto",
        max_time=None,
        tol=1e-4,
        n_iter_no_change=10,
        early_stopping=False,
        validation_fraction=0.1,
        warm_start=False,
        class_weight=None,
        random_state=None,
        n_jobs=None,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.loss = loss
        self.recurrent = recurrent
        self.n_bits = n_bits
        self.w_max = w_max
        self.search = search
        self.search_control = search_control
        self.perturbation = perturbation
        self.alpha = alpha
        self.standardize = standardize
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
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, X_val=None, y_val=None) -> Self:
        """Train the network.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sparse input is made dense.

        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or 0 and 1 for each of several labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Whole numbers count samples: a weight of 2 equals a sample that is there
            twice. Others are relative to a mean of 1: their scale does not matter.

        X_val, y_val : array-like of the same form, default=None
            Validation samples, see `early_stopping`.

        Returns
        -------
        BLMClassifier
            The fitted estimator itself.

        Raises
        ------
        ValueError, MemoryError
            For bad input and for networks that no memory holds.

        Warns
        -----
        ConvergenceWarning
            When the loss was still falling at `max_flips`.
        """
        self._classes_wanted = None
        go_on = self.warm_start and hasattr(self, "codes_")
        return self._fit(X, y, sample_weight, X_val, y_val, go_on=go_on)

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, sample_weight=None, classes=None) -> Self:
        """Train for one epoch on these samples, from the present weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Those of the first call also set the scales.

        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Class labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        classes : array-like of shape (n_classes,), default=None
            All labels there can be; needed at the first call.

        Returns
        -------
        BLMClassifier
            The fitted estimator itself.
        """
        if _check_partial_fit_first_call(self, classes):
            self._classes_wanted = np.unique(classes)
        return self._fit_epoch(X, y, sample_weight)

    def predict(self, X):
        """Predict classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels.
        """
        outputs = self._outputs(X)
        # Raw outputs are compared with 0, probabilities with one half.
        threshold = 0.5 if has_probabilities(self) else 0.0
        return self._form.answers(self._labels.decode(outputs, threshold), X)

    @available_if(has_probabilities)
    def predict_proba(self, X):
        """Predict the probabilities of the classes.

        There for the losses that make the outputs probabilities, "cross_entropy" and
        "squared".

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For a multilabel target, the probability of each label. Logistic outputs of
            several classes are divided by their sum.
        """
        outputs = self._outputs(X)
        return self._form.answers(self._labels.probabilities(outputs), X)

    @available_if(_has_raw_outputs)
    def decision_function(self, X):
        """Predict how much speaks for each class.

        There for the losses that leave the outputs as they are, "hinge", "zero_one" and
        callables; the others have :meth:`predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Outputs of the network, the mean of them for an ensemble. Of two classes the
            second is predicted above 0; of more the one with the largest output; of a
            multilabel target each label whose output is above 0.
        """
        outputs = self._outputs(X)
        return self._form.answers(self._labels.scores(outputs), X)

    def to_mlp(self):
        """Make an equal scikit-learn network, scales folded into its weights.

        Returns
        -------
        MLPClassifier
            Fitted; for tools that read those.
        """
        check_is_fitted(self)
        if not has_probabilities(self):
            raise ValueError(
                "the outputs are no probabilities, which those of an MLPClassifier "
                'are: fit with loss="cross_entropy" or loss="squared"'
            )
        if self._labels.one_of_many and self.out_activation_ == "logistic":
            raise ValueError(
                "an MLPClassifier of several classes does not divide logistic outputs "
                'by their sum: fit with loss="cross_entropy"'
            )
        mlp = fill_mlp(self, MLPClassifier())
        mlp.classes_ = self.classes_
        mlp._label_binarizer = LabelBinarizer().fit(self._labels.examples())
        return mlp

    def _read_samples(self, X, y, learn):
        X, y = self._read_table(X, y=y, multi_output=True, reset=learn)
        if learn:
            self._labels = Labels.learn(y, self._classes_wanted)
            self.classes_ = self._labels.classes
        return X, self._labels.encode(y)

    def _class_weights(self, y, learnt_from=None):
        """Weights by class; balanced are those among `learnt_from`, or among y."""
        if self.class_weight is None:
            return 1.0
        if self.class_weight != "balanced" or learnt_from is None:
            return compute_sample_weight(self.class_weight, y)
        both = np.concatenate([np.asarray(learnt_from), np.asarray(y)])
        first = np.arange(len(learnt_from))
        weights = compute_sample_weight("balanced", both, indices=first)
        return weights[len(learnt_from) :]

    def _strata(self, targets):
        """Classes that a hold-out keeps in proportion; None where it cannot."""
        if self._labels.multilabel:
            return None
        classes = self._labels.decode(targets, 0.5)
        counts = np.unique(classes, return_counts=True)[1]
        n_held = ceil(self.validation_fraction * len(classes))
        room = min(n_held, len(classes) - n_held)
        return classes if counts.min() > 1 and len(counts) <= room else None

    def _loss_of(self, n_outputs):
        if callable(self.loss):
            compile_loss(self.loss)  # refuses what cannot be one
            return kernels.OWN, 0.0, self.loss
        loss = _LOSSES[self.loss]
        if self._labels.one_of_many:
            together = {"cross_entropy": kernels.SOFTMAX, "zero_one": kernels.MISSES}
            loss = together.get(self.loss, loss)
        return loss, 0.0, None

    def _out_activation(self):
        """Activation of the outputs that the loss asks for."""
        if not _means_probabilities(self.loss):
            return "identity"
        is_softmax = self.loss == "cross_entropy" and self._labels.one_of_many
        return "softmax" if is_softmax else "logistic"

    def _header(self):
        return self._labels.to_plain()

    def _read_header(self, header):
        self._labels = Labels.from_plain(header)
        self.classes_ = self._labels.classes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
