"""Tables of mixed columns with missing values, and learners that need other ones."""

from importlib import import_module

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def read_table(path):
    """Return columns, those of text as categories, and the target, the last one."""
    table = pd.read_csv(path)
    X = table.iloc[:, :-1]
    texts = X.select_dtypes(exclude="number").columns
    return X.astype(dict.fromkeys(texts, "category")), table.iloc[:, -1]


def with_missing_inputs(X, fraction, seed):
    """Return the columns with a fraction of all cells unknown, chosen by chance."""
    if not fraction:
        return X
    is_missing = np.random.default_rng(seed).random(X.shape) < fraction
    numbers = X.select_dtypes("number").columns
    return X.astype(dict.fromkeys(numbers, float)).mask(is_missing)


def prepared(learner):
    """Return a learner of numbers that gets scaled, imputed and one-hot columns."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = OneHotEncoder(
        handle_unknown="ignore", min_frequency=2, sparse_output=False
    )
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_exclude="category")),
        (categories, make_column_selector(dtype_include="category")),
    )
    return make_pipeline(columns, learner)


def catboost(name, seed):
    """Return CatBoost; a missing category is one of its own."""

    class WithColumns(getattr(import_module("catboost"), name)):
        def fit(self, X, y):
            self.texts_ = list(X.select_dtypes("category").columns)
            return super().fit(self._texts(X), y, cat_features=self.texts_)

        def predict(self, X):
            return super().predict(self._texts(X))

        def predict_proba(self, X):
            return super().predict_proba(self._texts(X))

        def _texts(self, X):
            texts = X[self.texts_].astype(object)
            return X.assign(**texts.where(texts.notna(), "missing").astype(str))

    return WithColumns(
        thread_count=1, verbose=False, random_seed=seed, allow_writing_files=False
    )
