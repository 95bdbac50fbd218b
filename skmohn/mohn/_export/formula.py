"""Formulas: how columns are coded, polynomials of the codes, and what is predicted."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skmohn._core._categories import Categories, column_names
from skmohn._core._fitting import warn_caller
from skmohn._core._options import control_of
from skmohn._core._powers import YeoJohnson
from skmohn._core._settings import Settings
from skmohn._core._types import TableLike, Term
from skmohn._core._units import power_of_two_scale
from skmohn._core._walsh import WalshPolynomial, cube_bounds
from skmohn.mohn._export.expressions import (
    All,
    Column,
    Condition,
    Evaluator,
    Exponential,
    Expression,
    IsCategory,
    IsMissing,
    Less,
    LessEqual,
    Number,
    Piecewise,
    Power,
    Product,
    Quotient,
    Score,
    Sum,
    Writer,
    add,
    columns_of,
    expand_polynomial,
    subtract,
    write,
)
from skmohn.mohn._genotypes import read_inputs
from skmohn.mohn._table.coding import CATEGORIES, NUMERIC, TWO_VALUED, InputCoding
from skmohn.mohn._table.target import GAUSS_HERMITE, Logarithm, Transform

T = TypeVar("T")
# R2 below which there is a warning.
LEAST_R2: Final = 0.99
# A power below it is a logarithm.
_MIN_POWER: Final = 1e-8
# Binary logarithm of the ends of a column beyond which they are scaled: that of numbers
# in single precision, since onnxruntime drops sums with what is zero there.
_MAX_LOG_UNIT: Final = 126


@dataclass(frozen=True)
class Formula:
    """A fitted model as expressions, from which each language is written."""

    names: list[str]  # of all columns of the table
    categories: Categories  # of its categorical columns
    codes: list[Expression]  # coded inputs, of columns
    scores: list[WalshPolynomial]  # of the codes: a target's or a class's
    # Of the scores: the prediction of each target, or the probability of each class.
    outputs: list[Expression]
    output_names: list[str]
    classes: list[Any] | None = None
    # When each class but the last is the one predicted, if none before is.
    choices: list[Condition] = field(default_factory=list)
    # By column of two values, those that are coded as -1 and +1.
    ends: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, estimator: Any, X: TableLike | None, what: str) -> "Formula":
        """Read a fitted estimator; compare the formula with predictions of rows."""
        # `what` is exported, for messages. Formulas that lose something need the rows.
        check_is_fitted(estimator)
        if getattr(estimator, "_variants", None) is not None:
            raise ValueError(
                f"{what} reads a table, but the model was fitted to Genotypes: fit it "
                "to the columns of its terms, such as X[:, columns].counts()"
            )
        if hasattr(estimator, "classes_"):
            formula = _read_classes(estimator, what)
        else:
            formula = _read_targets(estimator, X, what)
        names, kinds = formula.names, estimator._categories.kinds
        times = [names[j] for j in formula.columns if kinds.get(j, "").endswith("64")]
        if times:
            raise ValueError(
                f"{what} reads numbers and categories, but column {times[0]!r} holds "
                "times: fit the model to a number instead, such as days since a date"
            )
        if X is not None:
            _compare(estimator, formula, X, what)
        return formula

    @property
    def is_plain(self) -> bool:
        """Whether predictions are the polynomials."""
        return self.classes is None and all(
            isinstance(output, Score) for output in self.outputs
        )

    @property
    def columns(self) -> list[int]:
        """Columns that it reads."""
        return sorted(columns_of(tuple(self.codes)))

    def write_codes(self, writer: Writer[T]) -> list[T]:
        """Write the coded inputs."""
        return [write(code, writer) for code in self.codes]

    def write_scores(self, writer: Writer[T]) -> list[T]:
        """Write the polynomials as sums of products."""
        return [write(expand_polynomial(score), writer) for score in self.scores]

    def write_outputs(self, writer: Writer[T]) -> list[T]:
        """Write the predictions."""
        return [write(output, writer) for output in self.outputs]

    def write_choices(self, writer: Writer[T]) -> list[T]:
        """Write when each class but the last is the one predicted."""
        return [write(choice, writer) for choice in self.choices]

    def evaluate(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Outputs of rows whose categories are numbered, (n_rows, n_outputs)."""
        codes = self.write_codes(Evaluator(table))
        codes = np.column_stack(codes) if codes else np.empty((len(table), 0))
        scores = np.column_stack([score.predict(codes) for score in self.scores])
        scorer = Evaluator(table, codes, scores)
        return np.column_stack(self.write_outputs(scorer))


