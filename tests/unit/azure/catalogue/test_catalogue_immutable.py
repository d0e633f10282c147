"""The table of fields that Azure does not let change."""

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
