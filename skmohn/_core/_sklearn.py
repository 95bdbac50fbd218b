"""The one door to what scikit-learn keeps private, and to what differs by its version.

Private names that are imported, called or set here, and nowhere else in skmohn:

=============================== ========================================================
Name                            Why, and what differs between scikit-learn 1.6 and 1.9
=============================== ========================================================
BaseMultilayerPerceptron        MLP: what both kinds are, for checkers of types alone.
HasMethods                      Constraints of parameters, by which estimators refuse
Interval                        bad ones in scikit-learn's own words, and which its
Options                         `check_param_validation` reads. In
StrOptions                      `utils._param_validation` since 1.2.
validate_parameter_constraints  The same for functions that are no decorated ones.
validate_params                 Decorator of public functions. Since 1.2.
_backprop                       MLP: the loss of several targets, see `_WatchedMLP`.
                                Takes `sample_weight` since 1.7.
_best_coefs                     MLP: weights that early stopping returns to.
_best_intercepts                The same.
_check_partial_fit_first_call   Classes of `partial_fit`. Since 0.17.
_check_sample_weight            Refuses weights that are all zero since 1.9.
_fit_context                    Checks parameters before `fit`. Since 1.3.
_get_container_adapter          Containers of `set_output` whose columns differ in type,
                                which its wrapper of `transform` cannot make. Since 1.2.
_get_threadpool_controller      One thread of BLAS. What scikit-learn keeps, since to
                                look for the libraries takes milliseconds; and without
                                a dependency on threadpoolctl of our own. Since 1.3.
_html_repr                      Puts a summary above the table of fitted attributes,
                                which there is since 1.9.
_init_callback_context          Documented for other packages. Since 1.9.
_initialize                     MLP: begins as given layers. Since 0.18.
_label_binarizer                MLP: what a classifier that we fill says labels with.
_loss_grad_lbfgs                MLP: tells of each evaluation. Takes `sample_weight`
                                since 1.7.
_no_improvement_count           MLP: state of a network that we fill.
_num_features                   Number of columns of a table that is not checked yet.
_raise_for_params               Arguments of `fit` without metadata routing; 1.6 knows
                                no `allow`.
_safe_indexing                  Rows and columns of arrays and frames alike. Since 0.22.
_update_no_improvement_count    MLP: tells of each epoch. Takes the validation samples'
                                weights since 1.7.
_validate_params                Checks parameters outside of `fit`. Since 1.2.
is_pandas_na                    Whether a value is `pandas.NA`. Since 1.3.
is_scalar_nan                   Whether a value of any type is NaN. Since 0.20.
=============================== ========================================================

Classes of skmohn also define what scikit-learn looks for: `_get_fitted_attr_html`
(since 1.9), `_get_support_mask`, `_parameter_constraints`, `_validate_params`, and,
documented for other packages, `_doc_link_module`, `_doc_link_template` and
`_doc_link_url_param_generator`.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import sklearn
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.base import _fit_context as fit_context
from sklearn.linear_model import LassoCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._param_validation import validate_params as _validate_params
from sklearn.utils._set_output import _get_container_adapter
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metadata_routing import _raise_for_params
from sklearn.utils.multiclass import (
    _check_partial_fit_first_call as check_partial_fit_first_call,
)
from sklearn.utils.parallel import _get_threadpool_controller as threadpool_controller
from sklearn.utils.validation import _check_sample_weight
from sklearn.utils.validation import _num_features as num_features

from skmohn._core._validation import are_counts, require_memory, to_numpy

__all__ = [
    "N_JOBS",
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "callback_context",
    "check_parameters",
    "check_partial_fit_first_call",
    "check_sample_weight",
    "class_weights",
    "complete_mlp",
    "container_adapter",
    "fit_context",
    "is_pandas_na",
    "is_scalar_nan",
    "lasso_cv",
    "num_features",
    "prepend_html",
    "raise_for_params",
    "require_mlp_weights",
    "safe_indexing",
    "threadpool_controller",
    "validate_parameter_constraints",
    "validate_params",
    "watched_mlp",
    "with_callbacks",
]

_Method = TypeVar("_Method")

# Of joblib, to which 0 has no meaning.
N_JOBS = (
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
    None,
)
if TYPE_CHECKING:
    from sklearn.neural_network._multilayer_perceptron import BaseMultilayerPerceptron
else:
    BaseMultilayerPerceptron = object

VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])

if TYPE_CHECKING or VERSION >= (1, 9):
    from sklearn.callback import CallbackSupportMixin, with_callbacks
else:

    class CallbackSupportMixin:
        """Estimators without callbacks, which scikit-learn has since 1.9."""

        @property
        def set_callbacks(self) -> Callable[..., Self]:
            """Absent, so that `hasattr` detects whether scikit-learn has callbacks."""
            raise AttributeError(
                f"set_callbacks of {type(self).__name__} needs scikit-learn 1.9 or "
                f"later, but {sklearn.__version__} is installed: upgrade it with "
                "pip install --upgrade scikit-learn"
            )

    def with_callbacks(method: _Method) -> _Method:
        """Leave a method as it is: there is nothing to tear down after it."""
        return method


class _NoCallbacks:
    """Substitute for scikit-learn's `CallbackContext` without callbacks."""

    def subcontext(self, **kwargs: Any) -> Self:
        return self

    def call_on_fit_task_begin(self, **kwargs: Any) -> None:
        """Ignore the begin of a task."""

    def call_on_fit_task_end(self, **kwargs: Any) -> bool:
        return False

    @contextlib.contextmanager
    def propagate_callback_context(self, sub_estimator: BaseEstimator) -> Iterator:
        yield


