"""All pairs of a simulated genome scan, beside PLINK's tests of pairs.

Genotypes of 3000 individuals lie in blocks of 20 correlated variants. 15 pairs, whose
members have no effect by themselves, explain 2.5 % of the trait's variance each
(--pair-variance), and 10 single variants 2 %, see :func:`skmohn.datasets.make_gwas`. A
pair is true if it joins the blocks of a true one: variants of a block carry nearly the
same information. Several pairs of the same two blocks count once.

The first table is about --tested columns, one thread, processor seconds, PLINK's from
the same .bed file: seconds of a pass over all pairs and of a whole fit; PLINK's
``--epistasis`` for the trait as a number, and its ``--fast-epistasis boost`` for its
upper half against its lower one. What people do follows: the 500 columns with the
strongest single effects, then ``--epistasis`` among them. "true" and "false" are pairs
of a fit, or PLINK's below 0.05 divided by the number of pairs tested; "at same" are
PLINK's true pairs before it has more false discoveries than the fit for the same trait.

The second table is a fit of --columns columns with --jobs threads: wall and processor
seconds, the passes over all pairs, and the peak memory of its process.

Aimed at: 3 times as many pairs a second as PLINK; no fewer true pairs at the same
number of false discoveries; 2 GB.
"""

import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.shared import common, results
from skmohn import MOHNRegressor
from skmohn.datasets import make_gwas
from skmohn.integrations import read_plink
from skmohn.mohn._design.design import make_design
from skmohn.mohn._design.pair_screening import best_pairs
from skmohn.mohn._genotypes import encode, learn_coding
from skmohn.mohn._sparse.pair_cache import PairCache

N_SAMPLES, N_KEPT, LEVEL = 3000, 500, 0.05
SPEED_UP, BYTES = 3, 2e9
PLINK = "plink1.9"
# PLINK writes all pairs with a p-value below this.
WRITTEN = 1e-3


def make_scan(n_columns, pair_variance, seed):
    """Draw genotypes and the trait."""
    return make_gwas(
        n_columns,
        N_SAMPLES,
        n_pairs=15,
        n_main_effects=10,
        pair_variance=pair_variance,
        main_effect_variance=0.02,
        correlation=0.95,
        random_state=seed,
    )


def as_cases(y):
    """Return 1 for the upper half and 0 for the lower."""
    return (y > np.median(y)).astype(float)


def by_blocks(pairs, blocks):
    """Return the two blocks of each pair, each two once, in the order of the pairs."""
    return list(dict.fromkeys(tuple(sorted(blocks[list(pair)])) for pair in pairs))


def pairs_among(terms):
    """Return the terms of two columns."""
    return [term for term in terms if len(term) == 2]


def count(pairs, scan):
    """Return how many pairs are true and how many false, by blocks."""
    true = set(by_blocks(pairs_among(scan.terms), scan.blocks))
    found = by_blocks(pairs, scan.blocks)
    n_true = sum(pair in true for pair in found)
    return n_true, len(found) - n_true


def true_before(pairs, scan, n_false):
    """Return the number of true pairs before some number of false discoveries."""
    true = set(by_blocks(pairs_among(scan.terms), scan.blocks))
    n_true = 0
    for pair in by_blocks(pairs, scan.blocks):
        n_true += pair in true
        n_false -= pair not in true
        if n_false < 0:
            break
    return n_true


# ---------------------------------------------------------------------------- ours


def fit(X, y, n_jobs):
    """Return a fitted model, wall and processor seconds, and passes over all pairs."""
    model = MOHNRegressor("pursuit", max_order=2, n_jobs=n_jobs)
    with mock.patch.object(
        PairCache, "serve", autospec=True, side_effect=PairCache.serve
    ) as serve:
        start, seconds = time.perf_counter(), -time.process_time()
        common.timed_fit(model, X, y)
        seconds += time.process_time()
        return model, time.perf_counter() - start, seconds, serve.call_count


def pass_seconds(X, y):
    """Return the processor seconds of a pass over all pairs, for one residual."""
    design = make_design(encode(learn_coding(X), X).inputs)
    residual = (y - y.mean())[None]
    best_pairs(design, residual, 1)
    start = time.process_time()
    best_pairs(design, residual, 2**12)
    return time.process_time() - start


def search(path, n_columns, pair_variance, seed):
    """Fit the genotypes of a file to the trait, and to its upper and lower half."""
    scan, X = make_scan(n_columns, pair_variance, seed), read_plink(path)
    common.warm_up(quiet=True)
    one_pass, fits = pass_seconds(X, scan.y), []
    for y in (scan.y, as_cases(scan.y)):
        model, _, seconds, n_passes = fit(X, y, None)
        fits.append((pairs_among(model.terms_), seconds, n_passes))
    return one_pass, fits


def scan_all(n_columns, n_jobs, pair_variance, seed):
    """Fit a scan; return its figures."""
    scan = make_scan(n_columns, pair_variance, seed)
    common.warm_up(quiet=True)
    model, wall, seconds, n_passes = fit(scan.X, scan.y, n_jobs)
    pairs = pairs_among(model.terms_)
    exact = len(set(pairs) & set(scan.terms))
    single_blocks = {scan.blocks[term[0]] for term in scan.terms if len(term) == 1}
    singles = {scan.blocks[term[0]] for term in model.terms_ if len(term) == 1}
    return (
        wall,
        seconds,
        n_passes,
        exact,
        *count(pairs, scan),
        len(singles & single_blocks),
        len(singles - single_blocks),
    )


# --------------------------------------------------------------------------- PLINK


