"""Two processes of one application, of which one may write: who goes, who comes.

The processes are shared by the tests: the standby of one is the leader of the next.
"""

import signal
import subprocess
import sys
import time
from contextlib import closing
from datetime import datetime, timedelta

import attrs
import pytest
from leasetimes import at_once, short_timing

from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.resources import CONFIG_MAPS, LEASES
from asoreconcile.kube.selection import Selection
from asoreconcile.testing.kube import KubeServer

# A lease that this machine can keep may be a minute long.
pytestmark = pytest.mark.timeout(600)

# Each writes its name into the ConfigMap, again and again.
PROGRAM = """
import sys, time
from asoreconcile import CONFIG_MAPS, Added, Application, ControllerOptions, Result
from asoreconcile import LeaderElectionOptions, LeaseTiming

name, kubeconfig, *seconds = sys.argv[1:]
timing = LeaseTiming(*map(float, seconds))
election = LeaderElectionOptions("lease", identity=name, timing=timing)
app = Application(name, cluster=kubeconfig, leader_election=election)

class Sign:
    def reconcile(self, request):
        data = {"by": name, "at": str(time.monotonic())}
        app.client.patch(CONFIG_MAPS, request.key, {"data": data})
        pause = 0.2 if request.key.name == "signed" else 0.005
        return Result(requeue_after_seconds=pause)

app.reconcile(
    CONFIG_MAPS,
    Sign(),
    when=lambda event: isinstance(event, Added),
    options=ControllerOptions(max_concurrent_reconciles=6),
)
print("up", flush=True)
sys.exit(app.run())
"""
KEY = ObjectKey("default", "signed")
LEASE = ObjectKey("default", "lease")


class Replica:
    """A process of the program."""

    def __init__(self, name, kubeconfig, timing):
        self.name = name
        self.timing = timing
        seconds = map(str, attrs.astuple(timing))
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, name, kubeconfig, *seconds],
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_up(self):
        assert self.process.stdout.readline() == "up\n"

    def send(self, number):
        self.process.send_signal(number)

    def exit_code(self):
        return self.process.wait(at_once(self.timing))

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Scene:
    """A server with a ConfigMap, and the replicas that sign it."""

    def __init__(self, server, client, kubeconfig):
        self.server = server
        self.client = client
        self.kubeconfig = kubeconfig
        self.timing = short_timing()
        self.replicas = [self.start()]
        self.is_settled = True

    def start(self):
        self.started = getattr(self, "started", 0) + 1
        return Replica(f"replica-{self.started}", self.kubeconfig, self.timing)

    def pair(self):
        """A leader that has signed, and a standby. What was written before is over."""
        if not self.is_settled:  # a test failed: its leader may never sign again
            for replica in self.replicas:
                replica.end()
            self.replicas = [self.start()]
        self.is_settled = False
        self.wait_signed(self.replicas[0])
        if len(self.replicas) < 2:
            self.replicas.append(self.start())
        leader, standby = self.replicas
        standby.wait_up()
        self.first = len(self.server.journal)
        return leader, standby

    def retire(self, replica):
        """It is gone: start the next standby, for whom nobody waits yet."""
        replica.end()
        self.replicas.remove(replica)
        self.replicas.append(self.start())
        self.is_settled = True

    def wait_signed(self, by):
        """Block until it signs from now on; the moment when that was seen."""
        signed = Selection(CONFIG_MAPS, KEY.namespace)
        page = self.client.list_page(signed)
        stream = self.client.watch(
            signed, resource_version=page.resource_version, timeout_seconds=600
        )
        with closing(stream):
            for _, obj in stream:
                if obj.get("data", {}).get("by") == by.name:
                    return time.monotonic()
        raise AssertionError(f"{by.name} did not sign")

    def assert_taken_over(self, before, after, *, most_late=0):
        """The server saw nothing of the old leader after the first of the new one.

        most_late: writes that may have stood between the look at the lease and the
        system call (asoreconcile/README.md says how long that is).
        """
        # A watch shows a write before the journal has it.
        while after.name not in self.writers():
            self.wait_signed(after)
        writers = self.writers()
        first = writers.index(after.name)
        assert set(writers[:first]) <= {before.name}
        late = [name for name in writers[first:] if name != after.name]
        assert late == [before.name] * len(late)
        assert len(late) <= most_late
        assert self.lease()["holderIdentity"] == after.name

    def writers(self):
        """Who signed anything since there was this pair, write by write."""
        return [
            served.user_agent.partition(" ")[0]
            for served in self.server.journal[self.first :]
            if served.method == "PATCH" and "/configmaps/" in served.path
        ]

    def lease(self):
        return self.client.get(LEASES, LEASE)["spec"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("failover") / "kubeconfig")
    with KubeServer() as server:
        server.write_kubeconfig(path)
        with closing(KubeClient(load(path), user_agent="tests")) as client:
            meta = {"namespace": KEY.namespace, "name": KEY.name}
            client.create(CONFIG_MAPS, {"metadata": meta})
            found = Scene(server, client, path)
            yield found
            for replica in found.replicas:
                replica.end()
            server.faults.release_all()


