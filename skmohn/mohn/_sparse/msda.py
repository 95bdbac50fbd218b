"""Structure discovery by stochastic search: sample weights, learn, remove, repeat."""

# The algorithm of
#
# [S1] K. Swingler, "Structure discovery in mixed order hyper networks", Big Data
# Analytics 1:8, 2016, and
#
# [S2] K. Swingler, "Learning and searching pseudo-Boolean surrogate functions from
# small samples", Evolutionary Computation 28(2), 2020, section 3.1.1.
#
# Two things are added to it by `MSDAOptions.refit`. Each iteration also solves least
# squares on the weights it kept: once they hold the whole structure of a noise-free
# function this reproduces it to rounding, and the search is over. And the lasso's
# penalty follows the error of that solution, so that small weights come into reach as
# the large ones are found.

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import betaln

from skmohn._core._tuned import tuned
from skmohn._core._types import Term
from skmohn.mohn._design.design import Design
from skmohn.mohn._design.terms import count_orders, with_kept
from skmohn.mohn._options import MSDAOptions
from skmohn.mohn._sparse.exact_fit import ExactFitTest, exact_error, rounding_variance
from skmohn.mohn._sparse.linear_solvers import (
    LassoFit,
    Moments,
    delta_rule,
    first_estimate,
    lasso,
    longest_step,
    moments,
    ols,
)
from skmohn.mohn._sparse.proposals import Proposals
from skmohn.mohn._table.rows import rms


@dataclass(frozen=True)
class MSDAConstants:
    """Ends of a search without error."""

    # With more weights than this fraction of the distinct rows a small error is no
    # evidence.
    max_weights_fraction: float = tuned(0.8, "benchmarks/ablation.py")
    # Weights that contribute less than this fraction of the rounding error are zero.
    min_weight_rounding: float = tuned(0.1, "rounding")


_MSDA = MSDAConstants()
# Least error, which has a logarithm.
_TINY = np.finfo(float).tiny


class Model(NamedTuple):
    """Terms, their coefficients and the intercept."""

    terms: list[Term]
    coef: np.ndarray
    intercept: float


class _Solved(NamedTuple):
    """Least squares on some terms: its errors, and how good the terms are."""

    model: Model
    rank: int
    rmse: float
    held_out: float | None
    score: float


# Design and targets of held-out samples.
Validation: TypeAlias = tuple[Design, NDArray[np.float64]]
OnIteration: TypeAlias = Callable[[dict[str, Any], Model], object]


def discover(
    design: Design,
    y: NDArray[np.float64],
    control: MSDAOptions | None = None,
    learning_rule: str = "lasso",
    rng_seed: int = 0,
    *,
    max_order: int | None = None,
    max_iter: int = 200,
    alpha: float | Literal["auto"] = "auto",
    learning_rate: float | str = "auto",
    validation: Validation | None = None,
    on_iteration: OnIteration | None = None,
    initial_terms: Sequence[Term] = (),
) -> tuple[Model, str, list[dict[str, Any]]]:
    """Search for the weights of a sparse model ([S1]; [S2] Algorithm 1)."""
    # `learning_rule` is "lasso", "ols" or "delta". `max_order` None is the number of
    # inputs. `alpha` "auto" is the control's `penalty_factor`, or the best of several,
    # times the standard error of a weight at the model's current error; `learning_rate`
    # "auto" is a fifth of :func:`longest_step`. Validation samples choose the best
    # model, which is exact only if it is so on them. `on_iteration` is called with a
    # record and the model after each iteration, and returns whether to stop. Returned
    # are least squares on the best terms, the stopping reason and the coverage. The
    # reason is "exact", "no_improvement", "exhausted" (all sets were tried), "stopped"
    # (by `on_iteration`) or "max_iter".
    control = MSDAOptions() if control is None else control
    search = _Search(
        design,
        y,
        control,
        learning_rule,
        rng_seed,
        max_order=max_order,
        max_iter=max_iter,
        alpha=alpha,
        learning_rate=learning_rate,
        validation=validation,
        terms=initial_terms,
    )
    reason = search.verdict()
    while reason is None:
        record = search.iterate()
        stop = on_iteration is not None and on_iteration(record, search.model)
        reason = search.verdict() or ("stopped" if stop else None)
    return search.best, reason, search.coverage()


