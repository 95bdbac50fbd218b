"""Compile all kernels ahead of the first fit."""

import numpy as np

from skmohn._core._fitting import gather_warnings

# All settings of six columns, a function of them, and the same with noise.
_SIGNS = np.where((np.arange(64)[:, None] >> np.arange(6)) & 1, -1.0, 1.0)
_Y = _SIGNS[:, 0] * _SIGNS[:, 1] * _SIGNS[:, 2] + _SIGNS[:, 3]
_NOISY = _Y + np.cos(37.0 * np.arange(64))
# All settings of four columns are enough, but for sets that are drawn.
_FEW = _SIGNS[:16, :4]
# Columns of many values go through the kernels for real inputs.
_GRADED = _FEW * np.linspace(0.5, 1.0, 16)[:, None]


def warm_up() -> None:
    """Compile every kernel now, so that no later fit waits for the compiler.

    Kernels compile at their first call and are cached on disk if a folder is writable.
    The first `warm_up` takes about half a minute, later ones a moment. Call it before
    timing anything, or when you build the image of a service.

    Examples
    --------
    >>> import skmohn
    >>> skmohn.warm_up()
    """
    for family in FAMILIES:
        compile_family(family)


def compile_family(family: str) -> None:
    """Compile the kernels of one of the families; processes may do so side by side."""
    # So little is enough to compile, though not to converge.
    with gather_warnings():
        FAMILIES[family]()


def _compile_mohn() -> None:
    from skmohn.mohn import MOHNRegressor
    from skmohn.mohn._engine import compile_kernels

    compile_kernels(_FEW, _GRADED, _Y[:16])
    for inputs, target in ((_FEW, _Y), (_FEW, _NOISY), (_GRADED, _NOISY)):
        MOHNRegressor("pursuit").fit(inputs, target[:16]).predict(inputs)
    # Collinear columns, whose weights are sampled where most are zero.
    MOHNRegressor("full", max_order=1).fit(_FEW[:, [0, 0]], _Y[:16])
    collinear = np.column_stack([_FEW[:, 0], _FEW[:, 0], _FEW[:, 1]])
    collinear[0, 1] *= -1.0
    MOHNRegressor("spike_slab", max_order=1).fit(collinear, collinear @ [3.0, 0.0, 0.0])
    for rule in ("ols", "lasso", "delta"):
        MOHNRegressor("full", rule, max_order=2, max_iter=2).fit(_SIGNS, _Y)
        # Until sets that it has dropped are to be proposed again.
        MOHNRegressor("msda", rule, max_iter=4, random_state=0).fit(_SIGNS, _NOISY)


def _compile_blm() -> None:
    from skmohn.blm import BLMClassifier, BLMController, BLMRegressor
    from skmohn.blm._engine import compile_kernels
    from skmohn.datasets import InvertedPendulum

    compile_kernels()
    for network in (BLMRegressor, BLMClassifier):
        network((2,), max_flips=100).fit(_FEW, _Y[:16] > 0)
    pendulum = InvertedPendulum(n_simulations=2, duration=2.0)
    controller = BLMController((2,), max_evaluations=5).fit(pendulum)
    pendulum.trace(controller.policy_)
    controller.predict(np.zeros((1, 4)))
    sequences = np.zeros((2, 2, 1)), np.zeros((2, 2))
    BLMRegressor((2,), recurrent="steps", max_flips=10).fit(*sequences)


def _compile_energynet() -> None:
    from skmohn.energynet import EnergyNetTransformer

    stacks = (
        EnergyNetTransformer(
            "description_length", unit_cost=0.01, n_final_epochs=1, n_temperatures=10
        ),
        EnergyNetTransformer(
            "infinite_rbm", max_layers=1, max_units=3, n_final_epochs=1
        ),
        EnergyNetTransformer(None, [25, 25], n_final_epochs=1, n_temperatures=10),
        EnergyNetTransformer(max_layers=1, max_units=2, n_final_epochs=1),
    )
    for stack in stacks:
        stack.set_params(coding="minmax", random_state=0)
        stack.fit(_GRADED).score(_GRADED[:2])


def _compile_optimize() -> None:
    from skmohn.datasets import make_mk_trap
    from skmohn.optimize import maximize

    make_mk_trap(2, 1)
    for method in ("annealing", "tabu", "weight_satisfaction", "exact"):
        maximize({(0, 1, 2): 1.0, (0, 3): 1.0}, method)


# The longest first: it takes as long as all others.
FAMILIES = {
    "mohn": _compile_mohn,
    "blm": _compile_blm,
    "energynet": _compile_energynet,
    "optimize": _compile_optimize,
}
