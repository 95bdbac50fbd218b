"""Golden fits: whether a change of the structure has changed what any estimator does.

Usage: python tests/golden.py record FILE
       python tests/golden.py record FILE --every 5
       python tests/golden.py compare FILE

`record` fits every estimator with every strategy to small tables and writes the bits of
what they predict and of their fitted attributes; `compare` fits again and lists each
fit that differs. With --every 5, a fifth of the fits is recorded and compared. Other
processors and libraries round differently: a file is good for the machine that wrote
it. Both end with status 1 when something is wrong.
"""

import argparse
import contextlib
import hashlib
import io
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.exceptions import NotFittedError

if __name__ == "__main__":  # the package of this checkout, not an installed one
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from skmohn import (
    BlackBoxOptimizer,
    BLMClassifier,
    BLMController,
    BLMRegressor,
    DeltaOptions,
    EnergyNetClassifier,
    EnergyNetImputer,
    EnergyNetOutlierDetector,
    EnergyNetRegressor,
    EnergyNetTransformer,
    Genotypes,
    GPOptions,
    InfiniteRBMOptions,
    MOHNClassifier,
    MOHNFeatureSelector,
    MOHNRegressor,
    MOHNTransformer,
    MSDAOptions,
    datasets,
)
from skmohn.inspection import selection_stability
from skmohn.optimize import maximize

# Attributes that a commit has renamed, as they were recorded: as they are called now.
RENAMED: dict[str, str] = {}
# Wall-clock times.
_UNREPEATABLE = {"seconds"}
_METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "predict_quantiles",
    "sample_y",
    "score_samples",
    "effects_table",
    "terms_table",
    "sobol_indices",
)
_N_ROWS = 64
# The name under which a file has how few of the fits it holds.
_EVERY = "every"
# What takes a kind of table.
_STRATEGIES = {
    "any": ("auto", "gp", "logistic", "pursuit", "full", "msda", "spike_slab"),
    "categorical": ("auto", "gp"),
    "genotypes": ("logistic", "pursuit"),
}

Leaves = dict[str, np.ndarray]
Table = tuple[Any, np.ndarray]


class StopAfter:
    """A callback that ends a fit after some iterations, and keeps what it has seen."""

    def __init__(self, n_iter: int) -> None:
        self.n_iter = n_iter
        self.n_seen = 0

    def setup(self, estimator: object, context: object) -> None: ...

    def teardown(self, estimator: object, context: object) -> None: ...

    def on_fit_task_begin(self, estimator: object, context: object, **more) -> None: ...

    def on_fit_task_end(self, estimator: object, context: object, **more) -> bool:
        self.n_seen += 1
        return self.n_seen >= self.n_iter


