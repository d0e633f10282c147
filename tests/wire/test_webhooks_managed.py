"""Certificates that look after themselves, in a Secret of a real API server."""

import base64
import http.client
import ssl
from contextlib import closing
from datetime import timedelta

import pytest
from applications import until

from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import ForbiddenError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, SECRETS
from asoreconcile.kube.selection import Selection
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.http import HttpResponse
from asoreconcile.testing.kube import KubeServer
from asoreconcile.webhooks.admission import Allowed
from asoreconcile.webhooks.ca_bundles import (
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    Address,
    Trust,
    WebhookTarget,
    inject_ca_bundle,
)
from asoreconcile.webhooks.managed import ManagedCertificates
from asoreconcile.webhooks.server import WebhookServer

SECRET = ObjectKey("default", "webhook-certificate")
WIDGETS = ObjectKey("", "widgets.demo.example.com")
TRUSTED = "asoreconcile/trusted-authorities"
# Between two rounds of the thread that keeps the certificate.
ROUND_SECONDS = 600.0
OURS = Address(["localhost", "webhooks.default.svc"])


@pytest.fixture
def cluster():
    with KubeServer() as server:
        yield server


@pytest.fixture
def client(cluster, tmp_path):
    cluster.write_kubeconfig(tmp_path / "kubeconfig")
    config = load(str(tmp_path / "kubeconfig"))
    with closing(KubeClient(config, user_agent="tests")) as made:
        yield made


@pytest.fixture
def manage(client):
    made = []

    def build(*, clock=None, targets=(), may_write=lambda: True):
        certificates = ManagedCertificates(
            client,
            SECRET,
            ["localhost", "webhooks.default.svc"],
            clock=clock or SystemClock(),
            targets=lambda: targets,
            may_write=may_write,
        )
        made.append(certificates)
        certificates.start()
        return certificates

    yield build
    for certificates in made:
        assert certificates.stop(10) == []


@pytest.fixture
def widgets(client):
    """A CRD that names a conversion webhook of nobody's trust."""
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": {"openAPIV3Schema": {"type": "object"}},
        }
        for name in ("v1", "v2")
    ]
    service = {"namespace": "default", "name": "webhooks", "path": "/convert"}
    conversion = {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"service": service},
            "conversionReviewVersions": ["v1"],
        },
    }
    return client.create(
        CUSTOM_RESOURCE_DEFINITIONS,
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": WIDGETS.name},
            "spec": {
                "group": "demo.example.com",
                "scope": "Namespaced",
                "names": {"plural": "widgets", "kind": "Widget"},
                "versions": versions,
                "conversion": conversion,
            },
        },
    )


def configuration(resource, *names):
    hooks = [
        {
            "name": f"{name}.demo.example.com",
            "clientConfig": {"url": "https://localhost:9443/validate"},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        for name in names
    ]
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "demo"},
        "webhooks": hooks,
    }


def bundle_of(crd_object):
    text = crd_object["spec"]["conversion"]["webhook"]["clientConfig"].get("caBundle")
    return base64.b64decode(text or "")


def wait_bundle(client, expected):
    page = client.list_page(CUSTOM_RESOURCE_DEFINITIONS)
    if bundle_of(page.items[0]) == expected:
        return
    stream = client.watch(
        CUSTOM_RESOURCE_DEFINITIONS,
        resource_version=page.resource_version,
        timeout_seconds=30,
    )
    with closing(stream):
        assert any(
            kind == "MODIFIED" and bundle_of(obj) == expected for kind, obj in stream
        )


def greet(server, authorities):
    """The serial number of what the server shows to who trusts these."""
    context = ssl.create_default_context(cadata=authorities.decode())
    connection = http.client.HTTPSConnection(
        "localhost", server.port, context=context, timeout=10
    )
    with closing(connection):
        connection.connect()
        return connection.sock.getpeercert()["serialNumber"]


def test_wh7_who_trusts_the_bundle_trusts_the_server(manage):
    certificates = manage()
    server = WebhookServer(
        "127.0.0.1:0", certificates=certificates, clock=SystemClock()
    )
    server.validate("/validate", lambda _: Allowed())
    server.start()
    assert greet(server, certificates.authorities)
    assert server.problem() == ""
    assert server.stop(5) == []


