"""Old stored versions are dropped when nothing is stored in them, and not before."""

import threading

import pytest
from operation import Operation
from world import virtual_network

from asoreconcile.catalogue.crd import crd
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.controllers.crd_coverage import stored_version
from asoreconcile.controllers.stored_versions import Definition, StoredVersions
from asoreconcile.kube.errors import ApiError, ForbiddenError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, ApiResource
from asoreconcile.objects import (
    GroupKind,
    ObjectKey,
    copy_json,
    key_of,
    resource_version,
)
from asoreconcile.testing.clock import FakeClock
from asoreconcile.threads import Threads

VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
NAME = "virtualnetworks.network.azure.com"
OLD, NEW = "v1api20240301", "v20250301"
SETTLE = 60.0


def definition(versions, storage):
    return copy_json(crd(VNET, versions=versions, storage=storage))


def at(version):
    return ApiResource("network.azure.com", version, VNET.plural, "VirtualNetwork")


class Cluster:
    """A CRD whose storage version has moved, with objects from before."""

    def __init__(self, operation):
        self.client = operation.client
        self._operation = operation

    def install(self, document):
        found = self.client.patch(
            CUSTOM_RESOURCE_DEFINITIONS,
            key_of(document),
            document,
            kind="apply",
            field_manager="tests",
            force=True,
        )
        names = [version["name"] for version in document["spec"]["versions"]]
        self._operation.wait_served(
            *(
                virtual_network() | {"apiVersion": f"network.azure.com/{name}"}
                for name in names
            )
        )
        return found

    def read(self):
        return self.client.get(CUSTOM_RESOURCE_DEFINITIONS, ObjectKey("", NAME))

    def listed(self):
        return self.read()["status"]["storedVersions"]

    def there(self):
        return [Definition(NAME, resource_version(self.read()), VNET)]


@pytest.fixture
def cluster(make_cluster, tmp_path):
    with Operation(tmp_path, cluster=make_cluster()) as operation:
        made = Cluster(operation)
        made.install(definition([OLD], OLD))
        for name in ("a", "b", "c"):
            obj = virtual_network(name) | {"apiVersion": f"network.azure.com/{OLD}"}
            obj["metadata"]["namespace"] = "default"
            made.client.create(at(OLD), obj)
        made.install(definition([OLD, NEW], NEW))
        assert made.listed() == [OLD, NEW]
        yield made


class Keeper:
    """One that is looked after by hand, with a clock of its own."""

    def __init__(self, cluster, client=None):
        self.clock = FakeClock()
        self.made = StoredVersions(
            client or cluster.client,
            cluster.there,
            clock=self.clock,
            threads=Threads.timed_by(self.clock),
            settle_seconds=SETTLE,
        )

    def settle(self):
        """See the CRD, and look again once all API servers know it."""
        assert self.made.migrate() == SETTLE
        self.clock.advance(SETTLE)
        return self.made.migrate()


class Meddling:
    """A client before whose patches something happens: `meddle(count, options)`."""

    def __init__(self, client, meddle):
        self._client = client
        self._meddle = meddle
        self.patches = 0

    def patch(self, *arguments, **options):
        self.patches += 1
        self._meddle(self.patches, options)
        return self._client.patch(*arguments, **options)

    def __getattr__(self, name):
        return getattr(self._client, name)


def test_all_objects_are_stored_anew_and_the_old_version_can_go(cluster):
    counted = Meddling(cluster.client, lambda *_: None)
    keeper = Keeper(cluster, counted)
    assert keeper.settle() > SETTLE
    assert cluster.listed() == [NEW]
    assert counted.patches == 4
    # The proof: what no version serves any more nobody could read.
    cluster.install(definition([NEW], NEW))
    names = {key_of(o).name for o in cluster.client.list_page(at(NEW)).items}
    assert names == {"a", "b", "c"}
    # In order, it is not touched again.
    assert keeper.made.migrate() > SETTLE
    assert counted.patches == 4


def test_who_is_interrupted_drops_nothing_and_the_next_one_does(cluster):
    def stop(count, _options):
        if count == 2:
            threading.Thread(target=keeper.made.stop, args=(0,)).start()
            keeper.made._stopping.wait(30)

    keeper = Keeper(cluster, Meddling(cluster.client, stop))
    keeper.settle()
    assert cluster.listed() == [OLD, NEW]

    Keeper(cluster).settle()
    assert cluster.listed() == [NEW]


def test_of_a_storage_version_that_moves_meanwhile_nothing_is_lost(cluster):
    def move(_count, options):
        if options.get("subresource") == "status":
            cluster.install(definition([OLD, NEW], OLD))

    keeper = Keeper(cluster, Meddling(cluster.client, move))
    again = keeper.settle()
    assert again < SETTLE
    assert cluster.listed() == [OLD, NEW]
    # It settles anew, and is brought to where it is now.
    keeper.clock.advance(again)
    calm = Keeper(cluster)
    calm.settle()
    assert stored_version(cluster.read()) == OLD
    assert cluster.listed() == [OLD]


def test_two_at_once_do_no_harm(cluster):
    keepers = [Keeper(cluster), Keeper(cluster)]
    for keeper in keepers:
        keeper.made.migrate()
        keeper.clock.advance(SETTLE)
    threads = [threading.Thread(target=keeper.made.migrate) for keeper in keepers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert cluster.listed() == [NEW]
    assert len(cluster.client.list_page(at(NEW)).items) == 3


def test_without_the_right_it_is_said_once(cluster):
    def refuse(*_):
        raise ForbiddenError("patch is not for you", status=403)

    refusing = Meddling(cluster.client, refuse)
    keeper = Keeper(cluster, refusing)
    keeper.settle()
    keeper.made.migrate()
    assert refusing.patches == 1
    assert cluster.listed() == [OLD, NEW]


def test_what_fails_is_tried_again_with_back_off(cluster):
    def fail(*_):
        raise ApiError("the webhook is not there", status=500)

    failing = Meddling(cluster.client, fail)
    keeper = Keeper(cluster, failing)
    first = keeper.settle()
    assert 0 < first < SETTLE
    assert keeper.made.migrate() == first, "not before its time"
    assert failing.patches == 1
    keeper.clock.advance(first)
    assert keeper.made.migrate() > first
    assert failing.patches == 2