def _compare(estimator: Any, formula: Formula, X: TableLike, what: str) -> None:
    """Print the agreement of a formula with its estimator; warn if it is low."""
    found = formula.evaluate(read_inputs(estimator, X))
    if formula.classes is not None:
        wanted = estimator.predict_proba(X)
    else:
        wanted = np.reshape(estimator.predict(X), found.shape)
    unit = power_of_two_scale(wanted)
    found, wanted = found / unit, wanted / unit
    errors = np.abs(found - wanted)
    # Predictions that are all one differ by rounding.
    spread = np.maximum(wanted.std(axis=0), 1e-9)
    r2 = 1.0 - float(np.max(np.mean(errors**2, axis=0) / spread**2))
    message = (
        f"{what}: R2 is {r2:.5f} for {found.size} predictions of the estimator, the "
        f"largest error {np.max(errors / spread):.2g} standard deviations"
    )
    print(message)
    if not r2 >= LEAST_R2:
        warn_caller(f"{message}, which is low: {advise_pursuit(estimator)}")


def advise_pursuit(estimator: Any) -> str:
    """Fit that has weights few enough to be listed, of the same columns."""
    has_many = any(len(known) > 2 for known in estimator.categories_.values())
    first = ", after OneHotEncoder for columns of categories" if has_many else ""
    return f'fit a sparse model with strategy="pursuit"{first}'


# ----------------------------------------------------------------------------- targets


def _read_targets(estimator: Any, X: TableLike | None, what: str) -> Formula:
    """Formula of a regression: a polynomial, and a prediction, of each target."""
    parts = estimator._targets()
    is_exact = all(part.model_.mean_reads_terms for part in parts)
    if not is_exact and X is None:
        raise ValueError(
            f"{what} writes the terms of terms_, but the model has more: pass X, rows "
            "on which to compare predictions of both (the loss is printed), or "
            f"{advise_pursuit(estimator)}"
        )
    codes, scores, outputs = _Codes(), [], []
    for k, part in enumerate(parts):
        coder = _Coder(part.coding_, part._categories, 0.0)
        scores.append(codes.rewrite(part._listed_weights(), coder))
        outputs.append(_predict(part, Score(k), X))
    names = getattr(estimator, "target_names_", ["prediction"])
    return Formula(
        column_names(estimator),
        estimator._categories,
        codes.expressions,
        scores,
        outputs,
        [str(name) for name in names],
        ends=codes.ends,
    )


def _predict(part: Any, score: Score, X: TableLike | None) -> Expression:
    """Prediction of a target, given the value of its polynomial."""
    model = part.model_
    value = _clip(score, *_bounds_of(part))
    if model.is_transformed:
        value = _mean_of_normal(model.transform, value, _typical_std(part, X))
    if not control_of(part, "gp_options").clip:
        return value
    return _clip(value, model.y_min, model.y_max)


def _bounds_of(part: Any) -> tuple[float, float]:
    """Bounds of a sum of products of numbers, see `evaluate_within_cube`."""
    model = part.model_
    if not model.is_bounded or not np.any(part.coding_.kind == NUMERIC):
        return -math.inf, math.inf
    return cube_bounds(model.polynomial.intercept, model.polynomial.weights)


