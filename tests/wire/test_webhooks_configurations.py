"""Webhook configurations made of what a server answers, taken by an API server."""

import base64

import pytest
from applications import Applications, until

from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.errors import ForbiddenError
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    NAMESPACES,
    SECRETS,
)
from asoreconcile.testing.kube import KubeServer
from asoreconcile.webhooks.admission import Allowed, Denied
from asoreconcile.webhooks.ca_bundles import (
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    WebhookTarget,
)
from asoreconcile.webhooks.configurations import WebhookRules
from asoreconcile.webhooks.managed import ManagedCertificates
from asoreconcile.webhooks.server import WebhookError, WebhookServer
from asoreconcile.webhooks.serving_certificates import SelfSignedCertificate

WEBHOOKS = (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)
SERVICE = ObjectKey("system", "mine")


@pytest.fixture
def server():
    certificates = SelfSignedCertificate("tests", clock=SystemClock())
    return WebhookServer("0", certificates=certificates, clock=SystemClock())


def allow(request):
    return Allowed()


def fill_in(request):
    request.obj.setdefault("data", {}).setdefault("colour", "blue")
    return request.obj


def deny_pink(request):
    if (request.obj.get("data") or {}).get("colour") == "pink":
        return Denied("pink is sold out")
    return Allowed()


def test_wh9_each_registration_becomes_a_webhook(server):
    server.mutate("/mutate--v1-configmap", fill_in, on=WebhookRules(CONFIG_MAPS))
    server.validate("/validate", allow, on=WebhookRules([CONFIG_MAPS, NAMESPACES]))
    server.validate(
        "/scale",
        allow,
        on=WebhookRules(
            DEPLOYMENTS,
            operations=["UPDATE"],
            subresource="scale",
            failure_policy="Ignore",
            match_policy="Exact",
            timeout_seconds=3,
            namespace_selector={"matchLabels": {"team": "a"}},
            object_selector={},
            match_conditions={"mine": "true"},
            name="scale.example.com",
        ),
    )
    server.convert("/convert", lambda obj, version: obj)
    mutating, validating = server.configurations("mine", service=SERVICE, port=9443)
    assert (mutating["kind"], validating["kind"]) == (
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    )
    (hook,) = mutating["webhooks"]
    assert hook == {
        "name": "mutate--v1-configmap.mine.webhooks",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {
                "namespace": "system",
                "name": "mine",
                "path": "/mutate--v1-configmap",
                "port": 9443,
            }
        },
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
                "operations": ["CREATE", "UPDATE"],
                "scope": "Namespaced",
            }
        ],
    }
    both, scale = validating["webhooks"]
    assert [rule["scope"] for rule in both["rules"]] == ["Namespaced", "Cluster"]
    assert scale["name"] == "scale.example.com"
    assert scale["rules"][0]["resources"] == ["deployments/scale"]
    assert (scale["failurePolicy"], scale["matchPolicy"]) == ("Ignore", "Exact")
    assert scale["namespaceSelector"] == {"matchLabels": {"team": "a"}}
    assert scale["objectSelector"] == {}
    assert scale["matchConditions"] == [{"name": "mine", "expression": "true"}]


def test_wh9_a_url_and_authorities_are_said_as_they_are(server):
    server.validate("/validate", allow, on=WebhookRules(SECRETS))
    (made,) = server.configurations(
        "mine", url="https://127.0.0.1:9443/", authorities=b"PEM"
    )
    assert made["webhooks"][0]["clientConfig"] == {
        "url": "https://127.0.0.1:9443/validate",
        "caBundle": base64.b64encode(b"PEM").decode(),
    }


def test_wh9_what_would_be_asked_of_nobody_is_refused(server):
    with pytest.raises(WebhookError, match="no webhook says what it is asked about"):
        server.configurations("mine", service=SERVICE)
    server.validate("/unsaid", allow)
    with pytest.raises(WebhookError, match="/unsaid"):
        server.configurations("mine", service=SERVICE)


@pytest.mark.parametrize("place", [{}, {"service": SERVICE, "url": "https://x"}])
def test_wh9_the_server_is_in_one_place(server, place):
    server.validate("/validate", allow, on=WebhookRules(SECRETS))
    with pytest.raises(ValueError, match="a service or a url"):
        server.configurations("mine", **place)


def trusted(app, resource):
    (hook,) = app.client.get(resource, ObjectKey("", "mine"))["webhooks"]
    return hook["clientConfig"].get("caBundle")


def test_wh9_an_api_server_asks_what_was_registered(tmp_path):
    with KubeServer() as cluster:
        cluster.write_kubeconfig(tmp_path / "kubeconfig")
        applications = Applications(str(tmp_path / "kubeconfig"))
        app = applications.make()
        certificates = ManagedCertificates(
            app.client,
            ObjectKey("default", "certificate"),
            ["localhost"],
            clock=app.clock,
            targets=lambda: [
                WebhookTarget.mutating("mine"),
                WebhookTarget.validating("mine"),
            ],
        )
        server = app.webhooks("127.0.0.1:0", certificates=certificates)
        on = WebhookRules(CONFIG_MAPS, object_selector={"matchLabels": {"a": "b"}})
        server.mutate("/fill-in", fill_in, on=on)
        server.validate("/check", deny_pink, on=on)
        with app.running():
            until(lambda: server.port)
            url = f"https://localhost:{server.port}"
            documents = server.configurations("mine", url=url)
            for document in documents:
                app.apply(None, document)
            certificates.refresh()
            until(lambda: all(trusted(app, one) for one in WEBHOOKS))
            for document in documents:  # again: what was injected stays
                app.apply(None, document)
            assert all(trusted(app, one) for one in WEBHOOKS)
            meta = {"namespace": "default", "name": "one", "labels": {"a": "b"}}
            made = app.client.create(CONFIG_MAPS, {"metadata": meta})
            assert made["data"] == {"colour": "blue"}
            pink = {"metadata": {**meta, "name": "two"}, "data": {"colour": "pink"}}
            with pytest.raises(ForbiddenError, match="pink is sold out"):
                app.client.create(CONFIG_MAPS, pink)
        applications.close()
