"""The reader of training data: weights, held-out rows, levels; it fits nothing."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmohn import GPOptions
from skmohn._core._categories import Categories
from skmohn.mohn._gp import transform_selection
from skmohn.mohn._gp.transform_selection import Scale, choose_transform_and_levels
from skmohn.mohn._options import FitSettings
from skmohn.mohn._strategies import STRATEGIES
from skmohn.mohn._table.target import Unchanged
from skmohn.mohn._training_data import read_training_data

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.standard_normal((40, 2)), RNG.integers(0, 2, (40, 2))])
X[3, 0] = np.nan
Y = RNG.standard_normal(40)
WEIGHT = np.tile([2.0, 0.0, 1.0, 3.0], 10)


def read(
    y=Y, weight=None, *, strategy="gp", task="regression", numeric="auto", **others
):
    """Training data of the table."""
    early_stopping = others.pop("early_stopping", False)
    return read_training_data(
        others.pop("table", X),
        y,
        weight,
        task=task,
        strategy=STRATEGIES[strategy],
        settings=FitSettings(
            strategy=strategy,
            early_stopping=early_stopping,
            gp_options=GPOptions(numeric=numeric),
        ),
        seed=0,
        categories=Categories({}, "error"),
        **others,
    )


def assert_same(data, other):
    """Assert that data are encoded alike."""
    for part, same in ((data, other), (data.validation, other.validation)):
        assert_array_equal(part.rows.inputs, same.rows.inputs)
        assert_array_equal(part.rows.categories, same.rows.categories)
        assert part.rows.categories.flags["C_CONTIGUOUS"]
        assert_array_equal(part.rows.mask(), same.rows.mask())
    assert data.coding.alphabets == other.coding.alphabets
    assert data.coding.thresholds == other.coding.thresholds
    assert data.term_names.names == other.term_names.names


def test_without_levels_is_what_lines_are_read_as():
    held = {"validation": (X[:7], Y[:7])}
    levels, lines = read(**held), read(numeric="multilinear", **held)
    assert [alphabet.is_ordered for alphabet in levels.coding.alphabets] == [True] * 2
    assert levels.rows.categories.shape == (40, 2)
    assert lines.rows.categories.shape == (40, 0)
    assert_same(levels.without_levels(), lines)


@pytest.mark.parametrize("has_levels", [False, True])
def test_the_evidence_chooses_between_lines_and_levels(monkeypatch, has_levels):
    scale = Scale(Unchanged(), has_levels)
    monkeypatch.setattr(transform_selection, "choose_scale", lambda *args: scale)
    held = {"validation": (X[:7], Y[:7])}
    data = read(**held)
    chosen = choose_transform_and_levels(data, GPOptions())
    assert chosen.target_transform is scale
    assert_same(chosen, data if has_levels else data.without_levels())


@pytest.mark.parametrize("has_levels", [False, True])
def test_targets_that_share_have_the_levels_of_all(has_levels):
    held = {"validation": (X[:7], Y[:7])}
    data = read(**held)
    shared = data if has_levels else data.without_levels()
    data = data._replace(multitask=SimpleNamespace(coding=shared.coding))
    chosen = choose_transform_and_levels(data, GPOptions())
    assert chosen.target_transform is None
    assert_same(chosen, shared)


@pytest.mark.parametrize("numeric", ["thermometer", "multilinear"])
def test_nothing_is_chosen_where_the_user_did(numeric):
    data = read(numeric=numeric)
    assert choose_transform_and_levels(data, GPOptions(numeric=numeric)) is data
    assert bool(data.coding.thresholds) == (numeric == "thermometer")


def test_held_out_rows_take_their_weights_and_groups_along():
    groups = np.arange(40) // 4
    data = read(weight=WEIGHT, strategy="pursuit", early_stopping=True, groups=groups)
    rows = data.row_index
    assert len(data.y) + len(data.validation.y) == 30
    assert_array_equal(data.y, Y[rows])
    assert_array_equal(data.rows.group, groups[rows])
    assert_array_equal(data.sample_weight * data.weight_scale, WEIGHT[rows])
    apart = np.setdiff1d(np.flatnonzero(WEIGHT), rows)
    assert_array_equal(np.sort(data.validation.y), np.sort(Y[apart]))
    assert_array_equal(data.validation.sample_weight * data.weight_scale, WEIGHT[apart])


def test_a_search_for_terms_has_no_levels():
    """Even by "auto", which for other tasks may end with all weights."""
    bits = X[:, 2:]
    for table in (X, bits):
        data = read(Y, strategy="auto", task="terms", table=table)
        assert not data.coding.thresholds
    assert data.rows.inputs.dtype == np.int8


def test_classes_without_weight_are_none():
    labels = np.repeat([0, 1, 2], [10, 20, 10])
    factor = np.repeat([1.0, 2.0, 0.0], [10, 20, 10])
    data = read(
        labels,
        strategy="logistic",
        task="classification",
        classes=np.array(["a", "b", "c"]),
        class_factor=factor,
    )
    assert data.classes.tolist() == ["a", "b"]
    assert_array_equal(data.y, labels[:30])
    assert_array_equal(data.sample_weight, factor[:30])
    assert_array_equal(data.counts, np.ones(30))
    assert_array_equal(data.raw_weight, np.ones(30))
