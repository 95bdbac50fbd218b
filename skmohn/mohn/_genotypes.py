"""`Genotypes`: a table of counts of an allele, at two or three bits each."""

from typing import Self

import numpy as np
from sklearn.utils import check_consistent_length

from skmohn._core._categories import Categories, read_table
from skmohn._core._validation import read_targets, to_numpy
from skmohn.mohn._table.coding import CONSTANT, NUMERIC, InputCoding
from skmohn.mohn._table.rows import Rows
from skmohn.mohn._walsh.bits import pack_bits, row_bits, unpack_bits
from skmohn.mohn._walsh.plane_design import Planes

CODINGS = ("additive", "dominance", "both")
_COLUMNS_AT_ONCE = 1024


class Genotypes:
    """Genotypes of many columns, which estimators search without expanding them.

    A value is the count of an allele: 0, 1 or 2, or unknown. The table takes two bits a
    value, or three when some are unknown, where floats take 64: 100,000 columns of 3000
    rows are 77 MB. :class:`~skmohn.MOHNRegressor` with strategies "pursuit" and
    "given", :class:`~skmohn.MOHNClassifier` and :class:`~skmohn.MOHNTransformer` with
    "logistic" and "given" accept it in the place of an array. Columns are coded as they
    are in genetics, less their means. So an unknown value, which is coded as 0, counts
    as the mean, and a product of columns is an interaction beside the columns
    themselves.

    Create it with :meth:`from_counts` or :func:`skmohn.integrations.read_plink`.

    Parameters
    ----------
    sign, nonzero, known : ndarrays of shape (n_variants, n_words), uint64
        Bits of count 0, of counts 0 and 2, and of known values, padded with zeros to
        ``n_words = 8 * ceil(n_samples / 512)``; `known` is None when all are.
    n_samples : int
        Number of rows.
    coding : {"additive", "dominance", "both"}, default="additive"
        What columns are: counts, indicators of count 1 (heterozygotes), or first all
        counts and then all indicators.
    names : sequence of str, default=None
        Names of the variants. None for ``x0``, ``x1``, ...
    sample_names : sequence of str, default=None
        Names of the rows.
    chromosomes : sequence of str, default=None
        Chromosome of each variant.
    positions : array-like of int of shape (n_variants,), default=None
        Position of each variant on its chromosome.
    phenotype : ndarray of shape (n_samples,), default=None
        A target that came with the genotypes; NaN where unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from skmohn import Genotypes
    >>> genotypes = Genotypes.from_counts([[0, 2], [1, 1], [2, np.nan]])
    >>> genotypes.shape
    (3, 2)
    >>> genotypes.counts([1]).ravel().tolist()
    [2.0, 1.0, nan]
    """

    def __init__(
        self,
        sign,
        nonzero,
        known,
        n_samples,
        *,
        coding="additive",
        names=None,
        sample_names=None,
        chromosomes=None,
        positions=None,
        phenotype=None,
    ):
        if coding not in CODINGS:
            raise ValueError(f"coding must be one of {CODINGS}, got {coding!r}")
        self.sign, self.nonzero, self.known = sign, nonzero, known
        self.n_samples, self.coding = n_samples, coding
        self.names, self.sample_names = names, sample_names
        self.chromosomes, self.positions = chromosomes, positions
        self.phenotype = phenotype

    @classmethod
    def from_counts(cls, counts, *, coding="additive", names=None) -> Self:
        """Pack a table of counts.

        Parameters
        ----------
        counts : array-like of shape (n_samples, n_variants)
            Values 0, 1 and 2; NaN means missing. A DataFrame's columns are names.
        coding : {"additive", "dominance", "both"}, default="additive"
            See the class.
        names : sequence of str, default=None
            Names of the variants. None for those of a DataFrame.

        Returns
        -------
        Genotypes
            The packed table.

        Raises
        ------
        ValueError
            If `counts` is not such a table.
        """
        if names is None and hasattr(counts, "columns"):
            names = [str(name) for name in counts.columns]
        counts = np.asarray(to_numpy(counts))
        if counts.ndim != 2 or not all(counts.shape):
            raise ValueError(
                "counts must be a table of samples by variants with at least one of "
                f"each, got shape {counts.shape}"
            )
        if names is not None and len(names) != counts.shape[1]:
            raise ValueError(
                f"names has {len(names)} names for {counts.shape[1]} variants"
            )
        parts = []
        for start in range(0, counts.shape[1], _COLUMNS_AT_ONCE):
            part = counts[:, start : start + _COLUMNS_AT_ONCE].T.astype(float)
            known = ~np.isnan(part)
            odd = known & ~np.isin(part, (0.0, 1.0, 2.0))
            if odd.any():
                column, row = np.argwhere(odd)[0]
                raise ValueError(
                    f"counts has {part[column, row]:g} in row {row} of column "
                    f"{start + column}: counts of an allele are 0, 1 or 2, or NaN"
                )
            planes = part == 0.0, known & (part != 1.0), known
            parts.append([pack_bits(plane) for plane in planes])
        sign, nonzero, known = map(np.concatenate, zip(*parts, strict=True))
        is_full = np.bitwise_count(known).sum() == counts.size
        known = None if is_full else known
        return cls(sign, nonzero, known, len(counts), coding=coding, names=names)

    @classmethod
    def join(cls, parts, *, names=None) -> Self:
        """Put tables of the same rows side by side.

        Parameters
        ----------
        parts : sequence of Genotypes
            At least one; their coding is that of the first. Only their genotypes are
            taken.
        names : sequence of str, default=None
            Names of all variants.

        Returns
        -------
        Genotypes
            The whole table.
        """
        n_samples, whole = parts[0].n_samples, None
        if any(part.n_samples != n_samples for part in parts):
            raise ValueError("parts must have the same rows, got different numbers")
        sign, nonzero = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("sign", "nonzero")
        )
        if any(part.known is not None for part in parts):
            whole = np.concatenate([part.known_bits() for part in parts])
        coding = parts[0].coding
        return cls(sign, nonzero, whole, n_samples, coding=coding, names=names)

    def known_bits(self):
        """Return bits of known values, also when all are.

        Returns
        -------
        ndarray of shape (n_variants, n_words), uint64
            As the parameter `known`.
        """
        if self.known is not None:
            return np.asarray(self.known)
        return np.tile(row_bits(self.n_samples), (len(self.sign), 1))

    @property
    def shape(self):
        """Numbers of rows and columns.

        Returns
        -------
        tuple of int
            With ``coding="both"``, there are two columns for each variant.
        """
        return self.n_samples, len(self.sign) * (1 + (self.coding == "both"))

    @property
    def columns(self):
        """Names of the columns.

        Returns
        -------
        list of str or None
            Those of indicators of count 1 end in ``(het)``; None without names.
        """
        if self.names is None:
            return None
        counts = list(self.names) if self.coding != "dominance" else []
        if self.coding == "additive":
            return counts
        return counts + [f"{name} (het)" for name in self.names]

    def __len__(self):
        return self.n_samples

    def __repr__(self):
        n_samples, n_columns = self.shape
        return f"<Genotypes: {n_samples} rows, {n_columns} columns, {self.coding}>"

    def __getitem__(self, rows) -> Self:
        """Take some of the rows.

        Parameters
        ----------
        rows : array-like of int or bool, or slice
            Their numbers, or a mask.

        Returns
        -------
        Genotypes
            With these rows.
        """
        rows = np.arange(self.n_samples)[rows]
        if rows.ndim != 1:
            raise ValueError("genotypes take a list of rows, such as genotypes[:10]")
        plain = Planes(self.n_samples, self.sign, self.nonzero, np.empty(0), self.known)
        taken = plain.take(rows)
        names, phenotype = self.sample_names, self.phenotype
        return type(self)(
            taken.sign,
            taken.nonzero,
            taken.known,
            len(rows),
            coding=self.coding,
            names=self.names,
            sample_names=None if names is None else [names[i] for i in rows],
            chromosomes=self.chromosomes,
            positions=self.positions,
            phenotype=None if phenotype is None else phenotype[rows],
        )

    def counts(self, variants=None):
        """Expand some variants.

        Parameters
        ----------
        variants : sequence of int, default=None
            Their numbers. None for all, at eight bytes a value.

        Returns
        -------
        ndarray of shape (n_samples, n_chosen)
            0, 1 and 2; NaN where unknown.
        """
        chosen = slice(None) if variants is None else np.asarray(variants, dtype=int)
        n = self.n_samples
        nonzero = unpack_bits(self.nonzero[chosen], n)
        counts = 1.0 + nonzero - 2.0 * unpack_bits(self.sign[chosen], n)
        if self.known is not None:
            counts[unpack_bits(self.known[chosen], n) == 0] = np.nan
        return counts.T

    def _codes(self):
        """Columns as planes: sign, nonzero, known, and what to add for their values."""
        sign, nonzero = np.asarray(self.sign), np.asarray(self.nonzero)
        known = self.known_bits()
        # Of a count less 1, and of an indicator.
        additive = sign, nonzero, known, np.ones(len(sign))
        dominance = np.zeros_like(sign), known & ~nonzero, known, np.zeros(len(sign))
        if self.coding == "both":
            return tuple(map(np.concatenate, zip(additive, dominance, strict=True)))
        return additive if self.coding == "additive" else dominance