class _Search:
    """State of one run; :meth:`iterate` is one turn of the articles' loop."""

    def __init__(
        self,
        design: Design,
        y: NDArray[np.float64],
        control: MSDAOptions,
        rule: str,
        seed: int,
        *,
        max_order: int | None,
        max_iter: int,
        alpha: float | Literal["auto"],
        learning_rate: float | str,
        validation: Validation | None,
        terms: Sequence[Term],
    ) -> None:
        self.design, self.y, self.control, self.rule = design, y, control, rule
        self.max_iter, self.alpha, self.learning_rate = max_iter, alpha, learning_rate
        self.validation = validation
        self.remove_zeros = _removes_zeros(control.removal, rule)
        self.proposals = Proposals(design.n_features, control, seed, max_order)
        self.shuffle = np.random.default_rng(seed)
        # Weights count repeated rows.
        self.n_effective = float(design.weight_sum)
        self.chance = ExactFitTest(self._inputs(), y)
        self.iteration = 0
        self.exact = self.exhausted = False
        self.terms = [tuple(sorted(term)) for term in terms]
        self.columns: Any = design.columns(self.terms)
        self.moments = moments(design, self.columns, y)
        self.coef = np.zeros(len(self.terms))
        self.intercept = self.moments.target_mean
        spread = np.sqrt(self.moments.target_square / self.moments.weight_sum)
        self.exact_rmse = exact_error(y, spread)
        self.min_rmse = np.sqrt(rounding_variance(y))
        self.noise = spread
        self.best_score = np.inf
        self.best_iteration = self.forgotten_iteration = 0
        self.best = self.model
        self.proposals.start_from(self.terms)
        self._keep_best()
        self.coef, self.intercept = self.best.coef, self.best.intercept

    @property
    def model(self) -> Model:
        return Model(self.terms, self.coef, self.intercept)

    def iterate(self) -> dict[str, Any]:
        """Propose, learn, remove; return the record of this iteration."""
        self.iteration += 1
        if self.iteration % self.control.discard_period == 0:
            self._forget()
        proposed = self._propose()
        self._add(proposed)
        n_before = len(self.terms)
        self._learn()
        learned_rmse = self._training_rmse()
        self._remove()
        self.proposals.update(self.terms)
        self._keep_best()
        used = int(self.proposals.used.sum())
        highest = max(map(len, self.terms), default=0)
        return {
            "iteration": self.iteration,
            "learned_rmse": learned_rmse,
            "training_rmse": self._training_rmse(),
            "validation_rmse": self._validation_rmse(self.model),
            "n_weights": len(self.terms),
            "weights_per_order": tuple(count_orders(self.terms, highest).tolist()),
            "proposed": len(proposed),
            "removed": n_before - len(self.terms),
            "discarded": used - len(self.terms),
        }

    def verdict(self) -> str | None:
        """Stopping reason; None to go on."""
        if self.exact:
            return "exact"
        if self.exhausted:
            return "exhausted"
        patience = self.control.n_iter_no_change
        if patience is not None and self.iteration - self.best_iteration >= patience:
            return "no_improvement"
        return "max_iter" if self.iteration >= self.max_iter else None

    def coverage(self) -> list[dict[str, Any]]:
        """Possible, tried and kept sets of each order of which any was tried."""
        search = self.proposals
        rows = [
            {"order": order, "possible": possible, "tried": tried}
            for order, (possible, tried) in enumerate(
                zip(search.possible, search.tried.tolist(), strict=True), start=1
            )
            if tried
        ]
        return with_kept(rows, self.best.terms)

    def _propose(self) -> list[Term]:
        n_samples = int(self.n_effective)
        sizes = {"third": n_samples // 3, "n_features": self.design.n_features}
        batch = self.control.batch_size
        batch = max(sizes[batch] if isinstance(batch, str) else batch, 1)
        room = int(self.control.max_weight_share * self.chance.n_rows) - len(self.terms)
        if room <= 0:
            return []
        proposed = self.proposals.propose(batch, room, self.terms, self.coef)
        if not proposed and self.best_iteration > self.forgotten_iteration:
            # All sets were tried, but the model has changed since.
            self._forget()
            proposed = self.proposals.propose(batch, room, self.terms, self.coef)
        self.exhausted = not proposed
        return proposed

    def _forget(self) -> None:
        self.proposals.forget_discarded(self.terms)
        self.forgotten_iteration = self.iteration

    def _add(self, proposed: list[Term]) -> None:
        added = self.design.columns(proposed)
        self.moments = self.moments.extend(self.design, self.columns, added, self.y)
        self.columns = np.concatenate([self.columns, added])
        self.terms = self.terms + proposed
        self.coef = np.append(self.coef, np.zeros(len(proposed)))

    def _learn(self) -> None:
        if self.rule == "ols":
            self.coef, self.intercept, _ = ols(self.moments)
        elif self.rule == "lasso":
            fit = self._best_lasso()
            self.coef, self.intercept = fit.coef, fit.intercept
        else:
            self._learn_by_delta()

    def _best_lasso(self) -> LassoFit:
        """Lasso for each penalty, the largest first; the one with the best terms."""
        spread = np.sqrt(self.moments.target_square / self.moments.weight_sum)
        fits, coef = [], self.coef
        for alpha in self._penalties():
            # Well below the penalty, in units of the correlation with the target.
            tol = 0.01 * alpha / spread if spread > 0.0 else 1.0
            fits.append(lasso(self.moments, alpha, coef=coef, tol=tol))
            coef = fits[-1].coef
        return fits[0] if len(fits) == 1 else min(fits, key=self._score_terms)

    def _score_terms(self, fit: LassoFit) -> float:
        """Score of least squares on the nonzero terms of a lasso."""
        kept = np.flatnonzero(fit.coef)
        if len(kept) > _MSDA.max_weights_fraction * self.chance.n_rows:
            return np.inf
        terms = [self.terms[j] for j in kept]
        return self._solve(self.moments.select(kept), self.columns[kept], terms).score

    def _penalties(self) -> list[float]:
        """Penalties of the lasso, the largest first."""
        if not isinstance(self.alpha, str):
            return [self.alpha]
        squares = np.diagonal(self.moments.gram)
        size = (
            np.sqrt(squares.mean() / self.moments.weight_sum) if len(squares) else 1.0
        )
        factors = np.sort(np.atleast_1d(self.control.penalty_factor))[::-1]
        return (factors * self.noise * size / self.n_effective**0.5).tolist()

    def _learn_by_delta(self) -> None:
        """Estimate new weights from the residual; apply the delta rule to all."""
        left = self.moments.projection - self.moments.gram @ self.coef
        guess = first_estimate(self.moments._replace(projection=left))
        rate, weights = self.learning_rate, self.design.weights
        if rate == "auto":
            rate = 0.2 * longest_step(len(self.terms), weights)
        fit = delta_rule(
            self._inputs(),
            self.y,
            self.terms,
            np.where(self.coef == 0.0, guess, self.coef),
            self.intercept,
            learning_rate=rate,
            n_epochs=self.control.n_epochs,
            rng=self.shuffle,
            sample_weight=weights,
        )
        self.coef, self.intercept = fit.coef, fit.intercept

    def _inputs(self) -> NDArray[np.float64]:
        singles: Any = self.design.columns(
            [(i,) for i in range(self.design.n_features)]
        )
        return self.design.unpack(singles, np.float64).T

    def _remove(self) -> None:
        """Remove weights that are zero or insignificant."""
        self._keep(self.coef != 0.0)
        if not self.remove_zeros:
            # The lasso shrinks its weights: least squares is tested.
            tested = ols(self.moments).coef if self.rule == "lasso" else self.coef
            self._keep(np.abs(tested) > self._min_significant(tested))

    def _keep(self, mask: NDArray[np.bool_]) -> None:
        index = np.flatnonzero(mask)
        self.moments = self.moments.select(index)
        self.columns = self.columns[index]
        self.terms = [self.terms[j] for j in index]
        self.coef = self.coef[index]

    def _min_significant(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Critical size of each weight in the t-test ([S1] Eq 15)."""
        control = self.control
        level = control.p_critical * control.p_decay ** (self.iteration - 1)
        level = max(level, control.p_minimum)
        dof = max(self.n_effective - len(self.terms) - 1.0, 1.0)
        weight_sum = self.moments.weight_sum
        if control.t_variance == "target":
            error = self.moments.target_square / weight_sum / self.n_effective
        else:
            # The inverse Gram matrix of k random columns is larger by D / (D - k).
            left = self.moments.residual_square(coef) / weight_sum
            error = left * (self.n_effective / dof) / dof
        squares = np.diagonal(self.moments.gram) / weight_sum
        safe = np.where(squares > 0.0, squares, 1.0)
        return stats.t.isf(level / 2, dof) * np.sqrt(error / safe)

    def _keep_best(self) -> None:
        """Compare the model with the best one."""
        if self.control.refit:
            self._refit()
            return
        held_out = self._validation_rmse(self.model)
        error = self._training_rmse() if held_out is None else held_out
        self.exact = bool(error <= self.exact_rmse)
        self._update_best(self.model, 2.0 * np.log(max(error, _TINY)))

    def _refit(self) -> None:
        """Solve least squares on the kept weights; update noise and best model."""
        if len(self.terms) > _MSDA.max_weights_fraction * self.chance.n_rows:
            return
        solved = self._solve(self.moments, self.columns, self.terms)
        fraction = (solved.rank + 1.0) / self.n_effective
        self.noise = solved.rmse / np.sqrt(max(1.0 - fraction, 1e-3))
        largest = max(solved.rmse, solved.held_out or 0.0)
        if largest <= self.exact_rmse and self._finish(solved.model.coef):
            return
        self._update_best(solved.model, solved.score)

    def _update_best(self, model: Model, score: float) -> None:
        """Remember a model whose score is the lowest."""
        if score < self.best_score - 2.0 * self.control.tol:
            self.best, self.best_score = model, score
            self.best_iteration = self.iteration

    def _solve(self, moments: Moments, columns: Any, terms: list[Term]) -> _Solved:
        """Least squares on some of the terms."""
        fit = ols(moments)
        model = Model(terms, fit.coef, fit.intercept)
        rmse = _rmse(self.design, columns, self.y, model)
        held_out = self._validation_rmse(model)
        if held_out is None:
            score = self._criterion(terms, rmse)
        else:
            score = 2.0 * np.log(max(held_out, _TINY))
        return _Solved(model, fit.rank, rmse, held_out, score)

    def _criterion(self, terms: list[Term], rmse: float) -> float:
        """Extended BIC per sample: the cost of the structure, order by order."""
        # Without this cost a search among millions of weights fits any noise.
        kept = count_orders(terms, self.proposals.max_order)
        price = len(terms) * np.log(self.n_effective)
        for possible, n in zip(self.proposals.possible, kept.tolist(), strict=True):
            if n:
                # log C(possible, n); numbers of sets may exceed the range of a float.
                size = float(min(possible, 10**300))
                price -= 2.0 * (betaln(size - n + 1.0, n + 1.0) + np.log(size + 1.0))
        rmse = max(rmse, self.min_rmse, _TINY)
        return 2.0 * np.log(rmse) + price / self.n_effective

    def _finish(self, coef: NDArray[np.float64]) -> bool:
        """Keep the nonzero weights of an exact solution, unless it may be by chance."""
        size = np.sqrt(np.diagonal(self.moments.gram) / self.moments.weight_sum)
        needed = np.abs(coef) * size > _MSDA.min_weight_rounding * self.exact_rmse
        if not self.chance.is_significant(
            [self.terms[j] for j in np.flatnonzero(needed)]
        ):
            return False
        self._keep(needed)
        fit = ols(self.moments)
        self.coef, self.intercept = fit.coef, fit.intercept
        self.best, self.exact = self.model, True
        return True

    def _training_rmse(self) -> float:
        return _rmse(self.design, self.columns, self.y, self.model)

    def _validation_rmse(self, model: Model) -> float | None:
        if self.validation is None:
            return None
        design, y = self.validation
        return _rmse(design, design.columns(model.terms), y, model)


def _removes_zeros(removal: str, rule: str) -> bool:
    if rule not in ("lasso", "ols", "delta"):
        raise ValueError(f"learning_rule must be lasso, ols or delta, not {rule!r}")
    if removal == "auto":
        return rule == "lasso"
    if removal == "zero" and rule != "lasso":
        raise ValueError(
            f"learning_rule={rule!r} sets no weight to zero: use removal='t_test'"
        )
    return removal == "zero"


def _rmse(design: Design, columns: Any, y: NDArray[np.float64], model: Model) -> float:
    error = y - model.intercept - design.combine(columns, model.coef)
    return rms(error, design.weights)