def write(path, X, y, columns=None):
    """Write some columns of genotypes and a trait."""
    from bed_reader import to_bed

    columns = range(X.shape[1]) if columns is None else columns
    names = [f"rs{j}" for j in columns]
    properties = {
        # PLINK does not compare neighbors of one chromosome.
        "chromosome": ["1"] * len(names),
        "bp_position": [1000 * (j + 1) for j in columns],
        "sid": names,
        "iid": [f"i{row}" for row in range(len(y))],
        "fid": [f"i{row}" for row in range(len(y))],
        "pheno": [f"{value:.9g}" for value in y],
    }
    to_bed(path, X.counts(columns), properties)
    return path


def run_plink(path, *options):
    """Return PLINK's pairs, the best first, and its processor seconds."""
    out = path.with_suffix("")
    command = [PLINK, "--bfile", out, *options, "--epi1", str(WRITTEN)]
    command += ["--threads", "1", "--allow-no-sex", "--out", out]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = sum(
        getattr(after, name) - getattr(before, name)
        for name in ("ru_utime", "ru_stime")
    )
    (result,) = (
        out.with_suffix(end)
        for end in (".epi.qt", ".epi.cc")
        if out.with_suffix(end).exists()
    )
    lines = [line.split() for line in result.read_text().splitlines()]
    head = lines[0]
    places = [head.index(name) for name in ("SNP1", "SNP2", "P")]
    found = []
    for line in lines[1:]:
        first, second, p = (line[place] for place in places)
        if p != "NA":
            found.append((float(p), int(first[2:]), int(second[2:])))
    return sorted(found), seconds


def strongest(X, y):
    """Return the columns with the strongest single effects."""
    counts = X.counts()
    values = np.nan_to_num(counts - np.nanmean(counts, axis=0))
    scores = (y - y.mean()) @ values / np.linalg.norm(values, axis=0)
    return np.sort(np.argsort(-np.abs(scores))[:N_KEPT]).tolist()


# -------------------------------------------------------------------------- tables


def compare(n_columns, pair_variance, seed, folder):
    """Print ours and PLINK's on the same file."""
    table = common.Table(
        f"{n_columns} columns, {N_SAMPLES} rows, 15 pairs",
        "search seconds ns/pair passes true false at-same",
        width=36,
    )
    scan = make_scan(n_columns, pair_variance, seed)
    path = write(folder / "trait.bed", scan.X, scan.y)
    cases = write(folder / "cases.bed", scan.X, as_cases(scan.y) + 1.0)
    n_pairs = n_columns * (n_columns - 1) // 2
    (one_pass, fits), _ = common.in_fresh_process(
        search, path, n_columns, pair_variance, seed
    )
    table.row("skmohn, one pass", one_pass, 1e9 * one_pass / n_pairs, 1, *3 * [None])
    ours = []
    for name, (pairs, seconds, n_passes) in zip(("trait", "halves"), fits, strict=True):
        ours.append(count(pairs, scan))
        cost = 1e9 * seconds / n_pairs
        table.row(f"skmohn, fit to {name}", seconds, cost, n_passes, *ours[-1], None)
    if shutil.which(PLINK) is None:
        results.leave_out(f"PLINK: no {PLINK} (Debian's package plink1.9)")
        return
    kept = strongest(scan.X, scan.y)
    few = write(folder / "few.bed", scan.X, scan.y, kept)
    n_few = N_KEPT * (N_KEPT - 1) // 2
    for name, file, options, n_tested, (n_true, n_false) in (
        ("PLINK --epistasis", path, ["--epistasis"], n_pairs, ours[0]),
        (
            "PLINK --fast-epistasis boost",
            cases,
            ["--fast-epistasis", "boost"],
            n_pairs,
            ours[1],
        ),
        (f"best {N_KEPT}, then --epistasis", few, ["--epistasis"], n_few, ours[0]),
    ):
        found, seconds = run_plink(file, *options)
        clear = [pair for p, *pair in found if p < LEVEL / n_tested]
        same = true_before([pair for _, *pair in found], scan, n_false)
        faster = n_tested < n_pairs or seconds >= SPEED_UP * one_pass
        table.row(
            name,
            seconds,
            1e9 * seconds / n_tested,
            None,
            *count(clear, scan),
            same,
            met=faster and same <= n_true,
        )
    table.close()


def main():
    """Print the comparison with PLINK, then the large scan."""

    def add_arguments(parser):
        parser.add_argument("--columns", type=int, help="of the scan (default 100000)")
        parser.add_argument("--tested", type=int, help="beside PLINK (default 3000)")
        parser.add_argument(
            "--pair-variance",
            type=float,
            default=0.025,
            help="of the variance that each pair explains (default .025)",
        )
        parser.add_argument("--jobs", type=int, default=2, help="threads of the scan")

    options = common.parse_options(
        __doc__, instances=1, quick_instances=1, add_arguments=add_arguments
    )
    n_columns = options.columns or (2000 if options.quick else 100_000)
    n_tested = options.tested or (1000 if options.quick else 3000)
    for i in range(options.instances):
        with tempfile.TemporaryDirectory() as folder:
            compare(n_tested, options.pair_variance, options.seed + i, Path(folder))
    table = common.Table(
        f"{n_columns} columns, {N_SAMPLES} rows, 15 pairs and 10 single effects, "
        f"{options.jobs} threads",
        "instance wall cpu passes exact by-block false singles false GB",
        width=8,
    )
    for i in range(options.instances):
        figures, memory = common.in_fresh_process(
            scan_all, n_columns, options.jobs, options.pair_variance, options.seed + i
        )
        table.row(i, *figures, memory / 1e9, met=memory <= BYTES)
    table.close()


if __name__ == "__main__":
    results.record(main)
