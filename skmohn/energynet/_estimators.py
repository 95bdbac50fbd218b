"""EnergyNetClassifier and EnergyNetRegressor: scikit-learn's MLP on what was found."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    clone,
    is_regressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, check_random_state, column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skmohn._core._bad_values import LEFT_OUT, check_labels, warn_of_lone
from skmohn._core._categories import Categories, as_table
from skmohn._core._estimator import EstimatorMixin
from skmohn._core._fitting import History, all_or_nothing, table_is_read
from skmohn._core._quantiles import mask_lone, pull_in, pull_in_fills
from skmohn._core._rows import join_blocks
from skmohn._core._scaling import (
    fitted_input_scaler,
    fitted_scaler,
    restore_checked,
    standardize_checked,
)
from skmohn._core._sklearn import (
    CallbackSupportMixin,
    StrOptions,
    fit_context,
    require_mlp_weights,
    safe_indexing,
    with_callbacks,
)
from skmohn._core._tables import read_targets, warn_of_target_markers
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike
from skmohn._core._validation import to_numpy
from skmohn.energynet._coding import MINMAX
from skmohn.energynet._conditional import expect_missing
from skmohn.energynet._features import batches
from skmohn.energynet._mlp import Stages, candidates, choose, folds_of
from skmohn.energynet._stack_trainer import widths_of
from skmohn.energynet._table import Encoded, Table, read_columns, read_weights
from skmohn.energynet._transformer import EnergyNetTransformer


@dataclass(frozen=True)
class SupervisedConstants:
    """Defaults of the parts of classifier and regressor."""

    # Units that are not worth their cost in likelihood may still serve the targets.
    unit_cost: float = tuned(0.3, "benchmarks/energynet/small_tables.py")
    # Networks learn from standardized columns in steps of this size. A network of kinks
    # multiplies what rounding leaves of a column far from zero, or in single precision,
    # by a hundred million.
    input_step: float = tuned(2.0**-12, "rounding")


_SUPERVISED = SupervisedConstants()

# Of chains over what is unknown of a sample, where it could be too much to sum over.
_SEED: Final = 0
_ARCHITECTURE_ONLY = {"n_final_epochs": 0, "n_temperatures": 1000}
_MLP = {"solver": "lbfgs", "tol": 3e-3, "max_iter": 2000}


class _BaseEnergyNet(EstimatorMixin, CallbackSupportMixin, BaseEstimator, ABC):
    """Find the layers without targets; train a network of these layers with them."""

    _kind: Any
    _categories: Categories
    n_features_in_: int
    scaler_: StandardScaler | None
    # Columns that are inputs of a network, of those that are scaled.
    _used: NDArray[np.intp] | slice
    _takes_units: bool

    _when_long = EnergyNetTransformer._when_long
    _parameter_constraints = {
        "transformer": [EnergyNetTransformer, None],
        "init": [StrOptions({"random", "generative"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        transformer: EnergyNetTransformer | None = None,
        mlp: Any = None,
        *,
        init: str = "random",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.transformer = transformer
        self.mlp = mlp
        self.init = init
        self.random_state = random_state

    @all_or_nothing
    @fit_context(prefer_skip_nested_validation=False)
    @with_callbacks
    def fit(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the architecture, choose a network, and train it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            At least 2 samples. Sparse input is converted to dense. Categorical columns
            are those of the transformer's `categorical_features`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels or label indicators; numbers for the regressor, which leaves
            out, with a warning, the few that are far off all others, such as entry
            errors: at each end up to one in 50 samples, or one in ten where they are
            off by a hundred ranges of the others; at most five.
        sample_weight : array-like of shape (n_samples,), default=None
            Integers count repeated samples, others are relative. Layers equal those of
            repeated rows to the bit; so does the network, up to rounding, if each of
            its steps takes all samples, as with the solver "lbfgs".

        Returns
        -------
        estimator
            The fitted estimator.

        Raises
        ------
        ValueError
            For invalid input, for ``init="generative"`` without the activation
            "logistic", and if the layers diverge: lower the transformer's
            `learning_rate`.

        Warns
        -----
        ConvergenceWarning
            If the layers were still growing at their limits, or the network was still
            learning after its `max_iter`.
        """
        given = X, y
        X, y = self._read_samples(X, y, sample_weight)
        self._check_targets(y)
        transformer, mlp = self._parts()
        kept, weights = self._without_lone(y, *_weighted(X, sample_weight))
        require_mlp_weights(mlp, weights)
        stages = Stages(self, *given)
        with table_is_read():
            self.transformer_ = stages.fit_layers(
                transformer, self._of_layers(X, given[0], kept), weights
            )
        self.mlp_ = self._train(mlp, X[kept], y[kept], weights, stages)
        return self

    def _without_lone(
        self, y: NDArray, kept: NDArray[np.bool_] | slice, weights: NDArray | None
    ) -> tuple[NDArray[np.bool_] | slice, NDArray | None]:
        """Samples without targets far off all others, and their weights."""
        if not is_regressor(self):
            return kept, weights
        columns = y.reshape(len(y), -1)[kept]
        is_outlier = mask_lone(columns)
        if not is_outlier.any():
            return kept, weights
        warn_of_lone(columns, is_outlier, ["y"] * columns.shape[1], LEFT_OUT)
        is_lone = is_outlier.any(axis=1)
        rows = np.zeros(len(y), dtype=bool)
        rows[kept] = ~is_lone
        return rows, None if weights is None else weights[~is_lone]

    def _of_layers(
        self, X: NDArray, given: TableLike, kept: NDArray | slice
    ) -> TableLike:
        """Inputs of the layers: the categories themselves, not their numbers."""
        if not self._categories.of_text:
            return X[kept]
        return safe_indexing(as_table(to_numpy(given)), np.arange(len(X))[kept])

    def _train(
        self, mlp: Any, X: NDArray, y: NDArray, weights: NDArray | None, stages: Stages
    ) -> Any:
        """Train the final network on the architecture that was found."""
        self._learn_columns(X, weights)
        n_varying = int(np.sum(np.fmin.reduce(X) < np.fmax.reduce(X)))
        targets, sizes = self._learn_targets(y, weights), self._sizes(y, n_varying)
        is_generative = self.init == "generative"
        start = self.transformer_.layers_[: len(sizes)] if is_generative else ()
        mlp.set_params(hidden_layer_sizes=sizes)
        self.candidates_ = History()
        if self.mlp is None:
            inputs = self._inputs(X, False, is_fit=True)
            rows, folds = folds_of(inputs, y, are_classes=not is_regressor(self))
            mlp, self.candidates_ = choose(
                candidates(mlp, sizes, widths_of(self.transformer_) is None),
                lambda has_layers: self._inputs(
                    X[rows], is_generative and has_layers, is_fit=True
                ),
                targets[rows], None if weights is None else weights[rows], folds, start,
            )  # fmt: skip
        has_layers = bool(mlp.hidden_layer_sizes)
        start = start if has_layers else ()
        # `init` may be set to another value after the fit.
        self._takes_units = is_generative and has_layers
        inputs = self._inputs(X, self._takes_units, is_fit=True)
        return stages.fit_network(mlp, inputs, targets, weights, start)

    def _learn_columns(self, X: NDArray, weights: NDArray | None) -> None:
        """Scale the columns, if they may be inputs of a network, and find constants."""
        # They would be inputs of weight zero, but other weights would be drawn anew.
        self.scaler_, self._used = None, slice(None)
        if self.init == "generative" and self.mlp is not None:
            return
        numbers = self._table(X)[1]
        flags = self.transformer_.coding_.indicators()
        self.scaler_ = fitted_input_scaler(pull_in(numbers), weights, flags)
        if self.mlp is None:
            self._used = np.flatnonzero(np.any(numbers != numbers[0], axis=0))

    def predict(self, X: TableLike) -> NDArray:
        """Predict with the network.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels or label indicators; numbers for the regressor.
        """
        check_is_fitted(self)
        return self._from_network(self._ask(self.mlp_.predict, X))

    def _check_targets(self, y: NDArray) -> None:
        """Refuse targets of the wrong kind before the layers take their time."""

    @abstractmethod
    def _count_outputs(self, y: NDArray) -> int:
        """Units of the output."""

    def _learn_targets(self, y: NDArray, weights: NDArray | None) -> NDArray:
        """Learn the targets of the network."""
        return y

    def _from_network(self, predicted: NDArray) -> NDArray:
        return predicted

    def _sizes(self, y: NDArray, n_varying: int) -> tuple[int, ...]:
        """Widths of the hidden layers of the network, from those of the transformer."""
        # Widths that the user sets are taken. Of grown layers, one with a single unit
        # means that no structure was found: there are as many units as columns that
        # vary. Nor may the targets pass through fewer units than there are outputs.
        found = self.transformer_
        first, *upper = found.n_components_per_layer_
        if widths_of(found) is not None:
            return (first, *upper)
        n_outputs = self._count_outputs(y)
        if first == 1:
            first = n_varying
        wide_enough = takewhile(lambda width: width >= n_outputs, upper)
        return (max(first, n_outputs), *wide_enough)

    def _parts(self) -> tuple[EnergyNetTransformer, Any]:
        """Transformer and the network, not fitted."""
        transformer = self.transformer
        if transformer is None:
            options: Any = _ARCHITECTURE_ONLY if self.init == "random" else {}
            transformer = EnergyNetTransformer(
                "description_length", unit_cost=_SUPERVISED.unit_cost, **options
            )
        activation = "relu" if self.init == "random" else "logistic"
        mlp = self.mlp
        if mlp is None:
            mlp = self._kind(activation=activation, **_MLP)
        elif self.init == "generative" and mlp.activation != activation:
            raise ValueError(
                'init="generative" needs an mlp with activation="logistic", got '
                f"activation={mlp.activation!r}"
            )
        parts: Any = clone(transformer), clone(mlp)
        if self.random_state is not None:
            random_state = check_random_state(self.random_state)
            for part in parts:
                part.set_params(random_state=random_state.randint(2**31 - 1))
        return parts

    def _ask(self, network: Callable[[NDArray], NDArray], X: TableLike) -> NDArray:
        """What the network makes of the user's samples, some of them at a time."""
        numbers = self._read_table(X, keep_dtype=True)
        table = Table(numbers, None, self._categories)
        parts = (
            network(self._inputs(table.take(rows).values, self._takes_units))
            for rows in batches(table)
        )
        return join_blocks(parts, len(table))

    def _inputs(self, X: NDArray, takes_units: bool, is_fit: bool = False) -> NDArray:
        """Inputs of a network: visible units, or scaled columns."""
        units, numbers = self._table(X)
        if takes_units:
            return units.astype(X.dtype)
        scaler: Any = self.scaler_
        if not is_fit:
            return standardize_checked(scaler, numbers)[:, self._used]
        columns = standardize_checked(scaler, pull_in_fills(numbers))
        if self.mlp is not None:
            # The user's network learns as it would by itself.
            return columns
        columns = columns[:, self._used]
        return np.rint(columns / _SUPERVISED.input_step) * _SUPERVISED.input_step

    def _table(self, X: NDArray) -> tuple[NDArray, NDArray]:
        """Visible units, and columns as numbers, with means for missing values."""
        layers, coding = self.transformer_.layers_, self.transformer_.coding_
        encoded = Encoded.of(X, coding)
        values, units, _ = expect_missing(layers[0], coding, encoded, _SEED)
        return units, coding.numbers(coding.complete(values, units), units)

    def _read_samples(
        self, X: TableLike, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[NDArray, NDArray]:
        """Check samples and targets of a fit; return both."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None"
            )
        X = self._read_table(X, reset=True, weights=[sample_weight])
        y = read_targets(y, estimator=self, several=True, numeric=is_regressor(self))
        y = y.toarray() if issparse(y) else y
        if is_regressor(self):
            warn_of_target_markers(y)
        check_consistent_length(X, y)
        if self.transformer is None or self.transformer.coding != MINMAX:
            names = getattr(self, "feature_names_in_", None)
            X = Table(X, names, self._categories).mark_lone().values
        return X, y

    def _read_table(self, X: TableLike, **options: Any) -> NDArray:
        like = self.transformer or EnergyNetTransformer()
        return read_columns(self, X, like=like, **options)

    def __sklearn_tags__(self) -> Tags:
        """Describe the inputs that the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        layers = self.transformer
        tags.input_tags.allow_nan = layers is None or layers.coding != MINMAX
        return tags


def _weighted(
    X: NDArray, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.bool_] | slice, NDArray | None]:
    """Samples that have weight, and their weights as numbers of samples."""
    weights = read_weights(sample_weight, X)
    if weights is None:
        return slice(None), None
    kept = weights > 0.0
    weights = weights[kept]
    return kept, None if np.all(weights == 1.0) else weights


