"""Functions of other kinds than those that defaults were chosen on, beside baselines.

Regression targets have noise with a fifth to a twenty-fifth of their variance, or as is
said: factors of three levels, products among 128 columns with t3 noise, mixed columns,
a product of effects (R2 of means), proteins of five amino acids, ratings from 1 to 5,
counts with many zeros, five of 1000 columns, a majority of nine, steps, Friedman's
first function, noise of varying size, skewed columns, columns of many zeros, noisy
copies, 50 small weights, factors behind 40 columns, a product of four, one-hot columns,
a sine, a ratio, minima. --classes has others: 5 % positives, ten classes, signs of a
product, chains, 400 columns, categories, ordered classes, circles, noise alone.

Printed is R2 on 2000 other rows without noise, or minus their log loss, of
the default, the mean, ridge (logistic) regression, the lasso, the lasso or logistic
regression on all columns and pairs (up to 130 columns), a forest and boosting; the gain
is over the best of the first four. Two rules for numeric columns were chosen on zeros,
varying noise and ratings of other seeds.
"""

import warnings
from functools import partial

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LassoCV, LogisticRegressionCV, RidgeCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from benchmarks.shared import common, results
from skmohn import MOHNClassifier, MOHNRegressor

N_TEST = 2000
ROWS = 60, 200
PENALTIES = np.logspace(-3, 4, 22)
INVERSE_PENALTIES = np.logspace(-4, 2, 13)
MAX_COLUMNS = 130
BELOW = 0.02
SIMPLE = "mean", "linear", "lasso", "pairs"


def noisy(f, ratio, rng, df=np.inf):
    """Add noise, of which a function has `ratio` times the variance."""
    noise = rng.standard_normal(len(f)) if np.isinf(df) else rng.standard_t(df, len(f))
    return f + noise / noise.std() * f.std() / np.sqrt(ratio)


def bits(rng, n, p):
    """Columns of 0 and 1."""
    return rng.integers(0, 2, (n, p)).astype(float)


def letters(rng, n, p, alphabet):
    """Columns of text."""
    return pd.DataFrame({f"s{i}": rng.choice(list(alphabet), n) for i in range(p)})


def effects(rng, keys, scale=1.0):
    """A random number for each category."""
    return dict(zip(keys, rng.normal(0.0, scale, len(keys)), strict=True))


def three_levels(rng, n):
    X = rng.integers(-1, 2, (n, 4)).astype(float)
    f = 2 * X[:, 0] + 3 * X[:, 1] ** 2 + 2 * X[:, 0] * X[:, 2]
    return X, f, noisy(f, 10, rng)


def heavy_noise(rng, n):
    X = bits(rng, n, 128)
    pairs = rng.integers(0, 128, (10, 2))
    f = np.prod((2 * X - 1)[:, pairs], axis=2) @ rng.choice([-1, 1], 10)
    return X, f, noisy(f, 3, rng, df=3)


def mixed(rng, n):
    numbers = {f"u{i}": rng.uniform(0, 10, n) for i in range(5)}
    flags = {f"b{i}": rng.integers(0, 2, n) for i in range(5)}
    X = pd.DataFrame(numbers).join([letters(rng, n, 3, "abcd"), pd.DataFrame(flags)])
    effect = effects(rng, "abcd", 2.0)
    f = 0.5 * X.u0 * X.b0 + X.s0.map(effect) + 0.3 * X.u1 + X.b1 * X.s1.map(effect)
    return X, f.to_numpy(), noisy(f.to_numpy(), 5, rng)


def multiplied(rng, n):
    X = bits(rng, n, 10)
    f = X @ rng.normal(0, 0.7, 10)
    return X, np.exp(f), np.exp(noisy(f, 5, rng))


def protein(rng, n):
    X = letters(rng, n, 6, "ACDEF")
    f = sum(X[name].map(effects(rng, "ACDEF")) for name in X)
    both = [a + b for a in "ACDEF" for b in "ACDEF"]
    for i in range(0, 6, 2):
        f = f + (X[f"s{i}"] + X[f"s{i + 1}"]).map(effects(rng, both))
    return X, f.to_numpy(), noisy(f.to_numpy(), 10, rng)