@cache
def tables() -> dict[str, Table]:
    """A small table of each kind of input, with its targets."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (_N_ROWS, 6))
    numbers = rng.normal(size=(_N_ROWS, 4))
    noise = 0.3 * rng.normal(size=_N_ROWS)
    y = signs[:, 0] * signs[:, 1] + 0.5 * signs[:, 2] + noise
    z = numbers[:, 0] * numbers[:, 1] + np.sin(2.0 * numbers[:, 2]) + noise
    frame = pd.DataFrame(numbers[:, :2], columns=["a", "b"])
    labels = frame.assign(answer=np.where(signs[:, 0] > 0.0, "yes", "no"))
    frame["color"] = rng.choice(["blue", "green", "red"], _N_ROWS)
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(
        rng.integers(9, size=_N_ROWS), unit="D"
    )
    missing = np.where(rng.random(numbers.shape) < 0.15, np.nan, numbers)
    counts = rng.integers(0, 3, (_N_ROWS, 12)).astype(float)
    allele_effect = (counts[:, 1] - 1.0) * (counts[:, 4] - 1.0) + counts[:, 7] + noise
    counts[rng.random(counts.shape) < 0.05] = np.nan
    return {
        "two-valued": (signs, y),
        "numeric": (numbers, z),
        "two categories": (labels, z + signs[:, 0]),
        "categorical": (frame, z + (frame["color"] == "red").to_numpy()),
        "missing": (missing, z),
        "genotypes": (Genotypes.from_counts(counts), allele_effect),
    }


def classes(y: np.ndarray, n: int = 2) -> np.ndarray:
    """Targets as classes of equal size."""
    return np.digitize(y, np.quantile(y, np.arange(1, n) / n))


def fit(estimator: Any, X: Any, *targets: Any, **params: Any) -> Leaves:
    """Fit with a fixed seed; return what is fitted and predicted."""
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return observe(estimator.fit(X, *targets, **params), X)


def observe(estimator: Any, X: Any) -> Leaves:
    """Fitted attributes, and the results of all methods, of a fitted estimator."""
    found: Leaves = {}
    for name in sorted({*vars(estimator), *dir(type(estimator))}):
        if name.endswith("_") and not name.startswith("_"):
            add_leaves(found, name, getattr(estimator, name, None))
    for name in _METHODS:
        if method := getattr(estimator, name, None):
            has_table = not name.endswith(("_table", "_indices"))
            try:
                add_leaves(found, name, method(X) if has_table else method())
            except (NotFittedError, ValueError) as error:  # such as without posterior
                found[name] = np.asarray(str(error))
    if hasattr(estimator, "to_packed"):
        with contextlib.redirect_stdout(io.StringIO()):
            add_leaves(found, "to_c", estimator.to_c("net", X=X).header)
        add_leaves(found, "to_packed", estimator.to_packed())
    return found


def add_leaves(found: Leaves, name: str, value: Any) -> None:
    """Add the arrays, numbers and texts inside of a value; its objects are left out."""
    if isinstance(value, pd.DataFrame | pd.Series):
        value = value.reset_index().to_dict("list")
    if isinstance(value, str | bytes | bool | int | float | np.generic):
        found[name] = np.asarray(value)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        found[name] = value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            if key not in _UNREPEATABLE:
                add_leaves(found, f"{name}.{key}", part)
    elif isinstance(value, list | tuple | np.ndarray):
        for i, part in enumerate(value):
            add_leaves(found, f"{name}.{i}", part)


def mohn_fits() -> Iterator[tuple[str, Callable[[], Leaves]]]:
    """All strategies of MOHN's estimators, on every kind of table."""
    for kind, (X, y) in tables().items():
        for strategy in _STRATEGIES.get(kind, _STRATEGIES["any"]):
            given = {"max_order": 1 if strategy == "msda" else 2, "max_iter": 30}
            if strategy != "logistic":
                regressor = MOHNRegressor(strategy, **given)
                yield f"regressor, {strategy}, {kind}", partial(fit, regressor, X, y)
            if strategy in {"spike_slab", "msda"}:
                continue
            if (strategy, kind) == ("pursuit", "genotypes"):
                continue
            classifier = MOHNClassifier(strategy, **given)
            yield (
                f"classifier, {strategy}, {kind}",
                partial(fit, classifier, X, classes(y)),
            )
            if kind == "two-valued" and strategy not in {"logistic", "gp"}:
                transformer = MOHNTransformer(strategy, **given)
                yield f"transformer, {strategy}", partial(fit, transformer, X, y)
    yield from mohn_settings()


