"""Methods of estimators that export their models as text."""

from collections.abc import Sequence

from skmohn._core._types import TableLike
from skmohn._core._validation import is_integer
from skmohn.mohn._export.c import write_c
from skmohn.mohn._export.formula import Formula
from skmohn.mohn._export.latex import write_latex
from skmohn.mohn._export.sql import DIALECTS, write_sql


class ExportMixin:
    """Sparse models, and listed terms of others, in other languages."""

    def to_sql(
        self,
        table: str | Sequence[str] = "data",
        X: TableLike | None = None,
        *,
        keys: str | Sequence[str] = (),
        dialect: str = "ansi",
    ) -> str:
        """Write the model as a query, which computes predictions in a database.

        It computes `predict`, up to rounding. NULL means missing, and so do categories
        not seen in `fit`; numbers that `predict` refuses are not refused.

        Parameters
        ----------
        table : str or sequence of str, default="data"
            Table, or its schema and its name, with the columns of `fit` by name, or
            ``x0``, ``x1``, ... if they had none. It is quoted, as are columns.
        X : array-like of shape (n_samples, n_features), default=None
            Rows on which predictions of the query and the model are compared; the
            result is printed. Needed by models with more weights than they list: for a
            Gaussian process or a spike-and-slab model, only `terms_` are written. Also
            needed by transformed targets, whose noise is written as one number.
        keys : str or sequence of str, default=()
            Further columns of the table to include in the result, such as its primary
            key: rows of a query have no order.
        dialect : {"ansi", "mysql", "tsql"}, default="ansi"
            "ansi" is for PostgreSQL, SQLite, DuckDB and others, "tsql" for SQL Server.

        Returns
        -------
        str
            A SELECT without a semicolon. Its columns are `keys`, and ``prediction`` or,
            for several targets, one named after each. For classes, ``prediction`` is
            the label, followed by ``probability_`` and the label for each.

        Raises
        ------
        TypeError
            If `table` or `keys` are not names.
        ValueError
            If the model has more weights than are listed and there is no `X`, if it is
            an ensemble of classes, for columns of times, and for values without a name
            or literal in SQL.

        Warns
        -----
        UserWarning
            If R2 of predictions of X is below 0.99.

        Examples
        --------
        >>> from skmohn import MOHNRegressor
        >>> model = MOHNRegressor.from_terms(
        ...     [(0,), (0, 1)],
        ...     [2.0, -0.5],
        ...     intercept=1.0,
        ...     feature_names=["fast", "hot"],
        ... )
        >>> print(model.to_sql("runs", keys=["id"]))
        SELECT "coded"."id" AS "id",
        ...
        """
        if not isinstance(dialect, str) or dialect not in DIALECTS:
            raise ValueError(
                f"dialect must be one of {list(DIALECTS)}, got {dialect!r}"
            )
        formula = Formula.read(self, X, "SQL")
        return write_sql(formula, table, keys, DIALECTS[dialect])

    def to_c(
        self,
        name: str = "model",
        *,
        X: TableLike | None = None,
        arithmetic: str = "double",
        accumulator_bits: int = 32,
    ) -> str:
        """Write the model as a C header, which needs no memory except the stack.

        It computes `predict`, up to rounding. Inputs are a row of the table in `fit`,
        with all of its columns; categories are their indices in `categories_`. NaN
        means missing, as does any other category.

        Parameters
        ----------
        name : str, default="model"
            Prefix of all names in the header. Save it as ``name.h``.
        X : array-like of shape (n_samples, n_features), default=None
            As for :meth:`to_sql`.
        arithmetic : {"double", "integer"}, default="double"
            "integer" is for columns of two values: inputs are of type ``uint8_t``, 0
            for the value coded as -1, 1 for the value coded as +1, and any other number
            if it is missing. ``name_scores`` then needs no floating point.
        accumulator_bits : {32, 64}, default=32
            Bits of the integers to which weights are converted, by a power of two. No
            sum overflows; the header states the largest error, 0 if all weights are
            multiples of a power of two that fits.

        Returns
        -------
        str
            The header, in ASCII. ``name_predict(x)`` returns the prediction or the
            index of the class in ``NAME_LABELS``; for several targets,
            ``name_predict(x, prediction)`` fills an array. ``name_probabilities(x,
            probability)`` fills an array of class probabilities, and ``name_scores(x,
            score)`` one of polynomials: predictions before they are clipped or
            transformed, or log-odds. Integers are in units of ``2 ** -NAME_SHIFT``.

        Raises
        ------
        ValueError
            As in :meth:`to_sql`; for names that are invalid in C; and if a column has
            more than two values and `arithmetic` is "integer".

        Warns
        -----
        UserWarning
            If R2 of predictions of X is below 0.99, or could be because weights are
            rounded to integers, for instance if the scales of targets are far apart.

        See Also
        --------
        skmohn.BLMClassifier.to_c : Networks of few bits for microcontrollers.

        Examples
        --------
        >>> from skmohn import MOHNRegressor
        >>> model = MOHNRegressor.from_terms([(0,), (0, 1)], [2.0, -0.5])
        >>> header = model.to_c("plant", arithmetic="integer")
        >>> "#define PLANT_SHIFT (1)" in header
        True
        """
        if not isinstance(arithmetic, str) or arithmetic not in ("double", "integer"):
            raise ValueError(
                f'arithmetic must be "double" or "integer", got {arithmetic!r}'
            )
        if not is_integer(accumulator_bits) or accumulator_bits not in (32, 64):
            raise ValueError(
                f"accumulator_bits must be 32 or 64, got {accumulator_bits}"
            )
        formula = Formula.read(self, X, "C")
        return write_c(formula, name, arithmetic, accumulator_bits)

    def to_latex(self, X: TableLike | None = None, *, digits: int | None = None) -> str:
        """Write the model as equations in LaTeX, for the math mode of amsmath.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            As for :meth:`to_sql`.
        digits : int, default=None
            Significant digits of numbers. None means as many as make each number exact.

        Returns
        -------
        str
            An ``aligned`` environment: each prediction, or the probability of each
            class, and each coded input ``z``. Missing numbers have no line: their input
            is the mean of the column in `fit`, which :meth:`to_sql` and :meth:`to_c`
            write.

        Raises
        ------
        ValueError
            As in :meth:`to_sql`, and if `digits` is not a positive integer.

        Warns
        -----
        UserWarning
            If R2 of predictions of X is below 0.99.

        Examples
        --------
        >>> from skmohn import MOHNRegressor
        >>> model = MOHNRegressor.from_terms([(0,), (0, 1)], [2.0, -0.5])
        >>> print(model.to_latex())
        \\begin{aligned}
        \\text{prediction} &= 2 \\, z_{1} - 0.5 \\, z_{1} \\, z_{2} \\\\
        z_{1} &= \\text{x0} \\\\
        z_{2} &= \\text{x1}
        \\end{aligned}
        """
        if digits is not None and not (is_integer(digits) and 1 <= digits <= 17):
            raise ValueError(f"digits must be None or from 1 to 17, got {digits!r}")
        return write_latex(Formula.read(self, X, "LaTeX"), digits)
