"""Campaigns: new examples, one after the other, so many or until the time is up."""

import math
import os
import re
import time
import traceback
from pathlib import Path

import hypothesis
import pytest
from fuzz_rules import OURS
from hypothesis import HealthCheck, Phase, settings

import skmohn

# A failing example is not made smaller by Hypothesis, which would take minutes for each
# of them: of those that fail alike the shortest is kept.
CAMPAIGN = settings(
    max_examples=50,
    phases=[Phase.generate],
    database=None,
    deadline=None,
    derandomize=False,
    suppress_health_check=list(HealthCheck),
)


class Findings:
    """The shortest example of each kind of failure."""

    def __init__(self):
        self._by_kind = {}

    def add(self, error, example):
        """Keep a failure, unless there is a shorter one of its kind."""
        frames = traceback.extract_tb((error.__cause__ or error).__traceback__)
        ours = [f for f in frames if Path(f.filename).is_relative_to(OURS)]
        last = (ours or frames)[-1]
        place = f"{os.path.relpath(last.filename, OURS)} {last.name}"
        report = f"{example}\n  {error!r}\n  {place}, line {last.lineno}"
        # Figures differ from example to example.
        kind = place, re.sub(r"[\d.]+", "#", str(error))[:60]
        if len(report) < len(self._by_kind.get(kind, 2 * report)):
            self._by_kind[kind] = report

    def __str__(self):
        return "\n\n".join(self._by_kind.values())

    def __len__(self):
        return len(self._by_kind)


@pytest.fixture(scope="session")
def compiled():
    """Compile first: that is nothing to spend a campaign's time on."""
    skmohn.warm_up()


@pytest.fixture
def campaign(request, compiled):
    """Run a property of tuples on new ones, as many as asked for.

    The examples follow from the seed alone. How many there are is given, the same on
    every machine, or follows from this test's fraction of the time.
    """
    option = request.config.getoption
    most = option("fuzz_examples") or math.inf
    n_tests = sum("campaign" in test.fixturenames for test in request.session.items)
    n_workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    share = option("fuzz_seconds") * n_workers / n_tests or math.inf

    def run(check, examples):
        end = time.monotonic() + share
        findings = Findings()
        n_examples = 0

        def is_over():
            return n_examples >= most or time.monotonic() > end

        @CAMPAIGN
        @hypothesis.given(examples)
        def within(example):
            nonlocal n_examples
            if is_over():
                return
            n_examples += 1
            try:
                check(*example)
            except Exception as error:
                findings.add(error, example)

        batch = option("fuzz_seed")
        while not is_over():
            hypothesis.seed(batch)(within)()
            batch += 1
        print(f"{n_examples} examples")
        if findings:
            pytest.fail(f"{len(findings)} findings\n\n{findings}", pytrace=False)

    return run
