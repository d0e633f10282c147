"""The tables of fields that Azure does not let change, and of values that it moves."""

import json
import re
from importlib.resources import files

from asoreconcile.azure.catalogue.body_shape import body_paths
from asoreconcile.azure.catalogue.type_facts import type_facts
from asoreconcile.azure.controllers.catalogue import builtin


def test_ow6_the_catalogue_has_each_type_and_each_field_of_the_table():
    immutable = {t: facts.immutable for t, facts in type_facts().items()}
    immutable = {type_: paths for type_, paths in immutable.items() if paths}
    paths = {}
    for kind in builtin().kinds():
        if kind.is_arm and kind.version().arm_type.lower() in immutable:
            paths[kind.version().arm_type.lower()] = body_paths(kind.version())
    assert paths.keys() == immutable.keys()
    for type_, known in immutable.items():
        for path in known:
            inside = (f"{one}/".startswith(f"{path}/") for one in paths[type_])
            assert any(inside), f"{type_} has no {path}"


def test_ow6_ow8_each_row_has_a_source():
    table = files("asoreconcile.azure.catalogue") / "type_facts.json"
    rows = json.loads(table.read_text())
    assert list(rows) == sorted(rows)
    for type_, facts in rows.items():
        for name in facts.keys() & {"immutable", "moving", "autoscaled"}:
            assert re.search(r"types|TF: |learn\.", facts[name]["source"]), type_
