"""The tables of fields that Azure does not let change, and of values that it moves."""

import re
from pathlib import Path

import pytest

from asoreconcile.azure.catalogue import immutable, moving_values
from asoreconcile.azure.catalogue.body_shape import body_paths
from asoreconcile.azure.catalogue.immutable import IMMUTABLE
from asoreconcile.azure.controllers.catalogue import builtin


def test_ow6_the_catalogue_has_each_type_and_each_field_of_the_table():
    paths = {}
    for kind in builtin().kinds():
        if kind.is_arm and kind.version().arm_type.lower() in IMMUTABLE:
            paths[kind.version().arm_type.lower()] = body_paths(kind.version())
    assert paths.keys() == IMMUTABLE.keys()
    for type_, known in IMMUTABLE.items():
        for path in known:
            inside = (f"{one}/".startswith(f"{path}/") for one in paths[type_])
            assert any(inside), f"{type_} has no {path}"


@pytest.mark.parametrize("module", [immutable, moving_values], ids=lambda m: m.__name__)
def test_ow6_ow8_each_row_has_a_source(module):
    lines = Path(module.__file__).read_text().splitlines()
    start = next(n for n, line in enumerate(lines) if re.match(r"(IMM|MOV)\w+:", line))
    source = ""
    for line in lines[start + 1 : lines.index("}", start)]:
        if line.startswith("    #"):
            source += line
        elif re.match(r'    f?"', line):
            is_same_table = "_COSMOS" in line
            assert is_same_table or re.search(r"types|TF: |learn\.", source), line
            source = ""
