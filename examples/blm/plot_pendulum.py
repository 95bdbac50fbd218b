"""
Pendulum on a cart: a neural controller without gradients
=========================================================

A network can be trained on any objective: here on simulations of a pendulum on a cart,
which it has to keep upright by pushing the cart. The objective has no gradient;
:class:`~skmohn.BLMController` flips bits of the weights and keeps what improves it.

The task, and the three controllers, are those of Brunato and Battiti (2017), section V.
"""

# %%
# Weights of two bits
# -------------------
#
# The inputs of the network are the position of the cart, the angle, and their
# velocities. Weights of two bits have four values. That is enough to bring the cart
# back to the middle. It does not come to rest there: the force, constant for a tenth of
# a second, keeps switching, and in the planes of position and velocity both enter a
# small loop.

import matplotlib.pyplot as plt
import numpy as np

from skmohn import BLMController
from skmohn.blm import Stage
from skmohn.datasets import InvertedPendulum

POSITIVE, NEGATIVE = "#c8553d", "#2e6f95"

# Starts a little beyond those of the tests. Others, and simulations that are ten times
# as long, decide whether weights are good enough.
pendulum = InvertedPendulum(n_simulations=16, max_start=0.45)
fresh = InvertedPendulum(duration=1000.0, starts="random", max_start=0.45)


def draw(system, policy, title, seconds):
    """Draw positions and force over time, and both phase planes."""
    path = system.trace(policy, start=0.4, duration=seconds)
    figure, axes = plt.subplot_mosaic(
        [["places", "places"], ["force", "force"], ["cart", "pendulum"]],
        figsize=(8, 8),
        layout="constrained",
    )
    axes["places"].plot(path.time, path.x, color=NEGATIVE, lw=1, label="position (m)")
    axes["places"].plot(
        path.time, path.angle, color=POSITIVE, lw=1, label="angle (rad)"
    )
    axes["places"].set(xlabel="time (s)", ylabel="position, angle")
    axes["places"].legend(
        frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2
    )
    axes["force"].plot(path.time, path.force, color="#333333", lw=0.8)
    axes["force"].set(xlabel="time (s)", ylabel="force (N)")
    planes = {
        "cart": (path.x, path.velocity, "position (m)", "velocity (m/s)"),
        "pendulum": (
            path.angle,
            path.angular_velocity,
            "angle (rad)",
            "angular velocity (rad/s)",
        ),
    }
    for name, (place, velocity, *labels) in planes.items():
        color = NEGATIVE if name == "cart" else POSITIVE
        axes[name].plot(place, velocity, color=color, lw=0.7)
        axes[name].plot(place[0], velocity[0], "o", color="#333333", ms=4)
        axes[name].set(xlabel=labels[0], ylabel=labels[1])
    for panel in axes.values():
        panel.spines[["top", "right"]].set_visible(False)
    errors, falls = system.test(policy, random_state=1)
    fallen = int(np.isfinite(falls).sum())
    figure.suptitle(
        f"{title}\nerror {errors.mean():.1e} and {fallen} falls in 50 tests of 1000 s"
    )
    plt.show()


coarse = BLMController(
    (5,), n_bits=2, w_max=5.0, validation_goal=0.008, n_restarts=50, random_state=0
).fit(pendulum, fresh)
draw(pendulum, coarse.policy_, "all four numbers, weights of two bits", 60.0)
print(np.unique(coarse.policy_.weights))

# %%
# Weights of sixteen bits
# -----------------------
#
# The search begins with the two highest bits of each weight and adds further ones when
# moves seldom help any more. It ends as soon as the error is small enough.

fine = BLMController(
    (5,), validation_goal=1e-4, validate_every=50, n_restarts=20, random_state=0
).fit(pendulum, fresh)
draw(pendulum, fine.policy_, "all four numbers, weights of 16 bits", 30.0)
print(f"bits that moved in the end: {fine.history_[-1]['bits']}")

# %%
# Without velocities
# ------------------
#
# A network whose inputs are position and angle alone needs a memory: its hidden units
# have one another's outputs of the previous step as inputs. Many runs end in a poor
# local minimum, so they are short at first, and end if they miss the goal of their
# stage.


def task(duration, n_simulations, transient=1.0):
    """Simulations in which the inputs are positions alone."""
    return InvertedPendulum("positions", n_simulations, duration, transient=transient)


stages = [
    Stage(task(2.0, 16, transient=0.0), goal=0.1),
    Stage(task(5.0, 16, transient=0.0), goal=0.1),
    Stage(task(15.0, 32), goal=0.02),
    Stage(task(100.0, 16), goal=0.003),
]
blind = BLMController(
    (10,), recurrent=True, max_evaluations=300, n_restarts=100, random_state=0
).fit(stages)
print(f"{blind.n_restarts_} restarts, {blind.n_evaluations_} evaluations")
draw(
    task(100.0, 16), blind.policy_, "position and angle alone, 10 recurrent units", 60.0
)