def callback_context(estimator: Any, max_subtasks: int | None) -> Any:
    """Context of a fit that reports its steps to callbacks, if there can be any."""
    if VERSION < (1, 9):
        return _NoCallbacks()
    return estimator._init_callback_context(max_subtasks=max_subtasks)


def validate_params(
    constraints: Mapping[str, Any], *, prefer_skip_nested_validation: bool
) -> Callable[[_Method], _Method]:
    """Check arguments of a function, whose signature type checkers still see."""
    decorate: Any = _validate_params(
        constraints, prefer_skip_nested_validation=prefer_skip_nested_validation
    )
    return decorate


def check_parameters(estimator: BaseEstimator) -> None:
    """Check parameters against the constraints of an estimator, outside of its fit."""
    estimator._validate_params()


def check_sample_weight(
    sample_weight: ArrayLike | None, X: ArrayLike, **options: Any
) -> NDArray:
    """Check weights, or make those of None; refuse such as are all zero."""
    weights = _check_sample_weight(to_numpy(sample_weight), X, **options)
    # As since 1.9, in its words.
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def raise_for_params(
    params: Mapping[str, object],
    owner: BaseEstimator,
    method: str,
    allow: Sequence[str] = (),
) -> None:
    """Refuse arguments of a method that only metadata routing would pass on."""
    refused = {name: params[name] for name in params if name not in allow}
    _raise_for_params(refused, owner, method)


def container_adapter(estimator: BaseEstimator) -> Any:
    """Maker of the container that `set_output` requests; None for arrays."""
    return _get_container_adapter("transform", estimator)


def prepend_html(attributes: Any, html: Callable[[], str]) -> Any:
    """Put HTML above that of the table of fitted attributes."""
    table = attributes._html_repr
    attributes._html_repr = lambda: html() + table()
    return attributes


def lasso_cv(n_alphas: int, **options: Any) -> LassoCV:
    """Lasso with a path of penalties; their number has another name since 1.7."""
    name = "n_alphas" if VERSION < (1, 7) else "alphas"
    return LassoCV(**{name: n_alphas}, **options)


def class_weights(
    class_weight: str | Mapping[object, float],
    classes: NDArray,
    y: NDArray,
    sample_weight: NDArray,
) -> NDArray:
    """Weight of each class; balanced ones are by weights of samples."""
    # As scikit-learn itself since 1.7; before, its function takes no such weights.
    if class_weight != "balanced":
        return compute_class_weight(class_weight, classes=classes, y=y)
    totals = np.array([sample_weight[y == each].sum() for each in classes])
    return totals.sum() / (len(classes) * totals)


def complete_mlp(
    mlp: MLPClassifier | MLPRegressor, examples: NDArray | None = None
) -> None:
    """Set what `predict` and `partial_fit` read from a network that we fill."""
    # Classifiers need examples of labels, as a user writes them.
    mlp._no_improvement_count = 0
    if examples is not None:
        binarizer = LabelBinarizer().fit(examples)
        mlp._label_binarizer = binarizer  # pyright: ignore[reportAttributeAccessIssue]


def require_mlp_weights(
    mlp: BaseMultilayerPerceptron, sample_weight: NDArray | None
) -> None:
    """Refuse weights that a watched network cannot take into account."""
    if sample_weight is None or VERSION >= (1, 7):
        return
    if mlp.solver != "lbfgs" or not are_counts(sample_weight):
        raise ValueError(
            "sample_weight needs scikit-learn 1.7 or later, whose networks take "
            f"weights, but {sklearn.__version__} is installed: upgrade it with pip "
            "install --upgrade scikit-learn, or give integers and a network with "
            'solver="lbfgs", for which rows can be repeated'
        )


