"""Errors that are none: no result can show what they change.

Each is named by the function or the constant that it is in and by its change, as
`make mutants` prints them, and has a reason. What merely has no test does not belong
here.
"""

SAME_NUMBERS = "scipy looks for NaN and infinities first, of which there are none"

ONLY_SLOWER = "where sums are taken apart makes no difference but of time and rounding"

EQUIVALENT = {
    "energynet/_partition": {
        ("PartitionConstants.n_states_per_block", "256  ->  512"): ONLY_SLOWER,
        (
            "exact_log_partition",
            "1 + np.searchsorted(np.cumprod(outer.sizes + 1.0), "
            "PARTITION.n_states_per_block)  ->  "
            "1 - np.searchsorted(np.cumprod(outer.sizes + 1.0), "
            "PARTITION.n_states_per_block)",
        ): ONLY_SLOWER,
        (
            "exact_log_partition",
            "outer.sizes + 1.0  ->  outer.sizes - 1.0",
        ): ONLY_SLOWER,
        ("exact_log_partition", "1.0  ->  2.0"): ONLY_SLOWER,
        (
            "_log_sums_of_pairs",
            "np.log(groups.sizes + 1)  ->  groups.sizes + 1",
        ): ONLY_SLOWER,
        (
            "_log_sums_of_pairs",
            "np.cumsum(largest) // PARTITION.max_exponent  ->  "
            "np.cumsum(largest) * PARTITION.max_exponent",
        ): ONLY_SLOWER,
        (
            "_log_sums_of_pairs",
            "len(starts) < len(bounds)  ->  len(starts) <= len(bounds)",
        ): "a row alone is its sum",
    },
    "energynet/_training": {
        ("Schedule.advance", "break  ->  continue"): "a run that is over stays so"
    },
    "mohn/_sparse/logistic_selection": {
        ("learn_on_folds", "1  ->  2"): "where nothing is searched, no order is"
    },
    "mohn/_gp/heteroscedastic_noise": {
        ("_log_density", "False  ->  True"): SAME_NUMBERS
    },
}