def mohn_settings() -> Iterator[tuple[str, Callable[[], Leaves]]]:
    """Rules, selections, targets, weights, and fits that go on from others."""
    X, y = tables()["two-valued"]
    numbers, z = tables()["numeric"]
    both = np.column_stack([y, y + X[:, 3]])
    weight = np.arange(_N_ROWS) % 3.0
    settings = {
        "ols": MOHNRegressor("full", "ols", max_order=2),
        "lasso": MOHNRegressor("full", "lasso", max_order=2, alpha=0.05),
        "delta": MOHNRegressor("full", "delta", max_order=1, max_iter=50),
        "delta_options": MOHNRegressor(
            "full", "delta", max_order=1, delta_options=DeltaOptions(tol=1e-6)
        ),
        "msda_options": MOHNRegressor(
            "msda", max_iter=30, msda_options=MSDAOptions(batch_size=10)
        ),
        "lasso path": MOHNRegressor("pursuit", "lasso", max_order=2, selection="cv"),
        "ebic": MOHNRegressor("pursuit", max_order=2, selection="ebic"),
        "early stopping": MOHNRegressor("pursuit", max_order=2, early_stopping=True),
        "outliers": MOHNRegressor("pursuit", outliers="keep"),
        "terms": MOHNRegressor("given", terms=[(0, 1), (2,)]),
        "nystroem": MOHNRegressor(memory_budget=1e5),
    }
    for name, model in settings.items():
        yield f"regressor, {name}", partial(fit, model, X, y)
        yield (
            f"regressor, {name}, weights",
            partial(fit, model, X, y, sample_weight=weight),
        )
    controls = {
        "constant noise": GPOptions(noise="constant", clip=False, one_hot="auto"),
        "multilinear": GPOptions(numeric="multilinear"),
    }
    for name, control in controls.items():
        model = MOHNRegressor("gp", gp_options=control)
        yield f"regressor, dense, {name}", partial(fit, model, numbers, z)
    for strategy in ("auto", "gp", "pursuit", "full"):
        model = MOHNRegressor(strategy, max_order=2)
        yield f"regressor, {strategy}, two targets", partial(fit, model, X, both)
    for strategy in ("auto", "gp", "logistic"):
        model = MOHNClassifier(strategy, max_order=2)
        yield (
            f"classifier, {strategy}, three classes",
            partial(fit, model, numbers, classes(z, 3)),
        )
    yield (
        "transformer, classes",
        partial(
            fit, MOHNTransformer("logistic", 2, target_type="classes"), X, classes(y)
        ),
    )
    yield (
        "regressor, from_terms",
        lambda: observe(
            MOHNRegressor.from_terms([(0, 1), (2,)], [1.0, -0.5]), X[:, :3]
        ),
    )
    yield (
        "regressor, warm start",
        partial(
            fit_twice, MOHNRegressor("pursuit", max_order=2, warm_start=True), X, y
        ),
    )
    yield (
        "regressor, partial_fit",
        partial(fit_in_parts, MOHNRegressor("full", "delta", max_order=1), X, y),
    )
    yield (
        "regressor, dense, partial_fit",
        partial(fit_in_parts, MOHNRegressor("gp"), numbers, z),
    )
    yield (
        "classifier, partial_fit",
        partial(fit_in_parts, MOHNClassifier("gp"), X, classes(y)),
    )
    yield (
        "regressor, callbacks",
        partial(fit_watched, MOHNRegressor("pursuit", max_order=2), X, y),
    )
    yield (
        "classifier, callbacks",
        partial(fit_watched, MOHNClassifier("gp"), X, classes(y)),
    )
    yield (
        "selection stability",
        lambda: leaves_of(
            selection_stability(
                MOHNRegressor("pursuit"), X, y, n_resamples=3, random_state=0
            )
        ),
    )
    yield (
        "maximize",
        lambda: leaves_of(
            maximize(MOHNRegressor("full", max_order=2).fit(X, y), random_state=0)
        ),
    )


