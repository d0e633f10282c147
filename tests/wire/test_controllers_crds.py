"""CRDs installed and brought up to date in a cluster, also by two and interrupted."""

import threading
from importlib.resources import files

import pytest
from asocrds import SERVICE, aso_crd

from asoreconcile.azure.catalogue.files import KindFolder
from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.crd_coverage import stored_version
from asoreconcile.azure.controllers.crd_installation import CrdInstallation
from asoreconcile.azure.controllers.crd_plan import STORED_AS, DesiredCrds
from asoreconcile.azure.controllers.crds import BUILD, CrdInstaller
from asoreconcile.azure.controllers.options import Options
from asoreconcile.base.objects import (
    GroupKind,
    ObjectKey,
    copy_json,
    key_of,
    labels,
    resource_version,
)
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Updated
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import ConflictError, ForbiddenError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from asoreconcile.runtime.reconciler import Request, Result
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.kube import KubeServer

VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
SUBNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetworksSubnet"))
GROUP = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
KINDS = [VNET, SUBNET, GROUP]
LIGHT = DesiredCrds(BUILD)
VERSION = "app.kubernetes.io/version"


@pytest.fixture
def client(tmp_path):
    with KubeServer() as cluster:
        cluster.write_kubeconfig(tmp_path / "kubeconfig")
        client = KubeClient(load(str(tmp_path / "kubeconfig")), user_agent="tests")
        yield client
        client.close()


def installer(client, **options):
    return CrdInstaller(client, **{"conversion": SERVICE, **options})


def create(client, definition):
    return client.create(CUSTOM_RESOURCE_DEFINITIONS, copy_json(definition))


def read(client, kind):
    key = ObjectKey("", f"{kind.plural}.{kind.group}")
    return client.get(CUSTOM_RESOURCE_DEFINITIONS, key)


def at(client):
    return [resource_version(read(client, kind)) for kind in KINDS]


def test_missing_ones_are_installed_once(client):
    assert installer(client, crd_labels={"team": "net"}).install(KINDS).applied == 3
    before = at(client)
    done = installer(client, crd_labels={"team": "net"}).install(KINDS)
    assert (done.applied, done.kept, at(client)) == (0, {}, before)
    assert labels(read(client, VNET)) == {
        "app.kubernetes.io/name": "azure-service-operator",
        VERSION: BUILD,
        "team": "net",
    }


def test_an_installation_leaves_no_schemas_behind(client):
    catalogue = Catalogue(KindFolder(files("asoreconcile.azure.controllers") / "kinds"))
    vnet = catalogue.kind(VNET.group_kind).version()
    options = Options(crd_pattern="network.azure.com/VirtualNetwork*")
    before = vnet.table

    CrdInstallation(options, catalogue, client, FakeClock()).run()

    assert read(client, VNET)["spec"]["names"]["kind"] == "VirtualNetwork"
    assert vnet.table == before
    assert vnet.table is not before


def test_one_that_disappears_or_is_edited_is_brought_back(client):
    clock = FakeClock()
    options = Options(crd_pattern="network.azure.com/VirtualNetwork")
    installation = CrdInstallation(options, builtin(), client, clock)
    key = ObjectKey("", "virtualnetworks.network.azure.com")
    soon = installation.reconcile(Request(key)).requeue_after_seconds
    assert soon  # all CRDs are looked at before
    installation.run()
    made = read(client, VNET)

    client.delete(CUSTOM_RESOURCE_DEFINITIONS, key)
    assert installation.reconcile(Request(key)) == Result()
    assert read(client, VNET)["spec"] == made["spec"]

    def edit():
        live = read(client, VNET)
        versions = copy_json(live["spec"]["versions"])
        versions[0].pop("additionalPrinterColumns")
        change = {"spec": {"versions": versions}, "metadata": {"labels": None}}
        client.patch(CUSTOM_RESOURCE_DEFINITIONS, key, change)

    pauses = []
    for _ in range(4):  # again and again
        edit()
        wait = installation.reconcile(Request(key))
        assert wait.not_before
        pauses.append(wait.requeue_after_seconds)
        clock.advance(pauses[-1])
        assert installation.reconcile(Request(key)) == Result()
        assert read(client, VNET)["spec"] == made["spec"]
        assert labels(read(client, VNET)) == labels(made)
    assert pauses == sorted(set(pauses))
    clock.advance(3601)
    edit()
    assert installation.reconcile(Request(key)) == Result()
    assert installation.run() is None
    after = resource_version(read(client, VNET))
    installation.run()
    assert resource_version(read(client, VNET)) == after


def test_one_that_is_being_deleted_is_not_in_place(client):
    create(client, LIGHT.manifest(VNET))
    key = ObjectKey("", "virtualnetworks.network.azure.com")
    client.patch(
        CUSTOM_RESOURCE_DEFINITIONS, key, {"metadata": {"finalizers": ["a.example/b"]}}
    )
    client.delete(CUSTOM_RESOURCE_DEFINITIONS, key)
    done = installer(client).install([VNET])
    assert done.kept == {key.name: "it is being deleted"}


@pytest.mark.parametrize(
    ("old", "new", "looks"),
    [
        (None, {}, False),
        ({}, None, True),
        ({}, {"uid": "2"}, True),
        ({}, {"generation": 2}, True),
        ({}, {"labels": {"a": "b"}}, True),
        ({}, {"annotations": {"a": "b"}}, True),
        ({}, {"resourceVersion": "2"}, False),
    ],
)
def test_which_changes_of_a_crd_are_looked_at(client, old, new, looks):
    options = Options(crd_pattern="network.azure.com/VirtualNetwork")
    installation = CrdInstallation(options, builtin(), client, FakeClock())

    def event(name):
        before, after = (
            state if state is None else Entry({"metadata": {"name": name, **state}})
            for state in (old, new)
        )
        if before is None:
            return Added(after)
        return Deleted(before) if after is None else Updated(before, after)

    assert installation.needs_look(event("virtualnetworks.network.azure.com")) is looks
    assert not installation.needs_look(event("redis.cache.azure.com"))


