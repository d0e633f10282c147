"""The pure parts of an import: names, what to look for below a resource, counts."""

import pytest

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.kinds import UnknownVersionError
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.planning.resource_import.child_types import (
    ChildTypes,
    ListTask,
    ResourceTask,
)
from asoreconcile.azure.reconcile.planning.resource_import.manifests import (
    inside_parents,
    manifests_of,
    object_name,
    object_names,
)
from asoreconcile.azure.reconcile.planning.resource_import.options import ImportOptions
from asoreconcile.azure.reconcile.planning.resource_import.report import (
    ImportOutcome,
    ImportReport,
)
from asoreconcile.base.objects import GroupKind

GROUP = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg"
ACCOUNT = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/shop"
KIND = GroupKind("storage.azure.com", "StorageAccount")


@pytest.mark.parametrize(
    ("azure", "kubernetes"),
    [
        ("web", "web"),
        ("Shop_Front (EU)", "shop-front-eu"),
        ("--a..b--", "a-b"),
        ("Ünï", "n"),
        ("___", "resource"),
        ("x" * 300, "x" * 253),
    ],
)
def test_a_name_that_kubernetes_takes(azure, kubernetes):
    assert object_name(azure) == kubernetes


def test_who_would_share_a_name_gets_a_suffix_that_depends_on_nobody_else():
    one, two = f"{ACCOUNT}/blobServices/default", f"{GROUP}2/blobServices/DEFAULT"
    other = f"{GROUP}3/blobServices/default"
    names = object_names([(KIND, one), (KIND, two)])
    assert len(set(names.values())) == 2
    assert all(name.startswith("default-") for name in names.values())
    more = object_names([(KIND, other), (KIND, two), (KIND, one)])
    assert more.items() >= names.items()
    # Two kinds may share one.
    apart = object_names([(KIND, one), (GroupKind("g", "Other"), two)])
    assert set(apart.values()) == {"default"}


def types(**options):
    return ChildTypes(
        builtin(),
        versions=options.get("versions", {}),
        wanted=options.get("wanted", lambda kind: True),
    )


def below(arm_id, **options):
    known = types(**options)
    parsed = ids.parse(arm_id)
    return known.below(parsed, known.of(parsed.type))


def test_nested_types_are_listed_and_those_of_one_name_are_read():
    tasks = below(ACCOUNT)
    read = [t.id.text for t in tasks if isinstance(t, ResourceTask)]
    listed = [t.path for t in tasks if isinstance(t, ListTask)]
    assert f"{ACCOUNT}/blobServices/default" in read
    assert f"{ACCOUNT}/providers/Microsoft.Authorization/roleAssignments" in listed
    blobs = below(f"{ACCOUNT}/blobServices/default")
    assert f"{ACCOUNT}/blobServices/default/containers" in [
        t.path for t in blobs if isinstance(t, ListTask)
    ]


def test_extensions_of_clusters_are_not_looked_for_elsewhere():
    cluster = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/c"
    for arm_id, expected in ((ACCOUNT, False), (cluster, True)):
        paths = [t.path for t in below(arm_id) if isinstance(t, ListTask)]
        found = any("Microsoft.KubernetesConfiguration" in path for path in paths)
        assert found == expected


def test_an_extension_has_no_extensions():
    assert below(f"{ACCOUNT}/providers/Microsoft.Authorization/roleAssignments/x") == []


def test_kinds_that_nobody_wants_are_not_looked_for():
    tasks = below(ACCOUNT, wanted=lambda kind: kind.group == "storage.azure.com")
    assert {t.version.gvk.group for t in tasks} == {"storage.azure.com"}
    group_only = types(wanted=lambda kind: kind.group == "resources.azure.com")
    assert group_only.in_group("Microsoft.Storage/storageAccounts") is None
    assert types().in_group("microsoft.storage/STORAGEACCOUNTS") is not None
    assert types().in_group("Microsoft.Storage/storageAccounts/blobServices") is None


def test_another_version_is_taken_and_a_wrong_one_refused():
    version = "v1api20230101"
    found = types(versions={KIND: version}).of("Microsoft.Storage/storageAccounts")
    assert found.gvk.version == version
    with pytest.raises(UnknownVersionError, match="it has"):
        types(versions={KIND: "v1api1999"})


def test_a_report_counts_by_kind_status_and_reason():
    outcomes = (
        ImportOutcome("/a", KIND, "imported"),
        ImportOutcome("/b", KIND, "imported"),
        ImportOutcome("/c", None, "failed", "why"),
    )
    report = ImportReport(outcomes)
    assert not report.is_complete
    assert report.counts() == [
        (("(unknown)", "failed", "why"), 1),
        ((str(KIND), "imported", ""), 2),
    ]
    assert not ImportReport(outcomes[:2], was_stopped=True).is_complete


def test_a_resource_inside_its_parent_has_no_object_of_its_own():
    group = "/subscriptions/s/resourceGroups/rg/providers"
    balancer = f"{group}/Microsoft.Network/loadBalancers/lb"
    rules = [{"name": "Ssh", "id": f"{balancer}/inboundNatRules/Ssh"}]
    read = [
        task(balancer, {"name": "LB", "properties": {"inboundNatRules": rules}}),
        task(f"{balancer}/inboundNatRules/ssh", {"name": "ssh", "properties": {}}),
        task(f"{balancer}/inboundNatRules/late", {"name": "late", "properties": {}}),
    ]
    assert inside_parents(read) == {f"{balancer}/inboundNatRules/ssh".lower()}
    objs = [one.obj for one in manifests_of(read, ImportOptions())]
    names = sorted(obj["metadata"]["name"] for obj in objs)
    assert names == ["late", "lb"]
    # The name is Azure's, whatever case the id was given in.
    assert {obj["spec"]["azureName"] for obj in objs} == {"LB", "late"}


def task(text, body):
    arm_id = ids.parse_stated(text)
    types = ChildTypes(builtin(), versions={}, wanted=lambda _kind: True)
    return ResourceTask(arm_id, types.of(arm_id.type)), body


def test_the_administrator_of_a_sql_server_is_in_the_server_alone():
    server = f"{GROUP}/providers/Microsoft.Sql/servers/sql"
    admin = {"login": "dba", "azureADOnlyAuthentication": True}
    children = [
        task(f"{server}/administrators/ActiveDirectory", {}),
        task(f"{server}/azureADOnlyAuthentications/Default", {}),
    ]
    names = {one.key for one, _ in children}
    read = [task(server, {"properties": {"administrators": admin}}), *children]
    assert inside_parents(read) >= names
    # A part that the server does not show is an object of its own.
    read = [task(server, {"properties": {"administrators": {"login": "dba"}}})]
    assert not inside_parents([*read, *children]) & {children[1][0].key}
    read = [task(server, {"properties": {"administrators": None}})]
    assert not inside_parents([*read, *children])
