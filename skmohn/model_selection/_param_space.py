"""Settings of hyperparameters as points of a black box."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Real
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid, ParameterSampler

from skmohn._core._meanings import listed
from skmohn._core._tuned import tuned
from skmohn.optimize._space import VARIABLES


@dataclass(frozen=True)
class ParamSpaceConstants:
    """Which of the possible settings can be tried."""

    # Levels of a distribution: quantiles at equal probabilities.
    n_levels: int = tuned(32, "cost")
    # Settings of several grids are listed; of more, so many are drawn.
    max_listed: int = tuned(4096, "cost")


_SPACE = ParamSpaceConstants()
Setting = dict[str, Any]


class Parameter(NamedTuple):
    """Hyperparameter and the values that it may have."""

    name: str
    values: list[Any]
    is_ordered: bool  # numbers, from low to high
    indices: dict[str, int]  # of values, by their keys

    def code(self, value: Any) -> int | str:
        """Code of a value in the optimizer, where numbers are ordered."""
        i = self.indices[key_of(value)]
        return i if self.is_ordered else str(i).zfill(len(str(len(self.values))))

    @property
    def default(self) -> Any:
        """Value where the parameter has no effect."""
        return self.values[len(self.values) // 2 if self.is_ordered else 0]

    def codes(self) -> list[int | str]:
        """Codes of all values."""
        return [self.code(value) for value in self.values]


class ParamSpace:
    """All settings of a grid, or of several."""

    def __init__(
        self,
        param_grid: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        seed: int,  # by which some settings are drawn, if they are too many
    ) -> None:
        grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
        if not len(grids):
            raise ValueError("param_grid is an empty list: pass a dict of parameters")
        self.grids = [_read_grid(grid) for grid in grids]
        names = dict.fromkeys(chain(*self.grids))
        self.parameters = [self._join(name) for name in names]
        # Of the others, the choice among the grids has the value.
        self.varying = [
            p
            for p in self.parameters
            if any(len(grid.get(p.name, ())) > 1 for grid in self.grids)
        ]
        # Of one grid all combinations exist; settings of several are a table.
        self._rows: dict[tuple[Any, ...], Setting] | None = None
        if len(self.grids) > 1:
            self._rows = {self._row(g, s): s for g, s in self._listed(seed)}
            self._keys = {*map(self.key, self._rows.values())}

    def _join(self, name: str) -> Parameter:
        """Values of a parameter in all grids."""
        found = chain(*(grid[name] for grid in self.grids if name in grid))
        values = list({key_of(value): value for value in found}.values())
        is_ordered = all(map(_is_number, values))
        values = sorted(values) if is_ordered else values
        indices = {key_of(value): i for i, value in enumerate(values)}
        return Parameter(name, values, is_ordered, indices)

    def _listed(self, seed: int) -> list[tuple[int, Setting]]:
        """Settings of several grids, each once, with the index of its grid."""
        # A setting that is in two grids counts for the first.
        n_settings = sum(math.prod(map(len, grid.values())) for grid in self.grids)
        if n_settings <= _SPACE.max_listed:
            settings = list(chain(*map(ParameterGrid, self.grids)))
        else:
            draws = ParameterSampler(self.grids, _SPACE.max_listed, random_state=seed)
            settings = list(draws)
        once = {self.key(setting): setting for setting in reversed(settings)}
        return [(self._grid_of(s), s) for s in reversed(once.values())]

    def _grid_of(self, setting: Mapping[str, Any]) -> int:
        """Index of the first grid that has a setting."""
        keys = {name: key_of(value) for name, value in setting.items()}
        for g, grid in enumerate(self.grids):
            if grid.keys() == keys.keys() and all(
                key in map(key_of, grid[name]) for name, key in keys.items()
            ):
                return g
        raise ValueError(f"the setting {setting!r} is not in param_grid")

    def _row(self, grid: int, setting: Setting) -> tuple[Any, ...]:
        """Codes of the grid of a setting, and of what varies in some grid."""
        # A parameter that the grid does not have is at its default: the column of the
        # grid shows that it has no effect.
        codes = [p.code(setting.get(p.name, p.default)) for p in self.varying]
        return (self._grid_code(grid), *codes)

    def _grid_code(self, grid: int) -> str:
        return str(grid).zfill(len(str(len(self.grids))))

    @property
    def grid_name(self) -> str:
        """Name of the choice among the grids: the parameter that makes it, if any."""
        for p in self.parameters:
            found = {key_of(grid[p.name][0]) for grid in self.grids if p.name in grid}
            if p not in self.varying and len(found) == len(self.grids):
                return p.name
        return "grid"

    @property
    def n_settings(self) -> float:
        """How many settings can be tried."""
        if self._rows is not None:
            return float(len(self._rows))
        return math.prod(float(len(p.values)) for p in self.parameters)

    @property
    def variables(self) -> Any:
        """Space of the optimizer: variables and their values, or a table of points."""
        limit = VARIABLES.max_values
        many = [p for p in self.parameters if len(p.values) > limit]
        if many:
            counts = listed([f"{len(p.values)} values of {p.name!r}" for p in many])
            raise ValueError(
                f"param_grid has {counts}, of which at most {limit} can be searched: "
                "pass fewer, or a distribution such as scipy.stats.randint(1, 1000)"
            )
        if self._rows is None:
            return {p.name: p.codes() for p in self.parameters}
        return np.array(list(self._rows), dtype=object)

    def settings(self) -> Iterator[Setting]:
        """All settings, each once, in the order of `GridSearchCV`."""
        if self._rows is not None:
            return iter(self._rows.values())
        return iter(ParameterGrid(self.grids))

    def encode(self, setting: Setting) -> Any:
        """Point of the optimizer that stands for a setting."""
        if self._rows is not None:
            return self._row(self._grid_of(setting), setting)
        return {p.name: p.code(setting[p.name]) for p in self.parameters}

    def decode(self, point: Any) -> Setting:
        """Setting that a point of the optimizer stands for."""
        if self._rows is not None:
            return self._rows[tuple(point)]
        return {p.name: p.values[int(point[p.name])] for p in self.parameters}

    def encode_rows(self, settings: Sequence[Setting]) -> NDArray[np.object_]:
        """Settings as a table of codes: of the grid, and of what varies in one."""
        rows = [self._row(self._grid_of(setting), setting) for setting in settings]
        return np.array(rows, dtype=object)

    def rows_at(self, quantiles: NDArray[np.float64]) -> NDArray[np.object_]:
        """Table of codes at uniform random numbers, which has their shape."""
        rows = np.empty(quantiles.shape, dtype=object)
        of_grid = _pick(len(self.grids), quantiles[:, 0])
        for g, grid in enumerate(self.grids):
            of = of_grid == g
            rows[of, 0] = self._grid_code(g)
            for j, p in enumerate(self.varying, start=1):
                values = grid.get(p.name, [p.default])
                codes = np.array([p.code(value) for value in values], dtype=object)
                rows[of, j] = codes[_pick(len(codes), quantiles[of, j])]
        return rows

    def key(self, setting: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
        """Key that equal settings share."""
        return frozenset((name, key_of(value)) for name, value in setting.items())

    def has(self, setting: Mapping[str, Any]) -> bool:
        """Whether a setting can be tried."""
        if self._rows is not None:
            return self.key(setting) in self._keys
        known = {p.name: p.indices for p in self.parameters}
        return known.keys() == setting.keys() and all(
            key_of(value) in known[name] for name, value in setting.items()
        )


def _read_grid(grid: Any) -> dict[str, list[Any]]:
    """Values of each parameter of a grid, each once; levels of distributions."""
    if isinstance(grid, Mapping):
        grid = {
            name: _read_levels(name, values) if hasattr(values, "rvs") else values
            for name, values in grid.items()
        }
    # Refuses what is no grid, in the words of GridSearchCV.
    ParameterGrid(grid)
    return {
        name: list({key_of(value): value for value in values}.values())
        for name, values in grid.items()
    }


def _read_levels(name: str, distribution: Any) -> list[Any]:
    """Quantiles of a distribution of scipy, as Python's numbers."""
    if not hasattr(distribution, "ppf"):
        raise TypeError(
            f"param_grid has {distribution!r} for {name!r}, a distribution without "
            "ppf: use one of scipy.stats, such as loguniform(1e-3, 1e3), or a list"
        )
    n = _SPACE.n_levels
    quantiles = distribution.ppf((np.arange(n) + 0.5) / n)
    if not np.isfinite(quantiles).all():
        raise ValueError(
            f"param_grid has a distribution of {name!r} whose quantiles are not finite"
        )
    is_discrete = np.issubdtype(np.asarray(distribution.rvs(random_state=0)).dtype, int)
    if not is_discrete:
        return np.unique(quantiles).tolist()
    low, high = (int(distribution.ppf(q)) for q in (1e-9, 1.0 - 1e-9))
    if high - low < n:
        integers = range(low, high + 1)
        return [k for k in integers if distribution.pmf(k) > 0.0]
    return np.unique(quantiles.astype(int)).tolist()


def _pick(n: int, quantiles: NDArray[np.float64]) -> NDArray[np.intp]:
    """Indices of values at uniform random numbers."""
    return np.minimum((quantiles * n).astype(np.intp), n - 1)


def _is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, Real) and math.isfinite(value)


def key_of(value: Any) -> str:
    """Key that equal values share: for estimators, class and parameters."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | int | float):
        return f"{type(value).__name__} {value!r}"
    try:
        return str(joblib.hash(value))
    except Exception:  # what cannot be pickled: functions without a name
        return f"object {id(value)}"
