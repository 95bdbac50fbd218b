"""Tables: read, encoded and completed once, in an order of their own."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmohn import EnergyNetTransformer
from skmohn._core._categories import Categories
from skmohn.energynet._coding import UnitCoding
from skmohn.energynet._table import Encoded, Table, encode, repeated_rows

NO_CATEGORIES = Categories({}, "error")


@pytest.fixture
def incomplete():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).round(1)
    return np.where(rng.random(X.shape) < 0.2, np.nan, X)


def make_table(X):
    return Table(X, None, NO_CATEGORIES)


@pytest.mark.parametrize("whiten", [False, True])
def test_a_fit_encodes_once_and_completes_once(incomplete, whiten, monkeypatch):
    calls = {"encode": 0, "complete": 0}

    def count(name):
        original = getattr(UnitCoding, name)

        def counted(self, *args, **options):
            calls[name] += 1
            return original(self, *args, **options)

        monkeypatch.setattr(UnitCoding, name, counted)

    for name in calls:
        count(name)
    if whiten:
        incomplete[:, 0] = np.nan_to_num(np.sign(incomplete[:, 0]))
        incomplete[3, 0] = np.nan
    net = EnergyNetTransformer(
        n_components=2, n_final_epochs=1, whiten=whiten, random_state=0
    )
    net.fit(incomplete)
    assert calls == {"encode": 1, "complete": 1}


def test_the_order_of_rows_does_not_matter(incomplete):
    coding = UnitCoding.learn(incomplete, "auto", 4)
    found = encode(make_table(incomplete), coding, 0)
    shuffled = np.random.default_rng(1).permutation(len(incomplete))
    same = encode(make_table(incomplete[shuffled]), coding, 0)
    assert_array_equal(found.values, same.values)
    assert_array_equal(found.units, same.units)
    assert_array_equal(
        found.missing.unknown_at(found.missing.rows),
        same.missing.unknown_at(same.missing.rows),
    )


def test_units_are_those_of_their_rows(incomplete):
    coding = UnitCoding.learn(incomplete, "auto", 4)
    found = encode(make_table(incomplete), coding, 0)
    expected = Encoded.of(found.values, coding).arrange(coding)
    unknown = np.zeros(found.units.shape, bool)
    rows = found.missing.rows
    assert_array_equal(rows, np.flatnonzero(np.isnan(found.values).any(axis=1)))
    unknown[rows] = found.missing.unknown_at(rows)
    assert_array_equal(found.units[~unknown], expected.units[~unknown])
    # What is missing has a state that others have.
    assert set(np.unique(found.units[unknown])) == {0.0, 1.0}
    assert_array_equal(unknown[rows], expected.missing.unknown)


def test_rows_of_which_nothing_is_known_are_left():
    X = np.array([[1.0, 2.0], [np.nan, np.nan], [3.0, np.nan], [0.0, 1.0]])
    assert_array_equal(make_table(X).drop_unknown(2).values, X[[0, 2, 3]])
    with pytest.raises(ValueError, match="only NaN in all but 3 of 4 samples"):
        make_table(X).drop_unknown(4)


def test_rows_are_repeated_as_their_weights_say():
    X = np.arange(8.0).reshape(4, 2)
    table = make_table(X)
    assert table.repeat(None) is table
    assert_array_equal(table.repeat([2, 0, 1, 3]).values, X[[0, 0, 2, 3, 3, 3]])
    assert_array_equal(repeated_rows(np.array([0.5, 0.5, 1.5])), [0, 2, 2])
