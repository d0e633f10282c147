"""Importers: what is not worth an object, row by row of the inventory."""

import pytest
from extensions_chains import composed, cr, default, group_kind, version

from asoreconcile.azure.middleware.extension_points import IMPORT
from asoreconcile.azure.middleware.requests import Import, Imported, Skipped

OWNER = "/subscriptions/s/resourceGroups/rg"
ASSIGNMENT = "authorization/RoleAssignment"
DEFINITION = "authorization/RoleDefinition"
MYSQL = "dbformysql/FlexibleServersConfiguration"
POSTGRES = "dbforpostgresql/FlexibleServersConfiguration"
DATABASE = "dbforpostgresql/FlexibleServersDatabase"


def run(kind, *, spec=None, status=None):
    obj = cr(kind, spec=spec, status=status)
    request = Import(version(kind), obj, owner_id=OWNER)
    return default().chain(IMPORT, group_kind(kind))(request)


@pytest.mark.parametrize(
    ("kind", "spec", "status", "reason"),
    [
        pytest.param(ASSIGNMENT, {}, {"scope": "/subscriptions/s"}, "inherited", id="wider"),
        pytest.param(ASSIGNMENT, {}, {}, "inherited", id="no-scope"),
        pytest.param(DEFINITION, {"type": "BUILTINRole"}, {}, "own", id="built-in"),
        pytest.param(MYSQL, {"source": "system-default"}, {}, "system", id="my-source"),
        pytest.param(MYSQL, {}, {"isReadOnly": "True"}, "read-only", id="my-read-only"),
        pytest.param(MYSQL, {}, {"defaultValue": "1", "value": "1"}, "default", id="my-default"),
        pytest.param(POSTGRES, {"source": "system-default"}, {}, "system", id="pg-source"),
        pytest.param(POSTGRES, {}, {"isReadOnly": True}, "read-only", id="pg-read-only"),
        pytest.param(POSTGRES, {}, {"defaultValue": "a", "value": "a"}, "default", id="pg-default"),
        pytest.param(DATABASE, {"azureName": "postgres"}, {}, "system", id="pg-system"),
    ],
)  # fmt: skip
def test_what_is_not_worth_an_object_is_skipped(kind, spec, status, reason):
    result = run(kind, spec=spec, status=status)
    assert isinstance(result, Skipped)
    assert reason in result.reason


@pytest.mark.parametrize(
    ("kind", "spec", "status"),
    [
        pytest.param(ASSIGNMENT, {}, {"scope": OWNER.upper()}, id="own-scope"),
        pytest.param(DEFINITION, {"type": "CustomRole"}, {}, id="custom-role"),
        pytest.param(DEFINITION, {}, {}, id="no-type"),
        pytest.param(MYSQL, {"source": "user-override"}, {}, id="my-set"),
        pytest.param(MYSQL, {}, {"isReadOnly": "False"}, id="my-writable"),
        pytest.param(POSTGRES, {}, {"defaultValue": "a", "value": "b"}, id="pg-other"),
        pytest.param(POSTGRES, {}, {}, id="pg-unknown"),
        pytest.param(DATABASE, {"azureName": "shop"}, {}, id="pg-own"),
        pytest.param("network/VirtualNetwork", {}, {}, id="other-kind"),
    ],
)
def test_the_rest_is_imported_as_it_is(kind, spec, status):
    result = run(kind, spec=spec, status=status)
    assert isinstance(result, Imported)
    assert result.obj == cr(kind, spec=spec, status=status)


def test_a_system_database_is_not_even_read():
    def fail(request):
        raise AssertionError(request)

    chain = composed({IMPORT: fail}).chain(IMPORT, group_kind(DATABASE))
    obj = cr(DATABASE, spec={"azureName": "azure_sys"})
    assert isinstance(chain(Import(version(DATABASE), obj, OWNER)), Skipped)
