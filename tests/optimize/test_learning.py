"""Trials of sparse models, which are learned a part at each tell."""

import copy
import pickle

import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skmohn.datasets import make_ising
from skmohn.optimize import _sparse_search


def trial_of(n_samples):
    """A spin glass of 16 variables, learned in parts of a step or two."""
    problem = make_ising((4, 4), n_samples=n_samples, random_state=0)
    return problem, _sparse_search.PursuitRun(problem.X, problem.y, work=1e6)


def finish(trial, n_parts=0):
    """The rest of a trial, and how many parts it has."""
    while (result := trial.result(n_parts)) is None:
        n_parts += 1
    return result, n_parts + 1


def test_a_trial_in_parts_is_a_trial_at_once():
    problem, trial = trial_of(160)
    (graph, is_exact), n_parts = finish(trial)
    assert n_parts > 3
    assert is_exact
    assert list(graph.terms) == problem.terms
    assert_allclose(graph.weights, problem.weights, rtol=1e-9)
    trial.work = 1e12
    (at_once, is_exact), n_parts = finish(trial)
    assert n_parts == 1
    assert is_exact
    assert at_once.terms == graph.terms


@pytest.mark.parametrize(
    "again", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_a_trial_goes_on_from_where_it_was(again):
    _, trial = trial_of(60)
    for n_parts in range(4):
        assert trial.result(n_parts) is None
    copied = again(trial)
    # Gone back, as after a step that was taken back.
    assert copied.result(2) is None
    assert copied.result(3) is None
    (graph, is_exact), n_parts = finish(trial, 4)
    (same, same_exact), same_parts = finish(copied, 4)
    assert n_parts == same_parts > 5
    assert is_exact == same_exact
    assert graph.terms == same.terms
    assert_array_equal(graph.weights, same.weights)


def test_an_interrupted_trial_begins_again(monkeypatch):
    _, trial = trial_of(60)
    (graph, _), n_parts = finish(trial)
    for k in range(3):
        assert trial.result(k) is None

    def interrupt(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_sparse_search.Pursuit, "_propose", interrupt)
        patch.setattr(_sparse_search.Pursuit, "_accept", lambda *_: interrupt(None))
        with pytest.raises(KeyboardInterrupt):
            finish(trial, 3)
    (same, _), same_parts = finish(trial, 3)
    assert (same.terms, same_parts) == (graph.terms, n_parts)
