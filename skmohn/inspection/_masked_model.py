"""The game of a fitted model at one row: predictions where some columns are known."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_classifier

from skmohn._core._categories import as_table
from skmohn._core._optional import import_optional
from skmohn._core._rows import equal_slices
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike
from skmohn._core._validation import to_numpy


@dataclass(frozen=True)
class MaskingConstants:
    """How many rows are predicted at once."""

    max_rows: int = tuned(2**16, "cost")


_CONSTANTS = MaskingConstants()


class Background:
    """Rows that give columns a value where that of the explained row is unknown."""

    def __init__(self, background: TableLike) -> None:
        self._is_frame = hasattr(background, "iloc")
        if not self._is_frame and hasattr(background, "to_pandas"):
            raise TypeError(
                "background must be an array or a pandas DataFrame, got "
                f"{type(background).__name__}: pass background.to_pandas()"
            )
        if issparse(background):
            raise TypeError(
                "background is a sparse matrix, and models see all of its values: pass "
                "background.toarray()"
            )
        self._table: Any = background
        if not self._is_frame:
            self._table = np.asarray(to_numpy(as_table(background)))
        if self._table.ndim != 2 or 0 in self._table.shape:
            raise ValueError(
                "background must have at least one row and one column, got shape "
                f"{self._table.shape}"
            )
        n_columns = self._table.shape[1]
        self.names = [f"x{i}" for i in range(n_columns)]
        if self._is_frame:
            self.names = [str(name) for name in self._table.columns]
            twice = self._table.columns[self._table.columns.duplicated()]
            if len(twice):
                raise ValueError(
                    f"background has several columns named {str(twice[0])!r}: rename "
                    "them"
                )

    def mask(self, x: TableLike) -> "MaskedRow":
        """Make tables in which some columns are those of the row x."""
        if self._is_frame:
            return MaskedRow(self._append_to_frame(x), self._table.columns)
        row = np.atleast_2d(np.asarray(to_numpy(x)))
        if row.shape != (1, len(self.names)):
            raise ValueError(
                f"x must be one row of {len(self.names)} values, a value for each "
                f"column of background, got shape {np.shape(x)}"
            )
        # Numbers and text have only text in common, which numpy would make of both.
        if {self._table.dtype.kind, row.dtype.kind} & set("UOS"):
            row = np.atleast_2d(np.asarray(to_numpy(x), dtype=object))
        return MaskedRow(list(np.concatenate([self._table, row]).T), None)

    def _append_to_frame(self, x: TableLike) -> list[Any]:
        """Columns of the background, with the values of x at their ends."""
        pandas = import_optional("pandas", "WalshExplainer")
        names = self._table.columns
        if isinstance(x, pandas.Series):
            x = x.to_frame().T
        elif not isinstance(x, pandas.DataFrame):
            x = np.asarray(to_numpy(x), dtype=object).reshape(1, -1)
            # Another number of columns is refused below.
            x = pandas.DataFrame(x, columns=names if x.size == len(names) else None)
        missing = [str(name) for name in names if name not in x.columns]
        if missing or len(x) != 1:
            raise ValueError(
                f"x must be one row with all columns of background, got {len(x)} rows"
                + f" without {', '.join(missing)}" * bool(missing)
            )
        row = x[names].infer_objects().copy()
        for name, dtype in self._table.dtypes.items():
            categories, value = getattr(dtype, "categories", None), row[name].iloc[0]
            is_category = categories is not None
            if is_category and not pandas.isna(value) and value not in categories:
                raise ValueError(
                    f"x has the category {value!r} in column {str(name)!r}, which "
                    "background does not have: give both the same categories"
                )
            # Others get the type that the values have in common.
            if is_category or getattr(dtype, "kind", "O") == "f":
                row[name] = row[name].astype(dtype)
        both = pandas.concat([self._table, row], ignore_index=True)
        return [both[name].array for name in names]


class MaskedRow:
    """Background rows with values of one row, which is the last, in some columns."""

    def __init__(self, columns: list[Any], names: Any) -> None:
        self._columns, self._names = columns, names
        self.n_background = len(columns[0]) - 1

    def row(self) -> TableLike:
        """The row itself, as a table."""
        return self._take(np.full((1, len(self._columns)), self.n_background))

    def rows(self, coalitions: NDArray[np.bool_]) -> TableLike:
        """Table of all background rows for each coalition of known columns."""
        own = np.arange(self.n_background)[None, :, None]
        index = np.where(coalitions[:, None, :], self.n_background, own)
        return self._take(index.reshape(-1, len(self._columns)))

    def _take(self, index: NDArray[np.integer]) -> TableLike:
        """Table of the rows that are given for each column."""
        taken = [column.take(index[:, j]) for j, column in enumerate(self._columns)]
        if self._names is None:
            return np.stack(taken, axis=1)
        pandas = import_optional("pandas", "WalshExplainer")
        return pandas.DataFrame(dict(enumerate(taken))).set_axis(self._names, axis=1)


class MaskedModel:
    """Game of the columns: the mean prediction over the background of the others."""

    def __init__(
        self, predict: Callable[[TableLike], NDArray], masked: MaskedRow
    ) -> None:
        self._predict, self._masked = predict, masked

    def __call__(self, coalitions: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Values of coalitions, some at a time."""
        n_background = self._masked.n_background
        size = max(_CONSTANTS.max_rows // n_background, 1)
        values = [
            self._predict(self._masked.rows(coalitions[part]))
            .reshape(-1, n_background)
            .mean(axis=1)
            for part in equal_slices(len(coalitions), size)
        ]
        return np.concatenate(values)


def find_predict(model: Any, method: str) -> Callable[[TableLike], Any]:
    """The method of a fitted model that is explained, or a function itself."""
    if not hasattr(model, "predict"):
        if not callable(model):
            raise TypeError(
                "model must be a fitted estimator or a function of a table, got "
                f"{type(model).__name__}"
            )
        return model
    if method == "auto":
        methods = ["predict"]
        if is_classifier(model):
            methods = ["predict_proba", "decision_function", "predict"]
        method = next(name for name in methods if hasattr(model, name))
    if not hasattr(model, method):
        raise ValueError(
            f"response_method={method!r} is not a method of {type(model).__name__}"
        )
    predict = getattr(model, method)
    if method == "decision_function" and len(getattr(model, "classes_", ())) == 2:
        return partial(_decide_both, predict)
    return predict


def _decide_both(decide: Callable[[TableLike], Any], table: TableLike) -> NDArray:
    """Decisions for each of two classes; scikit-learn's are for the second."""
    response = np.asarray(decide(table))
    return np.stack([-response, response], axis=1) if response.ndim == 1 else response


def choose_class(
    model: Any, predict: Callable[[TableLike], Any], row: TableLike, label: Any
) -> int | None:
    """Column of the responses that is explained; None where there is one column."""
    response = np.asarray(predict(row))
    classes = getattr(model, "classes_", None)
    if response.ndim < 2 or response.shape[1] == 1:
        if label is not None:
            raise ValueError(
                f"class_of_interest={label!r} needs responses with a column for each "
                "class, such as those of predict_proba"
            )
        return None
    if classes is None or len(classes) != response.shape[1]:
        raise ValueError(
            f"model has {response.shape[1]} outputs: pass a function that returns one "
            "of them, such as lambda X: model.predict(X)[:, 0]"
        )
    if label is None:
        return 1 if len(classes) == 2 else int(np.argmax(response[0]))
    index = np.flatnonzero(np.asarray(classes) == label)
    if len(index) != 1:
        raise ValueError(
            f"class_of_interest must be one of {np.asarray(classes).tolist()}, got "
            f"{label!r}"
        )
    return int(index[0])


def select_output(
    predict: Callable[[TableLike], Any], column: int | None
) -> Callable[[TableLike], NDArray[np.float64]]:
    """Function of a table that returns one number for each row."""

    def select(table: TableLike) -> NDArray[np.float64]:
        response: Any = np.asarray(predict(table))
        one = response if column is None else response[:, column]
        if one.size != len(table) or one.dtype.kind not in "biuf":
            raise ValueError(
                "model must return one number for each row, got shape "
                f"{response.shape} and dtype {response.dtype} for {len(table)} rows"
            )
        return one.reshape(-1).astype(float)

    return select
