"""Variable elimination against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skmohn._core._walsh import WalshPolynomial
from skmohn.datasets._sampling import find_optima


@st.composite
def functions(draw):
    n_features = draw(st.integers(1, 8))
    term = st.frozensets(st.integers(0, n_features - 1), max_size=4)
    # Small integers make ties.
    weight = st.one_of(st.integers(-2, 2), st.floats(-3, 3))
    weights = draw(st.dictionaries(term, weight))
    return n_features, WalshPolynomial.collect(weights.items())


@given(functions())
def test_optima_are_those_of_enumeration(function):
    n_features, polynomial = function
    y = polynomial.predict(np.array(list(product([-1, 1], repeat=n_features))))
    (minimum, x_minimum), (maximum, x_maximum) = find_optima(
        polynomial, n_features, optimum="auto"
    )
    assert minimum == pytest.approx(y.min(), abs=1e-12)
    assert maximum == pytest.approx(y.max(), abs=1e-12)
    for value, x in [(minimum, x_minimum), (maximum, x_maximum)]:
        assert x.shape == (n_features,)
        assert set(x) <= {-1.0, 1.0}
        assert polynomial.exact_value(x) == value


def test_long_chain_is_cheap():
    chain = WalshPolynomial.collect(((i, i + 1), 1.0) for i in range(499))
    (minimum, x_minimum), (maximum, x_maximum) = find_optima(chain, 500, optimum="auto")
    assert (minimum, maximum) == (-499.0, 499.0)
    assert (x_minimum[:-1] == -x_minimum[1:]).all()
    assert (x_maximum == x_maximum[0]).all()


def complete_graph(n_features):
    pairs = [(i, j) for i in range(n_features) for j in range(i)]
    polynomial = WalshPolynomial.collect((pair, 1.0) for pair in pairs)
    return polynomial, n_features


def test_twenty_variables_are_always_solved():
    (minimum, _), (maximum, _) = find_optima(*complete_graph(20), optimum="auto")
    assert (minimum, maximum) == (-10.0, 190.0)


def test_entangled_functions_are_left_alone():
    unknown = (None, None), (None, None)
    assert find_optima(*complete_graph(21), optimum="auto") == unknown
    assert find_optima(*complete_graph(2), optimum=False) == unknown


def test_narrow_functions_of_many_entries_are_left_alone():
    # Each table is small enough, not all of them together.
    cliques = (range(19 * k, 19 * k + 19) for k in range(5))
    pairs = ((i, j) for clique in cliques for i in clique for j in clique if j < i)
    polynomial = WalshPolynomial.collect((pair, 1.0) for pair in pairs)
    assert find_optima(polynomial, 95, optimum="auto") == ((None, None), (None, None))


def test_impossible_demand_is_refused():
    with pytest.raises(ValueError, match=r"optimum=True: .* too entangled"):
        find_optima(*complete_graph(40), optimum=True)
