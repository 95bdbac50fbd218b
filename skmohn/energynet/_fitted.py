"""What a fitted stack of layers does: features, reconstructions, samples, scores."""

from copy import deepcopy
from numbers import Integral

import numpy as np
from scipy.special import expit
from sklearn.base import TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar, gen_batches
from sklearn.utils._set_output import _get_container_adapter
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_array,
    check_is_fitted,
)

from skmohn._core._fitting import one_blas_thread, warn_caller
from skmohn._core._html import ComputedProperty, ListedAttributes
from skmohn._core._rows import order_of
from skmohn._core._scaling import plain_scaler, require_finite
from skmohn._core._times import validate_columns
from skmohn._core._validation import densify
from skmohn.energynet._building import widths_of
from skmohn.energynet._coding import MINMAX, UnitCoding
from skmohn.energynet._missing import completions, filled, unknown_units
from skmohn.energynet._partition import require_settled, settled_log_partition
from skmohn.energynet._rbm import RBM, ROWS_AT_ONCE, draw_visible, random_stream
from skmohn.energynet._samples import read_weights, rows_of
from skmohn.energynet._scoring import (
    known_log_likelihood,
    log_likelihoods,
    marginal_log_likelihood,
)

# Attributes that say how well layers describe the samples of a fit.
_MEASURED = ("log_likelihood_", "complexity_", "description_length_")
# Rows that stand for the data where only their means are needed.
_ROWS_OF_MEANS = 1000


