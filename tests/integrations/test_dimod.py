"""dimod polynomials: energies are predictions, there and back."""

import itertools

import dimod
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

from skmohn import MOHNRegressor
from skmohn.integrations import from_dimod, to_dimod


def learned(names=("a", "b", "c", "d", "e"), low=0.0, high=1.0):
    """A model of columns with two values of their own, and one that is constant."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (100, 4))
    y = (
        3
        + signs[:, 0]
        - 2 * signs[:, 0] * signs[:, 3]
        + 0.5 * signs[:, :3].prod(axis=1)
    )
    X = np.column_stack([np.where(signs < 0, low, high), np.ones(100)])
    X = X if names is None else pd.DataFrame(X, columns=list(names))
    return MOHNRegressor("pursuit").fit(X, y), X


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
@pytest.mark.parametrize("names", [tuple("abcde"), None])
def test_energies_equal_predictions_on_every_row(vartype, names):
    model, X = learned(names, low=2.0, high=7.0)
    polynomial = to_dimod(model, vartype)
    assert polynomial.vartype.name == vartype
    assert polynomial.variables == set("abcd" if names else range(4))
    low = -1 if vartype == "SPIN" else 0
    for row, prediction in zip(np.asarray(X), model.predict(X), strict=True):
        values = np.where(row[:4] == 7.0, 1, low).tolist()
        sample = dict(zip(names or range(4), values, strict=False))
        assert polynomial.energy(sample) == pytest.approx(prediction)


def test_spins_have_the_weights_of_the_model():
    model = MOHNRegressor.from_terms([(0, 2), (1,)], [1.5, -2.0], intercept=4.0)
    polynomial = to_dimod(model)
    expected = {(0, 2): 1.5, (1,): -2.0, (): 4.0, (0,): 0.0, (2,): 0.0}
    assert polynomial == dimod.BinaryPolynomial(expected, "SPIN")


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_exact_solver_finds_the_smallest_prediction(vartype):
    model, _ = learned()
    best = dimod.ExactPolySolver().sample_poly(to_dimod(model, vartype)).first
    rows = pd.DataFrame(itertools.product([0, 1], repeat=4), columns=list("abcd"))
    assert best.energy == pytest.approx(model.predict(rows.assign(e=1)).min())


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_there_and_back(vartype):
    model, _ = learned()
    back = from_dimod(to_dimod(model, vartype))
    assert back.feature_names_in_.tolist() == list("abcd")
    assert back.terms_ == model.terms_
    assert_allclose(back.weights_, model.weights_)
    assert back.intercept_ == pytest.approx(model.intercept_)
    assert (back.coding_.low == (-1.0 if vartype == "SPIN" else 0.0)).all()
    assert (back.coding_.high == 1.0).all()


SETS = st.dictionaries(
    st.frozensets(st.integers(0, 5), max_size=4),
    st.floats(-100, 100, allow_subnormal=False),
    min_size=1,
)


@given(weights=SETS, vartype=st.sampled_from(["SPIN", "BINARY"]))
def test_predictions_equal_energies_of_any_polynomial(weights, vartype):
    polynomial = dimod.BinaryPolynomial(weights, vartype)
    assume(polynomial.variables)
    model = from_dimod(polynomial)
    n_features = max(polynomial.variables) + 1
    assert model.n_features_in_ == n_features
    low = -1 if vartype == "SPIN" else 0
    rows = np.array(list(itertools.product([low, 1], repeat=n_features)))
    energies = polynomial.energies((rows, range(n_features)))
    assert_allclose(model.predict(rows), energies, atol=1e-9)


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_quadratic_models_are_polynomials(vartype):
    bqm = dimod.BinaryQuadraticModel(
        {"x": 1.0, "z": 0.0}, {("x", "y"): -2.0}, 0.5, vartype
    )
    model = from_dimod(bqm)
    assert model.feature_names_in_.tolist() == ["x", "y", "z"]
    low = -1 if vartype == "SPIN" else 0
    rows = pd.DataFrame(itertools.product([low, 1], repeat=3), columns=list("xyz"))
    energies = bqm.energies((rows.to_numpy(), list("xyz")))
    assert_allclose(model.predict(rows), energies)


def test_large_numbers_are_names():
    weights = {(10**12,): 1.0, (7, 2 * 10**8): 2.0}
    model = from_dimod(dimod.BinaryPolynomial(weights, "SPIN"))
    assert model.feature_names_in_.tolist() == ["7", "200000000", "1000000000000"]
    assert model.terms_ == [(2,), (0, 1)]
    small = from_dimod(dimod.BinaryPolynomial({(0, 5): 1.0}, "SPIN"))
    assert small.n_features_in_ == 6


def test_vartypes_of_dimod_are_known():
    model, _ = learned()
    for vartype in (dimod.SPIN, dimod.BINARY):
        assert to_dimod(model, vartype) == to_dimod(model, vartype.name)


def test_bad_models_are_refused():
    X = np.random.default_rng(0).integers(0, 2, (40, 4))
    noise = np.random.default_rng(1).standard_normal(40)
    dense = MOHNRegressor("gp").fit(X, X[:, 0] + 0.1 * noise)
    with pytest.raises(ValueError, match=r'has all weights.*"pursuit"$'):
        to_dimod(dense)
    frame = pd.DataFrame({"base": list("ACGT") * 10})
    categorical = MOHNRegressor("gp").fit(frame, noise)
    with pytest.raises(ValueError, match='"pursuit", after OneHotEncoder'):
        to_dimod(categorical)
    with pytest.raises(ValueError, match=r'vartype must be "SPIN" or "BINARY".*0/1'):
        to_dimod(learned()[0], "0/1")
    with pytest.raises(TypeError, match="model must be a MOHNRegressor, got dict"):
        to_dimod({})
    with pytest.raises(NotFittedError):
        to_dimod(MOHNRegressor())
    wide = MOHNRegressor.from_terms([tuple(range(30))], [1.0])
    assert to_dimod(wide).degree == 30
    with pytest.raises(ValueError, match=r"makes up to 1,073,741,8.. terms"):
        to_dimod(wide, "BINARY")


def test_bad_polynomials_are_refused():
    with pytest.raises(TypeError, match=r"polynomial must be dimod's.*got dict"):
        from_dimod({(0, 1): 1.0})
    for labels in ([("a", 0)], [(-1,)], [((0, 1),)]):
        polynomial = dimod.BinaryPolynomial(dict.fromkeys(labels, 1.0), "SPIN")
        with pytest.raises(ValueError, match="relabel_variables"):
            from_dimod(polynomial)
    with pytest.raises(ValueError, match="no variables: it is a constant"):
        from_dimod(dimod.BinaryPolynomial({(): 1.0}, "SPIN"))
    wide = dimod.BinaryPolynomial({tuple(range(30)): 1.0}, "BINARY")
    with pytest.raises(ValueError, match="more than 10,000,000"):
        from_dimod(wide)
