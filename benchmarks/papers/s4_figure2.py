"""Figure 2: the neighbors of a weight in Gray code and in plain binary.

The paper draws the points that one flipped bit reaches from a point of a plane of two
weights, in both codes. **Left open:** the number of bits and the point; 5 bits and the
origin are drawn here, where plain binary has to flip all bits to get from 0 to -1. The
table counts over all values of a weight, by the bits that our own coding gives them:
for how many both adjacent values are one flip away, how many flips the farther one
takes at most, and the mean distance of a neighbor, as a share of the range.

Both codes have the same number of neighbors, and they lie equally far on average; only
Gray code always has the adjacent values among them. Nothing depends on a seed.

**Unexplained:** nothing: the neighbors are those of the paper.
"""

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.shared import results
from benchmarks.shared.report import Report
from skmohn.blm._codec import code_range, gray_bits

BITS = (2, 4, 8, 12)
DRAWN = 5


def plain_bits(codes, n_bits):
    """Bits in two's complement, shape (n_codes, n_bits)."""
    natural = np.asarray(codes) & (2**n_bits - 1)
    return (natural[:, None] >> np.arange(n_bits - 1, -1, -1)) & 1


CODINGS = {"Gray": gray_bits, "plain binary": plain_bits}


def flips_between(coding, n_bits):
    """Return all codes, and how many bits two of them differ in."""
    low, high = code_range(n_bits)
    codes = np.arange(low, high + 1)
    bits = coding(codes, n_bits).astype(np.int32)
    zeros, ones = bits @ (1 - bits).T, (1 - bits) @ bits.T
    return codes, zeros + ones


def main():
    """Count neighbors, and draw those of the origin."""
    report = Report(instances=1, quick_instances=1)
    report.table(
        (
            "bits",
            "code",
            "both adjacent values one flip away",
            "most flips to an adjacent value",
            "mean distance of a neighbor",
        ),
        (counts(n_bits, name) for n_bits in BITS for name in CODINGS),
    )
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
    for ax, (name, coding) in zip(axes, CODINGS.items(), strict=True):
        codes, flips = flips_between(coding, DRAWN)
        near = codes[flips[codes == 0][0] == 1]
        zeros = np.zeros_like(near)
        ax.plot(np.r_[near, zeros], np.r_[zeros, near], "o", color="#2b5b9e")
        ax.plot(0, 0, "ko")
        ax.set(
            title=f"{name}, {DRAWN} bits",
            xlabel="first weight / step",
            ylabel="second weight / step",
            xlim=(codes[0] - 1, codes[-1] + 2),
            ylim=(codes[0] - 1, codes[-1] + 2),
            aspect="equal",
        )
        ax.set_xticks(codes, minor=True)
        ax.set_yticks(codes, minor=True)
        ax.grid(which="both", color="#e4e0d6", linewidth=0.5)
        ax.set_axisbelow(True)
    report.picture(
        figure,
        "neighbors",
        "Two planes of two weights. In Gray code the origin's neighbors include both "
        "adjacent values on each axis; in plain binary the one below zero is missing",
    )


def counts(n_bits, name):
    """Return a row of the table."""
    codes, flips = flips_between(CODINGS[name], n_bits)
    adjacent = np.diagonal(flips, 1)
    inner = (adjacent[1:] == 1) & (adjacent[:-1] == 1)
    distance = np.abs(codes[:, None] - codes)[flips == 1].mean()
    share = 100 * inner.mean()
    return (
        n_bits,
        name,
        f"{share:.0f} %",
        int(adjacent.max()),
        f"{100 * distance / 2**n_bits:.1f} %",
    )


if __name__ == "__main__":
    results.record(main)