class FittedStackMixin(ListedAttributes, TransformerMixin):
    """The methods of a stack that has its layers, coding and scalers."""

    def transform(self, X):
        """Compute the probabilities of the hidden units.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sparse input is made dense. NaN means unknown: probabilities of the first
            layer are then means over all that the unknown values could be.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Of the layers that `layer` says, standardised if `standardize` says so, and
            the columns of X if `append_input` does, as :meth:`impute` completes them.
            Probabilities of a layer above the first are computed from those of the
            layer below.
        """
        check_is_fitted(self)
        X = self._read_table(X)
        if self.standardize and self.append_input:
            require_finite(self.scalers_[-1], "X")
        return np.concatenate([self._transform_batch(X[rows]) for rows in _batches(X)])

    def impute(self, X):
        """Put values that are expected, given the others, in the place of NaN.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Sparse input is made dense.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The samples, in the container that ``set_output`` asks for. What was NaN is
            the mean of the values it could be, weighted with their probabilities under
            the first layer: that of a 1 for a column within [0, 1], the mean level of a
            thermometer. The mean is exact where the unknown values or the hidden units
            have at most 4096 states, and else that of chains.
        """
        check_is_fitted(self)
        given, X = X, self._read_table(X)
        X = np.concatenate([self._impute_batch(X[rows]) for rows in _batches(X)])
        container = _get_container_adapter("transform", self)
        if container is None:
            return X
        return container.create_container(X, given, _check_feature_names_in(self))

    def inverse_transform(self, X):
        """Reconstruct samples from the features that :meth:`transform` returns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features_out)
            Features. Of ``layer="all"`` the highest layer is used, and columns appended
            by `append_input` are not.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            From each layer down the probabilities of the units below are computed from
            those above.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=np.float64, input_name="X")
        n_columns = len(self.get_feature_names_out())
        if X.shape[1] != n_columns:
            raise ValueError(
                f"X has {X.shape[1]} features, but transform returns {n_columns}"
            )
        shown = [k for k in self._shown() if k < len(self.weights_)]
        top, widths = shown[-1], [self.n_components_per_layer_[k] for k in shown]
        states = X[:, sum(widths[:-1]) : sum(widths)]
        if self.standardize:
            states = self.scalers_[top].inverse_transform(states)
        states = np.clip(states, 0.0, 1.0)
        for rbm in reversed(self.layers_[: top + 1]):
            states = rbm.visible_probabilities(states)
        return self.coding_.decode(states)

    def get_feature_names_out(self, input_features=None):
        """Name the columns that :meth:`transform` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X; None for those seen in `fit`.

        Returns
        -------
        ndarray of str
            ``"layer0_unit0"`` and so on; appended columns keep their names.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        blocks = [
            [f"layer{k}_unit{i}" for i in range(width)]
            for k, width in enumerate(self.n_components_per_layer_)
        ]
        blocks.append(names)
        return np.concatenate([blocks[k] for k in self._shown()]).astype(object)

    @one_blas_thread
    def sample(self, n_samples=1, n_steps=1000, random_state=None):
        """Draw samples from the model.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples, each from a chain of its own.

        n_steps : int, default=1000
            Steps of Gibbs sampling of the highest layer, from random bits.

        random_state : int, RandomState instance or None, default=None
            Pass an int for the same samples each time.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            In the units of X: bits for columns within [0, 1], mean values of levels for
            thermometers.
        """
        check_is_fitted(self)
        check_scalar(n_samples, "n_samples", Integral, min_val=1)
        check_scalar(n_steps, "n_steps", Integral, min_val=1)
        random_state = check_random_state(random_state)
        *lower, top = self.layers_
        states = top.sample(n_samples, n_steps, random_state=random_state)
        stream = random_stream(random_state.randint(2**31 - 1))
        for rbm in reversed(lower):
            logits = states @ rbm.weights
            states = np.empty_like(logits)
            draw_visible(logits, rbm.visible_bias, rbm.thermometers, stream, states)
        return self.coding_.decode(states)

    def score_samples(self, X):
        """Estimate the log-likelihood of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, with NaN for unknown values.

        Returns
        -------
        ndarray of shape (n_samples,)
            In nats. Of columns that are thermometers it is a density in the units of X,
            whatever `n_bins`: that of a level is spread evenly over it, and falls
            exponentially beyond the outermost thresholds. Of others it is that of a
            bit, or where they are no bits the mean over bits drawn with such
            probabilities; values beyond [0, 1], or beyond the range of
            ``coding="minmax"``, lose a nat for each such range they are away. Columns
            that were constant say nothing. Of incomplete samples it is that of what is
            known of them. The same samples give the same numbers, whatever samples are
            beside them.

        Raises
        ------
        ValueError
            If a sample could be completed in more than 4096 ways, and there are several
            layers.
        """
        check_is_fitted(self)
        X = self._read_table(X)
        said = [self._score_batch(X[rows], rows.start) for rows in _batches(X)]
        return np.concatenate(said)

    def score(self, X, y=None):
        """Estimate the mean log-likelihood.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        y : None
            Not used.

        Returns
        -------
        float
            Mean of :meth:`score_samples`, in nats per sample.
        """
        return float(self.score_samples(X).mean())

    def _transform_batch(self, X):
        units = self._encode(X)
        X, incomplete = filled(self.layers_[0], self.coding_, X, units, self._seed)
        blocks = feature_blocks(self.layers_, units, X, incomplete)
        if self.standardize:
            blocks = [self.scalers_[k].transform(blocks[k]) for k in self._shown()]
        else:
            blocks = [blocks[k] for k in self._shown()]
        return np.hstack(blocks).astype(X.dtype, copy=False)

    def _impute_batch(self, X):
        units = self._encode(X)
        return filled(self.layers_[0], self.coding_, X, units, self._seed)[0]

    def _score_batch(self, X, start):
        """Log-likelihoods of samples, of which the first has the number `start`."""
        units = self._encode(X)
        log_z = self._log_partition_of(len(self.weights_) - 1).value
        rbms, options = self.layers_, (log_z, self.n_draws, self._seed)
        incomplete, found = unknown_units(self.coding_, X), np.empty(len(X))
        complete = np.ones(len(X), dtype=bool)
        complete[list(incomplete)] = False
        found[complete] = log_likelihoods(rbms, units[complete], *options)
        for row, unknown in incomplete.items():
            if len(rbms) == 1:
                found[row] = known_log_likelihood(
                    rbms[0], units[row], unknown, log_z, self._input_means[0],
                    self.n_temperatures, self._seed,
                )  # fmt: skip
            else:
                states = completions(self.coding_, units[row], unknown, start + row)
                found[row] = marginal_log_likelihood(rbms, states, *options)
        return found + self.coding_.log_density(X)

    @property
    def layers_(self):
        """Weights and biases of each layer as a list of RBM, from the bottom up."""
        check_is_fitted(self)
        parts = self.weights_, self.hidden_bias_, self.visible_bias_
        first, *others = zip(*parts, strict=True)
        return [
            RBM(*first, self.coding_.thermometers),
            *(RBM(*layer) for layer in others),
        ]

    @ComputedProperty
    def log_partition_(self):
        """Log partition function of each layer, a list of LogPartition.

        Each has a ``value``, its ``standard_error`` and ``effective_sample_size``. What
        the fit has not needed is estimated when asked for, by annealed importance
        sampling with `n_temperatures`, and four times as many where the effective
        sample size is less than 10; a warning says if it still is.
        """
        check_is_fitted(self)
        return [self._log_partition_of(k) for k in range(len(self.weights_))]

    def _read_samples(self, X, sample_weight, learn):
        """Check samples and parameters; return samples and visible units.

        Rows are repeated as their weights say, and put in an order of their own.
        """
        widths = widths_of(self)
        if widths is not None:
            check_layer(self.layer, len(widths))
            if not learn and widths != self.n_components_per_layer_:
                raise ValueError(
                    "n_components has changed since the fit that warm_start or "
                    "partial_fit goes on from: keep it, or fit anew"
                )
        # A single sample leaves nothing to learn from.
        n_needed = 2 if learn else 1
        X = self._read_table(X, reset=learn, ensure_min_samples=n_needed)
        weights = read_weights(sample_weight, X)
        if weights is not None:
            X = X[rows_of(weights)]
        X = _complete_samples(X, n_needed)
        if learn:
            self.coding_ = UnitCoding.learn(X, self.coding, self.n_bins, self._names())
        # Coded again, since the units in two orders would take the most memory of all.
        X = X[order_of(self._encode(X))]
        return X, self._encode(X)

    def _new_seed(self):
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _fitted(self, rbms, X, units, earlier=None):
        """Fitted attributes of layers, with the scalers of earlier samples if any."""
        found = {
            "n_components_per_layer_": [rbm.n_hidden for rbm in rbms],
            "weights_": [rbm.weights for rbm in rbms],
            "hidden_bias_": [rbm.hidden_bias for rbm in rbms],
            "visible_bias_": [rbm.visible_bias for rbm in rbms],
            "_log_partitions": [None] * len(rbms),
        }
        scalers = [plain_scaler() for _ in range(len(rbms) + 1)]
        found["scalers_"] = scalers if earlier is None else deepcopy(earlier)
        sums = [np.zeros(rbm.n_visible) for rbm in rbms]
        for rows in _batches(X):
            blocks = feature_blocks(rbms, units[rows], X[rows])
            for total, inputs in zip(sums, (units[rows], *blocks[:-2]), strict=True):
                total += inputs.sum(axis=0, dtype=np.float64)
            for scaler, block in zip(found["scalers_"], blocks, strict=True):
                scaler.partial_fit(block)
        found["_input_means"] = [total / len(X) for total in sums]
        if self.standardize and self.append_input:
            require_finite(found["scalers_"][-1], "X")
        return found

    def _set_fitted(self, rbms, X, units, earlier=None):
        """Set them; what was said of other layers is withdrawn."""
        for name in _MEASURED:
            vars(self).pop(name, None)
        for name, value in self._fitted(rbms, X, units, earlier).items():
            setattr(self, name, value)

    def _expose(self, built, X, units, history):
        """Set the fitted attributes; warn of layers that did not come to their end."""
        self._set_fitted(built.rbms, X, units)
        self.stopping_reason_ = built.reason
        self.width_reasons_ = built.width_reasons
        if built.descriptions is not None:
            self._log_partitions = built.log_partitions
            for k, found in enumerate(built.log_partitions):
                require_settled(found, k)
            within = self.coding_.log_density(X).sum()
            totals = [found.log_likelihood + within for found in built.descriptions]
            self.log_likelihood_ = [float(total / len(X)) for total in totals]
            self.complexity_ = [found.complexity for found in built.descriptions]
            self.description_length_ = [
                float(found.total - within) for found in built.descriptions
            ]
        self.history_, self.n_iter_ = history, len(history)
        self.n_samples_seen_ = len(units)
        is_paper = self.growth == "paper"
        for k, limit in enumerate(built.limits):
            if limit is not None:
                warn_caller(
                    f"layer {k} was still growing at {limit}={getattr(self, limit)}: "
                    f"raise {limit}, or make units dearer by "
                    f"{'paper_control__threshold' if is_paper else 'kappa'}",
                    ConvergenceWarning,
                )
        return self

    @one_blas_thread
    def _log_partition_of(self, k):
        if self._log_partitions[k] is None:
            mean = self._input_means[k]
            self._log_partitions[k] = settled_log_partition(
                self.layers_[k],
                np.broadcast_to(mean, (_ROWS_OF_MEANS, len(mean))),
                n_temperatures=self.n_temperatures,
                random_state=self._seed,
            )
            require_settled(self._log_partitions[k], k)
        return self._log_partitions[k]

    def _shown(self):
        """Which of the blocks make up the features."""
        n_layers = len(self.weights_)
        if self.layer == "all":
            shown = list(range(n_layers))
        else:
            check_layer(self.layer, n_layers)
            shown = [range(n_layers)[self.layer]]
        return shown + [n_layers] * self.append_input

    def _encode(self, X):
        return self.coding_.encode(X, self._names())

    def _names(self):
        return getattr(self, "feature_names_in_", None)

    def _read_table(self, X, **options):
        options = {"reset": False, "ensure_all_finite": "allow-nan", **options}
        X = validate_columns(
            self, X, dtype=[np.float64, np.float32], accept_sparse="csr", **options
        )
        X = densify(X)
        kinds = [self.coding] if options["reset"] else self.coding_.kind
        if MINMAX in kinds and np.isnan(X).any():
            raise ValueError(
                'Input X contains NaN, and with coding="minmax" a column has no list '
                "of states that it could be in: impute first, for instance with "
                'sklearn.impute.KNNImputer, or use coding="thermometer"'
            )
        return X


