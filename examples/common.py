"""What `demo.py` and `tour.py` have in common; they import it first."""

import os
import sys
import time

# Before libraries start threads, which on small tables only wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import matplotlib

matplotlib.use("Agg")  # no screen is needed

import skmohn

BLUE, RED, GRAY, BLACK = "#2e6f95", "#c8553d", "#a8a294", "#333333"


def begin():
    """Compile the kernels; return when this began."""
    # Each line at once, wherever it goes: some take seconds.
    sys.stdout.reconfigure(line_buffering=True)
    started = time.perf_counter()
    print(f"skmohn {skmohn.__version__}. Loading kernels; the first run on a machine")
    print("compiles them, which takes 20 to 60 seconds ...")
    skmohn.warm_up()
    print(f"Kernels are ready after {time.perf_counter() - started:.0f} s.")
    return started


def heading(text):
    """Print a heading."""
    print(f"\n{text}\n{'-' * len(text)}")