class EnergyNetClassifier(ClassifierMixin, _BaseEnergyNet):
    """Neural network classifier that finds its own architecture.

    An :class:`EnergyNetTransformer` finds the number and width of the hidden layers,
    without labels [1]_; the network is scikit-learn's.

    Parameters
    ----------
    transformer : EnergyNetTransformer, default=None
        Finds the architecture. None is
        ``EnergyNetTransformer("description_length", unit_cost=0.3)``: few units, whose
        network learns quickly, but also some that are not worth their cost in
        likelihood, since they may still separate classes. With ``init="random"``, which
        uses only the architecture, also ``n_final_epochs=0, n_temperatures=1000``, to
        save time.
    mlp : MLPClassifier, default=None
        The network; `hidden_layer_sizes` is replaced. With None, networks are compared
        by their log loss in five-fold cross-validation: logistic regression (a network
        without hidden layers), one with the layers found and, if the first has fewer
        than 100 units, one with 100 there; each with several values of `alpha`. The
        simplest whose loss is within half a standard error of the lowest is used; among
        logistic regressions, the best.
    init : {"random", "generative"}, default="random"
        Initial weights: scikit-learn's, on standardized columns, or those of the
        transformer's layers, on its visible units. "generative" needs the activation
        "logistic".
    random_state : int, RandomState instance or None, default=None
        Seed for both parts; None keeps their own `random_state`.

    Attributes
    ----------
    transformer_ : EnergyNetTransformer
        The fitted layers.
    mlp_ : MLPClassifier
        The fitted network. Its inputs are the standardized columns that vary, with an
        indicator for each category (all columns, for a given `mlp`); with
        ``init="generative"`` and hidden layers, visible units. Without hidden layers,
        ``mlp_.hidden_layer_sizes`` is ``()``.
    candidates_ : History
        The networks that were compared, as dicts: ``hidden_layer_sizes``, ``alpha``,
        ``loss`` and ``error``, the standard error of the difference from the lowest
        loss. Empty for a given `mlp`. ``candidates_.to_frame()`` returns a DataFrame.
    scaler_ : StandardScaler or None
        Scaler of the columns; None for a given `mlp` with ``init="generative"``.
        Categories become -1 and +1, minus their mean.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    See Also
    --------
    EnergyNetRegressor : For regression.
    EnergyNetTransformer : The layers as features for other estimators.

    Notes
    -----
    The widths depend on how columns depend on one another, not on the target: hence the
    comparison with a linear model and with a wider first layer. Widths that you set
    with ``EnergyNetTransformer(n_components=...)`` are not increased. If columns are
    independent, or samples too few, there are as many units as columns that vary. No
    layer is narrower than the output: the first is widened, others are left out.
    Networks are compared on at most 4000 distinct samples, spread over the targets; the
    final network learns from all samples.

    Callbacks that follow sub-estimators, such as
    :class:`~sklearn.callback.ProgressBar`, also follow the layers. All are called after
    each epoch of the network, or with "lbfgs" each evaluation of its loss, and may stop
    it there.

    References
    ----------
    .. [1] Kristiansen and Gonzalvo, "EnergyNet: energy-based adaptive structural
       learning of artificial neural network architectures" (2017).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skmohn import EnergyNetClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> net = EnergyNetClassifier(random_state=0).fit(X, y)
    >>> net.score(X, y) > 0.95
    True
    """

    transformer_: EnergyNetTransformer
    mlp_: MLPClassifier
    candidates_: History
    scaler_: StandardScaler | None
    n_features_in_: int
    feature_names_in_: np.ndarray
    _categories: Categories

    _parameter_constraints = {
        **_BaseEnergyNet._parameter_constraints,
        "mlp": [MLPClassifier, None],
    }
    _kind = MLPClassifier

    def _check_targets(self, y: NDArray) -> None:
        check_labels(y)

    def _count_outputs(self, y: NDArray) -> int:
        return y.shape[1] if y.ndim > 1 else len(np.unique(y))

    @property
    def classes_(self) -> NDArray:
        """Class labels."""
        check_is_fitted(self)
        return self.mlp_.classes_

    def predict_proba(self, X: TableLike) -> NDArray:
        """Predict class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        network: Any = self.mlp_
        return self._ask(network.predict_proba, X)

    def predict_log_proba(self, X: TableLike) -> NDArray:
        """Predict log probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; minus infinity if the probability is 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class EnergyNetRegressor(RegressorMixin, _BaseEnergyNet):
    """Neural network regressor that finds its own architecture.

    An :class:`EnergyNetTransformer` finds the number and width of the hidden layers,
    without targets [1]_; the network is scikit-learn's.

    Parameters
    ----------
    transformer : EnergyNetTransformer, default=None
        Finds the architecture. None is
        ``EnergyNetTransformer("description_length", unit_cost=0.3)``: few units, whose
        network learns quickly, but also some that are not worth their cost in
        likelihood, since they may still help to predict. With ``init="random"``, which
        uses only the architecture, also ``n_final_epochs=0, n_temperatures=1000``, to
        save time.
    mlp : MLPRegressor, default=None
        The network; `hidden_layer_sizes` is replaced. With None, networks are compared
        by their squared error in five-fold cross-validation: ridge regression (a
        network without hidden layers), one with the layers found and, if the first has
        fewer than 100 units, one with 100 there; each with several values of `alpha`.
        The simplest whose loss is within half a standard error of the lowest is used;
        among ridge regressions, the best.
    init : {"random", "generative"}, default="random"
        Initial weights: scikit-learn's, on standardized columns, or those of the
        transformer's layers, on its visible units. "generative" needs the activation
        "logistic".
    random_state : int, RandomState instance or None, default=None
        Seed for both parts; None keeps their own `random_state`.

    Attributes
    ----------
    transformer_ : EnergyNetTransformer
        The fitted layers.
    mlp_ : MLPRegressor
        The fitted network. Its inputs are the standardized columns that vary, with an
        indicator for each category (all columns, for a given `mlp`); with
        ``init="generative"`` and hidden layers, visible units. Without hidden layers,
        ``mlp_.hidden_layer_sizes`` is ``()``.
    candidates_ : History
        The networks that were compared, as dicts: ``hidden_layer_sizes``, ``alpha``,
        ``loss`` and ``error``, the standard error of the difference from the lowest
        loss. Empty for a given `mlp`. ``candidates_.to_frame()`` returns a DataFrame.
    scaler_ : StandardScaler or None
        Scaler of the columns; None for a given `mlp` with ``init="generative"``.
        Categories become -1 and +1, minus their mean.
    target_scaler_ : StandardScaler or None
        Scaler of the targets; None for an `mlp` with ``loss="poisson"``, whose targets
        are counts.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if all are strings.

    See Also
    --------
    EnergyNetClassifier : For classification.
    EnergyNetTransformer : The layers as features for other estimators.

    Notes
    -----
    The widths depend on how columns depend on one another, not on the target: hence the
    comparison with a linear model and with a wider first layer. Widths that you set
    with ``EnergyNetTransformer(n_components=...)`` are not increased. If columns are
    independent, or samples too few, there are as many units as columns that vary. No
    layer is narrower than the output: the first is widened, others are left out.
    Networks are compared on at most 4000 distinct samples, spread over the targets; the
    final network learns from all samples.

    Callbacks that follow sub-estimators, such as
    :class:`~sklearn.callback.ProgressBar`, also follow the layers. All are called after
    each epoch of the network, or with "lbfgs" each evaluation of its loss, and may stop
    it there.

    References
    ----------
    .. [1] Kristiansen and Gonzalvo, "EnergyNet: energy-based adaptive structural
       learning of artificial neural network architectures" (2017).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skmohn import EnergyNetRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> net = EnergyNetRegressor(random_state=0).fit(X, y)
    >>> net.score(X, y) > 0.4
    True
    """

    transformer_: EnergyNetTransformer
    mlp_: MLPRegressor
    candidates_: History
    scaler_: StandardScaler | None
    target_scaler_: StandardScaler | None
    n_features_in_: int
    feature_names_in_: np.ndarray
    _categories: Categories

    _parameter_constraints = {
        **_BaseEnergyNet._parameter_constraints,
        "mlp": [MLPRegressor, None],
    }
    _kind = MLPRegressor

    def _count_outputs(self, y: NDArray) -> int:
        return y.shape[1] if y.ndim > 1 else 1

    def _learn_targets(self, y: NDArray, weights: NDArray | None) -> NDArray:
        self.target_scaler_ = None
        # Checked here, since the network gets scaled targets.
        y = column_or_1d(y, warn=True) if y.shape[1:] in ((), (1,)) else y
        if self.mlp is not None and self.mlp.loss == "poisson":
            return y
        columns = y.reshape(len(y), -1)
        scaler: Any = fitted_scaler(pull_in(columns), "y", weights)
        self.target_scaler_ = scaler
        return scaler.transform(pull_in_fills(columns)).reshape(y.shape)

    def _from_network(self, predicted: NDArray) -> NDArray:
        if self.target_scaler_ is None:
            return predicted
        columns = predicted.reshape(len(predicted), -1)
        return restore_checked(self.target_scaler_, columns).reshape(predicted.shape)
