"""Draw docs/_static/hero.png, which opens the README and the landing page.

``python examples/hero.py`` fits the first model of `make demo`, and draws what
`benchmarks/protein.py` found in all its runs.
"""

import io
import json
from pathlib import Path

import common
import demo
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "_static" / "hero.png"
RESULTS = ROOT / "benchmarks" / "results" / "protein.json"
PAPER = "#fbfaf7"
# As the results name them, and in the picture.
SEARCHES = {
    "random": ("random", common.GRAY),
    "hill climb": ("hill climbing", common.RED),
    "TPE joint": ("TPE", common.BLACK),
    "ours": ("BlackBoxOptimizer", common.BLUE),
}


def read_results():
    """Rows of both parts, as dicts."""
    parts = json.loads(RESULTS.read_text())["parts"]
    return [
        [dict(zip(part["columns"], row, strict=True)) for row in part["rows"]]
        for part in parts
        if "rows" in part
    ]


def draw_scores(axes, rows):
    """Draw mean R2 by variants measured, with the lowest and the highest."""
    for name, color in demo.COLORS.items():
        own = [row for row in rows if row["learner"] == name]
        numbers, means, lowest, highest = (
            np.array([row[key] for row in own])
            for key in ("rows", "R2", "lowest", "highest")
        )
        axes.fill_between(numbers, lowest, highest, color=color, alpha=0.12, lw=0)
        width = 2.5 if name == demo.OURS else 1.5
        axes.plot(numbers, means, "o-", color=color, lw=width, label=name)
    axes.set(xscale="log", xlabel="variants measured", ylabel="R2 on all others")
    axes.set_xticks(numbers, numbers)
    axes.set_xticks([], minor=True)
    axes.set_ylim(0.0, 1.0)
    axes.legend(loc="lower right", frameon=False)
    demo.finish(axes, "Predicting the others, 20 draws")


def draw_search(axes, rows):
    """Draw the median rank of the best by variants measured, and the quartiles."""
    for name, (label, color) in SEARCHES.items():
        own = [row for row in rows if row["method"] == name]
        numbers, *ranks = (
            np.array([row[key] for row in own], dtype=float)
            for key in ("measured", "lower", "median", "upper")
        )
        lower, median, upper = (rank + 1.0 for rank in ranks)
        axes.fill_between(numbers, lower, upper, color=color, alpha=0.12, lw=0)
        width = 2.5 if name == "ours" else 1.5
        axes.plot(numbers, median, "o-", color=color, lw=width, label=label)
    axes.set(
        yscale="log",
        xlabel="variants measured, one after another",
        ylabel="rank of the best, of 8,192",
    )
    axes.invert_yaxis()
    axes.legend(loc="lower right", frameon=False)
    demo.finish(axes, "Finding the brightest, 20 runs")


def main():
    """Draw which sites interact, predictions of the others, and the search."""
    searches, scores = read_results()
    protein = demo.Protein()
    model, _ = demo.find_interactions(protein)
    plt.rcParams.update({"font.size": 12, "axes.titlesize": 13})
    figure, panels = plt.subplots(
        1, 3, figsize=(15, 4.9), facecolor=PAPER, layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.15, h_pad=0.1)
    for axes in panels:
        axes.set_facecolor(PAPER)
    demo.draw_terms(panels[0], model)
    draw_scores(panels[1], scores)
    draw_search(panels[2], searches)
    # A palette makes the file a third as large, and looks the same.
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=160)
    Image.open(drawn).convert("RGB").quantize(64).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
