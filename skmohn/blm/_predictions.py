"""What the outputs of a network say about the classes."""

from sklearn.utils.metaestimators import available_if


def has_probabilities(estimator):
    """Whether the outputs are probabilities, as last fitted or else as to be fitted."""
    if hasattr(estimator, "out_activation_"):
        return estimator.out_activation_ != "identity"
    return _means_probabilities(estimator.loss)


def _has_raw_outputs(estimator):
    return not has_probabilities(estimator)


def _means_probabilities(loss):
    return loss in ("cross_entropy", "squared")


class ClassPredictionMixin:
    """Classes, and how sure they are, from the outputs of a network."""

    def predict(self, X):
        """Predict classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels.
        """
        outputs = self._outputs(X)
        # Raw outputs are compared with 0, probabilities with one half.
        threshold = 0.5 if has_probabilities(self) else 0.0
        return self._in_form(self._labels.decode(outputs, threshold), X)

    @available_if(has_probabilities)
    def predict_proba(self, X):
        """Predict the probabilities of the classes.

        There for the losses that make the outputs probabilities, "cross_entropy" and
        "squared".

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            For a multilabel target, the probability of each label. Logistic outputs of
            several classes are divided by their sum.
        """
        outputs = self._outputs(X)
        return self._in_form(self._labels.probabilities(outputs), X)

    @available_if(_has_raw_outputs)
    def decision_function(self, X):
        """Predict how much speaks for each class.

        There for the losses that leave the outputs as they are, "hinge", "zero_one" and
        callables; the others have :meth:`predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Outputs of the network, the mean of them for an ensemble. Of two classes the
            second is predicted above 0; of more the one with the largest output; of a
            multilabel target each label whose output is above 0.
        """
        outputs = self._outputs(X)
        return self._in_form(self._labels.scores(outputs), X)

    def _out_activation(self):
        """Activation of the outputs that the loss asks for."""
        if not _means_probabilities(self.loss):
            return "identity"
        is_softmax = self.loss == "cross_entropy" and self._labels.one_of_many
        return "softmax" if is_softmax else "logistic"
