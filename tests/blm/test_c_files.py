"""Files of C, and how values take the place of their names."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from skmohn.blm._device import c_literals
from skmohn.blm._device.c_literals import fill

FOLDER = files("skmohn.blm._device") / "c"
WRITERS = Path(c_literals.__file__).parent
NAMES = sorted(path.name.removesuffix(".h") for path in FOLDER.iterdir())


def test_values_replace_names():
    lines = fill("weight", type="int8_t", index_type="uint8_t", weight="3", lines=[])
    assert lines == [
        "static int8_t @weight(const uint8_t *w, uint8_t k)",
        "{",
        "    return 3;",
        "}",
    ]


def test_lines_are_as_far_to_the_right_as_their_name():
    kinds = {"total": "uint16_t", "code": "int8_t", "counter": "uint8_t", "bits": 16}
    lines = fill("dot_int", **kinds, group=["a;", "{", "    b;", "}"])
    assert lines[4:8] == ["        a;", "        {", "            b;", "        }"]


def test_a_value_that_lacks_is_an_error():
    with pytest.raises(KeyError, match="weight"):
        fill("weight", type="int8_t", index_type="uint8_t", lines=[])


@pytest.mark.parametrize("name", NAMES)
def test_files_of_c_are_in_use_and_tidy(name):
    text = (FOLDER / f"{name}.h").read_text(encoding="ascii")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert not re.search(r"[ \t]$", text, re.MULTILINE)
    # Each has one function, or is a part of one.
    assert len(re.findall(r"^static ", text, re.MULTILINE)) <= 1
    assert any(f'"{name}"' in path.read_text() for path in WRITERS.glob("*.py"))
