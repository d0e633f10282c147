"""What an application does with its API server, and with a second one."""

import urllib.request
from queue import Queue

import pytest
from applications import Applications, Noting, until
from prometheus_client import Counter

from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.kube.discovery import UnknownKindError
from asoreconcile.kube.errors import ConflictError, ForbiddenError, NotFoundError
from asoreconcile.kube.owners import AlreadyOwnedError
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from asoreconcile.kube.selection import Selection
from asoreconcile.runtime.cluster import ClusterOptions
from asoreconcile.runtime.manager import ManagerError
from asoreconcile.runtime.options import ClientOptions
from asoreconcile.runtime.reconciler import Result
from asoreconcile.testing.kube import KubeServer

OWNER = ObjectKey("default", "owner")
CHILD = ObjectKey("default", "child")


@pytest.fixture
def server():
    with KubeServer(rbac=True) as server:
        yield server


@pytest.fixture
def application(server, tmp_path):
    server.write_kubeconfig(tmp_path / "kubeconfig")
    applications = Applications(str(tmp_path / "kubeconfig"))
    yield applications
    applications.close()


@pytest.fixture
def other(tmp_path):
    with KubeServer() as server:
        server.write_kubeconfig(tmp_path / "other")
        yield str(tmp_path / "other")


def owner_in(app, key=OWNER):
    meta = {"namespace": key.namespace, "name": key.name}
    return app.client.create(CONFIG_MAPS, {"metadata": meta})


def child(**data):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": "default", "name": "child"},
        "data": data,
    }


def writes(server):
    return [one for one in server.journal if one.method not in ("GET", "HEAD")]


def test_a_child_is_applied_as_its_owner_s(server, application):
    app = application.make()
    owner, stated = owner_in(app), child(colour="Ymx1ZQ==")
    before = str(stated)
    made = app.apply(owner, stated)
    assert str(stated) == before
    (reference,) = made["metadata"]["ownerReferences"]
    assert (reference["uid"], reference["controller"]) == (
        owner["metadata"]["uid"],
        True,
    )
    (manager,) = made["metadata"]["managedFields"]
    assert (manager["manager"], manager["operation"]) == ("tests", "Apply")
    # Again, nothing differs: the server stores nothing.
    again = app.apply(owner, stated)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    # What is left out is taken away, what others wrote stays.
    app.client.patch(SECRETS, CHILD, {"metadata": {"labels": {"by": "another"}}})
    changed = app.apply(owner, child(shape="cm91bmQ="))
    assert list(changed["data"]) == ["shape"]
    assert changed["metadata"]["labels"] == {"by": "another"}


def test_a_field_of_another_manager_is_taken_over_unless_told_otherwise(
    server, application
):
    app = application.make(client=ClientOptions(field_manager="mine"))
    app.apply(None, child(colour="Ymx1ZQ=="))
    ours = {"data": {"colour": "cmVk"}}
    app.client.patch(SECRETS, CHILD, ours, field_manager="somebody")
    stated = child(colour="Ymx1ZQ==")
    with pytest.raises(ConflictError, match="somebody"):
        app.apply(None, stated, force=False, resource=SECRETS)
    assert app.apply(None, stated)["data"] == stated["data"]
    managers = {
        one["manager"]
        for one in app.client.get(SECRETS, CHILD)["metadata"]["managedFields"]
    }
    assert "mine" in managers


def test_an_apply_that_cannot_be_is_refused_before_anything_is_sent(
    server, application
):
    app = application.make()
    first, second = owner_in(app), owner_in(app, ObjectKey("default", "second"))
    owned = app.apply(first, child())
    owned["metadata"].pop("managedFields")
    sent = len(writes(server))
    with pytest.raises(AlreadyOwnedError):
        app.apply(second, owned)
    elsewhere = child()
    elsewhere["metadata"]["namespace"] = "kube-system"
    with pytest.raises(ValueError, match="cannot own an object in 'kube-system'"):
        app.apply(first, elsewhere)
    with pytest.raises(UnknownKindError):
        app.apply(first, {**child(), "kind": "Secrets"})
    assert len(writes(server)) == sent


def test_discovery_is_asked_once_a_kind(server, application):
    app = application.make()
    for _ in range(3):
        assert app.discovery.resource(GroupKind("", "Secret")) == SECRETS
    paths = [one.path for one in server.journal]
    assert paths.count("/api/v1") == 1


