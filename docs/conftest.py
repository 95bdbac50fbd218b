"""Run the code on the pages, as doctests: it must print what the pages say."""

import importlib.util

import pytest

collect_ignore_glob = ["*.py", "_build", "auto_examples", "generated"]

# Pages on packages that the tests do not need otherwise.
NEEDS = {}


@pytest.fixture(autouse=True)
def _scratch(tmp_path, monkeypatch):
    """Files that a page writes go to a folder of its own."""
    monkeypatch.chdir(tmp_path)


def pytest_collection_modifyitems(items):
    """Skip the pages whose packages are not there."""
    for item in items:
        for package in NEEDS.get(item.path.name, ()):
            if importlib.util.find_spec(package) is None:
                item.add_marker(pytest.mark.skip(f"{package} is not installed"))