def test_le10_a_leader_that_ends_hands_over_at_once(scene):
    leader, standby = scene.pair()
    transitions = scene.lease()["leaseTransitions"]
    begun = time.monotonic()
    leader.send(signal.SIGTERM)
    handed_over = scene.wait_signed(standby) - begun
    assert leader.exit_code() == 0
    scene.assert_taken_over(leader, standby)
    assert scene.lease()["leaseTransitions"] == transitions + 1
    assert handed_over < at_once(scene.timing)
    scene.retire(leader)


def test_le10_a_leader_that_is_killed_is_followed_when_its_lease_is_over(scene):
    leader, standby = scene.pair()
    killed = time.monotonic()
    leader.send(signal.SIGKILL)
    renewed = scene.lease()["renewTime"]
    waited = scene.wait_signed(standby) - killed
    scene.assert_taken_over(leader, standby)
    # Not since it was killed: a busy leader may have renewed it a while before.
    free = datetime.fromisoformat(renewed) + timedelta(
        seconds=scene.timing.lease_seconds
    )
    assert datetime.fromisoformat(scene.lease()["acquireTime"]) >= free
    assert waited < at_once(scene.timing)
    scene.retire(leader)


@pytest.fixture
def busy(scene):
    """More to sign, without a pause: writes are under way at any moment."""
    names = [f"busy-{number}" for number in range(24)]
    keys = [ObjectKey(KEY.namespace, name) for name in names]
    for key in keys:
        meta = {"namespace": key.namespace, "name": key.name}
        scene.client.create(CONFIG_MAPS, {"metadata": meta})
    yield
    for key in keys:
        scene.client.delete(CONFIG_MAPS, key)


def suspend(scene, leader, standby, *, land=None, most_late=0):
    """Stop the leader until another one leads; what is under way lands meanwhile."""
    leader.send(signal.SIGSTOP)
    if land is not None:
        land.release()
    scene.wait_signed(standby)
    leader.send(signal.SIGCONT)
    assert leader.exit_code() == 1
    scene.wait_signed(standby)
    scene.assert_taken_over(leader, standby, most_late=most_late)
    scene.retire(leader)


@pytest.mark.parametrize("moment", ["LE-5-idle", "LE-5-sending"])
def test_a_leader_that_was_suspended_writes_nothing_when_it_goes_on(scene, moment):
    leader, standby = scene.pair()
    land = None
    if moment == "LE-5-sending":
        land = scene.server.faults.hold(method="PATCH", path="/configmaps/signed")
        assert land.wait_arrived(at_once(scene.timing))
    else:
        scene.wait_signed(leader)
    suspend(scene, leader, standby, land=land)


@pytest.mark.usefixtures("busy")
def test_le5_a_busy_leader_is_suspended_anywhere_and_writes_no_more(scene):
    """Its threads are stopped wherever they are: most of them within a request.

    One may be just past its look at the lease, if the machine is slow enough.
    """
    leader, standby = scene.pair()
    while scene.writers().count(leader.name) < 100:
        scene.wait_signed(leader)
    suspend(scene, leader, standby, most_late=1)


def test_le5_a_leader_cut_off_from_its_lease_ends_before_another_begins(scene):
    leader, standby = scene.pair()
    # Leases alone are out of reach: all else of the leader would go on.
    hold = scene.server.faults.hold(method="PUT", path="/leases/")
    assert hold.wait_arrived(at_once(scene.timing))
    assert leader.exit_code() == 1
    assert standby.name not in scene.writers()
    hold.drop()
    scene.wait_signed(standby)
    scene.assert_taken_over(leader, standby)
    scene.retire(leader)