def test_wh7_replicas_share_one_certificate(manage, client):
    one, two = manage(), manage()
    assert one.authorities == two.authorities
    secret = client.get(SECRETS, SECRET)
    assert secret["type"] == "kubernetes.io/tls"
    assert base64.b64decode(secret["data"]["ca.crt"]) == one.authorities


def test_wh7_of_two_that_make_one_at_once_one_wins(manage, cluster, client):
    body = b'{"kind": "Status", "reason": "AlreadyExists", "code": 409}'
    cluster.faults.respond("POST", "/secrets$", HttpResponse(409, body))
    certificates = manage()
    data = client.get(SECRETS, SECRET)["data"]
    assert base64.b64decode(data["ca.crt"]) == certificates.authorities


class Raced:
    """A client whose first patch comes after somebody else's write."""

    def __init__(self, client, write):
        self.get, self.create = client.get, client.create
        self.in_steps = client.in_steps
        self._patch, self._write = client.patch, [write]

    def patch(self, *args):
        if self._write:
            self._write.pop()()
        return self._patch(*args)


def test_wh7_of_two_that_renew_one_at_once_one_wins(manage, client):
    """What clients were told to trust, and what is shown, must be of one renewal."""
    clock = FakeClock()
    spent = manage(clock=clock)
    assert spent.stop(10) == []
    clock.advance(timedelta(days=245).total_seconds())
    faster = []
    late = ManagedCertificates(
        Raced(client, lambda: faster.append(manage(clock=clock))),
        SECRET,
        OURS.hosts,
        clock=clock,
    )
    late.start()
    try:
        assert late._shown == faster[0]._shown != spent._shown
    finally:
        assert late.stop(10) == []


def test_wh7_a_webhook_that_is_added_meanwhile_is_not_lost(client):
    client.create(VALIDATING_WEBHOOKS, configuration(VALIDATING_WEBHOOKS, "one"))
    two = configuration(VALIDATING_WEBHOOKS, "one", "two")["webhooks"]
    key = ObjectKey("", "demo")
    raced = Raced(
        client, lambda: client.patch(VALIDATING_WEBHOOKS, key, {"webhooks": two})
    )
    assert inject_ours(raced, WebhookTarget.validating("demo")) is Trust.INJECTED
    hooks = client.get(VALIDATING_WEBHOOKS, key)["webhooks"]
    assert len(hooks) == 2
    assert all("caBundle" in hook["clientConfig"] for hook in hooks)


def test_wh7_before_it_is_started_there_is_nothing_to_show(client):
    certificates = ManagedCertificates(client, SECRET, ["localhost"], clock=FakeClock())
    with pytest.raises(OSError, match="no certificate yet"):
        certificates.context()
    assert certificates.stop(0) == []


def test_wh7_a_cluster_that_refuses_is_an_error_at_the_start(cluster, client):
    cluster.faults.respond("GET", "/secrets/", HttpResponse(403, b"{}"))
    certificates = ManagedCertificates(client, SECRET, ["localhost"], clock=FakeClock())
    with pytest.raises(ForbiddenError):
        certificates.start()


def test_wh7_the_api_server_is_told_whom_to_trust(manage, client, widgets):
    certificates = manage(
        targets=(WebhookTarget.crd(WIDGETS.name), WebhookTarget.crd("not.there"))
    )
    wait_bundle(client, certificates.authorities)
    client.patch(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS, pending_injections())
    certificates.refresh()
    wait_bundle(client, certificates.authorities)


def inject_ours(client, target, *, address=OURS, write=True):
    trust, _ = inject_ca_bundle(
        client, target, b"PEM", address=address, clock=FakeClock(), write=write
    )
    return trust


@pytest.mark.parametrize(
    ("address", "config", "ours"),
    [
        (OURS, {"service": {"namespace": "default", "name": "webhooks"}}, True),
        (OURS, {"service": {"namespace": "other", "name": "webhooks"}}, False),
        (OURS, {"service": {"namespace": "default", "name": "other"}}, False),
        (OURS, {"url": "https://localhost:1/convert"}, True),
        (OURS, {"url": "https://elsewhere:1/convert"}, False),
        (OURS, {"url": "https://[::1/convert"}, False),
        (OURS, {}, False),
        (Address(["h"], "https://h:1"), {"url": "https://h:1/convert"}, True),
        (Address(["h"], "https://h:1"), {"url": "https://h:2/convert"}, False),
        (Address(["h"], "https://h"), {"url": "https://H:443/convert"}, True),
        (
            Address(["a.b.svc"], "https://h:1"),
            {"service": {"namespace": "b", "name": "a"}},
            False,
        ),
    ],
    ids=str,
)
def test_wh7_a_client_configuration_is_ours_or_another_server_s(address, config, ours):
    assert address.is_named_by(config) is ours