def blm_fits() -> Iterator[tuple[str, Callable[[], Leaves]]]:
    """Networks of few bits, for tables, sequences and control."""
    numbers, z = tables()["numeric"]
    brief: dict[str, Any] = {"max_flips": 2000}
    sequences = np.random.default_rng(1).normal(size=(8, 6, 2))
    models = {
        "squared": BLMRegressor((4,), **brief),
        "pinball": BLMRegressor((), loss="pinball", n_bits=4, **brief),
        "huber": BLMRegressor(
            (4, 3), "relu", loss="huber", n_restarts=3, ensemble=2, **brief
        ),
        "gray": BLMRegressor((4,), search="gray", n_bits=3, **brief),
        "early stopping": BLMRegressor((4,), early_stopping=True, **brief),
    }
    for name, model in models.items():
        yield f"BLM regressor, {name}", partial(fit, model, numbers, z)
    for loss in ("cross_entropy", "hinge", "squared"):
        model = BLMClassifier((4,), loss=loss, **brief)
        yield f"BLM classifier, {loss}", partial(fit, model, numbers, classes(z, 3))
    yield (
        "BLM regressor, sequences",
        partial(
            fit,
            BLMRegressor((3,), recurrent="steps", **brief),
            sequences,
            sequences[..., 0],
        ),
    )
    yield (
        "BLM classifier, categorical",
        partial(fit, BLMClassifier((4,), **brief), numbers, classes(z).astype(str)),
    )
    warm = BLMRegressor((4,), warm_start=True, **brief)
    yield "BLM regressor, warm start", partial(fit_twice, warm, numbers, z)
    yield (
        "BLM regressor, partial_fit",
        partial(fit_in_parts, BLMRegressor((4,), **brief), numbers, z),
    )
    yield (
        "BLM regressor, callbacks",
        partial(fit_watched, BLMRegressor((4,), **brief), numbers, z),
    )
    yield "BLM controller", control
    for n_bits in (2, 3, 4, 6, 8, 12, 16, 20):
        yield f"C headers, {n_bits} bits", partial(c_headers, n_bits)


def c_headers(n_bits: int) -> Leaves:
    """Digests of networks in C: of each kind of estimator, input and arithmetic."""
    numbers, z = tables()["numeric"]
    brief: dict[str, Any] = {"n_bits": n_bits, "max_flips": 60, "random_state": 0}
    sequences = numbers.reshape(8, 8, -1)
    logistic = {"activation": "logistic", "n_restarts": 2, "ensemble": 2}
    found: Leaves = {}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # so few moves make no good network
        models = {
            "regressor": BLMRegressor((5, 3), **brief).fit(numbers, np.c_[z, -z]),
            "steps": BLMRegressor(
                (3,), recurrent="steps", standardize=False, **brief
            ).fit(sequences, sequences[..., 0]),
            "two": BLMClassifier((), **brief).fit(numbers, classes(z)),
            "three": BLMClassifier((4,), **logistic, **brief).fit(
                numbers, classes(z, 3)
            ),
            "labels": BLMClassifier((4,), "relu", **brief).fit(
                numbers, np.c_[z > 0.0, z > 1.0].astype(int)
            ),
        }
        kinds = [("integer", kind) for kind in ("uint8", "int16", "float32")]
        for name, model in models.items():
            X = sequences if name == "steps" else numbers
            for arithmetic, kind in [*kinds, ("float32", "float32")]:
                options = {"arithmetic": arithmetic, "input_type": kind}
                device = model.to_c("net", X=X, input_scale=0.1, **options)
                digest = hashlib.sha256((device.header + device.test).encode())
                found[f"{name} {arithmetic} {kind}"] = np.array(digest.hexdigest())
    return found


def control() -> Leaves:
    """A controller of a pendulum, and what it does in some states."""
    task = datasets.InvertedPendulum(n_simulations=2, duration=2.0)
    model = BLMController((3,), max_evaluations=200, random_state=0).fit(task)
    return observe(model, np.random.default_rng(0).normal(size=(9, 4)))


