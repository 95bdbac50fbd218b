"""Variants of the columns of genotypes, and the alleles that two tables count."""

from dataclasses import dataclass
from typing import NoReturn, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

# PLINK's codes of an allele, and of a chromosome, that is not known.
UNKNOWN_ALLELES = frozenset({"0", "."})
_UNKNOWN_CHROMOSOMES = {"", "NAN", "NONE"}
# PLINK's numbers of human chromosomes that have names.
_CHROMOSOMES = {"23": "X", "24": "Y", "25": "XY", "26": "MT", "M": "MT"}
# The other strand of the first has the alleles of the second, in the same order.
_PALINDROMES = ({"A", "T"}, {"C", "G"})


Alleles: TypeAlias = list[tuple[str, str]]


@dataclass(frozen=True)
class Variants:
    """Coding, names and alleles of the variants of a table; None for unknown."""

    n_variants: int
    coding: str  # {"additive", "dominance", "both"}; what the columns of the table are
    names: list[str] | None = None
    chromosomes: list[str] | None = None
    positions: np.ndarray | None = None  # (n_variants,), int; 0 where unknown
    alleles: Alleles | None = None  # the allele that is counted, and the other one

    def find_swapped(self, given: Self) -> NDArray[np.intp]:
        """Variants of which another table of the same counts the other allele."""
        self._compare_names(given)
        self._compare_positions(given)
        if self.alleles is None or given.alleles is None:
            return np.empty(0, dtype=int)
        pairs = zip(self.alleles, given.alleles, strict=True)
        differing = [j for j, (fitted, here) in enumerate(pairs) if fitted != here]
        return np.array([j for j in differing if self._is_swapped(given, j)], dtype=int)

    def name(self, j: int) -> str:
        """Name a variant for a message."""
        return f"x{j}" if self.names is None else str(self.names[j])

    def count_palindromes(self, variants: NDArray[np.intp]) -> int:
        """Count the variants whose alleles are the same on both strands."""
        alleles = cast(Alleles, self.alleles)
        return sum({a.upper() for a in alleles[j]} in _PALINDROMES for j in variants)

    def _compare_names(self, given: Self) -> None:
        if self.names is None or given.names is None:
            return
        pairs = zip(self.names, given.names, strict=True)
        for j, (fitted, here) in enumerate(pairs):
            if fitted != here:
                raise ValueError(
                    "X has other column names than in fit, or in another order: "
                    f"variant {j} is {here!r} and was {fitted!r}; pass the same "
                    "variants, such as X[:, indices]"
                )

    def _compare_positions(self, given: Self) -> None:
        if self.chromosomes is not None and given.chromosomes is not None:
            pairs = zip(self.chromosomes, given.chromosomes, strict=True)
            for j, (fitted, here) in enumerate(pairs):
                if fitted != here and not _is_same_chromosome(fitted, here):
                    self._refuse_index(j, "on chromosome", here, fitted)
        if self.positions is not None and given.positions is not None:
            is_known = (self.positions != 0) & (given.positions != 0)
            differs = is_known & (self.positions != given.positions)
            for j in np.flatnonzero(differs)[:1].tolist():
                here, fitted = given.positions[j], self.positions[j]
                self._refuse_index(j, "at position", here, fitted)

    def _refuse_index(
        self, j: int, what: str, here: object, fitted: object
    ) -> NoReturn:
        raise ValueError(
            f"X: variant {self.name(j)} (number {j}) is {what} {here}, and was {what} "
            f"{fitted} in fit: it is another variant, or from another genome build"
        )

    def _is_swapped(self, given: Self, j: int) -> bool:
        """Whether the other allele of a variant is counted; refuse other alleles."""
        fitted, here = cast(Alleles, self.alleles)[j], cast(Alleles, given.alleles)[j]
        if UNKNOWN_ALLELES.issuperset(fitted) or UNKNOWN_ALLELES.issuperset(here):
            return False
        if _fit_together(fitted, here):
            return False
        if _fit_together(fitted, (here[1], here[0])):
            return True
        raise ValueError(
            f"X: variant {self.name(j)} (number {j}) has alleles {'/'.join(here)}, and "
            f"had {'/'.join(fitted)} in fit: it is another variant, or on the other "
            "strand (plink --flip)"
        )


def _is_same_chromosome(one: str, other: str) -> bool:
    names = {_CHROMOSOMES.get(c, c) for c in map(_plain_name, (one, other))}
    return len(names) == 1 or not names.isdisjoint(_UNKNOWN_CHROMOSOMES)


def _plain_name(chromosome: str) -> str:
    """Name of a chromosome as PLINK has it; empty for 0."""
    # Pandas makes 1.0 of 1 in a column with missing values.
    name = str(chromosome).upper().removeprefix("CHR").removesuffix(".0")
    return name.lstrip("0")


def is_same_allele(one: str, other: str) -> bool:
    """Whether two alleles are known and equal, in upper or lower case."""
    # Lower case marks repeats of the reference sequence.
    return one.upper() == other.upper() and one not in UNKNOWN_ALLELES


def _fit_together(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two pairs share an allele and do not contradict each other."""
    # Where all rows have the same allele, PLINK does not have the other one.
    pairs = list(zip(one, other, strict=True))
    is_shared = [is_same_allele(a, b) for a, b in pairs]
    return any(is_shared) and all(
        same or UNKNOWN_ALLELES & {*pair}
        for same, pair in zip(is_shared, pairs, strict=True)
    )
