"""The data sets that scripts read from the folder SKMOHN_DATA: where they are from.

    python -m benchmarks.fetch             names all, and checks those that are there
    python -m benchmarks.fetch mnist.npz   these alone
    python -m benchmarks.fetch --download  gets what is missing

Each has a source, a license and the SHA-256 of the file that scripts read. That file is
prepared from its source, as the list says. A download that is not yet as scripts read
it is left beside it as `<file>.source`; packages are named only. Nothing is loaded
without being asked for.
"""

import argparse
import hashlib
import json
import sys
import urllib.request
from pathlib import Path

from benchmarks.shared.common import data_folder

LIST = Path(__file__).with_name("data_sets.json")
# Files that can be loaded as they are; other addresses are of pages.
FILES = "https://raw.githubusercontent.com/"


def main():
    """Print a paragraph for each data set; fail if a file is not as listed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="default: all")
    parser.add_argument("--download", action="store_true")
    options = parser.parse_args()
    listed = {data_set["file"]: data_set for data_set in read_list()}
    if unknown := set(options.files) - listed.keys():
        parser.error(f"not listed: {', '.join(sorted(unknown))}")
    states = []
    for name in options.files or listed:
        data_set = listed[name]
        path = data_folder() / name
        state = state_of(path, data_set)
        if state == "missing" and options.download:
            state = download(path, data_set)
        print(f"{name}: {state}\n    {data_set['what']}")
        print(f"    from {data_set['source'] or 'no address'}: {data_set['prepared']}")
        print(f"    license: {data_set['license']}\n    SHA-256 {data_set['sha256']}")
        states.append(state)
    print(f"{states.count('as listed')} of {len(states)} are there, as listed")
    return int("different" in states)


def read_list():
    """Read the list of data sets."""
    return json.loads(LIST.read_text(encoding="utf-8"))


def state_of(path, data_set):
    """Whether a file is missing, as listed, or different."""
    if not path.is_file():
        return "missing"
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    return "as listed" if found == data_set["sha256"] else "different"


def download(path, data_set):
    """Load a file from its address, if it has one; return the new state."""
    address = data_set["source"] or ""
    if not address.startswith(FILES):
        return "missing, and its source is no file"
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_name(f"{path.name}.source")
    with urllib.request.urlopen(address, timeout=60) as response:
        source.write_bytes(response.read())
    if state_of(source, data_set) == "as listed":
        source.rename(path)
        return "as listed"
    return f"loaded as {source.name}, to be prepared"


if __name__ == "__main__":
    sys.exit(main())