def energynet_fits() -> Iterator[tuple[str, Callable[[], Leaves]]]:
    """Growths of EnergyNet on every kind of table, and the estimators around it."""
    few = EnergyNetTransformer(
        None, 3, n_final_epochs=5, n_temperatures=100, random_state=0
    )
    growths = {
        "held_out": {"max_units": 6, "n_final_epochs": 5},
        "description_length": {"unit_cost": 0.1, "max_units": 6, "n_final_epochs": 5},
        "infinite_rbm": {
            "max_layers": 1,
            "max_units": 6,
            "n_final_epochs": 5,
            "infinite_rbm_options": InfiniteRBMOptions(threshold=0.5),
        },
        None: {"n_components": [5, 3], "n_final_epochs": 5, "layer": "all"},
    }
    for kind, (X, y) in tables().items():
        if kind not in ("genotypes", "two categories"):
            for growth, given in growths.items():
                stack = EnergyNetTransformer(growth, n_temperatures=100, **given)
                yield f"stack, {growth}, {kind}", partial(fit, stack, X)
            for strategy in ("mean", "mode"):
                imputer = EnergyNetImputer(few, strategy=strategy, add_indicator=True)
                yield f"imputer, {strategy}, {kind}", partial(fit, imputer, X)
            detector = EnergyNetOutlierDetector(few)
            yield f"outlier detector, {kind}", partial(fit, detector, X)
            if kind != "missing":
                yield (
                    f"net classifier, {kind}",
                    partial(fit, EnergyNetClassifier(few), X, classes(y)),
                )
                yield (
                    f"net regressor, {kind}",
                    partial(fit, EnergyNetRegressor(few, init="generative"), X, y),
                )
    numbers, _ = tables()["numeric"]
    yield (
        "stack, minmax",
        partial(
            fit,
            EnergyNetTransformer(None, 4, n_final_epochs=5, coding="minmax"),
            numbers,
        ),
    )
    yield (
        "stack, warm start",
        partial(
            fit_twice,
            EnergyNetTransformer(None, 4, n_final_epochs=5, warm_start=True),
            numbers,
        ),
    )
    yield (
        "stack, partial_fit",
        partial(fit_in_parts, EnergyNetTransformer(None, 4, n_final_epochs=5), numbers),
    )
    yield (
        "stack, callbacks",
        partial(fit_watched, EnergyNetTransformer(None, 4, n_final_epochs=5), numbers),
    )


def other_fits() -> Iterator[tuple[str, Callable[[], Leaves]]]:
    """Black-box searches, and the generators of problems."""
    X, y = tables()["two-valued"]

    def search(**given: Any) -> Leaves:
        optimizer = BlackBoxOptimizer(random_state=0, **given)
        return leaves_of(optimizer.run(loss, 30))

    def loss(x: Any) -> float:
        values = np.asarray([*x.values()] if isinstance(x, dict) else x, dtype=float)
        return float(np.square(values - 0.4).sum() - 2.0 * values[0] * values[-1])

    yield "black box, bits", partial(search, space=8)
    yield "black box, integers", partial(search, space={"a": [0, 1, 2], "b": (0, 9)})
    selector = MOHNFeatureSelector(MOHNClassifier("full", 1), n_evaluations=8, cv=2)
    yield "feature selector", partial(fit, selector, X, classes(y))
    generators = {
        "mk trap": partial(datasets.make_mk_trap, 3, 3, shuffle=True, noise=0.1),
        "bmda": partial(datasets.make_bmda_quadratic, 8, snr=3.0),
        "genome": partial(datasets.make_gwas, 200, 40, n_pairs=2, n_main_effects=2),
        "ising": partial(datasets.make_ising, (3, 3), couplings="gaussian"),
        "nk": partial(datasets.make_nk, 8, 2, noise=0.1),
        "sparse": partial(datasets.make_sparse_walsh, 9, 6, n_samples=40, snr=2.0),
        "spirals": partial(datasets.make_two_spirals, 40, noise=0.1),
    }
    for name, make in generators.items():
        yield f"data, {name}", lambda make=make: leaves_of(make(random_state=0))


def leaves_of(values: Mapping[str, Any]) -> Leaves:
    """What a result, such as a Bunch, holds."""
    found: Leaves = {}
    for name, value in values.items():
        is_packed = isinstance(value, Genotypes)
        add_leaves(found, name, value.counts() if is_packed else value)
    return found


def fit_twice(model: Any, X: np.ndarray, *targets: np.ndarray) -> Leaves:
    """Go on with a first fit, of half of the samples."""
    half = len(X) // 2
    model.set_params(random_state=0).fit(X[:half], *(y[:half] for y in targets))
    return fit(model, X, *targets)


def fit_in_parts(model: Any, X: np.ndarray, *targets: np.ndarray) -> Leaves:
    """Learn from one half of the samples, then from the other."""
    half = len(X) // 2
    model.set_params(random_state=0)
    model.fit(X[:half], *(y[:half] for y in targets))
    model.partial_fit(X[half:], *(y[half:] for y in targets))
    return observe(model, X)


