"""Old stored versions are dropped when nothing is stored in them, and not before."""

import threading
import uuid

import pytest
from operation import Operation
from world import virtual_network

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.crd_coverage import stored_version
from asoreconcile.azure.controllers.stored_versions import (
    StoredVersions,
    controller_options,
)
from asoreconcile.base import reconcile_context
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.objects import GroupKind, ObjectKey, copy_json, key_of
from asoreconcile.base.reconcile_context import Context
from asoreconcile.base.stop_signal import StopSignal
from asoreconcile.kube.errors import ApiError, ForbiddenError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, ApiResource
from asoreconcile.runtime.reconciler import Request, Result
from asoreconcile.testing.clock import FakeClock

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
            client or cluster.client, clock=self.clock, settle_seconds=SETTLE
        )
        self.stopping = StopSignal()

    def look(self):
        """One reconcile, as a worker has it run."""
        context = Context(self.clock, str(uuid.uuid4()), stop=self.stopping)
        with reconcile_context.running(context):
            return self.made.reconcile(Request(ObjectKey("", NAME)))

    def see(self):
        """The first look; it settles, and no event makes that shorter."""
        assert self.look() == Result(requeue_after_seconds=SETTLE, not_before=True)
        self.clock.advance(SETTLE - 1)
        assert self.look() == Result(requeue_after_seconds=1, not_before=True)
        self.clock.advance(1)

    def settle(self):
        """See the CRD, and look again once all API servers know it."""
        self.see()
        return self.look()


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
    assert keeper.settle() == Result()
    assert cluster.listed() == [NEW]
    assert counted.patches == 4
    # The proof: what no version serves any more nobody could read.
    cluster.install(definition([NEW], NEW))
    names = {key_of(o).name for o in cluster.client.list_page(at(NEW)).items}
    assert names == {"a", "b", "c"}
    # In order, it is not touched again.
    assert keeper.look() == Result()
    assert counted.patches == 4


def test_who_is_interrupted_drops_nothing_and_the_next_one_does(cluster):
    def stop(count, _options):
        if count == 2:
            keeper.stopping.stop()

    interrupted = Meddling(cluster.client, stop)
    keeper = Keeper(cluster, interrupted)
    with pytest.raises(StoppedError):
        keeper.settle()
    assert interrupted.patches == 2, "of three objects and the list"
    assert cluster.listed() == [OLD, NEW]

    Keeper(cluster).settle()
    assert cluster.listed() == [NEW]


def test_of_a_storage_version_that_moves_meanwhile_nothing_is_lost(cluster):
    def move(_count, options):
        if options.get("subresource") == "status":
            cluster.install(definition([OLD, NEW], OLD))

    keeper = Keeper(cluster, Meddling(cluster.client, move))
    again = keeper.settle()
    assert 0 < again.requeue_after_seconds < SETTLE
    assert cluster.listed() == [OLD, NEW]
    # It settles anew, and is brought to where it is now.
    calm = Keeper(cluster)
    calm.settle()
    assert stored_version(cluster.read()) == OLD
    assert cluster.listed() == [OLD]


def test_two_at_once_do_no_harm(cluster):
    keepers = [Keeper(cluster), Keeper(cluster)]
    for keeper in keepers:
        keeper.see()
    threads = [threading.Thread(target=keeper.look) for keeper in keepers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert cluster.listed() == [NEW]
    assert len(cluster.client.list_page(at(NEW)).items) == 3


def test_without_the_right_it_is_said_once(cluster, caplog):
    def refuse(*_):
        raise ForbiddenError("patch is not for you", status=403)

    refusing = Meddling(cluster.client, refuse)
    keeper = Keeper(cluster, refusing)
    assert keeper.settle() == Result(), "only a change of the CRD brings it back"
    assert keeper.look() == Result()
    said = [one for one in caplog.messages if "Stored versions stay listed" in one]
    assert len(said) == 1
    assert cluster.listed() == [OLD, NEW]


def test_what_fails_is_left_to_the_controller_s_back_off(cluster):
    def fail(*_):
        raise ApiError("the webhook is not there", status=500)

    failing = Meddling(cluster.client, fail)
    keeper = Keeper(cluster, failing)
    with pytest.raises(ApiError):
        keeper.settle()
    with pytest.raises(ApiError):
        keeper.look()
    assert failing.patches == 2
    limiter = controller_options(keeper.clock).limiter
    pauses = [limiter.delay(NAME) for _ in range(12)]
    assert 5 < pauses[0] < SETTLE < pauses[-1] <= 3600
