"""Which settings interact, how sure is it, what is best, what to try next: `make demo`.

The settings are mutations: thirteen sites of a fluorescent protein have either of two
amino acids, and a laboratory has measured all 8192 variants. Here only a few of them
are given away, so that what is said about the others can be checked. It needs nothing
but skmohn, matplotlib and pandas.
"""

import time
from pathlib import Path

import common
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LassoCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import skmohn
from skmohn.datasets import load_fluorescence
from skmohn.optimize import maximize

N_MEASURED, MORE_ROWS = 200, (50, 100, 400)
N_START, N_EVALUATIONS, N_RUNS = 16, 100, 5
OURS = "MOHNRegressor"
PICTURE = Path(__file__).resolve().with_name("demo.png")
COLORS = {
    "lasso, pairs": common.RED,
    "boosting": common.GRAY,
    "forest": common.BLACK,
    OURS: common.BLUE,
}


class Protein:
    """All variants, in random order."""

    def __init__(self):
        protein = load_fluorescence()
        order = np.random.default_rng(0).permutation(len(protein.y))
        names = protein.feature_names
        self.X = pd.DataFrame(protein.X[order], columns=names)
        self.y = protein.y[order]
        self.brightness = protein.y

    def measure(self, variant):
        """Look up the brightness of a variant."""
        bits = np.asarray(variant, dtype=int)
        return self.brightness[bits @ 2 ** np.arange(len(bits))[::-1]]

    def count_brighter(self, brightness):
        """Count the variants that are brighter."""
        return int(np.sum(self.brightness > brightness))


def learners_of_rows():
    """Name the learners; only the lasso knows that pairs are what matters."""
    pairs = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    return {
        "lasso, pairs": make_pipeline(pairs, LassoCV()),
        "boosting": HistGradientBoostingRegressor(random_state=0),
        "forest": RandomForestRegressor(random_state=0),
        OURS: skmohn.MOHNRegressor(random_state=0),
    }


def score_all(protein, n_rows):
    """Fit all learners to the first rows; return them, and R2 on all other rows."""
    learners, scores = learners_of_rows(), {}
    for name, learner in learners.items():
        # As -1 and 1, as is best for the lasso.
        X = protein.X if name == OURS else 2 * protein.X - 1
        learner.fit(X[:n_rows], protein.y[:n_rows])
        scores[name] = learner.score(X[n_rows:], protein.y[n_rows:])
    return learners, scores


# ------------------------------------------------------------------ the sections


def find_interactions(protein):
    """Print which sites interact; return the model and the scores of all learners."""
    common.heading("Which settings interact?")
    print("13 sites of a protein have either of two amino acids. Of 8,192 variants")
    print(f"{N_MEASURED} are measured. Brightness goes from 0.15 to 1.69.\n")
    learners, scores = score_all(protein, N_MEASURED)
    model = learners[OURS]
    terms = model.terms_table().head(5)
    print(f"{'sites':<32}{'weight':>8}{'standard error':>18}{'variance':>10}")
    for row in terms.itertuples():
        print(
            f"{row.term:<32}{row.weight:>8.3f}{row.standard_error:>18.3f}"
            f"{row.variance_share:>10.0%}"
        )
    mean, std = model.predict(protein.X[N_MEASURED:], return_std=True)
    inside = np.mean(np.abs(protein.y[N_MEASURED:] - mean) < 1.645 * std)
    others = ", ".join(f"{name} {scores[name]:.2f}" for name in scores if name != OURS)
    print(f"\nR2 on the {len(mean):,} others is {scores[OURS]:.2f} ({others});")
    print(f"90 % intervals contain {inside:.0%} of them.")
    return model, scores


def find_best(protein, model):
    """Print the best variant by the model, and what it has when it is measured."""
    common.heading("Which one is best?")
    best = maximize(model, fixed={}, random_state=0)
    variant = pd.DataFrame([best.x], columns=protein.X.columns)
    (mean,), (std,) = model.predict(variant, return_std=True)
    measured = protein.measure(best.x)
    rank = 1 + protein.count_brighter(measured)
    proof = "proved to be the highest" if best.optimal else "the highest found"
    print(f"Predicted is {mean:.2f} ± {1.645 * std:.2f}, {proof} of all predictions.")
    print(f"Measured, it has {measured:.2f}: number {rank} of 8,192.")


def try_next(protein):
    """Print and return how many variants are brighter, by variants measured."""
    common.heading("What to try next?")
    print(f"After {N_START} random variants, each method asks for one after another.")
    print(f"How many are brighter than the best so far? Means of {N_RUNS} runs:\n")
    shown = (20, 40, 60, 80, N_EVALUATIONS)
    print(f"{'measured':<24}" + "".join(f"{n:>8}" for n in shown))
    methods = {
        "random": draw_at_random,
        "hill climbing": climb,
        "BlackBoxOptimizer": ask_optimizer,
    }
    brighter = {}
    for name, method in methods.items():
        runs = [method(protein, np.random.default_rng(seed)) for seed in range(N_RUNS)]
        best = np.maximum.accumulate([run[:N_EVALUATIONS] for run in runs], axis=1)
        counts = np.vectorize(protein.count_brighter)(best)
        brighter[name] = counts.mean(axis=0)
        cells = [f"{brighter[name][n - 1]:>8.1f}" for n in shown]
        print(f"{name:<24}" + "".join(cells))
    return brighter


def draw_at_random(protein, rng):
    """Measure random variants."""
    return rng.permutation(protein.brightness)[:N_EVALUATIONS].tolist()


