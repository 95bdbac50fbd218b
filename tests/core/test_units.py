"""Units that keep squares within range."""

import numpy as np
import pytest

from skmohn._core._units import binary_units, power_of_two_scale


@pytest.mark.parametrize(
    "largest", [5e-324, 1e-310, 1e-170, 0.3, 1.0, 1e160, 1.7976931348623157e308]
)
def test_numbers_divide_by_their_unit_exactly(largest):
    values = np.array([-largest, 0.5 * largest, 0.0])
    unit = power_of_two_scale(values)
    assert np.frexp(unit)[0] == 0.5
    assert np.all(unit * (values / unit) == values)
    with np.errstate(all="raise"):
        assert 1e-40 < np.square(values / unit).max() < 100
        assert np.isfinite(1.0 / unit)


def test_nothing_has_the_unit_one():
    assert power_of_two_scale([]) == 1.0
    assert power_of_two_scale([0.0, -0.0]) == 1.0


def test_columns_have_units_of_their_own():
    table = [[1e200, -3.0, 0.0], [1.0, 2.0, 0.0]]
    columns = [[row[j] for row in table] for j in range(3)]
    assert binary_units(table).tolist() == [power_of_two_scale(c) for c in columns]
