"""Methods that scikit-learn adds for metadata routing: theirs, with a shorter help."""

import inspect

import pytest
import sklearn
from sklearn.utils.metadata_routing import get_routing_for_object

import skmohn

ESTIMATORS = [
    estimator
    for estimator in (getattr(skmohn, name) for name in skmohn.__all__)
    if hasattr(estimator, "fit")
]


class Wider(skmohn.MOHNRegressor):
    """An estimator of a user, with an argument of its own."""

    def fit(self, X, y, weather=None):
        return super().fit(X, y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_request_methods_have_a_short_help(estimator):
    helps = [
        inspect.getdoc(method)
        for name, method in inspect.getmembers(estimator, inspect.isfunction)
        if name.startswith("set_") and name.endswith("_request")
    ]
    assert all(len(text.splitlines()) == 1 for text in helps)
    assert len(inspect.getdoc(estimator.__init_subclass__).splitlines()) == 1


def test_subclasses_request_their_own_arguments():
    with sklearn.config_context(enable_metadata_routing=True):
        model = Wider().set_fit_request(weather=True)
        with pytest.raises(TypeError, match="Unexpected args"):
            model.set_fit_request(sample_weight=True)
    routing = get_routing_for_object(model)
    assert routing.consumes("fit", ["weather", "X_val"]) == {"weather"}
    assert "`fit`" in Wider.set_fit_request.__doc__
