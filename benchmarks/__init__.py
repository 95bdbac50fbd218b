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
if "numpy" in sys.modules and any(os.environ.get(v) != "1" for v in THREAD_VARIABLES):
    raise ImportError("numpy has read the number of threads before benchmarks was read")
os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
