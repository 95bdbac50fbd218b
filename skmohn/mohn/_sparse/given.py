"""Terms that a user gives: all of a model, or those that are always in it."""

from skmohn._core._validation import read_sets
from skmohn.mohn._table.term_names import find_sets, to_inputs


def listed_terms(samples, settings):
    """The parameter `terms`, checked, as sets of inputs.

    Parameters
    ----------
    samples : Samples

    settings : Wishes

    Returns
    -------
    terms : list of tuples of int
    """
    index, n_features = samples.term_names.index, len(samples.coding.kind)
    given = read_sets(settings.terms, "terms")
    terms = find_sets(given, n_features, index, settings.max_order)
    usable = set(samples.coding.usable.tolist())
    for term in terms:
        for i in set(term).difference(usable):
            raise ValueError(
                f"terms has {term}, but column {i} of X is constant: the weight "
                "cannot be learned"
            )
    return to_inputs(terms, samples.coding.usable)


def terms_of_all_models(samples, settings):
    """What a search does not decide on, none or :func:`listed_terms`."""
    if settings.terms is None:
        return ()
    for name in ("selection", "learning_rule"):
        if getattr(settings, name) == "lasso":
            raise ValueError(
                f'{name}="lasso" would shrink the weights of the terms given: use '
                f"another {name}, or terms=None"
            )
    return tuple(listed_terms(samples, settings))
