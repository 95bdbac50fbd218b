"""Run README's code in an empty environment, after README's own installation.

Call it with the interpreter that is to be tried: ``python3.13 .ci/readme_code.py``. Of
the commands that README names, those before its last piece of code are run, but none
that asks PyPI for skmohn itself.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]


def installations(text: str) -> list[list[str]]:
    """List the arguments of the pip commands that come before the last code."""
    before_code = text[: text.rindex(">>>")]
    commands = re.findall(r"(?:`|^)(pip install [^`\n]+)", before_code, re.MULTILINE)
    return [
        shlex.split(command) for command in commands if "install skmohn" not in command
    ]


def main() -> None:
    """Install and run; a command that fails ends it with an error."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    n_examples = len(doctest.DocTestParser().get_examples(text))
    with TemporaryDirectory() as scratch:
        env = Path(scratch, "env")
        venv.create(env, with_pip=True)
        python = env / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        # No package of the caller's may stand in for one that is missing.
        variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        for arguments in installations(text):
            print("$", shlex.join(arguments), flush=True)
            subprocess.run(
                [python, "-m", *arguments, "--quiet", "--disable-pip-version-check"],
                cwd=ROOT, env=variables, check=True,
            )  # fmt: skip
        # In a folder without skmohn's source, which would be imported instead.
        Path(scratch, "README.md").write_text(text, encoding="utf-8")
        doctests = [python, "-m", "doctest", "README.md"]
        subprocess.run(doctests, cwd=scratch, env=variables, check=True)
    version = sys.version.split()[0]
    print(f"{n_examples} lines of README run on Python {version}.")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:  # has printed what it is
        sys.exit(error.returncode)
