"""
Asynchronous black-box optimization: ask and tell
=================================================

Some evaluations take longer than others. ``BlackBoxOptimizer`` needs no rounds: ask for
one point whenever a worker is free, and tell its value once it is measured. Points that
are being evaluated are not proposed again.
"""

# %%
# Ask one, tell one
# -----------------
#
# Four workers evaluate a spin glass of 16 spins; a point takes 0.1 to 0.5 seconds.
# Any pool of :mod:`concurrent.futures` will do, and so will dask's and mpi4py's.

import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import matplotlib.pyplot as plt
import numpy as np

from skmohn.datasets import make_ising
from skmohn.optimize import BlackBoxOptimizer

N_WORKERS, N_EVALUATIONS = 4, 60
glass = make_ising((4, 4), random_state=0)
started, log = time.perf_counter(), []


def energy(x):
    """Return the energy of spins given as 0 and 1, after a while."""
    begin = time.perf_counter() - started
    spins = 2.0 * x - 1.0
    value = float(glass.weights @ [np.prod(spins[list(t)]) for t in glass.terms])
    time.sleep(0.1 + 0.4 * np.mean(x))
    log.append((threading.get_ident(), begin, time.perf_counter() - started, value))
    return value


optimizer = BlackBoxOptimizer(16, noise=0, random_state=0)
with ThreadPoolExecutor(N_WORKERS) as pool:
    running, n_asked = {}, 0
    while running or n_asked < N_EVALUATIONS:
        while len(running) < N_WORKERS and n_asked < N_EVALUATIONS:
            (x,) = optimizer.ask()
            running[pool.submit(energy, x)] = x
            n_asked += 1
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            optimizer.tell([running.pop(future)], [future.result()])

result = optimizer.result()
print(f"lowest energy {result.fun:.0f}; ground state {glass.minimum:.0f}")

# %%
# Evaluations by worker
# ---------------------

figure, axes = plt.subplots(figsize=(7.5, 2.8), layout="constrained")
workers = {name: k for k, name in enumerate(dict.fromkeys(entry[0] for entry in log))}
lanes = [workers[name] + 1 for name, *_ in log]
begins, ends, values = np.transpose([entry[1:] for entry in log])
colors = plt.get_cmap("viridis")(plt.Normalize(values.min(), values.max())(values))
axes.barh(lanes, ends - begins, left=begins, color=colors, edgecolor="white")
axes.set(xlabel="seconds", ylabel="worker", yticks=sorted(set(lanes)))
axes.set_title("Evaluations; the darker, the lower the energy")
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The optimizer can be pickled at any time, even while points are being evaluated;
# ``pending_`` lists them. Values may be told in any order, even those of points that
# were not asked for.

for record in optimizer.history_[:3]:
    print(record["source"], record["value"])
