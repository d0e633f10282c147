"""Webhooks of classes: what their functions get, and what is refused at registration.

Rule: WH-10.
"""

import base64
import json

import attrs
import pytest

from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.resources.declaration import evolve, resource
from asoreconcile.resources.metadata import ObjectMeta
from asoreconcile.resources.typed_kind import resource_of
from asoreconcile.resources.webhooks import TypedWebhookServer
from asoreconcile.serving.messages import ServerRequest
from asoreconcile.webhooks.admission import AdmissionRequest, Allowed, Denied
from asoreconcile.webhooks.configurations import WebhookRules
from asoreconcile.webhooks.server import WebhookError
from asoreconcile.webhooks.serving_certificates import SelfSignedCertificate


@attrs.define
class Spec:
    host: str
    replicas: int = 1


@resource("example.com/v1", plural="sites")
@attrs.define
class Site:
    metadata: ObjectMeta
    spec: Spec


@resource("example.com/v1", plural="shops")
@attrs.define
class Shop:
    metadata: ObjectMeta


VALIDATE, MUTATE = "/validate-example-com-v1-site", "/mutate-example-com-v1-site"


@pytest.fixture
def server():
    certificates = SelfSignedCertificate("tests", clock=SystemClock())
    return TypedWebhookServer("0", certificates=certificates, clock=SystemClock())


def site(**spec):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Site",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"host": "a.b", **spec},
    }