def _clip(value: Expression, low: float, high: float) -> Expression:
    """Value between two bounds, which may be infinite."""
    cases: list[tuple[Condition, Expression]] = []
    if low > -math.inf:
        cases.append((Less(value, Number(low)), Number(low)))
    if high < math.inf:
        cases.append((Less(Number(high), value), Number(high)))
    return Piecewise(tuple(cases), value) if cases else value


def _typical_std(part: Any, X: TableLike | None) -> float:
    """Standard deviation of new observations on the scale of a target, of some rows."""
    model, rows = part.model_, part._to_rows(read_inputs(part, X))
    return math.sqrt(float(np.mean(model.std_on_scale(rows) ** 2)))


def _mean_of_normal(transform: Transform, mean: Expression, std: float) -> Expression:
    """Mean of a target that is normal on a scale."""
    if isinstance(transform, Logarithm):
        return Exponential(Sum((mean, Number(std**2 / 2.0))))
    assert isinstance(transform, YeoJohnson)
    parts = []
    for node, weight in zip(*(part.tolist() for part in GAUSS_HERMITE), strict=True):
        moved = Sum((mean, Number(std * node)))
        parts.append(Product((Number(weight), _invert(transform, moved))))
    return Sum(tuple(parts))


def _invert(transform: YeoJohnson, value: Expression) -> Expression:
    """Target, given its value on the scale of Yeo and Johnson."""
    center, scale, power = map(
        float, (transform.center, transform.scale, transform.power)
    )
    below = Product((Number(-1.0 / scale), Sum((value, Number(-center)))))
    above = Product((Number(1.0 / scale), Sum((value, Number(-center)))))
    return Piecewise(
        ((Less(value, Number(center)), _move(center, -scale, below, 2.0 - power)),),
        _move(center, scale, above, power),
    )


def _move(center: float, scale: float, away: Expression, power: float) -> Expression:
    """Target at a distance of the center on the scale, on one side of it."""
    raised: Expression = Exponential(away)
    if power > _MIN_POWER:
        base = Sum((Number(1.0), Product((Number(power), away))))
        raised = Power(base, 1.0 / power)
    return Sum((Number(center - scale), Product((Number(scale), raised))))


# ----------------------------------------------------------------------------- classes


def _read_classes(estimator: Any, what: str) -> Formula:
    """Formula of a logistic model: log-odds, probabilities, the class predicted."""
    if len(estimator.ensemble_weights_) > 1 or not estimator.model_.is_sparse:
        raise ValueError(
            f"{what} writes sparse models of classes, but this one is an ensemble, or "
            'has a weight for every term: fit with strategy="logistic"'
        )
    classes, listed = estimator.classes_.tolist(), estimator.model_.listed_model
    coder = _Coder(estimator.coding_, estimator._categories, None)
    codes, scores = _Codes(), []
    for weights, constant in zip(
        listed.weights, listed.constants.tolist(), strict=True
    ):
        own = WalshPolynomial(tuple(listed.terms), weights, constant)
        scores.append(codes.rewrite(own, coder))
    log_odds: list[Expression] = list(map(Score, range(len(scores))))
    if len(scores) == 1:
        log_odds.insert(0, Number(0.0))
    return Formula(
        column_names(estimator),
        estimator._categories,
        codes.expressions,
        scores,
        [_softmax(k, log_odds) for k in range(len(classes))],
        [str(label) for label in classes],
        classes,
        [_is_largest(k, log_odds) for k in range(len(classes) - 1)],
        codes.ends,
    )


def _softmax(k: int, log_odds: list[Expression]) -> Expression:
    """Probability of a class."""
    parts: list[Expression] = [Number(1.0)]
    minus = Product((Number(-1.0), log_odds[k]))
    for j, other in enumerate(log_odds):
        if j == k:
            continue
        pair = [part for part in (other, minus) if part != Number(0.0)]
        if log_odds[k] == Number(0.0):
            pair = [other]
        parts.append(Exponential(add(pair)))
    return Quotient(Number(1.0), Sum(tuple(parts)))


