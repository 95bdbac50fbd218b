"""What all displays share: whom they draw, where, and what they need."""

import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from skmohn import EnergyNetClassifier, EnergyNetTransformer
from skmohn.inspection import (
    DescriptionLengthDisplay,
    FiltersDisplay,
    GrowthDisplay,
    LikelihoodDisplay,
    SamplesDisplay,
)

DISPLAYS = [
    DescriptionLengthDisplay,
    FiltersDisplay,
    GrowthDisplay,
    LikelihoodDisplay,
    SamplesDisplay,
]


@pytest.mark.slow_cases("DescriptionLengthDisplay")
@pytest.mark.parametrize("display", DISPLAYS)
def test_axes_are_those_given(display, grown):
    import matplotlib.pyplot as plt

    figure, (_, ax) = plt.subplots(1, 2)
    drawn = display.from_estimator(grown, ax=ax)
    assert isinstance(drawn, display)
    assert drawn.ax_ is ax
    assert drawn.figure_ is figure


@pytest.mark.slow_cases("GrowthDisplay")
@pytest.mark.parametrize("display", DISPLAYS)
def test_axes_are_new_ones_each_time(display, grown):
    drawn = display.from_estimator(grown)
    first = drawn.ax_
    assert drawn.figure_ is first.figure
    assert drawn.plot() is drawn
    assert drawn.ax_ is not first
    drawn.figure_.canvas.draw()


@pytest.mark.parametrize("display", DISPLAYS)
def test_estimator_without_layers_is_refused(display, bits):
    pipeline = make_pipeline(EnergyNetTransformer(), LogisticRegression())
    with pytest.raises(TypeError, match=r"estimator must be.*got Pipeline.*\[-1\]"):
        display.from_estimator(pipeline)


@pytest.mark.parametrize("display", DISPLAYS)
def test_estimator_that_is_not_fitted_is_refused(display):
    with pytest.raises(NotFittedError, match="EnergyNetTransformer"):
        display.from_estimator(EnergyNetTransformer())
    with pytest.raises(NotFittedError, match="EnergyNetClassifier"):
        display.from_estimator(EnergyNetClassifier())


def test_layers_of_a_network_are_its_transformers(bits):
    mlp = MLPClassifier(solver="lbfgs", max_iter=5000)
    transformer = EnergyNetTransformer(None, 4, n_final_epochs=5)
    net = EnergyNetClassifier(transformer, mlp, random_state=0)
    net.fit(bits, bits.sum(axis=1) > 30)
    drawn = FiltersDisplay.from_estimator(net)
    weights = net.transformer_.weights_[0]
    assert_array_equal(drawn.filters.reshape(weights.shape), weights)
