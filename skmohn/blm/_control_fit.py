"""What a controller's fit does: from parameters to a plan, from runs to attributes."""

from copy import deepcopy

import numpy as np
from joblib import Parallel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from skmohn._core._fitting import FitLoop, History
from skmohn.blm._codec import gray_bits, grid_step
from skmohn.blm._control import ControlPlan, train_controller
from skmohn.blm._network import read_hidden_sizes
from skmohn.blm._objective import read_size
from skmohn.blm._policy import PolicyLayout
from skmohn.blm._search import WORST, SearchControl


class ControllerFit:
    """The part of an estimator that trains a network on objectives."""

    def _plan(self, stages, validation):
        if self.neighborhood == "best" and self.search == "adaptive":
            raise ValueError(
                'neighborhood="best" looks at all bits and needs search="gray"'
            )
        if self.telescopic is not None and self.start_bits > self.n_bits:
            raise ValueError(
                f"start_bits={self.start_bits} is above n_bits={self.n_bits}"
            )
        hidden = read_hidden_sizes(self.hidden_layer_sizes)
        n_inputs, n_outputs = (
            read_size(name, getattr(self, name), stages)
            for name in ("n_inputs", "n_outputs")
        )
        layout = PolicyLayout((n_inputs, *hidden, n_outputs), self.recurrent)
        layout.require_memory(0, self.n_bits)
        random = check_random_state(self.random_state)
        return ControlPlan(
            stages,
            validation,
            self.validation_goal,
            int(random.randint(2**31)),
            layout,
            self.activation,
            self.out_activation,
            SearchControl(
                self.n_bits,
                self.search,
                self.neighborhood,
                self.telescopic,
                self.start_bits,
                self.phi,
                self.eta,
                self.freeze,
                # Whatever is added to all losses must not hide what weights gain.
                least_gain=0.0,
            ),
            grid_step(self.n_bits, self._ranges(layout)),
            self.init,
            self.w_init,
            self.perturbation,
            self.noisy,
            self.validate_every,
        )

    def _ranges(self, layout):
        """Largest value of each weight."""
        n_layers = len(layout.sizes) - 1
        w_max = check_array(
            np.atleast_1d(self.w_max), dtype=float, ensure_2d=False, input_name="w_max"
        )
        if w_max.shape not in ((1,), (n_layers,)) or not np.all(w_max > 0):
            raise ValueError(
                f"w_max must be a positive number, or one for each of the {n_layers} "
                f"layers of weights, got {self.w_max!r}"
            )
        own = None
        if self.w_max_recurrent != "auto":
            own = np.full(n_layers, float(self.w_max_recurrent))
        return layout.spread(np.broadcast_to(w_max, n_layers), own)

    def _search(self, plan):
        goes_on = self.warm_start and hasattr(self, "_runs")
        runs = self._reopened(plan) if goes_on else []
        random = check_random_state(self.random_state)
        seeds = random.randint(2**31, size=self.n_restarts).tolist()
        kept = list(self.history_) if goes_on else []
        loop = FitLoop(
            self,
            None,
            None,
            None,
            None,
            lambda run, best: self._fitted([best], plan),
            history=kept,
        )
        runs, why = train_controller(
            plan,
            runs,
            seeds,
            # Large arrays would come as files that cannot be written to.
            Parallel(n_jobs=self.n_jobs, max_nbytes=None),
            self.n_jobs,
            lambda run, best: loop.step(run.records[-1], run, best),
            self.max_time,
        )
        best = runs[0]
        loop.finish(best, best)
        if best.best_loss >= WORST:
            raise ValueError(
                f"the objective returned no finite loss in {best.evaluations} "
                "evaluations: it must be finite for some of the weights that the "
                "search begins with (w_init, init)"
            )
        for name, value in self._fitted(runs, plan).items():
            setattr(self, name, value)
        self.loss_ = float(plan.believed_loss(best))
        self._runs = sorted(runs, key=lambda run: run.index)
        self.stopping_reason_ = best.reason or why
        self.history_ = _in_order(loop.history, {run.index for run in runs})
        self.n_iter_ = len(self.history_)

    def _reopened(self, plan):
        """Runs of the last fit; the best goes on when all have ended."""
        # A fit that fails leaves them as they were.
        runs, before, now = deepcopy(self._runs), self._made_with, _made_with(plan)
        same_search = now.pop("search") == before["search"]
        changed = [name for name in now if not np.array_equal(now[name], before[name])]
        if changed:
            raise ValueError(
                "the network has changed since the fit that warm_start goes on from "
                f"({' and '.join(changed)}): keep it, or fit anew"
            )
        if max(run.stage for run in runs) >= len(plan.stages):
            raise ValueError(
                f"warm_start goes on in stage {max(run.stage for run in runs) + 1}, "
                f"and objective has {len(plan.stages)} stages"
            )
        for run in runs:
            if not same_search or not plan.recalls(run):
                plan.judge_anew(run)
        if all(run.reason is not None for run in runs):
            best = min(runs, key=lambda run: (not run.succeeded, run.merit))
            best.reason, best.in_stage, best.succeeded = None, 0, False
        return runs

    def _fitted(self, runs, plan):
        """Fitted attributes, given the best run and all others."""
        best, codes = runs[0], runs[0].best_codes
        coefs, intercepts, own = plan.layout.split(codes * plan.step)
        return {
            "policy_": plan.policy(codes),
            "codes_": codes,
            "coefs_": coefs,
            "intercepts_": intercepts,
            "recurrent_coefs_": own,
            "weight_bits_": gray_bits(codes, self.n_bits),
            "nbytes_": -(-plan.layout.n_weights * self.n_bits // 8),
            "loss_": float(best.best_loss),
            "succeeded_": bool(best.succeeded),
            "n_stages_done_": best.n_done,
            "n_restarts_": len(runs),
            "n_evaluations_": sum(run.evaluations for run in runs),
            "n_features_in_": plan.layout.sizes[0],
            "_made_with": _made_with(plan),
        }


def _made_with(plan):
    """What a later fit must share to go on from these weights, and how they moved."""
    return {
        "layers": plan.layout.sizes,
        "recurrent": bool(plan.layout.recurrent),
        "n_bits": plan.control.n_bits,
        "w_max": plan.step,
        "activation": plan.activation,
        "out_activation": plan.out_activation,
        "search": plan.control,
    }


def _in_order(history, indices):
    """Records of these restarts, one after the other."""
    kept = [record for record in history if record["restart"] in indices]
    kept.sort(key=lambda record: record["restart"])
    return History({**record, "iteration": k + 1} for k, record in enumerate(kept))