def ratings(rng, n):
    X = rng.standard_normal((n, 8))
    f = 3 + X @ rng.normal(0, 0.6, 8)
    y = np.clip(np.round(f + rng.normal(0, 0.7, n)), 1, 5)
    return X, np.clip(f, 1, 5), y


def zeros(rng, n):
    X = rng.standard_normal((n, 8))
    mean = np.exp(0.8 * X[:, 0] + 0.5 * X[:, 1] * X[:, 2])
    return X, 0.5 * mean, rng.poisson(mean) * (rng.random(n) < 0.5) * 1.0


def five_of_many(rng, n):
    X = bits(rng, n, 1000)
    f = X[:, :5] @ np.array([1, 1, -1, 1, -1.0])
    return X, f, noisy(f, 3, rng)


def majority(rng, n):
    X = bits(rng, n, 15)
    f = 1.0 * (X[:, :9].sum(axis=1) > 4)
    return X, f, noisy(f, 10, rng)


def steps(rng, n):
    X = rng.uniform(0, 1, (n, 8))
    f = 2.0 * (X[:, 0] > 0.3) + 3.0 * (X[:, 1] > 0.6) * (X[:, 2] > 0.5)
    return X, f, noisy(f, 10, rng)


def friedman(rng, n):
    X = rng.uniform(0, 1, (n, 10))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    f += 10 * X[:, 3] + 5 * X[:, 4]
    return X, f, noisy(f, 25, rng)


def varying_noise(rng, n):
    X = rng.standard_normal((n, 6))
    f = X[:, 0] + X[:, 1] * X[:, 2]
    return X, f, f + rng.standard_normal(n) * np.exp(X[:, 3])


def skewed(rng, n):
    Z = 1.5 * rng.standard_normal((n, 6))
    f = Z[:, 0] + Z[:, 1] * Z[:, 2]
    return np.exp(Z), f, noisy(f, 10, rng)


def many_zeros(rng, n):
    X = rng.exponential(1, (n, 10)) * (rng.random((n, 10)) < 0.3)
    f = X[:, 0] + 2 * (X[:, 1] > 0) + 3 * X[:, 2] * X[:, 3]
    return X, f, noisy(f, 5, rng)


def copies(rng, n):
    Z = rng.standard_normal((n, 3))
    near = Z + 0.03 * rng.standard_normal((n, 3))
    f = Z[:, 0] + Z[:, 1] * Z[:, 2]
    return np.hstack([Z, near, rng.standard_normal((n, 4))]), f, noisy(f, 5, rng)


def many_weights(rng, n):
    X = rng.standard_normal((n, 50))
    f = X @ rng.standard_normal(50)
    return X, f, noisy(f, 5, rng)


def behind_columns(rng, n, noise=0.5):
    Z = rng.standard_normal((n, 3))
    X = Z @ rng.standard_normal((3, 40)) + noise * rng.standard_normal((n, 40))
    return X, Z[:, 0] + Z[:, 1], noisy(Z[:, 0] + Z[:, 1], 5, rng)


def product_of_four(rng, n):
    X = bits(rng, n, 20)
    f = np.prod(2 * X[:, :4] - 1, axis=1) + 0.5 * (2 * X[:, 5] - 1)
    return X, f, noisy(f, 10, rng)


def one_hot(rng, n):
    groups = rng.integers(0, 8, (n, 3))
    own = rng.normal(0, 1, (2, 8))
    f = own[0][groups[:, 0]] + own[1][groups[:, 1]] * (groups[:, 2] > 3)
    return np.hstack([np.eye(8)[each] for each in groups.T]), f, noisy(f, 10, rng)


def sine(rng, n):
    X = np.column_stack([rng.uniform(0, 10, n), rng.standard_normal((n, 3))])
    f = 2 * np.sin(X[:, 0]) + X[:, 1]
    return X, f, noisy(f, 5, rng)