def _is_largest(k: int, log_odds: list[Expression]) -> Condition:
    """Whether no class is more probable."""
    others = [other for j, other in enumerate(log_odds) if j != k]
    return _conjunction([LessEqual(other, log_odds[k]) for other in others])


# ------------------------------------------------------------------------------- codes


class _Codes:
    """Coded inputs of all polynomials, each of them once."""

    def __init__(self) -> None:
        self._index: dict[Expression, int] = {}
        self.ends: dict[int, tuple[Any, Any]] = {}

    @property
    def expressions(self) -> list[Expression]:
        """Expressions by their numbers."""
        return list(self._index)

    def rewrite(self, polynomial: WalshPolynomial, coder: "_Coder") -> WalshPolynomial:
        """Polynomial of codes, given one of inputs and categories."""
        index: dict[int, int] = {}
        for member in np.unique(polynomial.members).tolist():
            code = coder.code(member)
            index[member] = self._index.setdefault(code, len(self._index))
            self.ends |= coder.ends(member)
        terms: list[Term] = [
            tuple(index[member] for member in term) for term in polynomial.terms
        ]
        return WalshPolynomial(
            tuple(terms), polynomial.weights, float(polynomial.intercept)
        )


class _Coder:
    """Expressions of inputs, and of categories of categoricals, by their numbers."""

    def __init__(
        self,
        coding: InputCoding,
        categories: Categories,
        # What other categories, and an unknown one, are coded as; None: -1, and the
        # mean over all, without levels.
        others: float | None,
    ) -> None:
        self._coding, self._known = coding, categories.known()
        self._others, self._usable = others, coding.usable.tolist()
        numbered = coding.without_levels() if others is None else coding
        pairs = zip(numbered.categoricals, numbered.alphabets, strict=True)
        # Columns, categorical and number of each category.
        self._categories = [
            (columns, alphabet, k)
            for columns, alphabet in pairs
            for k in range(alphabet.size)
        ]

    def code(self, member: int) -> Expression:
        """Coded input, or one of a category."""
        if member < len(self._usable):
            return self._code_input(self._usable[member])
        columns, alphabet, category = self._categories[member - len(self._usable)]
        others, unknown = self._others, self._others
        if others is None or unknown is None:
            others, unknown = -1.0, 2.0 * float(alphabet.probability[category]) - 1.0
        cases: list[tuple[Condition, Expression]] = []
        for k, condition in self._conditions(columns, alphabet.size, category):
            if k == category or others != unknown:
                cases.append((condition, Number(1.0 if k == category else others)))
        return Piecewise(tuple(cases), Number(unknown))

    def ends(self, member: int) -> dict[int, tuple[Any, Any]]:
        """Values that are -1 and +1 of an input that has two, by its column."""
        if member >= len(self._usable):
            return {}
        column = self._usable[member]
        if self._coding.kind[column] != TWO_VALUED:
            return {}
        ends = float(self._coding.low[column]), float(self._coding.high[column])
        if column in self._known:
            low, high = (self._known[column].tolist()[int(end)] for end in ends)
            return {column: (low, high)}
        return {column: ends}

    def _conditions(
        self, columns: tuple[int, ...], size: int, category: int
    ) -> Iterator[tuple[int, Condition]]:
        """Yield categories of a categorical, and when a row has each of them."""
        column = columns[0]
        if len(columns) > 1:
            for k, own in enumerate(columns):
                yield k, LessEqual(Number(1.0), Column(own))
            # All others being 0, one that is missing is 1.
            for k, own in enumerate(columns):
                zeros = [LessEqual(Column(j), Number(0.0)) for j in columns if j != own]
                yield k, All((IsMissing(own), *zeros))
        elif self._coding.kind[column] == CATEGORIES:
            for k in range(size):
                yield k, IsCategory(column, k)
        else:
            thresholds = self._coding.thresholds[column].tolist()
            parts: list[Condition] = []
            if category:
                parts.append(
                    LessEqual(Number(thresholds[category - 1]), Column(column))
                )
            if category < len(thresholds):
                parts.append(Less(Column(column), Number(thresholds[category])))
            yield category, _conjunction(parts)

    def _code_input(self, column: int) -> Expression:
        """Input of a column."""
        missing = Number(self._coding.centers.get(column, 0.0))
        line = _Line(float(self._coding.low[column]), float(self._coding.high[column]))
        cases: list[tuple[Condition, Expression]] = []
        if column in self._known:
            for k in range(len(self._known[column])):
                cases.append((IsCategory(column, k), Number(line.at(float(k)))))
            return Piecewise(tuple(cases), missing)
        cases.append((IsMissing(column), missing))
        value = Column(column)
        if column in self._coding.far:
            lowest, low, high, highest = map(float, self._coding.far[column])
            is_low = LessEqual(Number(lowest), value), Less(value, Number(low))
            is_high = Less(Number(high), value), LessEqual(value, Number(highest))
            cases += [(All(is_low), Number(-1.0)), (All(is_high), Number(1.0))]
        if column in self._coding.settings:
            settings = self._coding.settings[column]
            for setting, is_near in _find_near(settings, value):
                cases.append((is_near, Number(line.at(setting))))
        return Piecewise(tuple(cases), line.expression(value))


