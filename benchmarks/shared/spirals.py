"""The two spirals of S4: data, settings, starts until all is learned, maps."""

from dataclasses import dataclass, field

import numpy as np

from benchmarks.shared import blm, common
from skmohn import BLMClassifier, SearchOptions
from skmohn.blm._network import forward
from skmohn.datasets import make_two_spirals

# Inputs lie between these as published; networks get them divided by it or not.
EDGE = 6.5
ENOUGH = 0.05
# Flips of a start: the run of Figure 8 has 726,702 steps, for each of which 56 moves
# are tried here (inputs scaled, low bits off zero); fewer with --quick.
BUDGET = 40_000_000, 2_000_000
# Epochs from one look at the points that are right to the next.
EVERY = 10
NET = {"hidden_layer_sizes": (20, 20), "loss": "squared", "alpha": 0, "n_bits": 12}
PUBLISHED = NET | blm.PUBLISHED_SEARCH | {"w_max": 6.0}
OURS = {
    **NET,
    "search_options": SearchOptions(w_init=2.0),
    "max_flips": 600_000,
    "n_iter_no_change": 1000,
}


def published(**control):
    """Return the paper's parameters, but for what is said of its search."""
    # The grid of Figure 4, the maps of Figure 9 and the start of section III-F3 need
    # frozen bits of the plain number, and low bits of zero.
    telescopic = {
        "telescopic": "local_minimum",
        "freeze": "binary",
        "init": "zero_low_bits",
        "w_init": 0.001,
    }
    return PUBLISHED | {"search_options": SearchOptions(**telescopic | control)}


def spirals(edge=EDGE):
    """Return the 194 points divided by `edge`, and their classes."""
    X, y = make_two_spirals(return_X_y=True)
    return X / edge, y


@dataclass
class Start:
    """What one training run did.

    Attributes
    ----------
    seconds, errors : list of float
        At the end of each epoch: processor or wall time, and the RMSE.
    n_steps, n_flips : int
        Moves that improved, and moves tried.
    cut : bool
        Whether the budget ended it.
    learned, right : bool
        Whether the RMSE was ever below 0.05, and all points right.
    layers : dict
        The last network of each number of movable bits.
    model : BLMClassifier
    """

    seconds: list = field(default_factory=list)
    errors: list = field(default_factory=list)
    n_steps: int = 0
    n_flips: int = 0
    cut: bool = False
    learned: bool = False
    right: bool = False
    layers: dict = field(default_factory=dict)
    model: BLMClassifier | None = None


def train(X, y, parameters, seed, budget, go_on=False):
    """Train one network until all is learned, or to its end with `go_on`.

    Parameters
    ----------
    X, y : ndarrays
    parameters : dict
        Of BLMClassifier.
    seed : int
    budget : int
        Flips, unless the parameters allow fewer.
    go_on : bool, default=False

    Returns
    -------
    start : Start
    """
    start, began = Start(), common.clock()

    def look(model):
        start.seconds.append(common.clock() - began)
        # Half the mean squared error, as there is no penalty.
        start.errors.append(float(np.sqrt(2 * model.loss_)))
        start.layers[model.n_movable_bits_] = model.coefs_, model.intercepts_
        start.learned |= start.errors[-1] < ENOUGH
        # Predictions take as long as half an epoch.
        if start.learned or len(start.errors) % EVERY == 0:
            start.right |= model.score(X, y) == 1
        return start.learned and start.right and not go_on

    budget = min(budget, parameters["max_flips"])
    model = BLMClassifier(**parameters | {"max_flips": budget}, random_state=seed)
    model.set_callbacks(blm.Watch(look))
    start.model, _ = blm.fitted(model, X, y)
    last = start.model.history_[-1]
    start.n_steps, start.n_flips = last["accepted"], last["flips"]
    start.cut = start.model.stopping_reason_ == "max_flips"
    return start


def keep(report, name, starts):
    """Add what starts did, with their seeds, to the results."""
    for seed, start in zip(report.options.seeds, starts, strict=True):
        report.run(
            name,
            seed,
            rmse=start.errors[-1],
            learned=start.learned,
            right=start.right,
            cut=start.cut,
            steps=start.n_steps,
            flips=start.n_flips,
            seconds=start.seconds[-1],
            bits=max(start.layers),
        )


def draw_map(ax, outputs_of, points=True):
    """Draw a network's output over the plane, and the training points.

    Parameters
    ----------
    ax : Axes
    outputs_of : callable
        Takes points as published, within 6.5 around the origin; returns an output each.
    points : bool, default=True
    """
    line = np.linspace(-EDGE, EDGE, 160)
    plane = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    outputs = np.asarray(outputs_of(plane)).reshape(len(line), len(line))
    extent = (-EDGE, EDGE, -EDGE, EDGE)
    image = ax.imshow(
        outputs, cmap="coolwarm", vmin=0, vmax=1, origin="lower", extent=extent
    )
    if points:
        X, y = spirals(1.0)
        for label, color in enumerate(("#1b2a6b", "#6b0f1a")):
            ax.plot(*X[y == label].T, ".", color=color, markersize=3)
    ax.set(xticks=[], yticks=[], aspect="equal")
    return image


def outputs_of_layers(layers, edge):
    """Return a function of points, for :func:`draw_map`."""
    return lambda plane: forward(plane / edge, *layers, "tanh", "logistic")
