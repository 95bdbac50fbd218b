"""Run the code on the pages, as doctests: it must print what the pages say."""

import importlib
import importlib.util
import sys

import pytest
from threadpoolctl import threadpool_limits

# As in tests/conftest.py: threads would get in each other's way on small matrices.
importlib.import_module("scipy.linalg")
THREADS = threadpool_limits(1)

collect_ignore_glob = ["*.py", "_build", "auto_examples", "generated"]

# Pages on packages that the tests do not need otherwise.
NEEDS = {
    "mlflow.rst": "mlflow",
    "several_machines.rst": "distributed",
    "shap.rst": "shap",
}


@pytest.fixture(autouse=True)
def _scratch(tmp_path, monkeypatch):
    """Files that a page writes go to a folder of its own; its figures are closed."""
    monkeypatch.chdir(tmp_path)
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


def pytest_collection_modifyitems(items):
    """Skip the pages whose packages are not there; what these warn of is theirs."""
    for item in items:
        if package := NEEDS.get(item.path.name):
            item.add_marker(pytest.mark.filterwarnings("default"))
            if importlib.util.find_spec(package) is None:
                item.add_marker(pytest.mark.skip(f"{package} is not installed"))
