"""The catalogue as a whole: what ships, how it loads, what it refuses."""

import json
import sys
import threading

import pytest
from kinds_source import stored_later

from asoreconcile.azure.catalogue.files import CatalogueFileError, KindFolder
from asoreconcile.azure.catalogue.kinds import (
    Catalogue,
    NotInCatalogueError,
    UnknownVersionError,
    newest,
    version_order,
)
from asoreconcile.azure.catalogue.tables import TableError, Tables
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind, GroupVersionKind


def test_all_kinds_ship():
    kinds = builtin().kinds()

    assert len(builtin().groups()) == 47
    assert len(kinds) == 297
    assert sum(len(kind.versions) for kind in kinds) == 780
    assert {str(kind) for kind in kinds if not kind.is_arm} == {
        "dbformysql.azure.com/User",
        "dbforpostgresql.azure.com/User",
        "entra.azure.com/Application",
        "entra.azure.com/SecurityGroup",
        "entra.azure.com/ServicePrincipal",
        "sql.azure.com/User",
    }


def test_every_version_has_what_a_reconcile_needs():
    for kind in builtin().kinds():
        for name in kind.versions:
            version = kind.version(name)
            assert version.plural == kind.plural
            assert version.schema["properties"]["spec"]["type"] == "object"
            if not version.is_arm:
                continue
            assert version.table.fields
            assert version.api_version[:4].isdigit()
            assert "Put" in version.operations
            assert version.provider.lower().startswith("microsoft.")
            assert version.types


def test_every_mapped_field_exists_in_the_schema():
    def check(table, schema, at):
        for field in table.fields:
            if field.source == "$name":
                continue
            child = schema["properties"][field.source]
            for _ in range(len(field.nesting) // 2):
                child = child.get("items") or child["additionalProperties"]
            if field.table is not None:
                check(field.table, child, f"{at}.{field.source}")

    for kind in builtin().kinds():
        for name in kind.versions if kind.is_arm else ():
            version = kind.version(name)
            check(version.table, version.spec_schema, str(version.gvk))


def test_every_owner_kind_is_known():
    catalogue = builtin()
    for kind in catalogue.kinds():
        owner = kind.version().owner
        if owner is not None:
            assert catalogue.kind(owner).is_arm
        else:
            assert kind.scope in ("Extension", "Tenant", "Location", "")


def test_exported_status_paths_exist_in_the_status():
    for kind in builtin().kinds():
        for name in kind.versions:
            version = kind.version(name)
            for path in version.exports.config_map_paths.values():
                schema = version.schema["properties"]["status"]
                for part in path.split("."):
                    schema = schema["properties"][part]


def test_the_storage_version_is_the_newest_release():
    for kind in builtin().kinds():
        assert kind.storage in kind.versions
    redis = builtin().kind(GroupKind("cache.azure.com", "Redis"))
    assert redis.storage == newest(redis.versions)


def test_twins_share_their_table_and_keep_their_name():
    old, new = (
        builtin().version(GroupVersionKind("cache.azure.com", version, "Redis"))
        for version in ("v1api20241101", "v20241101")
    )

    assert old.table is new.table
    assert old.gvk.version == "v1api20241101"
    assert old.api_version == new.api_version == "2024-11-01"


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (["v20250101", "v1api20250101", "v20240101"], "v20250101"),
        (["v20250101preview", "v20240101"], "v20240101"),
        (["v20250101preview", "v20240101preview"], "v20250101preview"),
        (["v1"], "v1"),
    ],
)
def test_newest_prefers_releases(versions, expected):
    assert newest(versions) == expected


def test_versions_are_ordered_by_date_then_maturity_then_spelling():
    given = ["v20250101", "v1api20250101", "v20250101preview", "v1api20240101"]

    assert sorted(given, key=version_order) == [
        "v1api20240101",
        "v20250101preview",
        "v1api20250101",
        "v20250101",
    ]


@pytest.mark.parametrize(
    ("group", "kind", "message"),
    [
        ("netwrk.azure.com", "VirtualNetwork", "did you mean network.azure.com?"),
        ("network.azure.com", "VirtualNetwrk", "did you mean VirtualNetwork?"),
        ("network.azure.com", "virtualnetwork", "did you mean VirtualNetwork?"),
        ("network.azure.com", "Zzzzzzzz", "has no kind 'Zzzzzzzz'"),
    ],
)
def test_unknown_kind_names_the_nearest(group, kind, message):
    with pytest.raises(NotInCatalogueError) as error:
        builtin().kind(GroupKind(group, kind))

    assert message in str(error.value)


def test_unknown_version_names_those_there_are():
    with pytest.raises(UnknownVersionError) as error:
        builtin().version(
            GroupVersionKind("network.azure.com", "v20250302", "VirtualNetwork")
        )

    assert "did you mean v20250301?" in str(error.value)
    assert "v1api20240301" in str(error.value)