def test_aso_s_own_are_left_as_they_are_or_brought_up_to_date(client):
    create(client, aso_crd(VNET))
    create(client, aso_crd(SUBNET, SUBNET.versions[:2], build="v2.5.0"))
    newer = copy_json(aso_crd(GROUP, build="v2.99.0"))
    newer["spec"]["versions"].append(
        {**copy_json(newer["spec"]["versions"][0]), "name": "v20990101"}
    )
    create(client, newer)
    before = at(client)

    done = installer(client).install([VNET], others=KINDS)

    after = at(client)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True]
    assert done.applied == 1
    assert list(done.kept) == ["resourcegroups.resources.azure.com"]
    upgraded = read(client, SUBNET)
    assert stored_version(upgraded) == f"{SUBNET.versions[1]}storage"
    assert labels(upgraded)[VERSION] == BUILD
    assert upgraded["status"]["storedVersions"] == [f"{SUBNET.versions[1]}storage"]
    assert labels(read(client, GROUP))[VERSION] == "v2.99.0"
    # A second start finds nothing to do.
    assert installer(client).install([VNET], others=KINDS).applied == 0
    assert at(client) == after
    # Who stays says so, and what is stored moves on.
    client.patch(
        CUSTOM_RESOURCE_DEFINITIONS,
        key_of(upgraded),
        {"metadata": {"annotations": {STORED_AS: None}}},
    )
    assert installer(client).install([VNET], others=KINDS).applied == 1
    moved = read(client, SUBNET)
    assert stored_version(moved) == f"{SUBNET.storage}storage"
    assert moved["status"]["storedVersions"] == [
        f"{SUBNET.versions[1]}storage",
        f"{SUBNET.storage}storage",
    ]


def test_of_other_kinds_only_what_is_there_and_an_operator_s_is_looked_at(client):
    one = installer(client, conversion=None)
    assert one.install([], others=KINDS).applied == 0
    foreign = copy_json(aso_crd(VNET, VNET.versions[:2]))
    del foreign["metadata"]["labels"]
    create(client, foreign)
    light = {"conversion": None}
    assert installer(client, **light).install([SUBNET]).applied == 1
    assert installer(client).install([], others=KINDS).applied == 0
    assert installer(client).install([SUBNET]).applied == 1


class Meddling:
    """A client before whose patches somebody else does something."""

    def __init__(self, client, meddle):
        self._client = client
        self._meddle = meddle
        self.patches = 0

    def patch(self, *arguments, **options):
        self.patches += 1
        self._meddle(self.patches)
        return self._client.patch(*arguments, **options)

    def __getattr__(self, name):
        return getattr(self._client, name)


def test_one_that_is_changed_meanwhile_is_looked_at_again(client):
    create(client, aso_crd(VNET, VNET.versions[:2]))
    key = ObjectKey("", f"{VNET.plural}.{VNET.group}")

    def newer(tries):
        if tries == 1:  # a newer version of us has come, and wrote it
            mark = {"metadata": {"labels": {VERSION: "asoreconcile-99.0.0"}}}
            client.patch(CUSTOM_RESOURCE_DEFINITIONS, key, mark)

    meddling = Meddling(client, newer)
    done = installer(meddling).install([VNET])

    assert meddling.patches == 1
    assert done.applied == 0
    assert "a newer version" in done.kept[key.name]
    assert labels(read(client, VNET))[VERSION] == "asoreconcile-99.0.0"


def test_one_that_never_rests_is_left(client):
    create(client, aso_crd(VNET, VNET.versions[:2]))

    def refuse(_tries):
        raise ConflictError("changed", status=409)

    done = installer(Meddling(client, refuse)).install([VNET])
    assert "again and again" in next(iter(done.kept.values()))


def test_one_that_may_not_be_written_is_run_as_it_is(client):
    create(client, aso_crd(VNET, VNET.versions[:2]))

    def refuse(_tries):
        raise ForbiddenError("patch is not for you", status=403)

    done = installer(Meddling(client, refuse)).install([VNET])
    assert "not for you" in next(iter(done.kept.values()))


def test_without_the_right_to_read_crds_it_is_said_once(client):
    for kind in KINDS:
        create(client, aso_crd(kind, kind.versions[:1], build="v2.5.0"))

    class Blind(Meddling):
        def get(self, *_):
            raise ForbiddenError("get is not for you", status=403)

    done = installer(Blind(client, None)).install([VNET], others=KINDS)
    assert len(done.kept) == 2, "the one that was asked for, and one of the others"
    assert all("not for you" in why for why in done.kept.values())


def test_a_stop_between_two_leaves_the_rest_to_the_next(client):
    asked = iter([False, True])
    first = installer(client, is_stopping=lambda: next(asked))
    assert first.install(KINDS).applied == 1
    assert installer(client).install(KINDS).applied == 2


def test_two_at_once_write_each_once(client):
    for kind in KINDS[:2]:
        create(client, aso_crd(kind, kind.versions[:2]))
    together = threading.Barrier(2)
    applied = []

    def run():
        together.wait(30)
        applied.append(installer(client).install(KINDS).applied)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(applied) == 3
    assert installer(client).install(KINDS).applied == 0
