"""Markov random fields of 16 columns: which terms are found, and the density.

Ours: `MOHNDensity` with the defaults, and with `ebic_gamma=0`. Peers of the same run:
an L1-penalized logistic regression of each column on the others (Ravikumar, Wainwright
and Lafferty 2010), penalties by the EBIC with gamma 0.5, edges by the rule AND or OR,
and weights for these edges by maximum likelihood, as ours are (OR takes the regressions
of AND, whose seconds are not counted twice); the tree of Chow and Liu; independent
columns; and `EnergyNetTransformer` with one layer, a density without terms.

Fields, new ones for each instance: an Ising grid of 4 x 4 with couplings of -0.4 or
0.4; 16 random pairs with weights from 0.2 to 0.6 of either sign and main effects up to
0.4; the same with 4 of the pairs replaced by triples; and columns that are independent,
of probabilities from 0.1 to 0.9. Samples are exact. Shown are means over the instances:
precision and recall of the terms of order 2 and up, and "nats_below", the
Kullback-Leibler divergence from the truth, over all states.

Public tables: NLTCS, and the first 16 columns of five more of the suite DEBD, at most
5000 training rows; the mean log probability of the test rows, in nats.

Aimed at: of independent columns at most 5 in 100 fields have a term; ours is nowhere
more than 0.05 nats below independent columns; precision is at least 0.9.
"""

import warnings
from functools import partial
from itertools import combinations, product

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from benchmarks.shared import common, results
from skmohn import EnergyNetTransformer, MOHNDensity
from skmohn.mohn._field.enumeration import EnumeratedField, States, fit_likelihood
from skmohn.mohn._field.layout import FieldData, FieldLayout, multiply

N = 16
STATES = np.array(list(product((-1.0, 1.0), repeat=N)))
PENALTIES = np.geomspace(0.3, 0.01, 12)
ROWS = 100, 300, 1000, 3000
TABLES = "nltcs", "plants", "baudio", "accidents", "dna", "mushrooms"
MAX_LOSS, MIN_PRECISION, MAX_FALSE = 0.05, 0.9, 5


def grid(rng):
    """Terms and weights of an Ising grid."""
    at = np.arange(N).reshape(4, 4)
    terms = [*zip(at[:, :-1].flat, at[:, 1:].flat, strict=True)]
    terms += zip(at[:-1].flat, at[1:].flat, strict=True)
    return [tuple(map(int, t)) for t in terms], rng.choice([-0.4, 0.4], len(terms))


def sparse(rng, n_triples=0):
    """Terms and weights of a random field with main effects."""
    pairs, triples = (list(combinations(range(N), order)) for order in (2, 3))
    terms = [pairs[k] for k in rng.choice(len(pairs), N - n_triples, replace=False)]
    terms += [triples[k] for k in rng.choice(len(triples), n_triples, replace=False)]
    weights = rng.choice([-1.0, 1.0], N) * rng.uniform(0.2, 0.6, N)
    main = rng.uniform(-0.4, 0.4, N)
    return [*terms, *((i,) for i in range(N))], np.concatenate([weights, main])


def independent(rng):
    """Terms and weights of independent columns."""
    p = rng.uniform(0.1, 0.9, N)
    return [(i,) for i in range(N)], 0.5 * np.log(p / (1.0 - p))


TRUTHS = {"grid": grid, "pairs": sparse, "triples": partial(sparse, n_triples=4)}


class Refitted:
    """A field of given edges, by maximum likelihood."""

    def __init__(self, X, edges):
        self.terms_ = [*((i,) for i in range(X.shape[1])), *sorted(edges)]
        n_columns = X.shape[1]
        layout = FieldLayout(
            tuple(np.array([i]) for i in range(n_columns)), np.arange(n_columns)
        )
        data = FieldData.of(layout, X, np.ones(len(X)))
        field = EnumeratedField.of(States.of(layout), self.terms_)
        products, start = multiply(data.signs, self.terms_), np.zeros(len(self.terms_))
        self.weights = fit_likelihood(data, field, products, start, 1.0)
        self.log_partition = field.distribute(self.weights)[1]

    def score_samples(self, X):
        """Log probabilities of rows."""
        return multiply(X, self.terms_) @ self.weights - self.log_partition


