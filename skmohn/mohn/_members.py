"""How inputs and letters are called: columns, letters and levels of the table."""

from itertools import pairwise
from numbers import Integral

import numpy as np

from skmohn._core._coding import LETTERS, Levels


class Members:
    """What weights connect: inputs first, then each letter of each site.

    Parameters
    ----------
    coding : InputCoding

    categories : Categories

    names : list of str
        Of the columns.

    Attributes
    ----------
    labels : list of int or (int, letter)
        How `terms_` calls each: its column, or its column and letter.

    names : list of str

    sizes : ndarray of shape (n_members,)
        Over how many letters each is one of; 1 for inputs.

    groups : ndarray of shape (n_members,), int
        Letters of one site share a number.

    n_letters : tuple of int
        Of each site.

    has_letters : bool
        Whether a site is more than the levels of an input.

    n_sites, n_features : int
        Inputs and sites; columns.

    two_letters : dict of int to list
        By column, the letters that are -1 and +1.
    """

    def __init__(self, coding, categories, names):
        letters = categories.letters()
        inputs = coding.usable.tolist()
        self.n_letters = coding.n_letters
        self.has_letters = len(coding.sites) > len(coding.thresholds)
        self.n_sites = len(inputs) + len(coding.sites)
        self.labels = list(inputs)
        self.names = [names[j] for j in inputs]
        self.n_features = len(coding.kind)
        self.two_letters = {}
        for place, j in enumerate(inputs):
            if j in letters:
                ends = [int(coding.low[j]), int(coding.high[j])]
                self.two_letters[j] = letters[j][ends].tolist()
                self.names[place] += f"={self.two_letters[j][1]}"
        sizes = [1] * len(inputs)
        for columns, size in zip(coding.sites, coding.n_letters, strict=True):
            sizes += [size] * size
            j = columns[0]
            if j in coding.thresholds:
                self.labels += [(j, level) for level in range(size)]
                self.names += _name_levels(names[j], coding.thresholds[j])
            elif coding.kind[j] == LETTERS:
                self.labels += [(j, letter) for letter in letters[j].tolist()]
                self.names += [f"{names[j]}={letter}" for letter in letters[j]]
            else:
                self.labels += columns
                self.names += [names[j] for j in columns]
        self.sizes = np.array(sizes, dtype=float)
        groups = [1] * len(inputs) + list(coding.n_letters)
        self.groups = np.repeat(np.arange(len(groups)), groups)

    def describe(self):
        """Count the inputs and sites, in words."""
        n_ordered = sum(isinstance(size, Levels) for size in self.n_letters)
        n_unordered = len(self.n_letters) - n_ordered
        n_inputs = self.n_sites - len(self.n_letters)
        kinds = [f"{n_inputs} inputs"] if n_inputs else []
        if n_ordered:
            kinds[0] += f", {n_ordered} of them with levels,"
        if n_unordered:
            kinds.append(f"{n_unordered} sites with letters")
        return " and ".join(kinds)

    def share(self, terms):
        """Factor of a squared weight in the variance over uniform inputs."""
        return np.array([1.0 / np.prod(self.sizes[list(term)]) for term in terms])

    def label(self, term):
        """The members of a set as `terms_` calls them."""
        return tuple(self.labels[m] for m in term)

    def count(self, order):
        """Number of sets of one order; none has two letters of a site."""
        counts = [1] + [0] * order
        for size in np.bincount(self.groups).tolist():
            for k in range(order, 0, -1):
                counts[k] += size * counts[k - 1]
        return counts[order]

    def find(self, term, names):
        """The members that a user names.

        Parameters
        ----------
        term : int, str, or sequence of int, str or pairs of them and a letter

        names : sequence of str or None
            Of the columns.

        Returns
        -------
        sign : {-1, 1}
            -1 where an odd number of them is the first of two letters.

        members : tuple of int
        """
        index = {} if names is None else {name: j for j, name in enumerate(names)}
        sign, found = 1, []
        for given in (term,) if isinstance(term, str | Integral) else term:
            is_pair = isinstance(given, tuple | list) and len(given) == 2
            column, letter = given if is_pair else (given, None)
            column = index.get(column, column)
            if not isinstance(column, Integral) or not 0 <= column < self.n_features:
                raise ValueError(
                    f"term holds {given!r}, which is not a feature: give indices from "
                    f"0 to {self.n_features - 1} or column names"
                )
            label = (column, letter) if is_pair else column
            if is_pair and letter in self.two_letters.get(column, ()):
                sign *= -1 if letter == self.two_letters[column][0] else 1
                label = column
            if label not in self.labels:
                raise ValueError(f"term holds {given!r}, which {self._lack(column)}")
            found.append(self.labels.index(label))
        groups = self.groups[found]
        if len(np.unique(groups)) < len(found):
            raise ValueError(f"term {term!r} repeats a feature")
        return sign, tuple(sorted(found))

    def _lack(self, column):
        """Why a column has no weight in the way it was given."""
        letters = [label[1] for label in self.labels if _is_letter_of(column, label)]
        letters = letters or self.two_letters.get(column, [])
        if letters:
            return f"is not one of its letters: give pairs with one of {letters}"
        if column in self.labels:
            return "has no letters: give the column alone"
        return "was constant in fit: it has no weight"


def _name_levels(name, thresholds):
    """Call the levels of a numeric column by their ends; the lower one belongs."""
    ends = [f"{threshold:.6g}" for threshold in thresholds]
    between = [f"{low} <= {name} < {high}" for low, high in pairwise(ends)]
    return [f"{name} < {ends[0]}", *between, f"{name} >= {ends[-1]}"]


def _is_letter_of(column, label):
    return isinstance(label, tuple) and label[0] == column