def read_inputs(estimator, X, y="no_validation", *, reset=False):
    """Check what is passed to an estimator: genotypes, or else a table.

    Parameters
    ----------
    estimator, X, y, reset
        As of :func:`~skmohn._core._categories.read_table`.

    Returns
    -------
    X : Genotypes or ndarray of shape (n_samples, n_features)

    y : ndarray of shape (n_samples,)
        Only when given.
    """
    if not isinstance(X, Genotypes):
        return read_table(estimator, X, y, reset=reset)
    names = X.columns
    if reset:
        taking = estimator._genotype_strategies
        if estimator.strategy not in taking:
            raise ValueError(
                f"strategy={estimator.strategy!r} takes no Genotypes: use one of "
                f"{taking}, or pass X.counts() for a table that fits into memory"
            )
        if len(X) < 2:
            raise ValueError(
                f"too few rows: X has {len(X)}, and {type(estimator).__name__} needs "
                "two or more"
            )
        estimator.n_features_in_ = X.shape[1]
        estimator._categories = Categories({}, estimator.handle_unknown)
        estimator._input_dtype = "float64"
        vars(estimator).pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} columns, but {type(estimator).__name__} was fitted "
            f"with {estimator.n_features_in_}"
        )
    elif names is not None and names != list(
        getattr(estimator, "feature_names_in_", names)
    ):
        raise ValueError(
            "X has other names of columns than in fit, or in another order: pass the "
            "same variants"
        )
    if isinstance(y, str) and y == "no_validation":
        return X
    y = read_targets(to_numpy(y), estimator=estimator, numeric=True)
    check_consistent_length(X, y)
    return X, np.asarray(y, dtype=np.float64)