def test_a_client_acts_as_another_user(server, application):
    app = application.make()
    bob = app.client_as("bob", groups=("team-a", "team-b"))
    with pytest.raises(ForbiddenError, match='User "bob"'):
        bob.get(SECRETS, CHILD)
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}
    api = "rbac.authorization.k8s.io"
    for kind, more in (
        ("ClusterRole", {"rules": [rule]}),
        (
            "ClusterRoleBinding",
            {
                "subjects": [{"kind": "Group", "name": "team-b", "apiGroup": api}],
                "roleRef": {"kind": "ClusterRole", "name": "read", "apiGroup": api},
            },
        ),
    ):
        metadata = {"name": "read"}
        document = {"apiVersion": f"{api}/v1", "kind": kind, "metadata": metadata}
        app.apply(None, {**document, **more})
    with pytest.raises(NotFoundError):
        bob.get(SECRETS, CHILD)
    # The application itself is who it was.
    app.apply(None, child())
    with pytest.raises(ValueError, match="name the user to act as"):
        app.client_as("", groups=("team-a",))


def test_what_is_deleted_in_bulk_is_read_no_more(server, application):
    app = application.make()
    informer = app.informer(CONFIG_MAPS)
    for name, finalizers in (("one", []), ("two", []), ("held", ["example.com/f"])):
        meta = {"namespace": "default", "name": name, "labels": {"a": "b"}}
        meta["finalizers"] = finalizers
        app.client.create(CONFIG_MAPS, {"metadata": meta})
    with app.running():
        app.wait_until_ready()
        chosen = Selection(CONFIG_MAPS, "default", label_selector="a=b")
        assert len(app.cached.delete_all(chosen, dry_run=True)) == 3
        hold = server.faults.hold(method="GET", path="/configmaps$")
        server.cut_watches()
        assert hold.wait_arrived(10)
        assert len(informer.list("default", labels={"a": "b"})) == 3
        app.cached.delete_all(chosen)
        left = informer.list("default", labels={"a": "b"})
        assert [one["metadata"]["name"] for one in left] == ["held"]
        hold.release()
        held = ObjectKey("default", "held")
        app.client.patch(CONFIG_MAPS, held, {"metadata": {"finalizers": None}})
        until(lambda: informer.get(held) is None)


def test_objects_of_two_clusters_are_reconciled_in_one_process(application, other):
    app = application.make()
    east = app.cluster("east", other, ClusterOptions())
    copied = Queue()

    def copy(request):
        source = east.cached.get(CONFIG_MAPS, request.key)
        meta = {"namespace": "default", "name": request.key.name}
        app.apply(
            None,
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": meta,
                "data": source.get("data") or {},
            },
        )
        copied.put(request.key)
        return Result()

    home = Noting()
    app.reconcile(east.informer(CONFIG_MAPS), copy, name="copies")
    app.reconcile(CONFIG_MAPS, home)
    with app.running():
        app.wait_until_ready()
        meta = {"namespace": "default", "name": "child"}
        east.client.create(CONFIG_MAPS, {"metadata": meta, "data": {"a": "1"}})
        while copied.get(timeout=20) != CHILD:
            pass
        while home.keys.get(timeout=20) != CHILD:
            pass
        assert app.client.get(CONFIG_MAPS, CHILD)["data"] == {"a": "1"}
        assert app.readyz.report_one("apiServer-east").status == 200
        assert "east/ConfigMap" in app.readyz.report(verbose=True).text
    # Both are closed with the application.
    with pytest.raises(Exception, match=r"stopped|closed"):
        east.client.get(NAMESPACES, ObjectKey("", "default"))


def test_a_second_cluster_needs_a_name_of_its_own(application, other):
    app = application.make()
    app.cluster("east", other)
    with pytest.raises(ManagerError, match="there is a cluster east already"):
        app.cluster("east", other)


def test_metrics_of_one_s_own_are_shown_with_the_others(application):
    app = application.make(metrics_address="127.0.0.1:0")
    orders = Counter("orders", "Orders that were placed.", registry=app.registry)
    with app.running():
        app.wait_until_ready()
        orders.inc(3)
        port = next(iter(app.endpoints.values())).port
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            text = answer.read().decode()
    assert "orders_total 3.0" in text
