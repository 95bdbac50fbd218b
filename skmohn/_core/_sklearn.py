"""The one door to what scikit-learn keeps private, and to what differs by its version.

Private names that are imported, called or set here, and nowhere else in skmohn:

=============================== ========================================================
Name                            Why, and what differs between scikit-learn 1.6 and 1.9
=============================== ========================================================
BaseMultilayerPerceptron        MLP: what both kinds are, for checkers of types alone.
BaseSearchCV                    Base of searches, from which scikit-optimize and others
                                derive theirs as well. Since 0.18.
HasMethods                      Constraints of parameters, by which estimators refuse
Interval                        bad ones in scikit-learn's own words, and which its
Options                         `check_param_validation` reads. In
StrOptions                      `utils._param_validation` since 1.2.
InvalidParameterError           What these raise.
validate_parameter_constraints  The same for functions that are no decorated ones.
validate_params                 Decorator of public functions. Since 1.2.
_MultimetricScorer              Search: scorer of several metrics, whose parts are kept.
                                Since 1.1.
_backprop                       MLP: the loss of several targets, see `_WatchedMLP`.
                                Takes `sample_weight` since 1.7.
_best_coefs                     MLP: weights that early stopping returns to.
_best_intercepts                The same.
_check_partial_fit_first_call   Classes of `partial_fit`. Since 0.17.
_check_method_params            Search: arguments of `fit` by row. Since 1.4.
_check_refit_for_multimetric    Search: whether `refit` names one of several metrics.
_check_sample_weight            Refuses weights that are all zero since 1.9.
_fit_and_score                  Search: fits a setting to a fold and scores it, as all
                                searches of scikit-learn do.
_fit_context                    Checks parameters before `fit`. Since 1.3.
_format_results                 Search: `cv_results_`. Since 0.18.
_get_container_adapter          Containers of `set_output` whose columns differ in type,
                                which its wrapper of `transform` cannot make. Since 1.2.
_get_routed_params_for_fit      Search: what estimator, scorer and folds request. Since
                                1.4; scorers get `sample_weight` without routing since
                                1.8.
_get_scorers                    Search: scorers, and the metric of `refit`. Since 1.5.
_get_threadpool_controller      One thread of BLAS. What scikit-learn keeps, since to
                                look for the libraries takes milliseconds; and without
                                a dependency on threadpoolctl of our own. Since 1.3.
_html_repr                      Puts a summary above the table of fitted attributes,
                                which there is since 1.9.
_init_callback_context          Documented for other packages. Since 1.9.
_initialize                     MLP: begins as given layers. Since 0.18.
_insert_error_scores            Search: failures where the scorer makes several metrics.
_label_binarizer                MLP: what a classifier that we fill says labels with.
_loss_grad_lbfgs                MLP: tells of each evaluation. Takes `sample_weight`
                                since 1.7.
_no_improvement_count           MLP: state of a network that we fill.
_num_features                   Number of columns of a table that is not checked yet.
_raise_for_params               Arguments of `fit` without metadata routing; 1.6 knows
                                no `allow`.
_safe_indexing                  Rows and columns of arrays and frames alike. Since 0.22.
_scorers                        Search: the parts of the scorer of several metrics.
_select_best_index              Search: the setting that `refit` chooses. Since 0.24.
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
import functools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import sklearn
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, _fit_context, clone, is_classifier
from sklearn.linear_model import LassoCV
from sklearn.metrics._scorer import _MultimetricScorer
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _fit_and_score, _insert_error_scores
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils import indexable
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
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
from sklearn.utils.validation import _check_method_params, _check_sample_weight
from sklearn.utils.validation import _num_features as num_features

from skmohn._core._validation import are_counts, require_memory, to_numpy

__all__ = [
    "N_JOBS",
    "BaseSearchCV",
    "CallbackSupportMixin",
    "FoldScorer",
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "Options",
    "StrOptions",
    "callback_context",
    "check_parameters",
    "check_partial_fit_first_call",
    "check_sample_weight",
    "class_weights",
    "complete_mlp",
    "conclude_search",
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
    "tabulate_folds",
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
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
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

    def _with_callbacks(method: _Method) -> _Method:
        """Leave a method as it is: there is nothing to tear down after it."""
        return method


# Scikit-learn's decorators have no types: without these, those of what is decorated
# would be lost.
def with_callbacks(method: _Method) -> _Method:
    """Tear callbacks down after a `fit`, by scikit-learn's decorator."""
    decorated: Any = _with_callbacks(method)
    return decorated


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_Method], _Method]:
    """Check parameters before a method, by scikit-learn's decorator."""
    check: Any = _fit_context(
        prefer_skip_nested_validation=prefer_skip_nested_validation
    )

    def decorate(method: Any) -> Any:
        checked = check(method)

        @functools.wraps(method)
        def fit(estimator: Any, *args: Any, **kwargs: Any) -> Any:
            _widen_parameters(estimator)
            return checked(estimator, *args, **kwargs)

        return fit

    return decorate


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
    check: Any = _validate_params(
        dict(constraints), prefer_skip_nested_validation=prefer_skip_nested_validation
    )

    def decorate(function: Any) -> Any:
        checked = check(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            widened = {name: _widen_integer(value) for name, value in kwargs.items()}
            return checked(*map(_widen_integer, args), **widened)

        return call

    return decorate


def check_parameters(estimator: BaseEstimator) -> None:
    """Check parameters against the constraints of an estimator, outside of its fit."""
    _widen_parameters(estimator)
    estimator._validate_params()


def _widen_integer(value: Any) -> Any:
    """Python's integer for one of numpy: sums and powers of few bits overflow."""
    is_narrow = isinstance(value, np.integer) and value.dtype != np.int64
    return int(value) if is_narrow else value


def _widen_parameters(estimator: BaseEstimator) -> None:
    """Set parameters to equal integers that cannot overflow."""
    for name, value in estimator.get_params(deep=False).items():
        if (widened := _widen_integer(value)) is not value:
            setattr(estimator, name, widened)


def check_sample_weight(
    sample_weight: ArrayLike | None, X: ArrayLike, **options: Any
) -> NDArray:
    """Check weights, or make those of None; refuse such as are all zero."""
    try:
        sample_weight = to_numpy(sample_weight)
        dtype = getattr(sample_weight, "dtype", None)
        kind = getattr(dtype, "kind", "")
        if kind == "c":
            raise ValueError(
                "Complex data not supported: sample_weight has complex numbers; pass "
                "real ones"
            )
        if kind in {"m", "M"}:
            # Their numbers depend on the unit.
            raise TypeError(f"sample_weight has {dtype}, but weights must be numbers")
        weights = _check_sample_weight(sample_weight, X, **options)
    except (TypeError, ValueError) as error:
        # Most of scikit-learn's messages name them.
        if re.search("sample.weight", str(error), re.IGNORECASE):
            raise
        message = f"sample_weight must have a number for each row: {error}"
        raise type(error)(message) from error
    # As since 1.9, in its words.
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def raise_for_params(
    params: Mapping[str, object], owner: BaseEstimator, allow: Sequence[str] = ()
) -> None:
    """Refuse arguments of `fit` that only metadata routing would pass on."""
    refused = {name: params[name] for name in params if name not in allow}
    _raise_for_params(refused, owner, "fit")


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
            "install --upgrade scikit-learn, or pass integers and a network with "
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
            "divide the weights by their common divisor",
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
        self, X: NDArray, y: NDArray, *args: Any
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


class FoldScorer:
    """Scorer of settings of an estimator, fold by fold, as in `GridSearchCV`."""

    def __init__(
        self,
        search: BaseSearchCV,
        X: Any,
        y: Any,
        params: Mapping[str, Any],  # further arguments of `fit`
    ) -> None:
        scorers: tuple[Any, Any] = search._get_scorers()
        self.scorers, self.metric = scorers
        # Names of all metrics; those of a function are known once it was called.
        self.metrics: set[str] | None = None
        if search.scoring is None or isinstance(search.scoring, str):
            self.metrics = {"score"}
        elif not callable(search.scoring):
            self.metrics = {*search.scoring}
        self.X, self.y = indexable(X, y)
        params = _check_method_params(self.X, params=params)
        routed: Any = search._get_routed_params_for_fit(params)
        self.fit_params = routed.estimator.fit
        cv: Any = search.cv
        # Infinite targets are refused, after a cast of theirs that warns.
        with np.errstate(invalid="ignore"):
            splitter: Any = check_cv(
                cv, self.y, classifier=is_classifier(search.estimator)
            )
        # Drawn once: settings differ by their parameters alone.
        self.folds = list(splitter.split(self.X, self.y, **routed.splitter.split))
        if not self.folds:
            raise ValueError(
                "cv has no folds: pass a number of folds, a splitter or a list of "
                "pairs of indices; an iterator can be used only once"
            )
        self.estimator = clone(search.estimator)
        self.parallel = Parallel(n_jobs=search.n_jobs, pre_dispatch=search.pre_dispatch)
        self.options = {
            "scorer": self.scorers,
            "fit_params": self.fit_params,
            "score_params": routed.scorer.score,
            "return_train_score": search.return_train_score,
            "return_n_test_samples": True,
            "return_times": True,
            "return_parameters": False,
            "error_score": search.error_score,
            "verbose": search.verbose,
        }

    def evaluate(
        self, tasks: Iterable[tuple[Mapping[str, Any], int]]
    ) -> list[dict[str, Any]]:
        """Scores and times of settings, each in a fold given by its index."""
        n_folds = len(self.folds)
        found: Any = self.parallel(
            delayed(_fit_and_score)(
                clone(self.estimator),
                self.X,
                self.y,
                train=self.folds[k][0],
                test=self.folds[k][1],
                parameters=setting,
                split_progress=(k, n_folds),
                **self.options,
            )
            for setting, k in tasks
        )
        return found


def tabulate_folds(
    search: BaseSearchCV,
    settings: Sequence[Mapping[str, Any]],
    outcomes: Sequence[Sequence[dict[str, Any]]],  # by setting and fold
    n_folds: int,
) -> dict[str, Any]:
    """`cv_results_`; NaN for folds that were not run, which no mean includes."""
    if callable(search.scoring):
        _insert_error_scores([o for row in outcomes for o in row], search.error_score)
    # Folds that were not run have the outcome of the first one until the table exists.
    padded = [o for row in outcomes for o in [*row, *[row[0]] * (n_folds - len(row))]]
    n_run = np.array([len(row) for row in outcomes])
    results: dict[str, Any] = search._format_results(
        settings, n_folds, padded, {"n_splits_run": n_run}
    )
    is_run = np.arange(n_folds) < n_run[:, None]
    for name in [key[5:] for key in results if key.startswith("mean_")]:
        splits = [f"split{k}_{name}" for k in range(n_folds)]
        if name.endswith("_time"):
            values = np.array([o[name] for o in padded]).reshape(is_run.shape)
        else:
            values = np.stack([results[split] for split in splits], axis=1)
            values = np.where(is_run, values, np.nan)
            results.update(zip(splits, values.T, strict=True))
        mean = np.mean(values, axis=1, where=is_run)
        results[f"mean_{name}"] = mean
        results[f"std_{name}"] = np.std(values, axis=1, where=is_run)
        if f"rank_{name}" in results:
            results[f"rank_{name}"] = _rank(mean, n_run == n_folds)
    return results


def conclude_search(
    search: BaseSearchCV, scorer: FoldScorer, results: dict[str, Any]
) -> dict[str, Any]:
    """Fitted attributes of a search: the best setting, and its fit to all rows."""
    is_several = "mean_test_score" not in results
    parts = isinstance(scorer.scorers, _MultimetricScorer)
    found: dict[str, Any] = {
        "cv_results_": results,
        "multimetric_": is_several,
        "n_splits_": len(scorer.folds),
        "scorer_": scorer.scorers._scorers if parts else scorer.scorers,
    }
    metric = scorer.metric
    if callable(search.scoring) and is_several:
        names = [key[10:] for key in results if key.startswith("mean_test_")]
        search._check_refit_for_multimetric(names)
        metric = search.refit
    if search.refit or not is_several:
        best = search._select_best_index(search.refit, metric, results)
        found["best_index_"] = best
        found["best_params_"] = results["params"][best]
        if not callable(search.refit):
            found["best_score_"] = results[f"mean_test_{metric}"][best]
    if search.refit:
        best_params: Any = clone(found["best_params_"], safe=False)
        blank: Any = clone(scorer.estimator)
        model = blank.set_params(**best_params)
        start = time.perf_counter()
        rows = (scorer.X,) if scorer.y is None else (scorer.X, scorer.y)
        found["best_estimator_"] = model.fit(*rows, **scorer.fit_params)
        found["refit_time_"] = time.perf_counter() - start
        if hasattr(model, "feature_names_in_"):
            found["feature_names_in_"] = model.feature_names_in_
    return found


def _rank(
    mean: NDArray[np.float64], is_finished: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Ranks of settings: unfinished ones after all finished, failed ones last."""
    rank, n_better = np.empty(len(mean), dtype=np.int32), 0
    failed = np.isnan(mean)
    for group in (is_finished & ~failed, ~is_finished & ~failed, failed):
        values = np.where(failed, 0.0, -mean)[group]
        rank[group] = n_better + rankdata(values, method="min")
        n_better += int(group.sum())
    return rank