@dataclass(frozen=True)
class _Line:
    """Line that takes two values to -1 and +1."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Code of a value."""
        low, high = self._scaled
        value = value / self._unit
        return ((value - low) - (high - value)) / (high - low)

    def expression(self, column: Column) -> Expression:
        """Code of a column."""
        low, high = self._scaled
        value: Expression = column
        if self._unit != 1.0:
            value = Product((Number(1.0 / self._unit), column))
        if (low, high) == (-1.0, 1.0):
            return value
        if (low, high) == (0.0, 1.0):
            return Sum((Product((Number(2.0), value)), Number(-1.0)))
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        # As exact as the other, and shorter, where these are not rounded.
        is_exact = Fraction(low) + Fraction(high) == 2 * Fraction(middle)
        if is_exact and Fraction(high) - Fraction(low) == 2 * Fraction(half):
            top: Expression = Sum((value, Number(-middle))) if middle else value
            return top if half == 1.0 else Quotient(top, Number(half))
        up = Sum((value, Number(-low)))
        down = subtract(Number(high), value)
        return Quotient(subtract(up, down), Number(high - low))

    @property
    def _unit(self) -> float:
        """Power of two, 1 unless the ends are beyond single precision."""
        unit = power_of_two_scale([self.low, self.high])
        return unit if abs(math.log2(unit)) > _MAX_LOG_UNIT else 1.0

    @property
    def _scaled(self) -> tuple[float, float]:
        return self.low / self._unit, self.high / self._unit


def _find_near(settings: Settings, value: Column) -> Iterator[tuple[float, Condition]]:
    """Yield settings, in increasing order, and when each is the first that is near."""
    values, tolerance = settings.values.tolist(), Number(float(settings.tolerance))
    for setting, following in zip(values, [*values[1:], math.inf], strict=True):
        above = Sum((value, Number(-setting)))
        below = subtract(Number(setting), value)
        parts: list[Condition] = [
            LessEqual(above, tolerance),
            LessEqual(below, tolerance),
        ]
        if following - setting <= 2.0 * settings.tolerance:
            parts.append(Less(above, subtract(Number(following), value)))
        yield setting, All(tuple(parts))


def _conjunction(parts: Sequence[Condition]) -> Condition:
    return All(tuple(parts)) if len(parts) > 1 else parts[0]