def asked(server, path, obj, old=None, operation="CREATE"):
    """The response to a review, and the patch in it."""
    request = {
        "uid": "1",
        "kind": {"group": "example.com", "version": "v1", "kind": "Site"},
        "operation": operation,
        "object": obj,
        "oldObject": old,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    body = json.dumps({**review, "request": request}).encode()
    answer = server.answer(
        ServerRequest("POST", path, {"content-type": "application/json"}, body)
    )
    assert answer.status == 200
    response = json.loads(answer.body)["response"]
    return response, json.loads(base64.b64decode(response.get("patch", b"W10=")))


def is_small(site: Site) -> Denied | None:
    return Denied("five at most") if site.spec.replicas > 5 else None


def stays(site: Site, old: Site | None) -> Allowed | Denied:
    if old and old.spec.host != site.spec.host:
        return Denied("a host stays")
    return Allowed(("it is new",) if old is None else ())


def test_wh10_functions_get_objects_and_none_allows(server):
    server.validate(Site, is_small, stays)
    response, _ = asked(server, VALIDATE, site())
    assert response["allowed"]
    assert response["warnings"] == ["it is new"]
    response, _ = asked(server, VALIDATE, site(replicas=6))
    assert response["status"]["message"] == "five at most"
    moved = asked(server, VALIDATE, site(host="c.d"), site(), "UPDATE")[0]
    assert moved["status"]["message"] == "a host stays"


def test_wh10_what_the_class_cannot_hold_is_denied_by_name(server):
    server.validate(Site, is_small)
    server.mutate(Site, lambda site: None)
    for path in (VALIDATE, MUTATE):
        response, _ = asked(server, path, site(replicas="many"))
        assert not response["allowed"]
        assert response["status"]["code"] == 422
        assert "default/a" in response["status"]["message"]
        assert "replicas" in response["status"]["message"]


def of_version(obj, **meta):
    return {**obj, "metadata": {**obj["metadata"], **meta}}


def test_wh10_an_old_object_that_the_class_cannot_hold_denies_nothing(server):
    seen = []

    def changed(site: Site, old: Site | None) -> None:
        seen.append((site.spec.replicas, old))

    server.validate(Site, changed)
    server.mutate(Site, changed)
    for path in (VALIDATE, MUTATE):
        response, _ = asked(
            server, path, site(replicas=2), site(replicas="many"), "UPDATE"
        )
        assert response["allowed"]
    assert seen == [(2, None)] * 2


@pytest.mark.parametrize("path", [VALIDATE, MUTATE])
def test_wh10_an_object_that_the_class_cannot_hold_may_go(server, path):
    server.validate(Site, is_small)
    server.mutate(Site, is_small)
    bad = site(replicas="many")
    old = of_version(bad, finalizers=["a/b"], deletionTimestamp="2026-01-01T00:00:00Z")
    going = of_version(bad, deletionTimestamp="2026-01-01T00:00:00Z")
    labelled = of_version(bad, labels={"a": "b"})
    for new, before in ((going, old), (labelled, bad)):
        response, patch = asked(server, path, new, before, "UPDATE")
        assert (response["allowed"], patch) == (True, [])
    worse = asked(server, path, site(replicas="more"), bad, "UPDATE")[0]
    assert not worse["allowed"]


def test_wh10_a_function_fills_in_or_answers_another(server):
    def at_least_two(site: Site) -> None:
        site.spec.replicas = max(site.spec.replicas, 2)

    def in_lower_case(site: Site) -> Site:
        return evolve(site, spec=evolve(site.spec, host=site.spec.host.lower()))

    server.mutate(Site, at_least_two, in_lower_case)
    obj = {**site(host="A.B", tier="kept"), "unknown": [1]}
    response, patch = asked(server, MUTATE, obj)
    assert response["allowed"]
    assert sorted(patch, key=lambda one: one["path"]) == [
        {"op": "replace", "path": "/spec/host", "value": "a.b"},
        {"op": "add", "path": "/spec/replicas", "value": 2},
    ]
    assert asked(server, MUTATE, site(replicas=3))[1] == []


def test_wh10_fields_stay_that_a_constructor_forgot(server):
    server.mutate(Site, lambda site: Site(site.metadata, Spec("new")))
    obj = {**site(tier="kept"), "unknown": [1]}
    assert asked(server, MUTATE, obj)[1] == [
        {"op": "replace", "path": "/spec/host", "value": "new"},
        {"op": "add", "path": "/spec/replicas", "value": 1},
    ]


def test_wh10_a_mutating_function_may_deny(server):
    server.mutate(Site, is_small)
    response, patch = asked(server, MUTATE, site(replicas=9))
    assert (response["status"]["message"], patch) == ("five at most", [])


def test_wh10_who_wants_the_request_gets_it(server):
    seen = []

    def check(request: AdmissionRequest) -> Allowed:
        seen.append(request.operation)
        return Allowed()

    on = WebhookRules(resource_of(Site), operations=["DELETE"])
    server.validate(Site, check, on=on)
    assert asked(server, VALIDATE, None, site(), "DELETE")[0]["allowed"]
    assert seen == ["DELETE"]


def test_wh10_creates_and_updates_are_asked_about(server):
    server.validate(Site, is_small)
    server.mutate(Site, is_small)
    made = server.configurations("sites", service=ObjectKey("system", "sites"))
    for document in made:
        (hook,) = document["webhooks"]
        assert hook["rules"] == [
            {
                "apiGroups": ["example.com"],
                "apiVersions": ["v1"],
                "resources": ["sites"],
                "operations": ["CREATE", "UPDATE"],
                "scope": "Namespaced",
            }
        ]


def test_wh10_a_wrong_answer_is_a_defect_and_allows_nothing(server):
    server.validate(Site, lambda site: site.spec.replicas < 5)
    response, _ = asked(server, VALIDATE, site())
    assert not response["allowed"]
    assert response["status"]["code"] == 500


def of_shops(shop: Shop) -> None:
    pass


def answers_a_truth(site: Site) -> bool:
    return True


async def later(site: Site) -> None:
    pass


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (of_shops, "takes Shop"),
        (answers_a_truth, "answers <class 'bool'>"),
        (later, "coroutine"),
        (lambda: None, "which it does not take"),
        (lambda site, old, more: None, "which it does not take"),
    ],
    ids=["another-class", "another-answer", "coroutine", "no-parameter", "three"],
)
@pytest.mark.parametrize("verb", ["validate", "mutate"])
def test_wh10_wrong_functions_are_refused_at_registration(
    server, verb, function, message
):
    with pytest.raises(TypeError, match=message):
        getattr(server, verb)(Site, function)


def test_wh10_what_makes_no_object_is_refused_at_registration(server):
    site_kind = resource_of(Site)
    for on, message in (
        (WebhookRules(site_kind, operations=["DELETE"]), "AdmissionRequest"),
        (WebhookRules(CONFIG_MAPS), "alone"),
        (WebhookRules(site_kind, subresource="scale"), "scale of a Site"),
    ):
        with pytest.raises(WebhookError, match=message):
            server.validate(Site, is_small, on=on)
    server.validate(Site, is_small)
    with pytest.raises(WebhookError, match="already"):
        server.validate(Site, stays)


def test_wh10_a_parameter_with_a_default_is_not_for_the_old_one(server):
    seen = []

    def check(site: Site, limit: int = 3) -> None:
        seen.append(limit)

    server.validate(Site, check)
    assert asked(server, VALIDATE, site())[0]["allowed"]
    assert seen == [3]
