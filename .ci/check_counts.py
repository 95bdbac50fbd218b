"""Fail unless every collected test ran, and at least one did.

Usage: check_counts.py COLLECTED JUNIT_XML

COLLECTED is the output of `pytest --collect-only -q`, JUNIT_XML the report of the run.
A skipped test counts as run; its reason is printed.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def count_collected(output):
    """Return the number in pytest's closing line, "3 tests collected in 0.1s"."""
    match = re.search(r"^(\d+)(?:/\d+)? tests? collected", output, re.MULTILINE)
    return int(match[1]) if match else 0


def read_cases(junit_path):
    """Return the report's entries by name; one without a name did not finish."""
    if not Path(junit_path).is_file():
        sys.exit("The test run ended without a report: was it killed?")
    return {
        (case.get("classname"), case.get("name")): case
        for case in ElementTree.parse(junit_path).iter("testcase")
        if case.get("name")
    }


def main(collected_path, junit_path):
    collected = count_collected(Path(collected_path).read_text(encoding="utf-8"))
    cases = read_cases(junit_path)
    for (classname, name), case in sorted(cases.items()):
        if (skipped := case.find("skipped")) is not None:
            print(f"skipped: {classname}::{name}: {skipped.get('message')}")
    if not cases:
        sys.exit("No test ran.")
    if len(cases) < collected or not collected:
        sys.exit(f"Only {len(cases)} of {collected} collected tests ran.")
    print(f"Every collected test ran: {collected}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