def climb(protein, rng):
    """Change one site at a time for the better, and start again where none is."""
    values = draw_start(protein, rng)
    known = dict(values)
    variant = max(values, key=known.get)
    while len(known) < N_EVALUATIONS:
        is_best = True
        for site in rng.permutation(len(variant)):
            changed = (*variant[:site], 1 - variant[site], *variant[site + 1 :])
            known.setdefault(changed, protein.measure(changed))
            if known[changed] > known[variant]:
                variant, is_best = changed, False
        if is_best:
            variant = tuple(rng.integers(0, 2, len(variant)).tolist())
            known.setdefault(variant, protein.measure(variant))
    return list(known.values())


def ask_optimizer(protein, rng):
    """Measure what `BlackBoxOptimizer` asks for."""
    values = draw_start(protein, rng)
    optimizer = skmohn.BlackBoxOptimizer(
        protein.X.shape[1], maximize=True, noise=0.0, random_state=0
    )
    optimizer.tell(np.array([*values]), [*values.values()])
    optimizer.run(protein.measure, N_EVALUATIONS - N_START)
    return [record["value"] for record in optimizer.history_]


def draw_start(protein, rng):
    """Random variants and their brightness."""
    drawn = rng.choice(len(protein.y), N_START, replace=False)
    variants = [tuple(row) for row in protein.X.to_numpy()[drawn].tolist()]
    return dict(zip(variants, protein.y[drawn].tolist(), strict=True))


def along_rows(protein, scores):
    """Print and return R2 of all learners along the number of measured variants."""
    common.heading("How many measurements does it need?")
    print("R2 on all variants that are not measured:\n")
    found = {N_MEASURED: scores}
    for n_rows in MORE_ROWS:
        _, found[n_rows] = score_all(protein, n_rows)
    numbers = sorted(found)
    print(f"{'measured':<24}" + "".join(f"{n:>8}" for n in numbers))
    for name in scores:
        print(f"{name:<24}" + "".join(f"{found[n][name]:>8.2f}" for n in numbers))
    return {n: found[n] for n in numbers}


# ---------------------------------------------------------------------- the picture


def draw(model, by_rows, brighter):
    """Draw effects, R2 along measurements, and the search; save the picture."""
    plt.rcParams.update({"font.size": 11, "axes.titlesize": 12, "figure.dpi": 130})
    figure, panels = plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained")
    draw_terms(panels[0], model)
    draw_scores(panels[1], by_rows)
    draw_search(panels[2], brighter)
    figure.savefig(PICTURE)


def draw_terms(axes, model):
    """Draw the strongest terms with 95 % intervals."""
    terms = model.terms_table().head(12)[::-1]
    colors = [common.RED if weight > 0 else common.BLUE for weight in terms.weight]
    places = np.arange(len(terms))
    axes.barh(places, terms.weight, color=colors, alpha=0.85)
    bars = {"fmt": "none", "ecolor": common.BLACK, "elinewidth": 1.2, "capsize": 2}
    axes.errorbar(terms.weight, places, xerr=1.96 * terms.standard_error, **bars)
    axes.set_yticks(places, terms.term.str.replace("site ", ""))
    axes.axvline(0.0, color=common.BLACK, linewidth=0.8)
    axes.set(xlabel="weight (brightness), 95 % interval", ylabel="sites")
    finish(axes, f"Which sites interact: {N_MEASURED} of 8,192 variants")


def draw_scores(axes, by_rows):
    """Draw R2 along the number of measured variants."""
    for name, color in COLORS.items():
        values = [scores[name] for scores in by_rows.values()]
        width = 2.5 if name == OURS else 1.5
        axes.plot([*by_rows], values, "o-", color=color, lw=width, label=name)
    axes.set(xscale="log", xlabel="variants measured", ylabel="R2 on all others")
    axes.set_xticks([*by_rows], [str(n) for n in by_rows])
    axes.set_xticks([], minor=True)
    axes.set_ylim(-0.05, 1.0)
    axes.legend(loc="lower right", frameon=False)
    finish(axes, "How well the others are predicted")


def draw_search(axes, brighter):
    """Draw how many variants are brighter than the best, by evaluations."""
    colors = common.GRAY, common.RED, common.BLUE
    for (name, values), color in zip(brighter.items(), colors, strict=True):
        axes.plot(np.arange(1, len(values) + 1), values + 1, color=color, label=name)
    axes.axvline(N_START, color=common.BLACK, linewidth=0.8, linestyle=":")
    axes.set(
        yscale="log",
        xlabel=f"variants measured, the first {N_START} at random",
        ylabel="rank of the best so far, of 8,192",
    )
    axes.legend(loc="lower left", frameon=False)
    finish(axes, "What to try next")


def finish(axes, title):
    """Give a panel its title."""
    axes.set_title(title, fontweight="bold")
    axes.spines[["top", "right"]].set_visible(False)


def main():
    """Compile, go through the sections, and draw."""
    started = common.begin()
    protein = Protein()
    model, scores = find_interactions(protein)
    find_best(protein, model)
    brighter = try_next(protein)
    by_rows = along_rows(protein, scores)
    draw(model, by_rows, brighter)
    print(
        f"\n{N_MEASURED} measurements show which of 13 settings interact, and predict"
    )
    print(
        f"the other {len(protein.y) - N_MEASURED:,} with R2 {scores[OURS]:.2f}.",
        end=" ",
    )
    print(f"Done in {time.perf_counter() - started:.0f} s. The picture is in")
    print(f"{PICTURE}\nThe rest of skmohn: make demo-all")


if __name__ == "__main__":
    main()