def test_listing_kinds_reads_the_index_only(tmp_path):
    folder = _folder(tmp_path)
    (tmp_path / "demo.json").unlink()

    catalogue = Catalogue(KindFolder(folder))

    assert [str(kind) for kind in catalogue.kinds()] == ["demo.azure.com/Thing"]
    with pytest.raises(CatalogueFileError, match=r"demo\.json"):
        catalogue.kinds()[0].version()


def test_spec_schemas_are_read_on_demand_only(tmp_path):
    folder = _folder(tmp_path)
    (tmp_path / "schemas" / "demo.json").unlink()
    version = Catalogue(KindFolder(folder)).kinds()[0].version()

    assert version.table.fields
    assert version.status_shape == "@s1"
    with pytest.raises(CatalogueFileError):
        _ = version.spec_schema


def test_forgotten_shapes_are_made_again(tmp_path):
    folder = _folder(tmp_path)
    catalogue = Catalogue(KindFolder(folder))
    version = catalogue.kinds()[0].version()
    table, schema, status = version.table, version.schema, version.status_shape

    catalogue.forget_shapes()

    assert catalogue.kinds()[0].version() is version
    assert version.table == table
    assert version.table is not table
    assert (version.schema, version.status_shape) == (schema, status)
    # Nothing is left of the file that they come from.
    catalogue.forget_shapes()
    (tmp_path / "schemas" / "demo.json").unlink()
    with pytest.raises(CatalogueFileError):
        _ = version.spec_schema


def test_a_file_of_another_format_is_refused(tmp_path):
    folder = _folder(tmp_path)
    content = json.loads((tmp_path / "index.json").read_text())
    (tmp_path / "index.json").write_text(json.dumps({**content, "format": "other/9"}))

    with pytest.raises(CatalogueFileError, match="hack/kinds"):
        Catalogue(KindFolder(folder))


def test_an_unreadable_table_names_its_field():
    tables = Tables({"t1": {"fields": [["a", "b", "nonsense"]]}})

    with pytest.raises(TableError, match="field a: no conversion 'nonsense'"):
        tables.table("t1")
    with pytest.raises(TableError, match="no mapping table t2"):
        tables.table("t2")


def test_threads_that_ask_at_once_get_the_same_version(tmp_path):
    catalogue = Catalogue(KindFolder(_folder(tmp_path)))
    gvk = catalogue.kinds()[0].gvk()
    start, found = threading.Barrier(8), []

    def ask():
        start.wait()
        version = catalogue.version(gvk)
        found.append(
            (version, version.table, version.spec_schema == {"type": "object"})
        )

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)

    assert len({(id(version), id(table)) for version, table, _ in found}) == 1
    assert all(equal for _, _, equal in found)


def _folder(path, version="v20250101"):
    api_version = f"{version[1:5]}-{version[5:7]}-{version[7:9]}"
    (path / "schemas").mkdir(parents=True)
    index = {"plural": "things", "scope": "ResourceGroup", "storage": version}
    _write(
        path / "index.json",
        "asoreconcile.kinds-index/1",
        groups={"demo.azure.com": {"Thing": {**index, "versions": [version]}}},
    )
    head = {
        "armType": "Microsoft.Demo/things",
        "apiVersion": api_version,
        "scope": "ResourceGroup",
        "operations": ["Get", "Put"],
        "table": "t1",
        "spec": "@s2",
        "status": "@s1",
    }
    _write(
        path / "demo.json",
        "asoreconcile.kinds/1",
        kinds={"Thing": {"versions": {version: head}}},
        tables={"t1": {"fields": [["$name", "name", "v"], "location"]}},
        status={"s1": {"properties": {"id": "string"}}},
    )
    _write(path / "schemas" / "demo.json", "asoreconcile.schemas/1", spec={"s2": {}})
    return path


def _write(path, format_, **members):
    path.write_text(json.dumps({"format": format_, **members}))


def test_a_version_is_stored_from_the_release_after_the_one_that_adds_it():
    old = {"storage": "v1", "versions": ["v1"]}
    new = {"storage": "v2", "versions": ["v1", "v2"]}
    added = stored_later(new, old, release="1.1.0")
    assert added["storage"] == "v1"
    assert stored_later(new, added, release="1.1.0") == added
    assert stored_later(new, added, release="1.2.0") == new
    assert stored_later(new, None, release="1.2.0") == new

    kept = {"plural": "p", "scope": "", **added}
    later = {**kept, "storageLater": {"storage": "v2", "after": "0.0.1"}}

    class Folder:
        def __init__(self, entry):
            self.entry = entry

        def index(self):
            return {"g": {"K": self.entry}}

    (before,), (after,) = (Catalogue(Folder(e)).kinds() for e in (kept, later))
    assert (before.storage, after.storage) == ("v1", "v2")