def test_wh7_what_calls_another_server_is_left_alone(client, cluster, widgets):
    """Two operators in one cluster would rewrite each other's caBundle for ever."""
    theirs = Address(["webhooks.elsewhere.svc"])
    before = client.get(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS)
    target = WebhookTarget.crd(WIDGETS.name)
    assert inject_ours(client, target, address=theirs) is Trust.FOREIGN
    assert client.get(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS) == before
    mixed = configuration(VALIDATING_WEBHOOKS, "ours", "theirs")
    mixed["webhooks"][1]["clientConfig"] = {
        "service": {"namespace": "elsewhere", "name": "webhooks"}
    }
    client.create(VALIDATING_WEBHOOKS, mixed)
    assert inject_ours(client, WebhookTarget.validating("demo")) is Trust.INJECTED
    hooks = client.get(VALIDATING_WEBHOOKS, ObjectKey("", "demo"))["webhooks"]
    assert ["caBundle" in hook["clientConfig"] for hook in hooks] == [True, False]


def test_wh7_two_servers_of_one_crd_do_not_fight(manage, client, cluster, widgets):
    """Each has an authority of its own; only one of them is called."""
    ours = manage(targets=(WebhookTarget.crd(WIDGETS.name),))
    wait_bundle(client, ours.authorities)
    other = ManagedCertificates(
        client,
        ObjectKey("default", "another-certificate"),
        ["webhooks.elsewhere.svc"],
        clock=SystemClock(),
        targets=lambda: (WebhookTarget.crd(WIDGETS.name),),
    )
    other.start()
    while other.pending_injections():
        pass
    assert bundle_of(client.get(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS)) == (
        ours.authorities
    )
    assert other.stop(10) == []


def test_wh7_who_may_not_write_looks_whether_another_has(manage, client, widgets):
    leads = []
    target = WebhookTarget.crd(WIDGETS.name)
    manage()  # it knows of no target
    standby = manage(targets=(target,), may_write=lambda: bool(leads))
    while standby.pending_injections() != {
        WIDGETS.name: "does not trust our authorities yet"
    }:
        pass
    assert not bundle_of(client.get(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS))
    leads.append(1)
    standby.refresh()
    wait_bundle(client, standby.authorities)
    while standby.pending_injections():
        pass


def test_wh7_a_target_that_is_not_there_is_named_until_it_is(manage, client, caplog):
    """Until the configuration is there, the API server asks nothing and admits all."""
    certificates = manage(targets=(WebhookTarget.validating("demo"),))
    absent = {"demo": "the object is not in the cluster"}
    until(lambda: certificates.pending_injections() == absent)
    (warned,) = [one for one in caplog.records if one.levelname == "WARNING"]
    assert "not in the cluster" in warned.getMessage()
    client.create(VALIDATING_WEBHOOKS, configuration(VALIDATING_WEBHOOKS, "one"))
    certificates.refresh()
    until(lambda: not certificates.pending_injections())
    assert [one.levelname for one in caplog.records].count("WARNING") == 1


def test_wh7_a_caller_that_was_not_looked_at_is_untold(client):
    targets = (WebhookTarget.crd("a"), WebhookTarget.crd("b"))
    certificates = ManagedCertificates(
        client, SECRET, ["localhost"], clock=FakeClock(), targets=lambda: targets
    )
    assert certificates.pending_injections() == {"a": "", "b": ""}


def test_wh7_what_is_in_order_at_its_version_is_not_read_again(
    manage, client, cluster, widgets
):
    """A definition may have a megabyte, and there are hundreds."""
    seen = []

    def targets():
        return [WebhookTarget.crd(WIDGETS.name, version=seen[-1] if seen else "")]

    certificates = manage(targets=())
    certificates._targets = targets
    certificates.refresh()
    wait_bundle(client, certificates.authorities)
    while certificates.pending_injections():
        pass
    meta = client.get(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS)["metadata"]
    seen.append(meta["resourceVersion"])
    reads = len(cluster.journal)
    certificates._round()
    asked = [e.path for e in list(cluster.journal)[reads:] if "/secrets/" not in e.path]
    assert asked == []


