"""A script for each figure of the README, run as ``python -m benchmarks.mohn.auto``.

Everything is computed by one thread. Libraries read how many they may have when numpy
is loaded, so this is said here, before any script of the package begins.
"""

import os
import sys

THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# Otherwise numpy has read the variables already; `parse_options` then refuses to run.
IN_TIME = "numpy" not in sys.modules or all(
    os.environ.get(variable) == "1" for variable in THREAD_VARIABLES
)
if IN_TIME:
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
