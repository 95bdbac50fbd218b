"""Times are no numeric targets: pandas stores them in a unit that nobody chose."""

import numpy as np
import pandas as pd
import pytest

from skmohn import BLMRegressor, EnergyNetRegressor, MOHNRegressor

TIMES = pd.Series(pd.date_range("2020", periods=20))
X = np.random.default_rng(0).normal(size=(20, 2))
TARGETS = {
    "numpy": TIMES.to_numpy(),
    "unknown": TIMES.where(TIMES.index != 3),
    "zone": TIMES.dt.tz_localize("UTC"),
    "durations": TIMES - TIMES[0],
    "several": pd.DataFrame({"a": np.arange(20.0), "b": TIMES}),
}
OBJECTS = {
    "Timestamp": list(TIMES),
    "date": TIMES.dt.date,
    "Timedelta": list(TIMES - TIMES[0]),
    "datetime": [None, *(time.to_pydatetime() for time in TIMES[1:])],
}


@pytest.mark.parametrize("estimator", [MOHNRegressor, BLMRegressor, EnergyNetRegressor])
@pytest.mark.parametrize("kind", TARGETS)
def test_times_are_refused(estimator, kind):
    with pytest.raises(ValueError, match=r"y has .*64.* pass durations in a unit"):
        estimator().fit(X, TARGETS[kind])


@pytest.mark.parametrize("estimator", [MOHNRegressor, BLMRegressor, EnergyNetRegressor])
def test_times_among_objects_are_refused(estimator):
    for kind, y in OBJECTS.items():
        with pytest.raises(ValueError, match=f"y has {kind}, .* pass durations in a"):
            estimator().fit(X, y)
    with pytest.raises(
        TypeError, match=r"y has Period\('2020.* targets must be numbers"
    ):
        estimator().fit(X, TIMES.dt.to_period("D"))


def test_times_of_polars_are_refused():
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="y has Datetime"):
        MOHNRegressor().fit(X, polars.Series(TIMES.to_list()))
