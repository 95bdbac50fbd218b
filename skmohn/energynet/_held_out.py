"""How wide a layer becomes by samples that do not train it.

A layer that grows, unit by unit, trains long before it has its width, and learns few
samples by heart. So machines of doubling width are trained here, each from the start
and as long as the final one, and the likelihood of samples held out decides.
"""

from dataclasses import dataclass, replace

import numpy as np

from skmohn.energynet import _kernels as kernels
from skmohn.energynet._gaps import Gaps
from skmohn.energynet._growth import Grown, decision, lengths_of, train
from skmohn.energynet._rbm import random_stream
from skmohn.energynet._training import Plan, new_machine

# One of so many samples is held out, and no more than so many; no more than so many
# others train before the width is found.
_SHARE, _MOST_HELD, _MOST_KEPT = 5, 2000, 20_000
# So wide layers are tried even where narrower ones gain nothing.
_SURE = 64
# Fewer flatter wide machines more than narrow ones, by nats.
_TEMPERATURES = 2000

HELD_OUT_REASON = "more or fewer units make held-out samples less likely"
SAMPLES_REASON = "there are no more units than distinct samples to learn from"
BELOW_REASON = "a layer is no wider than the one below"


@dataclass(frozen=True)
class Parts:
    """Samples that train, and those that decide.

    Attributes
    ----------
    X : ndarray of shape (n_train, n_visible), float32
    plan : Plan
        How to train on these.
    data : ndarray of shape (n_held, n_visible), float32
        Bits.
    gaps : Gaps or None
        What is unknown of `data`.
    """

    X: np.ndarray
    plan: Plan
    data: np.ndarray
    gaps: Gaps | None

    @classmethod
    def draw(cls, X, plan, seed):
        """Hold out a fifth of the samples: the same with all seeds.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_visible), float32

        plan : Plan

        seed : int
            Of bits drawn from probabilities.
        """
        order = np.random.default_rng(0).permutation(len(X))
        n_held = min(max(len(X) // _SHARE, 1), _MOST_HELD)
        held, kept = np.sort(order[:n_held]), np.sort(order[n_held:][:_MOST_KEPT])
        data, gaps = X[held], plan.gaps
        if plan.resample:
            kernels.bernoulli(X[held], random_stream(seed + 1), data)
        if gaps is not None:
            plan, gaps = replace(plan, gaps=gaps.take(kept)), gaps.take(held)
        return cls(X[kept], plan, data, gaps)


def width_by_held_out(X, plan, control, seed, report, below=np.inf):
    """Double the width of a layer while that makes samples held out more likely.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_visible), float32

    plan : Plan
        How to train.

    control : NatsControl
        Of its fields `polish`, `clock` in its place where it is zero, and the limits.

    seed : int

    report : callable
        Its records have ``stage`` ("grow" or "polish"), ``units``, ``steps`` and
        ``clock``; at a decision also ``held_out_log_likelihood``, else ``epochs``.

    below : float, default=inf
        Width of the layer below, which is not exceeded.

    Returns
    -------
    grown : Grown
        Of a width between those that are about the best; trained on all samples, or as
        it was if there is no polish.
    """
    parts = Parts.draw(X, plan, seed)
    n_steps = plan.steps_of_clock(control.polish or control.clock)
    spent, limit, runs, lengths = 0, None, {}, {}
    # Copies on both sides would ask for a unit each, and for more.
    n_distinct = len(np.unique(parts.X, axis=0))
    room, reason = min(n_distinct, below), HELD_OUT_REASON
    for width in _doubling(min(control.max_units, room)):
        ahead = min(n_steps, control.max_steps - spent)
        if runs and ahead < n_steps:
            limit = "max_steps"
            break
        rbm = new_machine(parts.X, width, seed, plan.groups)
        run = runs[width] = parts.plan.begin(parts.X, rbm, ahead, seed)
        train(run, parts.X, parts.plan, "grow", report, spent)
        spent += ahead
        lengths[width] = lengths_of(
            run.rbm, parts.data, parts.gaps, parts.X, _TEMPERATURES, seed
        )
        told = {"held_out_log_likelihood": -float(lengths[width].mean())}
        decision(report, run, "grow", spent, told)
        rises = _gain(lengths, width) > 1.0
        if width >= _SURE and not rises:
            break
    else:
        if rises and room < control.max_units:
            reason = SAMPLES_REASON if n_distinct < below else BELOW_REASON
        elif rises:
            limit = "max_units"
    width = _likely_width(lengths)
    if control.polish > 0:
        rbm = new_machine(X, width, seed, plan.groups)
        run = plan.begin(X, rbm, plan.steps_of_clock(control.polish), seed)
        train(run, X, plan, "polish", report, spent)
    else:
        run = runs[min(runs, key=lambda tried: abs(np.log(tried / width)))]
    return Grown(run, limit or reason, limit)


def _gain(lengths, width):
    """Standard errors by which a width is better than the best of those before."""
    before = [of_narrow for narrow, of_narrow in lengths.items() if narrow != width]
    if not before:
        return np.inf
    return _errors(min(before, key=np.mean) - lengths[width])


def _errors(gains):
    """A mean, in its standard errors."""
    mean, error = gains.mean(), gains.std() / np.sqrt(len(gains))
    if error == 0.0:
        return float(np.sign(mean)) * np.inf if mean else 0.0
    return float(mean / error)


def _likely_width(lengths):
    """Mean of the widths, counted in doublings, by how likely each is the best.

    A width that is worse by z standard errors has the weight of a normal density there.
    So chance, which decides between widths that are about as good, decides little.
    """
    best = min(lengths.values(), key=np.mean)
    worse = np.array([_errors(nats - best) for nats in lengths.values()])
    doublings = np.log2(list(lengths))
    return round(2 ** np.average(doublings, weights=np.exp(-0.5 * worse**2)))


def _doubling(most):
    """1, 2, 4 and so on up to a number, which ends them."""
    width = 1
    while width < most:
        yield width
        width *= 2
    yield most