def neighborhoods(X):
    """Neighbors of each column by L1-penalized logistic regression and the EBIC."""
    n, p = X.shape
    found = np.zeros((p, p), dtype=bool)
    for i in range(p):
        others = np.delete(np.arange(p), i)
        if len(np.unique(X[:, i])) < 2:
            continue
        best = np.inf
        for penalty in PENALTIES:
            model = LogisticRegression(
                C=1.0 / (n * penalty), l1_ratio=1.0, solver="liblinear", random_state=0
            )
            model.fit(X[:, others], X[:, i])
            margin = X[:, i] * model.decision_function(X[:, others])
            size = np.count_nonzero(model.coef_)
            cost = 2.0 * np.logaddexp(0.0, -margin).sum()
            cost += size * (np.log(n) + np.log(p - 1))
            if cost < best:
                best, chosen = cost, model.coef_[0] != 0
        found[i, others] = chosen
    return found


class Tree:
    """The tree of Chow and Liu, with half an observation more in each cell."""

    def __init__(self, X):
        p = X.shape[1]
        joint = np.array([self._joint(X, i, j) for i, j in product(range(p), repeat=2)])
        self.joint = joint.reshape(p, p, 2, 2)
        margins = joint.sum(axis=2), joint.sum(axis=1)
        outer = margins[0][:, :, None] * margins[1][:, None, :]
        information = np.sum(joint * np.log(joint / outer), axis=(1, 2)).reshape(p, p)
        tree = minimum_spanning_tree(-np.triu(np.maximum(information, 1e-12), 1))
        self.terms_ = [tuple(map(int, edge)) for edge in np.argwhere(tree.toarray())]

    def _joint(self, X, i, j):
        cell = 2 * (X[:, i] > 0) + (X[:, j] > 0)
        counts = np.bincount(cell, minlength=4) + 0.5
        return (counts / counts.sum()).reshape(2, 2)

    def score_samples(self, X):
        """Log probabilities of rows."""
        bits, value = (X > 0).astype(int), np.zeros(len(X))
        degree = np.bincount(np.ravel(self.terms_), minlength=X.shape[1])
        for i, j in self.terms_:
            value += np.log(self.joint[i, j][bits[:, i], bits[:, j]])
        for i in range(X.shape[1]):
            margin = np.log(self.joint[i, i].sum(axis=0))
            value -= (degree[i] - 1) * margin[bits[:, i]]
        return value


class Net:
    """`EnergyNetTransformer`, whose terms are not known."""

    terms_ = None

    def __init__(self, X, seed):
        self.net = EnergyNetTransformer(max_layers=1, random_state=seed)
        self.net.fit((X > 0).astype(np.float32))

    def score_samples(self, X):
        """Log probabilities of rows."""
        return self.net.score_samples((X > 0).astype(np.float32))


def densities(X, seed):
    """Yield names and fitted densities."""
    yield "ours", MOHNDensity().fit(X)
    yield "ours, gamma 0", MOHNDensity(ebic_gamma=0.0).fit(X)
    near = neighborhoods(X)
    for rule, edges in (("AND", near & near.T), ("OR", near | near.T)):
        found = [tuple(map(int, edge)) for edge in np.argwhere(np.triu(edges))]
        yield f"lasso, {rule}", Refitted(X, found)
    yield "Chow-Liu", Tree(X)
    yield "independent", Refitted(X, [])
    yield "EnergyNet", Net(X, seed)


def compare_terms(model, truth):
    """Precision and recall of terms of order 2 and up; NaN where there are none."""
    if model.terms_ is None:
        return np.nan, np.nan
    found, wanted = ({t for t in m if len(t) > 1} for m in (model.terms_, truth))
    right = len(found & wanted)
    return right / len(found) if found else np.nan, right / len(wanted)


def sample(terms, weights, n_rows, rng):
    """Rows of a field, and the log probabilities of all states."""
    energies = multiply(STATES, terms) @ weights
    logs = energies - np.logaddexp.reduce(energies)
    return STATES[rng.choice(len(logs), n_rows, p=np.exp(logs))], logs


