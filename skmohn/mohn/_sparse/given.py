"""Terms that the user lists."""

from skmohn._core._types import Term
from skmohn._core._validation import read_sets
from skmohn.mohn._options import FitSettings
from skmohn.mohn._table.term_names import find_sets, to_inputs
from skmohn.mohn._training_data import TrainingData


def listed_terms(samples: TrainingData, settings: FitSettings) -> list[Term]:
    """Validate the parameter `terms`; return sets of inputs."""
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


def terms_of_all_models(
    samples: TrainingData, settings: FitSettings
) -> tuple[Term, ...]:
    """Terms of every model of a search: those that the user lists, if any."""
    if settings.terms is None:
        return ()
    for name in ("selection", "learning_rule"):
        if getattr(settings, name) == "lasso":
            raise ValueError(
                f'{name}="lasso" would shrink the weights of the terms given: use '
                f"another {name}, or terms=None"
            )
    return tuple(listed_terms(samples, settings))