def feature_blocks(rbms, units, X, incomplete=None):
    """Probabilities of the hidden units of each layer, and the columns of X.

    They are computed in the precision of X: in double precision they do not depend on
    which samples stand beside one another. Those of the first layer of `incomplete`
    samples, a dictionary, are known.
    """
    blocks, states = [], units.astype(X.dtype)
    for rbm in rbms:
        active = states @ rbm.weights.T.astype(X.dtype) + rbm.hidden_bias
        states = expit(active, dtype=X.dtype)
        if incomplete and not blocks:
            states[list(incomplete)] = list(incomplete.values())
        blocks.append(states)
    return [*blocks, X]


def _batches(X):
    """Rows that are coded at once: visible units take several times what values do."""
    return gen_batches(len(X), ROWS_AT_ONCE)


def _complete_samples(X, n_needed):
    """The samples without NaN, with a warning if there are others."""
    complete = ~np.isnan(X).any(axis=1)
    n_complete, n_samples = int(complete.sum()), len(X)
    if n_complete == n_samples:
        return X
    advice = "impute first, for instance with sklearn.impute.KNNImputer"
    if n_complete < n_needed:
        raise ValueError(
            f"Input X contains NaN: {n_complete} of {n_samples} samples are complete, "
            f"and at least {n_needed} must be, to learn from; {advice}"
        )
    warn_caller(
        f"{n_samples - n_complete} of {n_samples} samples have NaN and are left out of "
        f"the fit: {advice}, to learn from these too"
    )
    return X[complete]


def check_layer(layer, n_layers):
    """Refuse a layer that is not there."""
    if layer != "all" and not -n_layers <= layer < n_layers:
        raise ValueError(
            f"layer={layer} is not there: the stack has {n_layers} "
            f"{'layer' if n_layers == 1 else 'layers'}, the lowest is 0"
        )
