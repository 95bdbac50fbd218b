"""Errors that are none: no result can show what they change.

Each is named by the function or the constant that it is in and by its change, as
`make mutants` prints them, and has a reason. What merely has no test does not belong
here.
"""

SAME_NUMBERS = "scipy looks for NaN and infinities first, of which there are none"

EQUIVALENT = {
    "energynet/_training": {
        ("Plan.advance", "break  ->  continue"): "a run that is over stays so",
    },
    "mohn/_sparse/logistic_selection": {
        ("learn_on_folds", "1  ->  2"): "where nothing is searched, no order is",
    },
    "mohn/_dense/noise": {
        ("_log_density", "False  ->  True"): SAME_NUMBERS,
    },
}
