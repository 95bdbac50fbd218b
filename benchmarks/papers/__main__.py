"""Run the scripts of this folder.

    python -m benchmarks.papers --quick              all, each in about a minute
    python -m benchmarks.papers s2_table1 s3_table1  these alone, at full length
    python -m benchmarks.papers s3_table1 --rows=500 --save  with options of the script

What a full run or one with --save has found is a file of benchmarks/results, of which
the documentation makes the page "Every table and figure".
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.shared.report import NO_DATA

FOLDER = Path(__file__).parent
PICTURES = FOLDER.parents[1] / "docs" / "papers"


def main():
    """Run what is asked for; fail at the end if one of these did."""
    scripts = sorted((path.stem for path in FOLDER.glob("s[1-4]_*.py")), key=_in_order)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scripts", nargs="*", help="default: all")
    options, given = parser.parse_known_args()
    if unknown := set(options.scripts) - set(scripts):
        parser.error(f"no such script: {', '.join(sorted(unknown))}")
    if "--quick" not in given:
        given += ["--pictures", str(PICTURES)]
    failed = []
    for name in options.scripts or scripts:
        command = [sys.executable, "-m", f"benchmarks.papers.{name}", *given]
        status = subprocess.run(command, cwd=FOLDER.parents[1]).returncode
        failed += [name] * (status not in {0, NO_DATA})
    if failed:
        raise SystemExit(f"Failed: {', '.join(failed)}")


def _in_order(name):
    """Figure 2 before figure 10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


if __name__ == "__main__":
    main()