def show_truths(options):
    """Print precision, recall and divergence on fields that are known."""
    shown = common.Table(
        "terms that are found, and nats below the truth",
        "field rows model precision recall nats_below seconds",
    )
    for (name, make), n_rows in product(TRUTHS.items(), ROWS):
        found = {}
        for seed in range(options.seed, options.seed + options.instances):
            rng = np.random.default_rng(seed)
            terms, weights = make(rng)
            X, logs = sample(terms, weights, n_rows, rng)
            last = common.clock()
            for model_name, model in densities(X, seed):
                seconds = common.clock() - last
                below = np.exp(logs) @ (logs - model.score_samples(STATES))
                line = *compare_terms(model, terms), below, seconds
                found.setdefault(model_name, []).append(line)
                last = common.clock()
        means = {}
        for model_name, lines in found.items():
            known = np.ma.masked_invalid(lines).mean(axis=0).filled(np.nan)
            means[model_name] = known.tolist()
        for model_name, (right, recall, below, seconds) in means.items():
            met = model_name != "ours" or (
                below <= means["independent"][2] + MAX_LOSS
                and not right < MIN_PRECISION
            )
            shown.row(
                name, n_rows, model_name, f"{right:.2f}", f"{recall:.2f}",
                f"{below:.3f}", f"{seconds:.2f}", met=met,
            )  # fmt: skip
    shown.close()


def show_independent(options):
    """Print how many fields of independent columns have a term."""
    n_fields = 20 if options.quick else 100
    shown = common.Table(
        f"{n_fields} fields of independent columns", "rows model fields_with_any"
    )
    for n_rows in (100, 1000):
        counts = {"ours": 0, "ours, gamma 0": 0, "lasso, AND": 0, "lasso, OR": 0}
        for seed in range(options.seed, options.seed + n_fields):
            rng = np.random.default_rng(seed)
            X, _ = sample(*independent(rng), n_rows, rng)
            for name, gamma in (("ours", 1.0), ("ours, gamma 0", 0.0)):
                terms = MOHNDensity(ebic_gamma=gamma).fit(X).terms_
                counts[name] += any(len(term) > 1 for term in terms)
            near = neighborhoods(X)
            counts["lasso, AND"] += bool(np.any(near & near.T))
            counts["lasso, OR"] += bool(np.any(near))
        for name, count in counts.items():
            met = name != "ours" or count <= MAX_FALSE * n_fields / 100
            shown.row(n_rows, name, count, met=met)
    shown.close()


def show_tables(options):
    """Print the mean log probability of test rows of public tables."""
    path = common.find_data("suites/debd.npz")
    if path is None:
        return
    data = np.load(path)
    shown = common.Table(
        "mean log probability of test rows, nats", "table rows model terms nats seconds"
    )
    for name in TABLES[: 1 if options.quick else None]:
        train, test = (
            2.0 * np.unpackbits(data[f"{name}_{part}"], axis=1)[:, :N] - 1.0
            for part in ("train", "test")
        )
        train = train[: None if name == "nltcs" else 5000]
        last, scores = common.clock(), {}
        for model_name, model in densities(train, options.seed):
            seconds, n_terms = common.clock() - last, 0
            scores[model_name] = model.score_samples(test).mean(), seconds
            if model.terms_:
                n_terms = sum(len(term) > 1 for term in model.terms_)
            scores[model_name] = model.score_samples(test).mean(), n_terms, seconds
            last = common.clock()
        for model_name, (score, n_terms, seconds) in scores.items():
            met = score >= scores["independent"][0] - MAX_LOSS
            shown.row(
                name, len(train), model_name, n_terms, f"{score:.3f}", f"{seconds:.2f}",
                met=model_name != "ours" or met,
            )  # fmt: skip
    shown.close()


def main():
    """Print a table of known fields, one of independent columns, one of public data."""
    options = common.parse_options(__doc__, instances=5, quick_instances=1)
    common.clock = common.CLOCKS["cpu"]
    common.warm_up()
    warnings.simplefilter("ignore", ConvergenceWarning)
    show_independent(options)
    show_truths(options)
    show_tables(options)


if __name__ == "__main__":
    results.record(main)
