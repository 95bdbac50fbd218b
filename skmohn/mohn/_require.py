"""Requirements of other packages for a model that they get."""

from sklearn.utils.validation import check_is_fitted

from skmohn.mohn._regressor import MOHNRegressor


def require_regressor(model: object, parameter: str) -> None:
    """Refuse all but a regressor fitted to one target."""
    if not isinstance(model, MOHNRegressor):
        raise TypeError(
            f"{parameter} must be a MOHNRegressor, got {type(model).__name__}; from a "
            "Pipeline or a search, pass the fitted step, such as pipeline[-1]"
        )
    check_is_fitted(model)
    if hasattr(model, "estimators_"):
        raise ValueError(
            f"{parameter} has {len(model.estimators_)} targets, and this takes one: "
            f"pass {parameter}.estimators_[k]"
        )
