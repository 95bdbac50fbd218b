"""The Gibbs sampler of the benchmarks draws from the distribution it claims."""

from itertools import product

import numpy as np
import pytest

from benchmarks.shared.gibbs import gibbs


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_points_have_the_boltzmann_distribution(temperature):
    terms, weights = [(0,), (0, 1), (1, 2), (0, 1, 2)], [0.3, -0.5, 0.4, 0.2]
    draws = gibbs(
        terms,
        weights,
        4,
        temperatures=[temperature] * 20,
        n_chains=40_000,
        rng=np.random.default_rng(0),
    )
    states = np.array(list(product([-1, 1], repeat=4)))
    values = [
        sum(w * state[list(t)].prod() for t, w in zip(terms, weights, strict=True))
        for state in states
    ]
    expected = np.exp(np.array(values) / temperature)
    expected /= expected.sum()
    found = (draws[:, None] == states).all(axis=2).mean(axis=0)
    assert np.abs(found - expected).max() < 0.006


def test_without_terms_all_points_are_as_likely():
    rng = np.random.default_rng(0)
    draws = gibbs([], [], 2, temperatures=[1.0], n_chains=4000, rng=rng)
    assert np.abs(draws.mean(axis=0)).max() < 0.05