def pending_injections():
    config = {"caBundle": None}
    return {"spec": {"conversion": {"webhook": {"clientConfig": config}}}}


def test_wh7_all_webhooks_of_a_configuration_are_told(client, cluster):
    for resource, target in (
        (MUTATING_WEBHOOKS, WebhookTarget.mutating("demo")),
        (VALIDATING_WEBHOOKS, WebhookTarget.validating("demo")),
    ):
        client.create(resource, configuration(resource, "one", "two"))
        assert inject_ours(client, target) is Trust.INJECTED
        found = client.get(resource, ObjectKey("", "demo"))
        bundles = {hook["clientConfig"]["caBundle"] for hook in found["webhooks"]}
        assert bundles == {base64.b64encode(b"PEM").decode()}
        assert [hook["name"].partition(".")[0] for hook in found["webhooks"]] == [
            "one",
            "two",
        ]
    writes = len(cluster.journal)
    assert inject_ours(client, WebhookTarget.validating("demo")) is Trust.INJECTED
    assert [served.method for served in cluster.journal[writes:]] == ["GET"]


def test_wh7_nothing_is_told_to_who_does_not_call_us(client):
    assert inject_ours(client, WebhookTarget.crd("not.there")) is Trust.MISSING


def test_wh7_conflicts_with_other_replicas_are_tried_again(client, cluster, widgets):
    cluster.faults.respond("PATCH", "/widgets", HttpResponse(409, b"{}"), times=4)
    assert inject_ours(client, WebhookTarget.crd(WIDGETS.name)) is Trust.INJECTED
    assert bundle_of(client.get(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS)) == b"PEM"


def test_wh7_it_is_renewed_while_the_server_runs(manage, client):
    clock = FakeClock()
    certificates = manage(clock=clock)
    server = WebhookServer("127.0.0.1:0", certificates=certificates, clock=clock)
    server.start()
    shown = show(server)
    kept = client.get(SECRETS, SECRET)
    clock.advance(timedelta(days=245).total_seconds())

    def is_renewed():
        # A round that ran meanwhile began at the old time; a later one sees the new.
        clock.advance(ROUND_SECONDS)
        return show(server) != shown

    until(is_renewed)
    assert client.get(SECRETS, SECRET) != kept
    assert server.stop(5) == []


def show(server):
    return ssl.get_server_certificate(("127.0.0.1", server.port))


def test_wh7_a_deleted_secret_is_stored_again_and_a_standby_waits(manage, client):
    """A replica that starts meanwhile shows no certificate of its own."""
    one = manage()
    until(lambda: TRUSTED in mark_of(client))
    standby = manage(may_write=lambda: False)
    assert standby.authorities == one.authorities
    client.delete(SECRETS, SECRET)
    until(lambda: TRUSTED in mark_of(client))
    assert manage(may_write=lambda: False).authorities == one.authorities


@pytest.mark.parametrize("status", [403, 404, 422], ids=["forbidden", "gone", "bad"])
def test_wh7_a_standby_waits_for_a_certificate_that_the_callers_trust(
    manage, client, widgets, cluster, status
):
    standby = manage(may_write=lambda: False)
    assert not standby.authorities
    # One that cannot be written holds no other back, such as one that terminates.
    refused = HttpResponse(status, b"{}")
    cluster.faults.respond("PATCH", "/mutatingweb", refused, times=9)
    client.create(MUTATING_WEBHOOKS, configuration(MUTATING_WEBHOOKS, "one"))
    targets = [WebhookTarget.crd(WIDGETS.name), WebhookTarget.mutating("demo")]
    leader = manage(targets=targets)
    until(lambda: standby.authorities)
    assert standby.authorities == leader.authorities
    crd = client.get(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS)
    assert bundle_of(crd) == leader.authorities
    assert "demo" in leader.pending_injections()


def mark_of(client):
    for secret in client.list_page(Selection(SECRETS)).items:
        return secret["metadata"].get("annotations") or {}
    return {}