def ratio(rng, n):
    X = rng.uniform(1, 10, (n, 5))
    f = X[:, 0] / X[:, 1] + 0.1 * X[:, 2]
    return X, f, noisy(f, 10, rng)


def minima(rng, n):
    X = rng.standard_normal((n, 6))
    f = np.minimum(X[:, 0], X[:, 1]) + np.abs(X[:, 2])
    return X, f, noisy(f, 5, rng)


def drawn(rng, log_odds):
    """Two classes of these log odds."""
    return (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(int)


def five_weights(rng, n):
    X = rng.standard_normal((n, 20))
    return X, drawn(rng, X[:, :5].sum(axis=1))


def rare_class(rng, n):
    X = bits(rng, n, 12)
    return X, drawn(rng, 2 * X[:, 0] + 2 * X[:, 1] * X[:, 2] + X[:, 3] - 4.5)


def ten_classes(rng, n):
    X = rng.standard_normal((n, 8))
    return X, np.argmax(X @ rng.standard_normal((8, 10)) + rng.gumbel(size=(n, 10)), 1)


def signs(rng, n):
    X = rng.standard_normal((n, 6))
    return X, drawn(rng, 4 * np.sign(X[:, 0] * X[:, 1]))


def chain(rng, n):
    X = bits(rng, n, 20)
    S = 2 * X[:, :9] - 1
    return X, drawn(rng, 2 * np.sum(S[:, 1:] * S[:, :-1], axis=1))


def three_of_many(rng, n):
    X = rng.standard_normal((n, 400))
    return X, drawn(rng, 2 * X[:, 0] + 2 * X[:, 1] - X[:, 2])


def categories(rng, n):
    X, effect = letters(rng, n, 6, "ABCDEFGH"), effects(rng, "ABCDEFGH", 2.0)
    return X, drawn(rng, (X.s0.map(effect) + X.s1.map(effect)).to_numpy())


def ordered(rng, n):
    X = rng.standard_normal((n, 6))
    latent = X[:, 0] + X[:, 1] * X[:, 2] + rng.logistic(0, 0.5, n)
    return X, np.digitize(latent, [-1, 0, 1])


def circles(rng, n):
    X = rng.uniform(-1, 1, (n, 5))
    return X, drawn(rng, 10 * (X[:, 0] ** 2 + X[:, 1] ** 2 - 0.6))


def classes_behind_columns(rng, n):
    X, f, _ = behind_columns(rng, n, noise=0.7)
    return X, drawn(rng, 2 * f)


def noise_alone(rng, n):
    return rng.standard_normal((n, 10)), drawn(rng, np.full(n, -1.0))


FUNCTIONS = [
    *(three_levels, heavy_noise, mixed, multiplied, protein, ratings, zeros),
    *(five_of_many, majority, steps, friedman, varying_noise, skewed, many_zeros),
    *(copies, many_weights, behind_columns, product_of_four, one_hot, sine, ratio),
    minima,
]
CLASSES = [
    *(five_weights, rare_class, ten_classes, signs, chain, three_of_many, categories),
    *(ordered, circles, classes_behind_columns, noise_alone),
]


def columns_for(degree):
    """Steps that make standardized columns of numbers, and products."""
    text = make_column_selector(dtype_exclude="number")
    coded = (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text)
    steps = [make_column_transformer(coded, remainder="passthrough"), StandardScaler()]
    if degree > 1:
        products = PolynomialFeatures(degree, interaction_only=True, include_bias=False)
        steps += [products, StandardScaler()]
    return steps


def regressors(seed):
    """Learners of numbers, unfitted."""
    forest = RandomForestRegressor(random_state=seed)
    boosting = HistGradientBoostingRegressor(random_state=seed)
    return {
        "MOHN": MOHNRegressor(random_state=seed),
        "mean": DummyRegressor(),
        "linear": make_pipeline(*columns_for(1), RidgeCV(PENALTIES)),
        "lasso": make_pipeline(*columns_for(1), LassoCV(cv=5)),
        "pairs": make_pipeline(*columns_for(2), LassoCV(cv=5)),
        "forest": make_pipeline(columns_for(1)[0], forest),
        "boosting": make_pipeline(columns_for(1)[0], boosting),
    }


def classifiers(seed):
    """Learners of classes, unfitted."""
    logistic = partial(
        LogisticRegressionCV,
        Cs=INVERSE_PENALTIES,
        l1_ratios=(0.0,),
        scoring="neg_log_loss",
        max_iter=1000,
        use_legacy_attributes=False,
    )
    forest = RandomForestClassifier(300, min_samples_leaf=3, random_state=seed)
    boosting = HistGradientBoostingClassifier(random_state=seed)
    return {
        "MOHN": MOHNClassifier(random_state=seed),
        "mean": DummyClassifier(),
        "linear": make_pipeline(*columns_for(1), logistic()),
        "pairs": make_pipeline(*columns_for(2), logistic()),
        "forest": make_pipeline(columns_for(1)[0], forest),
        "boosting": make_pipeline(columns_for(1)[0], boosting),
    }


def r2(learner, X, truth):
    """R2 beside the function itself."""
    return 1.0 - np.mean((learner.predict(X) - truth) ** 2) / np.var(truth)


def minus_log_loss(learner, X, truth):
    """Minus the log loss; classes that were not seen have one in a million."""
    chances = np.full((len(truth), truth.max() + 1), 1e-6)
    chances[:, learner.classes_] = np.maximum(learner.predict_proba(X), 1e-6)
    chances /= chances.sum(axis=1, keepdims=True)
    return -log_loss(truth, chances, labels=range(chances.shape[1]))


def measure(function, n_rows, seed, for_classes):
    """Scores of all learners, and seconds of ours."""
    rng = np.random.default_rng([seed, n_rows])
    X, *truth, y = function(rng, n_rows + N_TEST)
    X = pd.DataFrame(X).rename(columns=str)
    truth = (truth[0] if truth else y)[n_rows:]
    score = minus_log_loss if for_classes else r2
    found, seconds = [], []
    learners = classifiers(seed) if for_classes else regressors(seed)
    for name, learner in learners.items():
        if name == "pairs" and X.shape[1] > MAX_COLUMNS:
            found.append(np.nan)
            continue
        spent, _ = common.timed(learner.fit, X[:n_rows], y[:n_rows])
        found.append(score(learner, X[n_rows:], truth))
        seconds.append(spent)
    return [*found, seconds[0]]


def add_options(parser):
    """Add the choice of classes."""
    parser.add_argument("--classes", action="store_true", help="targets of classes")
    common.add_keep(parser)


def main():
    """Print a row for each function and number of rows."""
    options = common.parse_options(
        __doc__, instances=4, quick_instances=1, add_arguments=add_options
    )
    warnings.simplefilter("ignore")
    common.warm_up()
    names = list(classifiers(0) if options.classes else regressors(0))
    table = common.Table(
        "Minus the log loss" if options.classes else "Test R2",
        "function rows " + " ".join(names) + " gain seconds",
        width=10,
    )
    functions = CLASSES if options.classes else FUNCTIONS
    gains = []
    for function in functions[:2] if options.quick else functions:
        for n_rows in ROWS[:1] if options.quick else ROWS:
            runs = [
                common.kept(
                    options.keep,
                    (function.__name__, n_rows, seed),
                    partial(measure, function, n_rows, seed, options.classes),
                )
                for seed in range(options.seed, options.seed + options.instances)
            ]
            *scores, seconds = np.mean(runs, axis=0)
            simple = [scores[names.index(name)] for name in SIMPLE if name in names]
            gains.append(scores[0] - np.nanmax(simple))
            cells = [f"{score:.3f}" for score in [*scores, gains[-1]]]
            table.row(function.__name__, n_rows, *cells, seconds)
    n_below = int(np.sum(np.array(gains) < -BELOW))
    results.say(
        f"More than {BELOW} below the best of mean, linear, lasso and pairs in "
        f"{n_below} of {len(gains)} cells."
    )


if __name__ == "__main__":
    results.record(main)