def fit_watched(model: Any, X: np.ndarray, *targets: np.ndarray) -> Leaves:
    """Let a callback end a fit, where scikit-learn has callbacks."""
    stop = StopAfter(2)
    if sklearn.__version__ >= "1.9":
        model.set_callbacks(stop)
    found = fit(model, X, *targets)
    return {**found, "n_seen": np.asarray(stop.n_seen)}


FITS: dict[str, Callable[[], Leaves]] = {
    name: make
    for group in (mohn_fits, blm_fits, energynet_fits, other_fits)
    for name, make in group()
}


def run(make: Callable[[], Leaves]) -> Leaves:
    """Make one fit without warnings; a failure is its result, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make()
        except Exception as error:
            return {"failure": np.asarray(f"{type(error).__name__}: {error}")}


def digest(leaf: np.ndarray) -> str:
    """SHA-256 of the bits of an array, its type and its shape."""
    head = f"{leaf.dtype.str} {leaf.shape} ".encode()
    return hashlib.sha256(head + np.ascontiguousarray(leaf).tobytes()).hexdigest()


def differences(recorded: Leaves, found: Leaves) -> list[str]:
    """What differs between a recorded fit and that of today, a line each."""
    recorded = {rename(name): leaf for name, leaf in recorded.items()}
    if "failure" in found:
        return [f"failure: {found['failure']}"]
    lines = [f"{name} is gone" for name in sorted(recorded.keys() - found)]
    lines += [f"{name} is new" for name in sorted(found.keys() - recorded)]
    for name in sorted(recorded.keys() & found):
        old, new = recorded[name], found[name]
        if digest(old) != digest(new):
            lines.append(f"{name}: {describe(old, new)}")
    return lines


def rename(name: str) -> str:
    """What a recorded leaf is called now."""
    head, dot, rest = name.partition(".")
    return RENAMED.get(head, head) + dot + rest


def describe(old: np.ndarray, new: np.ndarray) -> str:
    """How two leaves differ."""
    if old.shape != new.shape or old.dtype.kind != new.dtype.kind:
        return f"{old.dtype} {old.shape} has become {new.dtype} {new.shape}"
    if old.dtype.kind in "fc":
        return f"differs by at most {np.nanmax(np.abs(new - old), initial=0.0):.3g}"
    return f"{old.ravel()[:3]} has become {new.ravel()[:3]}"


def record(path: Path, every: int = 1) -> int:
    """Write all fits to a file, or one of every few."""
    leaves, n_failures = {}, 0
    fits = dict(list(FITS.items())[::every])
    for name, make in fits.items():
        found = run(make)
        if "failure" in found or not found:
            n_failures += 1
            print(f"{name}: {found.get('failure', 'nothing to compare')}")
        leaves |= {f"{name}|{leaf}": value for leaf, value in found.items()}
    with path.open("wb") as file:
        np.savez_compressed(file, **leaves, **{_EVERY: np.array(every)})
    print(f"{len(fits)} fits, {len(leaves)} arrays and values, {n_failures} failures")
    return int(n_failures > 0)


def compare(path: Path) -> int:
    """Fit again, and print what differs from a file."""
    recorded: dict[str, Leaves] = {}
    with np.load(path) as file:
        # A file without it, from an earlier commit, has all fits.
        every = int(file[_EVERY]) if _EVERY in file else 1
        for key in set(file.files) - {_EVERY}:
            name, _, leaf = key.partition("|")
            recorded.setdefault(name, {})[leaf] = file[key]
    n_changed = 0
    for name in sorted(recorded.keys() | (FITS if every == 1 else {})):
        make = FITS.get(name, dict)
        lines = differences(recorded.get(name, {}), run(make))
        n_changed += bool(lines)
        for line in lines[:5]:
            print(f"{name}: {line}")
    print(f"{n_changed} of {len(recorded)} fits have changed")
    return int(n_changed > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--every", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.action == "record":
        sys.exit(record(arguments.file, arguments.every))
    sys.exit(compare(arguments.file))
