"""The built-in sets as a whole."""

from importlib.resources import files

from extensions_chains import _kinds, cr, default, status_at

from asoreconcile.extensions.registry import _MODULES, builtin_sets
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER
from asoreconcile.testing.extensions import check_extension_set


def test_every_module_with_extensions_is_registered():
    root = files("asoreconcile.extensions")
    found = {
        f"{group.name}.{module.name.removesuffix('.py')}"
        for group in root.iterdir()
        if group.is_dir() and not group.name.startswith("_")
        for module in group.iterdir()
        if module.name.endswith(".py") and "EXTENSIONS" in module.read_text("utf-8")
    }
    assert found == set(_MODULES)


def test_the_built_in_sets_keep_to_the_rules_of_every_set():
    busy = status_at("provisioningState", "Updating") | {"state": "Updating"}
    samples = [
        cr(f"{row.kind.group.partition('.')[0]}/{row.kind.kind}", status=busy)
        for row in default().describe()
    ]
    for one in builtin_sets():
        check_extension_set(one, kinds=_kinds(), samples=samples)


def test_the_built_in_sets_are_innermost_and_named_after_their_group():
    assert {one.order for one in builtin_sets()} == {BUILT_IN_ORDER}
    for one in builtin_sets():
        group = one.name.partition(".")[0]
        assert {link.kind.group for link in one.freeze()} == {f"{group}.azure.com"}


def test_all_seven_payload_modifiers_are_there():
    rows = [row for row in default().describe() if row.point == "modify-payload"]
    assert sorted(row.kind.kind for row in rows) == [
        "LoadBalancer",
        "NetworkSecurityGroup",
        "RoleAssignment",
        "RouteTable",
        "Vault",
        "VirtualMachineScaleSet",
        "VirtualNetwork",
    ]
