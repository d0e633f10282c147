"""Which credential an object uses, what is kept of it, and who is woken by a change."""

import base64
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event

import attrs
import pytest

from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.credentials_secret import IDENTITY_FILE, SecretRules
from asoreconcile.azure.controllers.credential_hold import CredentialHold
from asoreconcile.azure.controllers.credential_resolver import (
    CredentialResolver,
    content_digest,
)
from asoreconcile.azure.controllers.credential_watcher import (
    CredentialWatcher,
    index_credentials,
    is_change,
    is_named_credential,
)
from asoreconcile.azure.reconcile.model.annotations import (
    CREDENTIAL_FROM,
    OWN_CREDENTIAL,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.scope.shared_dependencies import Connection
from asoreconcile.azure.reconcile.state.memory import ObjectMemories
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Updated
from asoreconcile.kube.errors import ForbiddenError, NotFoundError
from asoreconcile.queue.workqueue import LOW_PRIORITY
from asoreconcile.runtime.reconciler import Request
from asoreconcile.testing.clock import FakeClock

CANARY = "canary-secret-3c"
VALUES = {
    "AZURE_SUBSCRIPTION_ID": "sub",
    "AZURE_TENANT_ID": "tenant",
    "AZURE_CLIENT_ID": "client",
    "AZURE_CLIENT_SECRET": CANARY,
}
NAMESPACE_WIDE = ObjectKey("ns", "aso-credential")
PLAIN = ObjectKey("ns", "plain")


class Cluster:
    """Secrets on an API server, and a cache of their headers that a test can hold."""

    def __init__(self):
        self.secrets = {}
        self.cached = {}
        self.synced = True
        self.reads = []
        self.forbidden = False
        self.seen = {}
        self.connecting = lambda: None
        self._version = 0

    def put(self, name, *, cached=True, namespace="ns", **values):
        self._version += 1
        key = ObjectKey(namespace, name)
        data = {k: base64.b64encode(v.encode()).decode() for k, v in values.items()}
        meta = {
            "namespace": namespace,
            "name": name,
            "uid": f"u-{name}",
            "resourceVersion": str(self._version),
        }
        self.secrets[key] = {"metadata": meta, "data": data}
        if cached:
            self.cached[key] = Entry({"metadata": meta})

    def own(self, name, api_version="cache.azure.com/v20241101"):
        """Give a Secret an owner."""
        reference = {"apiVersion": api_version, "kind": "Redis", "name": "r"}
        secret = self.secrets[ObjectKey("ns", name)]
        secret["metadata"]["ownerReferences"] = [reference]

    def drop(self, name):
        key = ObjectKey("ns", name)
        del self.secrets[key]
        self.cached.pop(key, None)

    def get(self, resource, key):
        assert resource.kind == "Secret"
        self.reads.append(key.name)
        if self.forbidden:
            raise ForbiddenError("no", status=403)
        if key not in self.secrets:
            raise NotFoundError("no", status=404)
        return self.secrets[key]

    def has_synced(self):
        return self.synced

    def entry(self, key):
        return self.cached.get(key)


@pytest.fixture
def cluster():
    return Cluster()


@pytest.fixture
def made():
    return []


@pytest.fixture
def connections(cluster, made, clock):
    return resolver(cluster, made, clock)


def resolver(cluster, made, clock, **more):
    def connect(source, name, *, entra_app_id):
        del entra_app_id
        cluster.connecting()
        made.append(source)
        client = f"client {len(made)}"
        return Connection(client, subscription_id=source.subscription_id, source=name)

    return CredentialResolver(
        cluster,
        cluster,
        connect=connect,
        rules=SecretRules(),
        settings=lambda: Connection(
            "global", subscription_id="g", source="ops/settings"
        ),
        seen=lambda group_kind: cluster.seen.get(group_kind.kind, ""),
        clock=clock,
        namespace="ops",
        **more,
    )


def new_object(kind="Kind", version="", **notes):
    meta = {"namespace": "ns", "name": "o", "annotations": notes}
    if version:
        meta["resourceVersion"] = version
    return {"apiVersion": "g/v1", "kind": kind, "metadata": meta}


def claimed(**notes):
    return new_object(**{RESOURCE_ID: "/subscriptions/sub/x"}, **notes)


def named(name):
    return {CREDENTIAL_FROM: name}


def refusal(connections, obj):
    with pytest.raises(CredentialError) as caught:
        connections.for_object(obj)
    error = caught.value
    assert (error.reason, error.severity, error.retry) == (
        "CredentialError",
        "Warning",
        RetryClass.SLOW,
    )
    assert CANARY not in "".join(traceback.format_exception(error))
    return str(error)


@pytest.mark.parametrize("make", [new_object, claimed])
def test_r8_1_the_narrowest_scope_wins(cluster, connections, make):
    assert connections.for_object(make()).source == "ops/settings"
    cluster.put("aso-credential", **VALUES)
    assert connections.for_object(make()).source == "ns/aso-credential"
    cluster.put("own", **VALUES)
    assert connections.for_object(make(**named("own"))).source == "ns/own"
    assert connections.for_object(make()).source == "ns/aso-credential"


def test_another_namespaces_secret_is_none_of_its_business(cluster, connections):
    cluster.put("aso-credential", namespace="other", **VALUES)
    assert connections.for_object(claimed()).source == "ops/settings"


def used(name="aso-credential", **notes):
    """An object that has used a Secret of its namespace."""
    return claimed(**{OWN_CREDENTIAL: name}, **notes)


def deleted(obj):
    meta = {**obj["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    return {**obj, "metadata": meta}


@pytest.mark.parametrize("was_used", ["aso-credential", "own"])
@pytest.mark.parametrize("state", [lambda obj: obj, deleted])
def test_r8_7_no_wider_credential_takes_the_place_of_one_that_is_gone(
    connections, was_used, state
):
    text = refusal(connections, state(used(was_used)))
    assert "Secret 'aso-credential', which was used for the resource" in text
    # What can be done in a Namespace that is being deleted, and only there.
    assert ("Secret ops/aso-credential.ns" in text) is (state is deleted)


def test_r8_7_an_export_does_not_take_that_place_either(cluster, connections):
    cluster.put("aso-credential", **VALUES)
    references = [{"apiVersion": "storage.azure.com/v1", "kind": "K", "name": "n"}]
    secret = cluster.secrets[NAMESPACE_WIDE]
    secret["metadata"]["ownerReferences"] = references
    refusal(connections, used())


def test_r8_7_a_setting_lets_wider_credentials_be_used(cluster, connections):
    connections._widens = True
    assert connections.for_object(used()).source == "ops/settings"
    refusal(connections, used(**named("own")))  # what the object names is never left


def test_r8_7_a_secret_of_the_operators_namespace_ends_a_deletion(cluster, connections):
    cluster.put("aso-credential.ns", namespace="ops", **VALUES)
    source = "ops/aso-credential.ns"
    assert connections.for_object(deleted(used())).source == source
    assert connections.for_object(deleted(used(**named("own")))).source == source
    refusal(connections, used())  # for deletions alone
    assert connections.for_object(deleted(claimed())).source == "ops/settings"


def test_r8_7_a_malformed_secret_of_the_operators_namespace_is_told_of(
    cluster, connections
):
    cluster.put("aso-credential.ns", namespace="ops")
    text = refusal(connections, deleted(used()))
    assert "'ops/aso-credential.ns' cannot be used" in text


@pytest.mark.parametrize("name", ["other/own", "/", "..", "a b", "own?x"])
def test_r8_2_the_annotation_cannot_leave_the_namespace(cluster, connections, name):
    cluster.put("own", namespace="other", **VALUES)
    text = refusal(connections, claimed(**named(name)))
    assert "object's own namespace" in text
    assert cluster.reads == []


def test_a_named_secret_that_is_missing_is_an_error(cluster, connections):
    cluster.put("aso-credential", **VALUES)
    text = refusal(connections, claimed(**named("own")))
    assert "Secret 'own'" in text
    assert "does not exist in namespace ns" in text


def test_r8_3_a_malformed_secret_does_not_fall_through(cluster, connections):
    cluster.put("aso-credential", AZURE_CLIENT_SECRET=CANARY)
    text = refusal(connections, claimed())
    assert "credential Secret 'ns/aso-credential' cannot be used" in text
    for key in ("AZURE_SUBSCRIPTION_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_ID"):
        assert key in text


def test_r8_3_a_secret_without_data_lacks_every_key(cluster, connections):
    cluster.put("aso-credential")
    del cluster.secrets[NAMESPACE_WIDE]["data"]
    message = refusal(connections, claimed())
    assert all(key in message for key in VALUES if key != "AZURE_CLIENT_SECRET")
    assert connections.digest(NAMESPACE_WIDE) == content_digest({})


def test_a_secret_that_is_not_there_has_no_digest(cluster, connections):
    assert connections.digest(NAMESPACE_WIDE) == ""


def test_a_secret_that_may_not_be_read_says_which_right_is_missing(
    cluster, connections
):
    cluster.put("aso-credential", **VALUES)
    cluster.forbidden = True
    assert "get, list and watch on secrets" in refusal(connections, claimed())


def test_no_global_credential_is_an_error_of_who_needs_it(cluster, made):
    connections = CredentialResolver(
        cluster,
        cluster,
        connect=lambda source, name, **_: Connection("c", source.subscription_id, name),
        rules=SecretRules(),
        settings=lambda: None,
        seen=lambda _group_kind: "",
        clock=FakeClock(),
    )
    text = refusal(connections, claimed())
    assert text.startswith("global credential not configured")
    assert CREDENTIAL_FROM in text
    assert "AZURE_SUBSCRIPTION_ID" in text
    cluster.put("aso-credential", **VALUES)
    assert connections.for_object(claimed()).subscription_id == "sub"


def test_r8_4_a_connection_is_kept_while_the_secret_is_the_same(
    cluster, connections, made
):
    cluster.put("aso-credential", **VALUES)
    first = [connections.for_object(claimed()) for _ in range(5)]
    assert cluster.reads == ["aso-credential"]
    assert len(made) == 1
    assert len({id(connection) for connection in first}) == 1


def test_r8_4_a_rotation_is_used_by_the_next_pass(cluster, connections, made):
    cluster.put("aso-credential", **VALUES)
    connections.for_object(claimed())
    cluster.put("aso-credential", **VALUES | {"AZURE_CLIENT_SECRET": "rotated"})
    assert connections.for_object(claimed()).client == "client 2"
    assert made[-1].client_secret == "rotated"


def test_a_new_label_on_the_secret_keeps_the_connection(cluster, connections, made):
    cluster.put("aso-credential", **VALUES)
    connections.for_object(claimed())
    cluster.put("aso-credential", **VALUES)
    connections.for_object(claimed())
    connections.for_object(claimed())
    assert len(made) == 1
    assert len(cluster.reads) == 2


def test_a_secret_that_broke_drops_the_connection(cluster, connections, made):
    cluster.put("aso-credential", **VALUES)
    connections.for_object(claimed())
    cluster.put("aso-credential", AZURE_TENANT_ID="t")
    refusal(connections, claimed())
    cluster.drop("aso-credential")
    assert connections.for_object(claimed()).source == "ops/settings"
    cluster.put("aso-credential", **VALUES)
    assert connections.for_object(claimed()).client == "client 2"


def test_a_secret_that_broke_is_used_by_nobody_while_the_cache_lags(
    cluster, connections
):
    cluster.put("aso-credential", **VALUES)
    connections.for_object(claimed())
    cluster.put("aso-credential", cached=False, AZURE_TENANT_ID="t")
    refusal(connections, new_object())
    refusal(connections, claimed())


def test_a_new_object_does_not_trust_a_cache_that_may_lag(cluster, connections):
    cluster.put("aso-credential", cached=False, **VALUES)
    assert connections.for_object(claimed()).source == "ops/settings"
    assert connections.for_object(new_object()).subscription_id == "sub"


def test_what_a_new_object_was_given_stands_while_the_cache_lags(cluster, connections):
    """The claim names the Secret's subscription: the next pass must not go elsewhere."""
    cluster.put("aso-credential", cached=False, **VALUES)
    assert connections.for_object(new_object()).subscription_id == "sub"
    assert connections.for_object(claimed()).subscription_id == "sub"
    cluster.drop("aso-credential")
    assert connections.for_object(claimed()).source == "ops/settings"
    reads = len(cluster.reads)
    assert connections.for_object(claimed()).source == "ops/settings"
    assert len(cluster.reads) == reads


def test_a_connection_being_made_anew_is_no_secret_that_is_not_there(
    cluster, connections, monkeypatch
):
    """With the cache behind, the settings would be used: another subscription."""
    cluster.put("aso-credential", cached=False, **VALUES)
    connections.for_object(new_object())
    cluster.put("aso-credential", cached=False, **VALUES | {"AZURE_CLIENT_ID": "new"})
    came, read = Event(), cluster.get

    def read_and_tell(resource, key):
        came.set()
        return read(resource, key)

    def ask():
        try:
            return connections.for_object(claimed())
        finally:
            came.set()

    def meanwhile():
        monkeypatch.setattr(cluster, "connecting", lambda: None)
        monkeypatch.setattr(cluster, "get", read_and_tell)
        answers.append(pool.submit(ask))
        assert came.wait(30)

    answers = []
    with ThreadPoolExecutor(1) as pool:
        cluster.connecting = meanwhile
        connections.for_object(new_object())
    assert [answer.result().source for answer in answers] == [str(NAMESPACE_WIDE)]


def test_the_login_of_one_secret_waits_for_no_other_secret(cluster, connections):
    """A connection that takes long to make, such as one of an encrypted key."""
    cluster.put("slow", **VALUES)
    cluster.put("quick", namespace="other", **VALUES)
    began, may_end = Event(), Event()

    def slowly():
        cluster.connecting = lambda: None
        began.set()
        assert may_end.wait(30)

    cluster.connecting = slowly
    other = new_object(**{CREDENTIAL_FROM: "quick"})
    other["metadata"]["namespace"] = "other"
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(
            connections.for_object, new_object(**{CREDENTIAL_FROM: "slow"})
        )
        assert began.wait(30)
        quick = pool.submit(connections.for_object, other)
        try:
            assert quick.result(30).source == "other/quick"
            assert not slow.done()
        finally:
            may_end.set()
        assert slow.result(30).source == "ns/slow"


def test_an_older_content_that_took_long_does_not_replace_a_newer_one(
    cluster, connections
):
    cluster.put(NAMESPACE_WIDE.name, **VALUES)
    began, may_end = Event(), Event()

    def slowly():
        cluster.connecting = lambda: None
        began.set()
        assert may_end.wait(30)

    cluster.connecting = slowly
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(connections.for_object, claimed())
        try:
            assert began.wait(30)
            cluster.put(NAMESPACE_WIDE.name, **VALUES | {"AZURE_CLIENT_ID": "new"})
            newer = connections.for_object(claimed())
        finally:
            may_end.set()
        slow.result(30)
    reads = len(cluster.reads)
    assert connections.for_object(claimed()) is newer
    assert len(cluster.reads) == reads


def test_objects_that_were_there_before_a_read_share_it(cluster, connections, clock):
    cluster.seen["Kind"] = "20"
    for version, at in (("3", 0.0), ("20", 0.5), ("9", 1.0)):
        clock.advance(at - clock.monotonic())
        assert connections.for_object(new_object(version=version)).client == "global"
    assert cluster.reads == ["aso-credential"]
    # Too long ago.
    clock.advance(0.1)
    connections.for_object(new_object(version="3"))
    assert len(cluster.reads) == 2


def test_a_secret_applied_before_an_object_is_seen_by_it(cluster, connections):
    """Its read has to begin when the object is there, however shortly after another."""
    cluster.seen["Kind"] = "20"
    assert connections.for_object(new_object(version="20")).client == "global"
    cluster.put("aso-credential", cached=False, **VALUES)
    cluster.seen["Kind"] = "21"
    assert connections.for_object(new_object(version="21")).subscription_id == "sub"
    assert connections.for_object(new_object(version="20")).subscription_id == "sub"


def test_what_the_cache_reaches_during_a_read_was_not_before_it(
    cluster, connections, monkeypatch
):
    read = cluster.get

    def meanwhile(resource, key):
        cluster.seen["Kind"] = "21"
        return read(resource, key)

    cluster.seen["Kind"] = "20"
    monkeypatch.setattr(cluster, "get", meanwhile)
    assert connections.for_object(new_object(version="20")).client == "global"
    cluster.put("aso-credential", cached=False, **VALUES)
    assert connections.for_object(new_object(version="21")).subscription_id == "sub"


@pytest.mark.parametrize(
    ("version", "seen"), [("", "20"), ("20", ""), ("opaque", "20"), ("", "")]
)
def test_without_an_order_of_versions_no_read_is_shared(
    cluster, connections, version, seen
):
    cluster.seen["Kind"] = seen
    for _ in range(2):
        connections.for_object(new_object(version=version))
    assert len(cluster.reads) == 2


def test_reads_are_shared_for_each_secret_and_each_kind(cluster, connections):
    cluster.put("own", cached=False, **VALUES)
    cluster.seen.update(Kind="20", Other="20")
    for _ in range(2):
        for kind in ("Kind", "Other"):
            own = new_object(kind, version="7", **named("own"))
            assert connections.for_object(own).source == "ns/own"
            others = new_object(kind, version="7")
            assert connections.for_object(others).client == "global"
    assert len(cluster.reads) == 4


def test_versions_of_two_kinds_have_no_order(cluster, connections):
    cluster.seen.update(Kind="20", Other="5")
    connections.for_object(new_object(version="7"))
    connections.for_object(new_object("Other", version="5"))
    assert len(cluster.reads) == 2


def test_who_is_woken_by_a_change_does_not_share_a_read_from_before_it(
    cluster, connections, users, kinds
):
    cluster.seen["Kind"] = "20"
    assert connections.for_object(new_object(version="7")).client == "global"
    cluster.put("aso-credential", cached=False, **VALUES)
    users.reconcile(Request(NAMESPACE_WIDE))
    assert connections.for_object(new_object(version="7")).subscription_id == "sub"


def test_a_read_that_ends_after_a_change_was_told_is_not_shared(
    cluster, connections, users, clock, monkeypatch
):
    read = cluster.get

    def slowly(resource, key):
        monkeypatch.setattr(cluster, "get", read)
        try:
            return read(resource, key)
        finally:
            cluster.put("aso-credential", cached=False, **VALUES)
            users.reconcile(Request(key))
            clock.advance(0.1)

    cluster.seen["Kind"] = "20"
    monkeypatch.setattr(cluster, "get", slowly)
    assert connections.for_object(new_object(version="7")).client == "global"
    assert connections.for_object(new_object(version="7")).subscription_id == "sub"


def test_shared_reads_do_not_pile_up(cluster, connections, clock):
    for number in range(50):
        cluster.seen[f"Kind{number}"] = "20"
        connections.for_object(new_object(f"Kind{number}", version="7"))
        clock.advance(0.3)
    assert len(connections._reads._shared) <= 4


def test_a_cache_that_is_filling_is_not_asked(cluster, connections):
    cluster.put("aso-credential", cached=False, **VALUES)
    cluster.synced = False
    assert connections.for_object(claimed()).subscription_id == "sub"


def test_a_named_secret_missing_from_the_cache_alone_is_found(cluster, connections):
    cluster.put("own", cached=False, **VALUES)
    assert connections.for_object(claimed(**named("own"))).subscription_id == "sub"


def test_a_secret_of_the_namespaces_name_must_exist_if_named(cluster, connections):
    name = named(NAMESPACE_WIDE.name)
    assert "does not exist" in refusal(connections, claimed(**name))
    cluster.put(NAMESPACE_WIDE.name, cached=False, **VALUES)
    assert connections.for_object(claimed(**name)).subscription_id == "sub"


def test_objects_without_a_narrower_credential_cost_no_reads(cluster, connections):
    connections.for_object(claimed())
    assert cluster.reads == []


def test_nothing_kept_or_shown_holds_a_secret(cluster, connections):
    cluster.put("aso-credential", **VALUES)
    connection = connections.for_object(claimed())
    assert CANARY not in repr(connection)
    connections.for_object(new_object())
    assert CANARY not in repr(connections._kept)
    assert CANARY not in repr(connections._reads)


def test_workers_meet_one_connection_for_each_content(cluster, connections, made):
    rotations, workers = 20, 6
    together = Barrier(workers)

    def work():
        for _ in range(rotations):
            if together.wait() == 0:
                secret = f"secret {len(cluster.reads)}"
                cluster.put(
                    NAMESPACE_WIDE.name, **VALUES | {"AZURE_CLIENT_SECRET": secret}
                )
            together.wait()
            connections.for_object(claimed())

    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(work) for _ in range(workers)]:
            done.result()
    assert len(made) == rotations
    last = connections.for_object(claimed())
    assert last.client == f"client {rotations}"


def test_the_digest_changes_with_keys_and_values():
    base = content_digest({"a": "1", "b": "2"})
    assert content_digest({"b": "2", "a": "1"}) == base
    assert content_digest({"a": "1", "b": "3"}) != base
    assert content_digest({"a": "1", "c": "2"}) != base
    assert content_digest({"a": "1"}) != base


class Controller:
    def __init__(self, woken):
        self._woken = woken

    def enqueue(self, key, *, priority=0):
        self._woken[key.name] = priority


class Informer:
    """A kind's cache, as far as it is asked for an index."""

    def __init__(self):
        self.entries = {}

    def add_index(self, name, function):
        self._index = function

    def by_index(self, name, value):
        return [k for k, e in self.entries.items() if value in self._index(e)]

    def entry(self, key):
        return self.entries[key]

    def add(self, name, *, ready="False", **notes):
        conditions = [{"type": "Ready", "status": ready}]
        entry = Entry(
            {
                "metadata": {"namespace": "ns", "name": name, "annotations": notes},
                "status": {"conditions": conditions},
            }
        )
        self.entries[entry.key] = entry


@attrs.frozen
class Kind:
    informer: Informer
    controller: Controller
    memories: ObjectMemories


class Kinds:
    def __init__(self):
        self.woken = {}
        self.memories = ObjectMemories()
        self.informer = Informer()
        index_credentials(self.informer)

    def running(self):
        kind = Kind(self.informer, Controller(self.woken), self.memories)
        return {GroupKind("g", "K"): kind}


@pytest.fixture
def kinds():
    kinds = Kinds()
    kinds.informer.add("plain")
    kinds.informer.add("settled", ready="True")
    kinds.informer.add("particular", **named("own"))
    return kinds


@pytest.fixture
def users(connections, kinds, cluster):
    return CredentialWatcher(
        connections, kinds, CredentialHold(cluster, cluster, is_wanted=False)
    )


def test_a_new_secret_wakes_who_uses_it_the_failing_first(cluster, users, kinds):
    cluster.put("aso-credential", **VALUES)
    users.reconcile(Request(NAMESPACE_WIDE))
    assert kinds.woken == {"plain": 0, "settled": LOW_PRIORITY}


def test_who_uses_the_content_already_is_not_woken(cluster, connections, users, kinds):
    cluster.put("aso-credential", **VALUES)
    used = connections.for_object(new_object()).content
    kinds.memories.of(PLAIN, "u").content = used
    users.reconcile(Request(NAMESPACE_WIDE))
    assert kinds.woken == {"settled": LOW_PRIORITY}
    kinds.woken.clear()
    cluster.put("aso-credential", **VALUES | {"AZURE_CLIENT_SECRET": "new"})
    users.reconcile(Request(NAMESPACE_WIDE))
    assert kinds.woken == {"plain": 0, "settled": LOW_PRIORITY}


def test_without_a_secret_everybody_is_woken(cluster, users, kinds):
    """The settings' content is not told apart."""
    cluster.put("aso-credential", **VALUES)
    users.reconcile(Request(NAMESPACE_WIDE))
    kinds.woken.clear()
    kinds.memories.of(PLAIN, "u").content = ""
    cluster.drop("aso-credential")
    users.reconcile(Request(NAMESPACE_WIDE))
    assert kinds.woken == {"plain": 0, "settled": LOW_PRIORITY}


def test_a_connection_tells_contents_apart_and_not_versions(cluster, connections):
    contents = []
    for values in (VALUES, VALUES, VALUES | {"AZURE_CLIENT_SECRET": "new"}):
        cluster.put("aso-credential", **values)
        contents.append(connections.for_object(claimed()).content)
    assert (
        contents[0]
        == contents[1]
        == content_digest(
            {k: base64.b64encode(v.encode()).decode() for k, v in VALUES.items()}
        )
    )
    assert contents[2] not in ("", contents[0])
    cluster.drop("aso-credential")
    assert connections.for_object(new_object()).content == ""


def test_a_named_secret_wakes_who_names_it(cluster, users, kinds):
    cluster.put("own", **VALUES)
    users.reconcile(Request(ObjectKey("ns", "own")))
    assert kinds.woken == {"particular": 0}


def test_a_secret_nobody_uses_is_not_read(cluster, users, kinds):
    cluster.put("tls", **VALUES)
    users.reconcile(Request(ObjectKey("ns", "tls")))
    assert kinds.woken == {}
    assert cluster.reads == []


def test_a_secret_nobody_uses_any_more_is_not_kept(cluster, connections, users, kinds):
    cluster.put("own", **VALUES)
    connections.for_object(claimed(**named("own")))
    kinds.informer.entries.clear()
    users.reconcile(Request(ObjectKey("ns", "own")))
    assert connections._kept == {}


def test_only_a_change_of_content_wakes(cluster, users, kinds):
    for values in (VALUES, VALUES, VALUES | {"AZURE_CLIENT_SECRET": "new"}):
        kinds.woken.clear()
        cluster.put("own", **values)
        users.reconcile(Request(ObjectKey("ns", "own")))
    assert kinds.woken == {"particular": 0}
    kinds.woken.clear()
    users.reconcile(Request(ObjectKey("ns", "own")))
    assert kinds.woken == {}


def test_a_secret_that_goes_wakes_and_so_does_its_return(cluster, users, kinds):
    key = ObjectKey("ns", "own")
    cluster.put("own", **VALUES)
    users.reconcile(Request(key))
    for change in (lambda: cluster.drop("own"), lambda: cluster.put("own", **VALUES)):
        kinds.woken.clear()
        change()
        users.reconcile(Request(key))
        assert kinds.woken == {"particular": 0}


def test_what_counts_as_a_change():
    one = Entry({"metadata": {"name": "s", "resourceVersion": "1"}})
    two = Entry({"metadata": {"name": "s", "resourceVersion": "2"}})
    assert is_change(Added(one, initial=False))
    assert not is_change(Added(one, initial=True))
    assert is_change(Updated(one, two))
    assert not is_change(Updated(one, one))
    assert is_change(Deleted(one))


@pytest.mark.parametrize("make", [new_object, claimed], ids=["new", "claimed"])
def test_an_exported_secret_is_no_credential_of_the_namespace(
    cluster, connections, make
):
    cluster.put("aso-credential", **VALUES)
    cluster.own("aso-credential")
    assert connections.for_object(make()).client == "global"
    assert connections.digest(NAMESPACE_WIDE) == ""


@pytest.mark.parametrize("make", [new_object, claimed], ids=["new", "claimed"])
def test_an_exported_secret_is_no_credential_that_can_be_named(
    cluster, connections, make
):
    cluster.put("own", **VALUES)
    assert connections.for_object(make(**named("own"))).source == "ns/own"
    cluster.put("own", **VALUES)
    cluster.own("own")
    with pytest.raises(CredentialError, match="exported by an Azure resource"):
        connections.for_object(make(**named("own")))


def test_a_secret_that_another_program_owns_is_a_credential(cluster, connections):
    cluster.put("aso-credential", **VALUES)
    cluster.own("aso-credential", "external-secrets.io/v1")
    assert connections.for_object(new_object()).subscription_id == "sub"


def test_which_secrets_objects_name_is_known(kinds):
    is_credential = partial(is_named_credential, kinds)
    assert is_credential(ObjectKey("ns", "own"))
    assert not is_credential(ObjectKey("ns", "other"))
    assert not is_credential(ObjectKey("elsewhere", "own"))


LOGIN = {
    "AZURE_SUBSCRIPTION_ID": "sub",
    "AZURE_TENANT_ID": "tenant",
    "AZURE_CLIENT_ID": "client",
}
BORROWED = {
    "node": {"AUTH_MODE": "podidentity"},
    "node, in capitals": {"AUTH_MODE": " PodIdentity"},
    "file": {IDENTITY_FILE: "/var/run/identity"},
    "file before node": {IDENTITY_FILE: "/x", "AUTH_MODE": "podidentity"},
}


@pytest.mark.parametrize("more", BORROWED.values(), ids=BORROWED)
@pytest.mark.parametrize("name", ["aso-credential", "mine"])
def test_r8_3_strict_lends_no_identity_of_the_pod_or_the_node(
    cluster, made, clock, more, name
):
    notes = {} if name == "aso-credential" else {CREDENTIAL_FROM: name}
    cluster.put(name, **LOGIN, **more)
    relaxed = resolver(cluster, made, clock)
    assert relaxed.for_object(new_object(**notes)).subscription_id == "sub"
    strict = resolver(cluster, made, clock, tokens=lambda _namespace: "token")
    with pytest.raises(CredentialError) as refused:
        strict.for_object(new_object(**notes))
    # The way out: the account to trust, and the key to remove.
    assert "system:serviceaccount:ns:aso-workload" in str(refused.value)
    assert f"remove {IDENTITY_FILE if IDENTITY_FILE in more else 'AUTH_MODE'}" in str(
        refused.value
    )
    for kept in ({"AZURE_CLIENT_SECRET": "s"}, {}):
        cluster.put(name, **LOGIN, **kept)
        assert strict.for_object(new_object(**notes)).subscription_id == "sub"
