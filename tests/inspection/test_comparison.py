"""Displays of comparisons."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from skmohn.inspection import CriticalDifferenceDisplay, DifferencesDisplay
from skmohn.model_selection import Comparison, compare_estimators


@pytest.fixture(scope="module")
def iris():
    estimators = {
        "dummy": DummyClassifier(),
        "bayes": GaussianNB(),
        "bits": BernoulliNB(binarize=2.0),
    }
    return compare_estimators(
        estimators, *load_iris(return_X_y=True), n_repeats=2, random_state=0
    )


@pytest.fixture(scope="module")
def ranks():
    scores = np.random.default_rng(0).normal(size=(5, 30)) + np.arange(5)[:, None]
    return Comparison.from_scores(dict(zip("ABCDE", scores, strict=True)))


def test_differences_are_those_of_the_table(iris):
    display = DifferencesDisplay.from_comparison(iris, color="green")
    records = iris.records()
    assert display.names == ["bayes", "bits", "dummy"]
    drawn = display.line_.get_xdata()
    assert_array_equal(drawn, [record["mean_difference"] for record in records])
    segments = display.intervals_.get_segments()
    for segment, record in zip(segments[1:], records[1:], strict=True):
        assert_array_equal(segment[:, 0], [record["ci_low"], record["ci_high"]])
    assert display.line_.get_color() == "green"
    # The best is at the top.
    assert display.ax_.get_ylim()[0] > display.ax_.get_ylim()[1]
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == display.names


def test_unbounded_intervals_reach_the_edges():
    few = Comparison.from_scores({"a": [0.9, 0.8], "b": [0.5, 0.6]})
    display = DifferencesDisplay.from_comparison(few)
    assert tuple(display.intervals_.get_segments()[1][:, 0]) == display.ax_.get_xlim()


def test_bars_join_what_cannot_be_told_apart(ranks):
    display = CriticalDifferenceDisplay.from_comparison(ranks)
    by_name = dict(zip(ranks.names, ranks.mean_ranks, strict=True))
    for pair in ranks.pairs:
        low, high = sorted([by_name[pair["first"]], by_name[pair["second"]]])
        is_joined = any(a <= low and high <= b for a, b in display.bars_)
        assert is_joined == (pair["nemenyi_p_value"] > 0.05)
    assert_array_equal(display.line_.get_xdata(), ranks.mean_ranks)
    texts = {text.get_text().strip() for text in display.ax_.texts}
    assert set("ABCDE") < texts


@pytest.mark.parametrize("display", [CriticalDifferenceDisplay, DifferencesDisplay])
def test_other_objects_are_refused(display):
    with pytest.raises(TypeError, match="comparison must be what compare_estimators"):
        display.from_comparison(GaussianNB())


def test_one_data_set_has_no_ranks(iris):
    with pytest.raises(ValueError, match="use DifferencesDisplay"):
        CriticalDifferenceDisplay.from_comparison(iris)
