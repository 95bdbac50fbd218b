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

        What it computes is `predict`, but for rounding. NULL means missing, and so do
        categories that were not there in `fit`; numbers that `predict` refuses are not
        refused.

        Parameters
        ----------
        table : str or sequence of str, default="data"
            Table, or its schema and its name, with the columns of `fit` by their names;
            ``x0``, ``x1``, ... where they had none. It is quoted, as are columns.
        X : array-like of shape (n_samples, n_features), default=None
            Rows to compare predictions of the query with those of the model, which is
            printed. Models of more weights than they list need it: of a Gaussian
            process or a spike-and-slab model `terms_` alone are written. So do
            transformed targets, whose noise is written as one number.
        keys : str or sequence of str, default=()
            Further columns of the table that the result shall have, such as its
            primary key: rows of a query come in no order.
        dialect : {"ansi", "mysql", "tsql"}, default="ansi"
            "ansi" is for PostgreSQL, SQLite, DuckDB and others, "tsql" for SQL Server.

        Returns
        -------
        str
            A SELECT without semicolon. Its columns are `keys`, and ``prediction`` or,
            of several targets, one by the name of each. Of classes ``prediction`` is
            the label, followed by ``probability_`` and the label for each.

        Raises
        ------
        TypeError
            If `table` or `keys` are no names.
        ValueError
            If the model has more weights than are listed and there is no `X`, if it is
            an ensemble of classes, for columns of times, and for what has no name or
            literal in SQL.

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
        """Write the model as a header in C, which needs no memory but the stack.

        What it computes is `predict`, but for rounding. Inputs are a row of the table
        in `fit`, all of its columns; of categories, their numbers in `categories_`. NaN
        means missing, as does any other category.

        Parameters
        ----------
        name : str, default="model"
            What names in the header begin with. Save it as ``name.h``.
        X : array-like of shape (n_samples, n_features), default=None
            As for :meth:`to_sql`.
        arithmetic : {"double", "integer"}, default="double"
            "integer" is for columns of two values: inputs are of type ``uint8_t``, 0
            for the value that is coded as -1, 1 for that coded as +1, and any other
            number if it is missing. ``name_scores`` then needs no floating point.
        accumulator_bits : {32, 64}, default=32
            Bits of the integers that weights are multiplied by a power of two for. No
            sum overflows; the header states the largest error, 0 if all weights are
            multiples of a power of two that fits.

        Returns
        -------
        str
            The header, in ASCII. ``name_predict(x)`` returns the prediction or the
            number of the class in ``NAME_LABELS``; of several targets,
            ``name_predict(x, prediction)`` fills an array. ``name_probabilities(x,
            probability)`` fills one of those of the classes, and ``name_scores(x,
            score)`` one of polynomials: of predictions before they are clipped or
            transformed, or of log-odds. Integers are over ``2 ** NAME_SHIFT``.

        Raises
        ------
        ValueError
            As of :meth:`to_sql`; for other names than C takes; and if a column has more
            than two values and `arithmetic` is "integer".

        Warns
        -----
        UserWarning
            If R2 of predictions of X is below 0.99, or could be by the rounding of
            weights to integers, as where the scales of targets are far apart.

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
            Significant digits of numbers. None for so many that each number is exact.

        Returns
        -------
        str
            An ``aligned`` environment: each prediction, or the probability of each
            class, and each coded input ``z``. A missing number has no line: its input
            is the mean of its column's in `fit`, which :meth:`to_sql` and :meth:`to_c`
            write.

        Raises
        ------
        ValueError
            As of :meth:`to_sql`, and if `digits` is no positive integer.

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