class _WatchedMLP(BaseMultilayerPerceptron):
    """Network whose hidden layers may begin as other ones, and that can be watched."""

    # Weights and biases of the layers it begins as; none for random ones. A layer of
    # the network may have more units, whose weights are random.
    start: Sequence[tuple[NDArray, NDArray]] = ()

    @staticmethod
    def watch(loss: float) -> None:
        """Ignore the loss of an epoch; of ``solver="lbfgs"``, of an evaluation."""

    def fit(self, X: NDArray, y: NDArray, sample_weight: NDArray | None = None) -> Self:
        """Train it, by repeated rows where scikit-learn's takes no weights."""
        if sample_weight is None:
            return super().fit(X, y)
        if VERSION >= (1, 7):
            return super().fit(X, y, sample_weight=sample_weight)
        require_mlp_weights(self, sample_weight)
        require_memory(
            8.0 * X.shape[1] * sample_weight.sum(),
            "sample_weight as repeated rows",
            "divide the weights by what they have in common",
        )
        rows = np.repeat(np.arange(len(X)), sample_weight.astype(np.int64))
        return super().fit(X[rows], y[rows])

    def take_best(self) -> None:
        """Return to the weights that were best on samples held out."""
        self.coefs_, self.intercepts_ = self._best_coefs, self._best_intercepts

    def to_plain(self) -> MLPClassifier | MLPRegressor:
        """Copy of scikit-learn's own class, fitted as far as it is."""
        kind = MLPClassifier if isinstance(self, MLPClassifier) else MLPRegressor
        plain = kind(**self.get_params())
        state = {k: v for k, v in vars(self).items() if k not in ("start", "watch")}
        vars(plain).update(state)
        plain.coefs_ = [coef.copy() for coef in self.coefs_]
        plain.intercepts_ = [intercept.copy() for intercept in self.intercepts_]
        return plain

    def _initialize(self, y: NDArray, layer_units: list[int], dtype: DTypeLike) -> None:
        super()._initialize(y, layer_units, dtype)
        for k, (coef, intercept) in enumerate(self.start):
            self.coefs_[k][: coef.shape[0], : coef.shape[1]] = coef
            self.intercepts_[k][: len(intercept)] = intercept
        self._best_coefs = [coef.copy() for coef in self.coefs_]
        self._best_intercepts = [intercept.copy() for intercept in self.intercepts_]

    def _loss_grad_lbfgs(
        self, *args: Any, **more: Any
    ) -> tuple[float, NDArray[np.float64]]:
        loss, gradient = super()._loss_grad_lbfgs(*args, **more)
        self.watch(loss)
        return loss, gradient

    def _update_no_improvement_count(self, *args: Any, **more: Any) -> None:
        super()._update_no_improvement_count(*args, **more)
        self.watch(self.loss_)


class _WatchedMLPClassifier(_WatchedMLP, MLPClassifier):
    """MLPClassifier with given first layers, whose loss is watched."""


class _WatchedMLPRegressor(_WatchedMLP, MLPRegressor):
    """MLPRegressor with given first layers, whose loss is watched."""

    def _backprop(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        X: NDArray,
        y: NDArray,
        *args: Any,
    ) -> tuple[Any, ...]:
        found = super()._backprop(X, y, *args)
        if self.loss != "squared_error" or y.shape[1] == 1:
            return found
        # Of several targets scikit-learn up to 1.9 computes the mean loss with the
        # gradient of its sum, and L-BFGS comes to a halt (its issue 8349).
        weight, activations = (None, args[0]) if VERSION < (1, 7) else args[:2]
        squares = np.square(activations[-1] - y).sum(axis=1)
        n_samples = len(y) if weight is None else weight.sum()
        penalty = self.alpha * sum(np.vdot(coef, coef) for coef in self.coefs_)
        loss = np.average(squares, weights=weight) + penalty / n_samples
        return loss / 2, *found[1:]


def watched_mlp(
    mlp: MLPClassifier | MLPRegressor, start: Sequence[tuple[NDArray, NDArray]]
) -> _WatchedMLP:
    """Unfitted network with the parameters of another one, that can be watched."""
    # Its first layers begin with the weights and biases of `start`; without any, at
    # random.
    is_classifier = isinstance(mlp, MLPClassifier)
    kind = _WatchedMLPClassifier if is_classifier else _WatchedMLPRegressor
    watched = kind(**mlp.get_params())
    watched.start = start
    return watched
