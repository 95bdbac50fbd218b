"""`Genotypes`: a table of counts of an allele, at two or three bits each."""

import copy
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, Protocol, Self, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length

from skmohn._core._bits import pack_bits, row_bits, unpack_bits
from skmohn._core._categories import Categories, CategoryReader, read_table
from skmohn._core._fitting import warn_caller
from skmohn._core._names import unique_names
from skmohn._core._tables import read_targets
from skmohn._core._tuned import tuned
from skmohn._core._types import TableLike
from skmohn._core._validation import is_integer, refuse_set, to_numpy
from skmohn.mohn._design.plane_design import Planes
from skmohn.mohn._table.coding import (
    CONSTANT,
    NUMERIC,
    InputCoding,
    UncodedInputs,
    warn_of_new_values,
)
from skmohn.mohn._table.columns import repeated_name
from skmohn.mohn._table.rows import EncodedRows, coded_blocks
from skmohn.mohn._table.variants import Alleles, Variants, is_same_allele

CODINGS = ("additive", "dominance", "both")


@dataclass(frozen=True)
class GenotypeConstants:
    """Blocks of variants."""

    n_columns: int = tuned(1024, "cost")


_GENOTYPES = GenotypeConstants()
# PLINK's range of positions.
_LAST_POSITION: Final = 2**31 - 2
# What is known of variants, and of people; the first of each are their names.
_OF_VARIANTS = ("names", "chromosomes", "positions", "alleles")
_OF_SAMPLES = ("sample_names", "family_names", "phenotype")
# PLINK's codes of a chromosome, a position and alleles that are not known.
_UNKNOWN = {"chromosomes": "0", "positions": 0, "alleles": ("0", "0")}


class GenotypeReader(CategoryReader, Protocol):
    """Attributes of an estimator about the genotypes that it was fitted on."""

    strategy: str
    feature_names_in_: NDArray[Any]
    _genotype_strategies: tuple[str, ...]
    _variants: Variants