def learn_coding(X, *known):
    """The coding of a table, or of the columns of genotypes, less their means.

    Parameters
    ----------
    X : Genotypes or ndarray of shape (n_samples, n_features)

    *known
        As of :meth:`InputCoding.learn`.

    Returns
    -------
    coding : InputCoding
    """
    if not isinstance(X, Genotypes):
        return InputCoding.learn(X, *known)
    sign, nonzero, whole, least = X._codes()
    n_known, n_nonzero, n_negative = (
        np.bitwise_count(plane).sum(axis=1, dtype=np.int64)
        for plane in (whole, nonzero, sign)
    )
    n_positive = n_nonzero - n_negative
    counts = np.stack([n_known - n_nonzero, n_negative, n_positive])
    varies = np.count_nonzero(counts, axis=0) > 1
    middle = (n_positive - n_negative) / np.maximum(n_known, 1) + least
    middle[n_known == 0] = np.nan
    kind = np.where(varies, NUMERIC, CONSTANT)
    return InputCoding(kind, middle - 1.0, middle + 1.0)


def encode(coding, X, names=None, *, as_bytes=False):
    """Code a table, or genotypes as planes.

    Parameters
    ----------
    coding : InputCoding

    X : Genotypes or ndarray of shape (n_samples, n_features)

    names : sequence of str, default=None
        Column names for messages.

    as_bytes : bool, default=False
        As of :meth:`InputCoding.encode`.

    Returns
    -------
    rows : Rows
        Its inputs may be `Planes`.
    """
    if not isinstance(X, Genotypes):
        return coding.encode(X, names, as_bytes=as_bytes)
    *bits, least = X._codes()
    chosen = slice(None)
    if len(coding.usable) < len(coding.kind):
        chosen = coding.usable
        bits = [plane[chosen] for plane in bits]
    middle = (coding.low + coding.high) / 2.0
    planes = Planes.around(*bits, (middle - least)[chosen], X.n_samples)
    return Rows(planes, np.empty((len(X), 0), dtype=int))
