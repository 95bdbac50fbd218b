"""Generated tables through every estimator: it works, or says why not."""

import functools
import pickle
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from fuzz_estimators import ESTIMATORS, FAMILIES, fine_targets, outputs, reference
from fuzz_rules import attempt, is_finite, same
from fuzz_tables import (
    COLUMNS,
    CONTAINERS,
    EVERY_COLUMN,
    mostly_fine_tables,
    tables,
    targets,
    weights,
)
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
OUTPUTS = st.sampled_from(["default", "default", "pandas", "polars"])
# What every estimator has to take.
EASY_COLUMNS = set(COLUMNS) - {"huge", "tiny"} | {"duplicate"}
EASY_TARGETS = {"plain", "two", "three", "words", "truth", "none", "bits", "whole"}
EASY_TARGETS |= {"positive"}
EASY_CONTAINERS = set(CONTAINERS) - {
    "one_dimensional", "three_dimensional", "no_columns"
}  # fmt: skip
EASY_WEIGHTS = {"none", "ones", "fractional", "whole", "some_zero"}


@functools.cache
def fitted(name):
    """An estimator that has been fitted before, as bytes."""
    X, y, labels = reference()
    model = clone(ESTIMATORS[name])
    y = np.exp(y) if name in FAMILIES["glm"] else y
    return pickle.dumps(model.fit(X, labels if is_classifier(model) else y))


def state(model):
    """What an estimator says of the reference."""
    return [attempt(use, reference()[0]) for use in outputs(model).values()]


def weights_for(model, recipe, n_rows):
    """Weights as keyword arguments, where an estimator takes them."""
    takes = has_fit_parameter(model, "sample_weight")
    made = recipe.build(n_rows)
    return {"sample_weight": made} if takes and made is not None else {}


def is_easy(table, target, weights, *, is_glm=False):
    """Whether no estimator has an excuse."""
    # A quarter of the weights may be zero, and some rows may be held out.
    fewest = 30 if weights.kind == "some_zero" else 12
    return (
        set(table.columns) <= EASY_COLUMNS
        and table.varies
        and table.container in EASY_CONTAINERS
        and target.kind in EASY_TARGETS
        # Zeros and negative numbers are no targets of every distribution.
        and (not is_glm or target.kind == "positive")
        and weights.kind in EASY_WEIGHTS
        and table.n_rows >= fewest
        and 1 < len(table.columns) < 10
    )


def assert_uses_are_sound(model, table, *, must_work):
    """Call all that takes rows, twice."""
    X = table.build()
    for name, use in outputs(model).items():
        first = attempt(use, X)
        if isinstance(first, Exception):
            is_missing = isinstance(first, AttributeError)
            must = must_work and table.is_finite and not is_missing
            assert not must, f"{name}: {first!r}"
            continue
        assert same(first, attempt(use, X)), f"{name} differs the second time"
        for part in first if isinstance(first, tuple) else (first,):
            assert part.shape[0] == table.n_rows, f"{name}: {part.shape}"
        assert is_finite(first) or not table.is_finite, f"{name} is not finite"


@st.composite
def fits(draw, family):
    """What a fit is called with, and the rows that follow."""
    name = draw(st.sampled_from(FAMILIES[family]))
    table = draw(mostly_fine_tables())
    rows = replace(
        table,
        n_rows=draw(st.sampled_from([4, 1])),
        container=draw(st.sampled_from([table.container, *CONTAINERS])),
        seed=table.seed + 1,
    )
    target = draw(targets(fine_targets(ESTIMATORS[name])))
    return name, table, target, draw(weights()), rows, draw(OUTPUTS)


@pytest.mark.parametrize("family", FAMILIES)
def test_fit_works_or_says_why_not(family, campaign):
    def check(name, table, target, weighing, rows, transform_output):
        model = pickle.loads(fitted(name))
        X, y = table.build(), target.build(table.n_rows)
        weight = weights_for(model, weighing, table.n_rows)
        before, said = vars(model).copy(), state(model)
        with sklearn.config_context(transform_output=transform_output):
            outcome = attempt(model.fit, X, y, **weight)
            if outcome is model:
                assert_uses_are_sound(model, table, must_work=True)
                assert_uses_are_sound(model, rows, must_work=False)
                return
        assert isinstance(outcome, Exception)
        is_glm = family == "glm"
        refused = is_easy(table, target, weighing, is_glm=is_glm)
        assert not refused, f"refused: {outcome!r}"
        assert all(vars(model)[key] is before[key] for key in before), "half written"
        assert vars(model).keys() == before.keys(), "half written"
        assert same(state(model), said), "another model after a failed fit"

    campaign(check, fits(family))


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_that_were_not_fitted(family, campaign):
    def check(name, rows, transform_output):
        model = pickle.loads(fitted(name))
        said = state(model)
        with sklearn.config_context(transform_output=transform_output):
            assert_uses_are_sound(model, rows, must_work=False)
        assert same(state(model), said), "another model after a look at rows"

    three = st.tuples(*[st.sampled_from(list(EVERY_COLUMN))] * 3)
    rows = tables().flatmap(
        lambda table: three.map(lambda columns: replace(table, columns=columns))
    )
    names = st.sampled_from(FAMILIES[family])
    campaign(check, st.tuples(names, rows | tables(), OUTPUTS))