class Genotypes:
    """Genotypes of many variants, which estimators search without expanding them.

    A value is the count of an allele: 0, 1 or 2, or unknown. The table takes two bits
    per value, or three if some are unknown, instead of the 64 of floats: 100,000
    columns of 3000 rows are 77 MB. :class:`~skmohn.MOHNRegressor` with strategies
    "pursuit" and "given", :class:`~skmohn.MOHNClassifier` and
    :class:`~skmohn.MOHNTransformer` with "logistic" and "given" accept it in place of
    an array. Columns are coded as in genetics, minus their means. So an unknown value,
    which is coded as 0, counts as the mean, and a product of columns is an interaction
    in addition to the columns themselves.

    Create it with :meth:`from_counts` or :func:`skmohn.integrations.read_plink`. Select
    rows and variants as in an array: ``genotypes[rows]``, ``genotypes[:, variants]``.

    `predict` compares the variants with those of `fit`: if the same two alleles are in
    the opposite order, counts are swapped (0 becomes 2); other names, alleles,
    chromosomes, positions or codings are refused.

    Parameters
    ----------
    sign, nonzero, known : ndarrays of shape (n_variants, n_words), uint64
        Bits of count 0, of counts 0 and 2, and of known values, padded with zeros to
        ``n_words = 8 * ceil(n_samples / 512)``; `known` is None if all are.
    n_samples : int
        Number of rows.
    coding : {"additive", "dominance", "both"}, default="additive"
        What columns are: counts, indicators of count 1 (heterozygotes), or first all
        counts and then all indicators. With both, searches test all products of two
        variants together.
    names : sequence of str, default=None
        Names of the variants. None for ``x0``, ``x1``, ...
    sample_names, family_names : sequence of str, default=None
        Names of the rows, and of their families: individual and family IDs.
    chromosomes : sequence of str, default=None
        Chromosome of each variant; "0" if unknown.
    positions : array-like of int of shape (n_variants,), default=None
        Position of each variant on its chromosome, in base pairs; 0 if unknown.
    alleles : sequence of (str, str) of length n_variants, default=None
        The allele that is counted, and the other one, in upper or lower case; "0" or
        "." if unknown.
    phenotype : ndarray of shape (n_samples,), default=None
        A target that came with the genotypes; NaN if unknown.

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
        sign: NDArray[np.uint64],
        nonzero: NDArray[np.uint64],
        known: NDArray[np.uint64] | None,
        n_samples: int,
        *,
        coding: str = "additive",
        names: Iterable[str] | None = None,
        sample_names: Iterable[str] | None = None,
        family_names: Iterable[str] | None = None,
        chromosomes: Iterable[str] | None = None,
        positions: ArrayLike | None = None,
        alleles: Iterable[Sequence[str]] | None = None,
        phenotype: ArrayLike | None = None,
    ) -> None:
        if coding not in CODINGS:
            raise ValueError(f"coding must be one of {CODINGS}, got {coding!r}")
        _require_planes(sign, nonzero, known, n_samples)
        self.sign, self.nonzero, self.known = sign, nonzero, known
        self.n_samples, self.coding = int(n_samples), coding
        self.names = _read_texts(names, "names")
        self.chromosomes = _read_texts(chromosomes, "chromosomes")
        self.positions = None if positions is None else _read_positions(positions)
        self.alleles = alleles if alleles is None else _read_alleles(alleles)
        self.sample_names = _read_texts(sample_names, "sample_names")
        self.family_names = _read_texts(family_names, "family_names")
        self.phenotype = None if phenotype is None else np.asarray(to_numpy(phenotype))
        self._check_lengths(_OF_VARIANTS, len(sign), "variants")
        self._check_lengths(_OF_SAMPLES, n_samples, "samples")

    def _check_lengths(self, names: Iterable[str], length: int, what: str) -> None:
        for name in names:
            value = getattr(self, name)
            if value is not None and len(value) != length:
                called = name.replace("_", " ")
                raise ValueError(
                    f"{name} has {len(value)} {called} for {length} {what}"
                )

    @classmethod
    def from_counts(
        cls,
        counts: TableLike,
        *,
        coding: str = "additive",
        names: Iterable[str] | None = None,
        sample_names: Iterable[str] | None = None,
        **about: Any,
    ) -> Self:
        """Pack a table of counts.

        Parameters
        ----------
        counts : array-like of shape (n_samples, n_variants)
            Values 0, 1 and 2; NaN means missing. A DataFrame's columns are names.
        coding : {"additive", "dominance", "both"}, default="additive"
            See the class.
        names : sequence of str, default=None
            Names of the variants. None for those of a DataFrame.
        sample_names : sequence of str, default=None
            Names of the rows. None means the index of a DataFrame, unless it is a
            RangeIndex, which only numbers the rows.
        **about : dict
            `family_names`, `chromosomes`, `positions`, `alleles` and `phenotype`, as in
            the class.

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
        index = getattr(counts, "index", None)
        has_index = hasattr(counts, "columns") and index is not None
        if sample_names is None and has_index and type(index).__name__ != "RangeIndex":
            sample_names = [str(name) for name in cast(Iterable[Any], index)]
        counts = _read_counts(counts)
        parts = []
        for start in range(0, counts.shape[1], _GENOTYPES.n_columns):
            part = _as_floats(counts[:, start : start + _GENOTYPES.n_columns].T, start)
            known = ~np.isnan(part)
            odd = known & ~np.isin(part, (0.0, 1.0, 2.0))
            if odd.any():
                column, row = np.argwhere(odd)[0]
                raise ValueError(
                    f"counts has {part[column, row]:.15g} in row {row} of column "
                    f"{start + column}: counts of an allele are 0, 1 or 2, or NaN"
                )
            planes = part == 0.0, known & (part != 1.0), known
            parts.append([pack_bits(plane) for plane in planes])
        sign, nonzero, known = map(np.concatenate, zip(*parts, strict=True))
        is_full = np.bitwise_count(known).sum() == counts.size
        known = None if is_full else known
        about |= {"coding": coding, "names": names, "sample_names": sample_names}
        return cls(sign, nonzero, known, len(counts), **about)

    @classmethod
    def join(
        cls, parts: Iterable["Genotypes"], *, names: Iterable[str] | None = None
    ) -> Self:
        """Combine tables of the same people, such as those of several chromosomes.

        Parameters
        ----------
        parts : sequence of Genotypes
            At least one, all with the same coding. If parts have sample names, rows are
            those of the first part with names, and the others are put in its order;
            parts without names are assumed to be in it.
        names : sequence of str, default=None
            Names of all variants. None for those of the parts.

        Returns
        -------
        Genotypes
            The whole table. Details of variants that only some parts have are unknown
            in the others, whose names are ``x`` and their number; a phenotype that is
            unknown in some parts is taken from the others.

        Raises
        ------
        ValueError
            If parts have different people or codings, if a person occurs twice and
            parts are in different orders, or if phenotypes of a person differ.
        """
        parts = list(parts)
        if not parts or not all(isinstance(part, Genotypes) for part in parts):
            raise ValueError("parts must be Genotypes, at least one")
        for k, part in enumerate(parts):
            if part.coding != parts[0].coding:
                raise ValueError(
                    f"parts must have the same coding, but that of parts[{k}] is "
                    f"{part.coding!r} and that of parts[0] {parts[0].coding!r}"
                )
        parts = _in_one_order(parts)
        sign, nonzero = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("sign", "nonzero")
        )
        whole = None
        if any(part.known is not None for part in parts):
            whole = np.concatenate([part.known_bits() for part in parts])
        about = _join_variants(parts)
        about["names"] = about["names"] if names is None else names
        for name in ("sample_names", "family_names"):
            known = (getattr(part, name) for part in parts)
            about[name] = next((k for k in known if k is not None), None)
        about["phenotype"] = _join_phenotypes(parts)
        return cls(
            sign, nonzero, whole, parts[0].n_samples, coding=parts[0].coding, **about
        )

    def known_bits(self) -> NDArray[np.uint64]:
        """Return bits of known values, also if all are.

        Returns
        -------
        ndarray of shape (n_variants, n_words), uint64
            As the parameter `known`.
        """
        if self.known is not None:
            return np.asarray(self.known)
        return np.tile(row_bits(self.n_samples), (len(self.sign), 1))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns.

        Returns
        -------
        tuple of int
            With ``coding="both"``, there are two columns for each variant.
        """
        return self.n_samples, len(self.sign) * (1 + (self.coding == "both"))

    @property
    def columns(self) -> list[str] | None:
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
        made = [f"{name} (het)" for name in self.names]
        return counts + unique_names(made, counts)

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        n_samples, n_columns = self.shape
        return f"<Genotypes: {n_samples} rows, {n_columns} columns, {self.coding}>"

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NoReturn:
        """Refuse an implicit expansion, to 32 times the memory."""
        raise TypeError(
            "Genotypes are not an array: MOHNRegressor, MOHNClassifier and "
            "MOHNTransformer take them in fit and predict; elsewhere pass X.counts()"
        )

    def __getitem__(
        self,
        index: Any,  # row numbers or a mask; a pair: of rows and of variants
    ) -> Self:
        """Take some of the rows, or of the variants."""
        both = index if isinstance(index, tuple) else (index,)
        rows, variants = both if len(both) == 2 else (index, ...)
        rows = _find(rows, self.n_samples, "rows")
        variants = _find(variants, len(self.sign), "variants")
        if rows.ndim != 1 or variants.ndim != 1:
            raise ValueError(
                "genotypes take lists of rows and of variants, such as genotypes[:10] "
                "or genotypes[:, [3, 5]]"
            )
        taken = copy.copy(self)
        if len(variants) < len(self.sign) or np.any(np.diff(variants) != 1):
            taken = taken._take_variants(variants)
        if len(rows) < self.n_samples or np.any(np.diff(rows) != 1):
            taken = taken._take_samples(rows)
        return taken

    def _take_variants(self, variants: NDArray[np.intp]) -> Self:
        taken = copy.copy(self)
        for name in ("sign", "nonzero", "known", *_OF_VARIANTS):
            setattr(taken, name, _take(getattr(self, name), variants))
        return taken

    def _take_samples(self, rows: NDArray[np.intp]) -> Self:
        plain = Planes(self.n_samples, self.sign, self.nonzero, np.empty(0), self.known)
        planes = plain.take(rows)
        taken = copy.copy(self)
        taken.n_samples = len(rows)
        for name in ("sign", "nonzero", "known"):
            setattr(taken, name, getattr(planes, name))
        for name in _OF_SAMPLES:
            setattr(taken, name, _take(getattr(self, name), rows))
        return taken

    def _turn(self, variants: NDArray[np.intp]) -> Self:
        """Count the other allele of some variants."""
        turned = copy.copy(self)
        turned.sign = np.array(self.sign)
        turned.sign[variants] ^= self.nonzero[variants]
        alleles = cast(Alleles, self.alleles)
        turned.alleles = list(alleles)
        for j in variants:
            first, second = alleles[j]
            turned.alleles[j] = second, first
        return turned

    def _variants(self) -> Variants:
        # What a user changes later is not what was fitted.
        about = {name: copy.copy(getattr(self, name)) for name in _OF_VARIANTS}
        return Variants(len(self.sign), self.coding, **about)

    def counts(
        self, variants: Sequence[int] | NDArray[np.intp] | None = None
    ) -> NDArray[np.float64]:
        """Expand some variants.

        Parameters
        ----------
        variants : sequence of int or bool, default=None
            Their indices, or a mask. None means all, at eight bytes per value.

        Returns
        -------
        ndarray of shape (n_samples, n_chosen)
            0, 1 and 2; NaN if unknown.
        """
        chosen: Any = slice(None)
        if variants is not None:
            chosen = _find(variants, len(self.sign), "variants")
        n = self.n_samples
        if not len(self.sign[chosen]):
            return np.empty((n, 0))
        nonzero = unpack_bits(self.nonzero[chosen], n)
        counts = 1.0 + nonzero - 2.0 * unpack_bits(self.sign[chosen], n)
        if self.known is not None:
            counts[unpack_bits(self.known[chosen], n) == 0] = np.nan
        return counts.T

    def _codes(self) -> tuple[NDArray, ...]:
        """Planes of the columns: sign, nonzero, known, and what their values add."""
        sign, nonzero = np.asarray(self.sign), np.asarray(self.nonzero)
        known = self.known_bits()
        # Of a count less 1, and of an indicator.
        additive = sign, nonzero, known, np.ones(len(sign))
        dominance = np.zeros_like(sign), known & ~nonzero, known, np.zeros(len(sign))
        if self.coding == "both":
            return tuple(map(np.concatenate, zip(additive, dominance, strict=True)))
        return additive if self.coding == "additive" else dominance


def _require_planes(
    sign: NDArray[np.uint64],
    nonzero: NDArray[np.uint64],
    known: NDArray[np.uint64] | None,
    n_samples: int,
) -> None:
    """Refuse planes that do not have the words of so many samples."""
    if not is_integer(n_samples) or n_samples < 0:
        raise ValueError(f"n_samples must be an integer from 0, got {n_samples!r}")
    shape = len(sign), row_bits(n_samples).size
    for name, plane in (("sign", sign), ("nonzero", nonzero), ("known", known)):
        if plane is not None and (plane.dtype != np.uint64 or plane.shape != shape):
            raise ValueError(
                f"{name} must hold uint64 of shape {shape}, of {shape[0]} variants and "
                f"{n_samples} samples, got {plane.dtype} of shape {plane.shape}: "
                "from_counts packs a table"
            )


def _read_texts(values: Iterable[Any] | None, name: str) -> list[str] | None:
    """Read a list of names, some of which may be integers."""
    if values is None:
        return None
    if isinstance(values, str):
        raise ValueError(f"{name} must be a list of strings, got the string {values!r}")
    refuse_set(values, name)
    return [str(value) if is_integer(value) else value for value in values]


def _find(index: Any, length: int, what: str) -> NDArray[np.intp]:
    """Numbers of rows or variants, given as such or as a mask."""
    try:
        return np.arange(length)[index]
    except IndexError as error:
        raise IndexError(
            f"genotypes have {length} {what}: select them by their indices or a mask: "
            f"{error}"
        ) from None


def _take(values: Any, index: NDArray[np.intp]) -> Any:
    """Some of an array or a list; None of None."""
    if values is None or isinstance(values, np.ndarray):
        return None if values is None else values[index]
    return [values[i] for i in index]


def _read_counts(counts: TableLike) -> NDArray:
    """Table of values, whatever they are."""
    if issparse(counts):
        raise ValueError("counts is a sparse matrix: pass counts.toarray()")
    try:
        table = np.asarray(to_numpy(counts))
        if table.dtype == object and hasattr(counts, "isna"):
            # Columns of nullable types have NA, which is no number.
            table = np.where(counts.isna(), np.nan, table)
    except ValueError as error:
        raise ValueError(f"counts is not a table: {error}") from error
    if table.ndim != 2 or not all(table.shape):
        raise ValueError(
            f"counts must be a table of samples by variants, got {table.shape}"
        )
    return table


def _as_floats(part: NDArray, start: int) -> NDArray[np.float64]:
    """Counts as floats, of columns from `start` on."""
    try:
        if part.dtype.kind == "c":
            raise TypeError("complex numbers")
        return part.astype(float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"counts has a value that is not a number in columns {start} to "
            f"{start + len(part) - 1} ({error}): counts of an allele are 0, 1 or 2, or "
            "NaN"
        ) from error


def _read_positions(positions: ArrayLike) -> NDArray[np.int64]:
    """Positions in base pairs; 0 for those that are unknown."""
    try:
        values = np.atleast_1d(np.asarray(positions, dtype=np.float64))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"positions must be integers: {error}") from error
    values = np.where(np.isnan(values), 0.0, values)
    odd = (values != np.rint(values)) | (np.abs(values) > _LAST_POSITION)
    if odd.any():
        j = int(odd.argmax())
        raise ValueError(
            f"positions has {values[j]} for variant {j}: they are integers, in "
            f"base pairs, up to {_LAST_POSITION}"
        )
    return values.astype(np.int64)


def _read_alleles(alleles: Iterable[Sequence[str]]) -> Alleles:
    # There are few different pairs, and many variants have each.
    pairs, known = [], dict[Any, tuple[str, ...]]()
    for j, given in enumerate(alleles):
        try:
            pair = tuple(given)
        except TypeError:
            pair = (given,)
        if pair not in known:
            known[pair] = tuple(map(_read_allele, pair))
        pair = known[pair]
        if len(pair) != 2 or is_same_allele(*pair):
            raise ValueError(
                f"alleles has {pair} for variant {j}: they are two, and differ"
            )
        pairs.append(pair)
    return pairs


def _read_allele(allele: Any) -> str:
    """Name of an allele; "0" where it is missing."""
    if allele is None or allele != allele:
        return "0"
    return (allele.decode() if isinstance(allele, bytes) else str(allele)).strip()


def _in_one_order(parts: Sequence[Genotypes]) -> list[Genotypes]:
    """Parts with their rows in the order of the first that has sample names."""
    with_families = all(
        part.family_names is not None for part in parts if part.sample_names is not None
    )
    people = [_people(part, with_families) for part in parts]
    first = next((k for k, known in enumerate(people) if known), 0)
    ordered = []
    for k, part in enumerate(parts):
        if people[k] and people[k] != people[first]:
            rows = _find_people(people[first], people[k], first, k)
            part = part[rows]
        elif part.n_samples != parts[first].n_samples:
            raise ValueError(
                f"parts must have the same rows, but parts[{k}] has {part.n_samples} "
                f"and parts[{first}] {parts[first].n_samples}"
            )
        ordered.append(part)
    return ordered


def _people(genotypes: Genotypes, with_families: bool) -> Any:
    """Identifiers of samples: family and individual ID; None where unknown."""
    names, families = genotypes.sample_names, genotypes.family_names
    if names is None:
        return None
    if not with_families:
        return names
    return list(zip(cast(list[str], families), names, strict=True))


def _find_people(
    wanted: list[Hashable], there: list[Hashable], first: int, k: int
) -> list[int]:
    """Rows of people in another part."""
    rows = {person: row for row, person in enumerate(there)}
    for part, people in ((first, wanted), (k, there)):
        twice = repeated_name(people)
        if twice is not None:
            raise ValueError(
                f"parts[{part}] has {twice} more than once, and parts[{k}] is in "
                f"another order than parts[{first}]: rows cannot be matched"
            )
    odd = set(wanted).symmetric_difference(there)
    if odd:
        person = min(odd, key=lambda p: (p not in rows, str(p)))
        part = k if person in rows else first
        raise ValueError(
            f"parts must have the same rows, but {person} and {len(odd) - 1} more are "
            f"in only one of parts[{first}] and parts[{k}], this one in parts[{part}]: "
            "select the people in both, such as part[rows]"
        )
    return [rows[person] for person in wanted]


def _join_variants(parts: Sequence[Genotypes]) -> dict[str, Any]:
    """Names, chromosomes, positions and alleles of all parts."""
    about: dict[str, Any] = dict.fromkeys(_OF_VARIANTS)
    for name in _OF_VARIANTS:
        values, start = [getattr(part, name) for part in parts], 0
        if all(value is None for value in values):
            continue
        joined, unknown = [], []
        for part, value in zip(parts, values, strict=True):
            indices = range(start, start + len(part.sign))
            start = indices.stop
            if value is None:
                unknown += indices
                value = [_UNKNOWN.get(name)] * len(indices)
            joined += list(value)
        if name == "names":
            taken = [known for known in joined if known is not None]
            made = unique_names([f"x{j}" for j in unknown], taken)
            for j, called in zip(unknown, made, strict=True):
                joined[j] = called
        about[name] = joined
    return about


def _join_phenotypes(parts: Sequence[Genotypes]) -> NDArray[np.float64] | None:
    """Phenotype of each person in any of the parts, in the order of the first."""
    joined = None
    for k, part in enumerate(parts):
        if part.phenotype is None:
            continue
        if joined is None:
            # Strings of an array would be cut to its width.
            is_number = part.phenotype.dtype.kind in "biuf"
            joined = np.array(part.phenotype, None if is_number else object)
            continue
        known = _is_known(part.phenotype)
        differs = known & _is_known(joined) & (part.phenotype != joined)
        for row in np.flatnonzero(differs)[:1]:
            person = part.sample_names[row] if part.sample_names else f"row {row}"
            here, before = map(_as_text, (part.phenotype[row], joined[row]))
            raise ValueError(
                f"phenotype of {person} is {here} in parts[{k}] and {before} in an "
                "earlier part: are these the same people?"
            )
        joined[known] = part.phenotype[known]
    return joined


def _as_text(phenotype: object) -> str:
    return str(phenotype).removesuffix(".0")


def _is_known(phenotype: NDArray) -> NDArray[np.bool_]:
    """Which phenotypes are known, numbers or words."""
    if phenotype.dtype.kind in "biuf":
        return np.isfinite(phenotype)
    return np.array([value is not None and value == value for value in phenotype])


def read_inputs(
    estimator: GenotypeReader,
    X: TableLike,
    y: Any = "no_validation",
    *,
    reset: bool = False,
    weights: Sequence[ArrayLike | None] = (),
) -> Any:
    """Check what is passed to an estimator: genotypes, or else a table."""
    # Arguments and results are those of `read_table`, but that X may be Genotypes, and
    # numbers that are coded are of any type.
    fitted = None if reset else getattr(estimator, "_variants", None)
    if not isinstance(X, Genotypes):
        read = read_table(
            estimator, X, y, reset=reset, weights=weights, keep_dtype=not reset
        )
        if reset:
            vars(estimator).pop("_variants", None)
        elif fitted is not None:
            _check_counts(fitted, read[0] if isinstance(read, tuple) else read)
        return read
    if reset:
        _learn_variants(estimator, X)
    elif fitted is None:
        raise ValueError(
            f"{type(estimator).__name__} was fitted to a table, whose columns are "
            "coded differently from those of Genotypes: pass X.counts()"
        )
    else:
        X = _align(estimator, X)
    if isinstance(y, str) and y == "no_validation":
        return X
    y = read_targets(y, estimator=cast(BaseEstimator, estimator), numeric=True)
    check_consistent_length(X, y)
    return X, np.asarray(y, dtype=np.float64)


def _learn_variants(estimator: GenotypeReader, X: Genotypes) -> None:
    """Remember the columns, in `fit`."""
    taking = estimator._genotype_strategies
    if estimator.strategy not in taking:
        raise ValueError(
            f"strategy={estimator.strategy!r} does not take Genotypes: use one of "
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
    estimator._variants = X._variants()
    vars(estimator).pop("feature_names_in_", None)
    if X.columns is not None:
        estimator.feature_names_in_ = np.array(X.columns, dtype=object)


def _align(estimator: GenotypeReader, X: Genotypes) -> Genotypes:
    """Genotypes whose counts are of the alleles that were counted in `fit`."""
    fitted, name = estimator._variants, type(estimator).__name__
    if X.coding != fitted.coding:
        raise ValueError(
            f"X is coded as {X.coding!r}, but {name} was fitted with "
            f"coding={fitted.coding!r}: make X with that coding"
        )
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} columns, but {name} was fitted with "
            f"{estimator.n_features_in_}"
        )
    swapped = fitted.find_swapped(X._variants())
    if not len(swapped):
        return X
    n_palindromes = fitted.count_palindromes(swapped)
    if n_palindromes:
        warn_caller(
            f"X: alleles of {len(swapped)} variants are in the opposite order to fit, "
            f"so their counts are swapped; for {n_palindromes} of them, which are A/T "
            "or C/G, that is wrong if X is from the other strand"
        )
    return X._turn(swapped)


def _check_counts(fitted: Variants, table: NDArray[np.float64]) -> None:
    """Refuse a table that cannot be counts of alleles, such as with -9 for unknown."""
    n = fitted.n_variants
    counts, indicators = table[:, :n], table[:, n:]
    if fitted.coding == "dominance":
        counts, indicators = indicators, counts
    for part, max_count, start in ((counts, 2, 0), (indicators, 1, table.shape[1] - n)):
        odd = (part < 0) | (part > max_count)
        for row, column in np.argwhere(odd)[:1].tolist():
            raise ValueError(
                f"X has {part[row, column]:g} in row {row} of column {start + column}, "
                f"where Genotypes were fitted: counts are 0 to {max_count}, or NaN "
                "where unknown"
            )


def learn_coding(X: NDArray | Genotypes, *known: Any) -> InputCoding:
    """Coding of a table, see `InputCoding.learn`, or of genotypes less their means."""
    if not isinstance(X, Genotypes):
        return InputCoding.learn(X, *known)
    sign, nonzero, whole, offset = X._codes()
    n_known, n_nonzero, n_negative = (
        np.bitwise_count(plane).sum(axis=1, dtype=np.int64)
        for plane in (whole, nonzero, sign)
    )
    n_positive = n_nonzero - n_negative
    counts = np.stack([n_known - n_nonzero, n_negative, n_positive])
    varies = np.count_nonzero(counts, axis=0) > 1
    middle = (n_positive - n_negative) / np.maximum(n_known, 1) + offset
    middle[n_known == 0] = np.nan
    kind = np.where(varies, NUMERIC, CONSTANT)
    return InputCoding(kind, middle - 1.0, middle + 1.0)


def encode(
    coding: InputCoding,
    X: NDArray | Genotypes,
    names: Sequence[str] | None = None,
    *,
    as_bytes: bool = False,
) -> EncodedRows:
    """Encode a table, or genotypes as planes, the inputs of the rows."""
    if not isinstance(X, Genotypes):
        return coding.encode(X, names, as_bytes=as_bytes)
    sign, nonzero, known, offset = X._codes()
    is_integer = len(coding.usable) == len(coding.kind)
    chosen = slice(None) if is_integer else coding.usable
    sign, nonzero, known = (plane[chosen] for plane in (sign, nonzero, known))
    middle = (coding.low + coding.high) / 2.0
    variants = (np.arange(X.shape[1]) % len(X.sign))[chosen]
    centers = (middle - offset)[chosen]
    planes = Planes.around(sign, nonzero, known, centers, X.n_samples, variants)
    # Inputs are planes in the place of an array.
    return EncodedRows(cast(NDArray, planes), np.empty((len(X), 0), dtype=int))


def encode_blocks(
    coding: InputCoding,
    X: NDArray | Genotypes,
    names: Sequence[str] | None = None,
    *,
    for_terms: bool = False,
) -> Iterator[EncodedRows]:
    """Yield encoded rows of a table, some at a time; genotypes, as planes, at once."""
    # Where they are read `for_terms` alone, columns are coded when they are read, and
    # categories and which values are unknown are left out.
    if isinstance(X, Genotypes):
        yield encode(coding, X, names)
    elif for_terms:
        usable, new_values = coding.usable, dict[int, float]()
        for part in coded_blocks(X.shape):
            inputs = UncodedInputs(coding, usable, X[part], names, new_values)
            no_categories = np.empty((len(inputs), 0), dtype=int)
            yield EncodedRows(cast(NDArray, inputs), no_categories)
        warn_of_new_values(new_values, names)
    else:
        yield from coding.encode_blocks(X, names)
