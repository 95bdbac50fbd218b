"""Run the scripts of this folder and write their report, docs/papers_report.md.

    python -m benchmarks.papers --quick              all, each in about a minute
    python -m benchmarks.papers s2_table1 s3_table1  these alone, at full length
    python -m benchmarks.papers s3_table1 --instances=3  with options of the script

Sections of scripts that were not run, or have no data here, stay as they are.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.shared.report import NO_DATA

FOLDER = Path(__file__).parent
DOCS = FOLDER.parents[1] / "docs"
REPORT = DOCS / "papers_report.md"
PICTURES = DOCS / "papers"
HEADING = """# Every table and figure

What each paper printed, its algorithm run here with its settings, and ours. `make
papers` writes this page; each section says what was run. A full run has the paper's
sizes, repetitions and limits of time, the others are shorter. "Not in the text" stands
where a paper shows a result in a picture alone."""
# How its part of the report begins, for each paper.
PAPERS = {
    "s1": "## Swingler 2016",
    "s2": "## Swingler 2020",
    "s3": "## Kristiansen and Gonzalvo 2017",
    "s4": """## Brunato and Battiti 2017

Figures 1, 3, 14 and 15 are drawings: of an error surface, of the neurons that a changed
weight affects, of a controller in its loop and of the pendulum.""",
}
# Sections are found again by the comments around them.
START, END = "<!-- {} -->", "<!-- end of {} -->"
SECTION = START.format(r"(?P<name>\w+)") + "(?P<text>.*?)" + END.format(r"(?P=name)")


def main():
    """Run what is asked for, and rewrite its sections."""
    scripts = sorted((path.stem for path in FOLDER.glob("s[1-4]_*.py")), key=_in_order)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scripts", nargs="*", help="default: all")
    parser.add_argument("--quick", action="store_true")
    options, given = parser.parse_known_args()
    if unknown := set(options.scripts) - set(scripts):
        parser.error(f"no such script: {', '.join(sorted(unknown))}")
    failed = []
    for name in options.scripts or scripts:
        section, status = _run(name, given + ["--quick"] * options.quick)
        if status == NO_DATA:
            continue
        if status:
            failed.append(name)
            continue
        # A long run that is stopped keeps what it has, and what others wrote meanwhile.
        kept = {k: v for k, v in read_sections(REPORT).items() if k in scripts}
        _write(kept | {name: section})
    if failed:
        raise SystemExit(f"Failed: {', '.join(failed)}")


def _in_order(name):
    """Figure 2 before figure 10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _run(name, options):
    """Run one script, showing what it prints; return that and its exit status."""
    command = [sys.executable, "-m", f"benchmarks.papers.{name}"]
    command += ["--pictures", str(PICTURES), *options]
    lines = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=FOLDER.parents[1]
    ) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return "".join(lines).strip(), process.returncode


def read_sections(report):
    """Return the sections of a report by their scripts, none if there is no report."""
    text = report.read_text(encoding="utf-8") if report.exists() else ""
    sections = re.finditer(SECTION, text, re.DOTALL)
    return {section["name"]: section["text"].strip() for section in sections}


def _write(sections):
    parts = [HEADING]
    for prefix, beginning in PAPERS.items():
        names = [name for name in sections if name.startswith(prefix)]
        parts += [beginning] * bool(names)
        for name in sorted(names, key=_in_order):
            marks = START.format(name), END.format(name)
            parts.append(f"{marks[0]}\n\n{sections[name]}\n\n{marks[1]}")
    REPORT.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
