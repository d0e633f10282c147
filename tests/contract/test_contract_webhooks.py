"""Admission and conversion webhooks: the requests that they get, and the effects of
their answers.
"""

import json
import uuid

import pytest
from contractclient import CRDS, GROUP, crd, widget, widgets
from hookserver import Hook, allowed, denied, patched

from asoreconcile.testing.http import HttpResponse

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
DENIED = 'admission webhook "h0.contract.example.com" denied the request'


@pytest.fixture
def hook():
    with Hook().running() as hook:
        yield hook


@pytest.fixture
def configure(server, namespace, hook):
    """A function that has the API server ask the hook about a test's namespace."""
    made = []

    def make(kind, *webhooks):
        plural = f"{kind.lower()}webhookconfigurations"
        stated = [
            _webhook(hook, webhook, namespace, index)
            for index, webhook in enumerate(webhooks)
        ]
        manifest = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": f"{kind.lower()}-{uuid.uuid4().hex[:8]}"},
            "webhooks": stated,
        }
        path = f"{CONFIGURATIONS}/{plural}"
        server.post(path, manifest).expect(201)
        made.append(f"{path}/{manifest['metadata']['name']}")
        _until_asked(server, namespace, hook, stated)

    yield make
    for path in made:
        server.delete(path)


def _webhook(hook, webhook, namespace, index):
    path = webhook.pop("path", f"h{index}")
    return {
        "name": f"h{index}.contract.example.com",
        "clientConfig": hook.config(path),
        "rules": [
            {
                "operations": ["*"],
                "apiGroups": [GROUP],
                "apiVersions": ["v1"],
                "resources": ["widgets", "configmaps"],
            }
        ],
        "namespaceSelector": {
            "matchLabels": {"kubernetes.io/metadata.name": namespace}
        },
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
        **webhook,
    }


def _until_asked(server, namespace, hook, webhooks):
    """A real server takes a moment to follow its configurations."""
    if any("url" not in w["clientConfig"] for w in webhooks):
        return
    if any(w["clientConfig"]["url"].endswith("/probe") for w in webhooks):
        return
    paths = {w["clientConfig"]["url"].rpartition("/")[2] for w in webhooks}
    answers = {path: hook.answers.get(path) for path in paths}
    hook.answers.update(dict.fromkeys(paths, allowed))
    probe = {"apiVersion": f"{GROUP}/v1", "kind": "Widget"}
    probe |= {"metadata": {"name": "probe", "labels": {"probe": "yes"}}, "spec": {}}
    for _ in range(500):
        server.post(widgets(namespace), probe, dryRun="All")
        if hook.asked:
            break
    hook.asked.clear()
    hook.answers.update(answers)


def test_a_validating_webhook_is_asked_and_refuses(server, namespace, hook, configure):
    hook.answers["h0"] = denied(message="not today", code=422, reason="Invalid")
    configure("Validating", {})
    answer = server.post(widgets(namespace), widget("one", size=3))
    document = answer.refused(422, "Invalid")
    assert document["message"] == f"{DENIED}: not today"
    request = hook.of("h0")[-1]
    assert request["operation"] == "CREATE"
    assert request["kind"] == {"group": GROUP, "version": "v1", "kind": "Widget"}
    assert request["resource"]["resource"] == "widgets"
    assert request["requestKind"] == request["kind"]
    assert (request["name"], request["namespace"]) == ("one", namespace)
    assert request["object"]["spec"]["size"] == 3
    assert request["oldObject"] is None
    assert request["dryRun"] is False
    assert request["options"]["kind"] == "CreateOptions"
    assert "system:masters" in request["userInfo"]["groups"]
    server.get(widgets(namespace, "one")).expect(404)


@pytest.mark.parametrize(
    ("status", "code", "reason", "message"),
    [
        ({}, 400, None, f"{DENIED} without explanation"),
        ({"message": "no"}, 400, None, f"{DENIED}: no"),
        ({"reason": "Because"}, 400, "Because", f"{DENIED}: Because"),
        ({"code": 200, "message": "no"}, 400, None, f"{DENIED}: no"),
        ({"code": 403, "message": "no"}, 403, None, f"{DENIED}: no"),
    ],
    ids=["silent", "message", "reason", "ok-code", "code"],
)
def test_a_refusal_in_the_webhooks_words(
    server, namespace, hook, configure, status, code, reason, message
):
    hook.answers["h0"] = denied(**status)
    configure("Validating", {})
    answer = server.post(widgets(namespace), widget("one"))
    assert answer.refused(code, reason)["message"] == message


def test_updates_and_deletions_show_what_was_there(server, namespace, hook, configure):
    hook.answers["h0"] = allowed
    configure("Validating", {})
    path = widgets(namespace, "one")
    server.post(widgets(namespace), widget("one", size=1)).expect(201)
    server.patch(path, {"spec": {"size": 2}}).expect(200)
    update = hook.of("h0")[-1]
    assert update["operation"] == "UPDATE"
    assert update["oldObject"]["spec"]["size"] == 1
    assert update["object"]["spec"]["size"] == 2
    server.delete(path).expect(200)
    deletion = hook.of("h0")[-1]
    assert deletion["operation"] == "DELETE"
    assert deletion["object"] is None
    assert deletion["oldObject"]["spec"]["size"] == 2
    assert deletion["options"]["kind"] == "DeleteOptions"


def test_a_webhook_can_keep_an_object_from_being_deleted(
    server, namespace, hook, configure
):
    hook.answers["h0"] = lambda request: {"allowed": request["operation"] != "DELETE"}
    configure("Validating", {})
    server.post(widgets(namespace), widget("one")).expect(201)
    server.delete(widgets(namespace, "one")).expect(400)
    server.get(widgets(namespace, "one")).expect(200)
    hook.answers["h0"] = allowed


def test_a_mutating_webhook_changes_what_is_stored(server, namespace, hook, configure):
    hook.answers["h0"] = patched(
        {"op": "add", "path": "/metadata/labels", "value": {"by": "hook"}},
        {"op": "replace", "path": "/spec/size", "value": 7},
        {"op": "add", "path": "/spec/unknown", "value": 1},
    )
    configure("Mutating", {})
    server.post(widgets(namespace), widget("one", size=3)).expect(201)
    found = server.get(widgets(namespace, "one")).expect(200).json
    assert found["metadata"]["labels"] == {"by": "hook"}
    assert found["spec"] == {"size": 7}


def test_what_a_webhook_makes_is_validated(server, namespace, hook, configure):
    hook.answers["h0"] = patched(
        {"op": "replace", "path": "/spec/size", "value": 10_000}
    )
    configure("Mutating", {})
    answer = server.post(widgets(namespace), widget("one", size=3))
    assert answer.refused(422, "Invalid")["details"]["causes"][0]["field"] == (
        "spec.size"
    )


def test_validating_webhooks_see_what_mutating_ones_made(
    server, namespace, hook, configure
):
    hook.answers["change"] = patched(
        {"op": "replace", "path": "/spec/size", "value": 7}
    )
    hook.answers["check"] = allowed
    configure("Mutating", {"path": "change"})
    configure("Validating", {"path": "check"})
    server.post(widgets(namespace), widget("one", size=3)).expect(201)
    assert hook.of("check")[-1]["object"]["spec"]["size"] == 7


def test_selectors_rules_and_scope_choose_who_is_asked(
    server, namespace, hook, configure
):
    hook.answers["h0"] = allowed
    chosen = {"matchExpressions": [{"key": "ask", "operator": "Exists"}]}
    configure(
        "Validating",
        {"path": "probe", "objectSelector": chosen},
        {
            "path": "probe",
            "rules": [
                {
                    "operations": ["DELETE"],
                    "apiGroups": ["*"],
                    "apiVersions": ["*"],
                    "resources": ["*/*"],
                    "scope": "Cluster",
                }
            ],
        },
    )
    hook.answers["probe"] = allowed
    asking = widget("asking")
    asking["metadata"]["labels"] = {"ask": "yes"}
    for _ in range(500):  # a real server takes a moment
        server.post(widgets(namespace), asking, dryRun="All").expect(201)
        if hook.asked:
            break
    hook.asked.clear()
    server.post(widgets(namespace), widget("silent")).expect(201)
    server.delete(widgets(namespace, "silent")).expect(200)
    assert hook.asked == []
    server.post(widgets(namespace), asking).expect(201)
    assert [request["name"] for request in hook.of("probe")] == ["asking"]


def test_subresources_are_asked_about_by_their_own_rules(
    server, namespace, hook, configure
):
    hook.answers["h0"] = allowed
    rules = {"operations": ["UPDATE"], "apiGroups": [GROUP], "apiVersions": ["*"]}
    configure(
        "Validating",
        {},
        {"path": "status", "rules": [{**rules, "resources": ["widgets/status"]}]},
    )
    hook.answers["status"] = allowed
    server.post(widgets(namespace), widget("one")).expect(201)
    server.patch(widgets(namespace, "one", "status"), {"status": {"a": 1}}).expect(200)
    assert [r["subResource"] for r in hook.of("status")] == ["status"]
    assert [r["operation"] for r in hook.of("h0")] == ["CREATE"]


def test_warnings_come_with_the_answer(server, namespace, hook, configure):
    hook.answers["h0"] = lambda _: {"allowed": True, "warnings": ["mind the gap"]}
    configure("Validating", {})
    answer = server.post(widgets(namespace), widget("one")).expect(201)
    assert answer.headers["Warning"] == '299 - "mind the gap"'


def test_a_dry_run_says_so(server, namespace, hook, configure):
    hook.answers["h0"] = allowed
    configure("Validating", {})
    server.post(widgets(namespace), widget("one"), dryRun="All").expect(201)
    assert hook.of("h0")[-1]["dryRun"] is True


def _page(_):
    return HttpResponse(503, b"busy", {"Content-Type": "text/plain"})


def _no_uid(_):
    return {"allowed": True, "uid": "another"}


def _error(_):
    return HttpResponse(500, b"oh", {"Content-Type": "text/plain"})


def _another_kind(request):
    document = {"response": {"uid": request["uid"], "allowed": True}}
    return HttpResponse(
        200, json.dumps(document).encode(), {"Content-Type": "application/json"}
    )


def _no_review(_):
    return HttpResponse(200, b"{}", {"Content-Type": "application/json"})


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            _page,
            (
                "failed to call webhook: the server is currently unable to handle the "
                "request"
            ),
        ),
        (_error, 'failed to call webhook: an error on the server ("oh") has prevented'),
        (_no_uid, "received invalid webhook response: expected response.uid="),
        (
            _no_review,
            "received invalid webhook response: webhook response was absent",
        ),
        (
            _another_kind,
            (
                "received invalid webhook response: expected webhook response of "
                "admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="
            ),
        ),
    ],
    ids=["page", "error", "uid", "review", "kind"],
)
def test_a_webhook_that_fails_fails_the_write(
    server, namespace, hook, configure, answer, why
):
    hook.answers["h0"] = answer
    configure("Validating", {})
    document = server.post(widgets(namespace), widget("one")).refused(
        500, "InternalError"
    )
    start = (
        'Internal error occurred: failed calling webhook "h0.contract.example.com": '
    )
    assert document["message"].startswith(start + why)
    assert document["details"]["causes"][0]["message"] == (
        document["message"].removeprefix("Internal error occurred: ")
    )


def test_a_webhook_that_may_fail_is_passed_over(server, namespace, hook, configure):
    hook.answers["h0"] = _page
    configure("Validating", {"failurePolicy": "Ignore"})
    server.post(widgets(namespace), widget("one")).expect(201)


def test_a_webhook_that_is_not_there_fails_by_its_policy(
    server, namespace, hook, configure
):
    away = {"url": "https://127.0.0.1:9/probe", "caBundle": hook.bundle}
    configure("Validating", {"clientConfig": away})
    for _ in range(500):
        answer = server.post(widgets(namespace), widget("one"), dryRun="All")
        if answer.status != 201:
            break
    message = answer.refused(500, "InternalError")["message"]
    assert message == (
        'Internal error occurred: failed calling webhook "h0.contract.example.com": '
        'failed to call webhook: Post "https://127.0.0.1:9/probe?timeout=5s": dial tcp '
        "127.0.0.1:9: connect: connection refused"
    )


def test_a_service_that_is_not_there_is_told(server, namespace, configure):
    nowhere = {"service": {"name": "hook", "namespace": namespace, "path": "/probe"}}
    configure("Validating", {"clientConfig": nowhere})
    for _ in range(500):
        answer = server.post(widgets(namespace), widget("one"), dryRun="All")
        if answer.status != 201:
            break
    message = answer.refused(500, "InternalError")["message"]
    assert message.endswith(
        f'Post "https://hook.{namespace}.svc:443/probe?timeout=5s": service "hook" not '
        "found"
    )


def test_a_webhook_with_a_certificate_of_another_is_not_trusted(
    server, namespace, hook, configure
):
    with Hook().running() as other:
        stranger = other.bundle
    config = {"url": hook.url("probe"), "caBundle": stranger}
    configure("Validating", {"clientConfig": config})
    for _ in range(500):
        answer = server.post(widgets(namespace), widget("one"), dryRun="All")
        if answer.status != 201:
            break
    message = answer.refused(500, "InternalError")["message"]
    assert "tls: failed to verify certificate: x509: " in message
    assert hook.asked == []


def test_a_webhook_that_is_too_slow_fails_by_its_policy(
    server, namespace, hook, configure
):
    def slow(_):
        hook.held.wait(30)
        return {"allowed": True}

    configure("Validating", {"timeoutSeconds": 1})
    hook.answers["h0"] = slow
    answer = server.post(widgets(namespace), widget("one"))
    message = answer.refused(500, "InternalError")["message"]
    assert message.endswith('?timeout=1s": context deadline exceeded')


@pytest.mark.parametrize(
    ("stated", "field", "message"),
    [
        ({"sideEffects": "Some"}, "sideEffects", '"None", "NoneOnDryRun"'),
        ({"sideEffects": None}, "sideEffects", "None, NoneOnDryRun"),
        ({"admissionReviewVersions": []}, "admissionReviewVersions", "v1, v1beta1"),
        ({"timeoutSeconds": 31}, "timeoutSeconds", "between 1 and 30 seconds"),
        ({"name": "short"}, "name", "at least three segments separated by dots"),
        ({"clientConfig": {}}, "clientConfig", "exactly one of url or service"),
    ],
    ids=["effects", "no-effects", "versions", "timeout", "name", "config"],
)
def test_a_configuration_that_is_none_is_refused(server, hook, stated, field, message):
    webhook = _webhook(hook, {**stated}, "nowhere", 0)
    manifest = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "none"},
        "webhooks": [webhook],
    }
    path = f"{CONFIGURATIONS}/validatingwebhookconfigurations"
    causes = server.post(path, manifest).refused(422, "Invalid")["details"]["causes"]
    assert [c["field"] for c in causes] == [f"webhooks[0].{field}"]
    assert message in causes[0]["message"]


def _converting(hook, namespace):
    """A kind with versions v1 (size) and v2 (length), stored as v1."""
    number = namespace.rpartition("-")[2]

    def schema(field):
        spec = {"type": "object", "properties": {field: {"type": "integer"}}}
        return {"type": "object", "properties": {"spec": spec}}

    manifest = crd(f"turn{number}s", f"Turn{number}", schema("size"))
    second = {
        **manifest["spec"]["versions"][0],
        "name": "v2",
        "storage": False,
        "schema": {"openAPIV3Schema": schema("length")},
    }
    manifest["spec"]["versions"].append(second)
    manifest["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": hook.config("convert"),
            "conversionReviewVersions": ["v1"],
        },
    }
    return manifest


def _converted(request):
    names = {"v1": "size", "v2": "length"}
    made = []
    for obj in request["objects"]:
        old = names[obj["apiVersion"].rpartition("/")[2]]
        new = names[request["desiredAPIVersion"].rpartition("/")[2]]
        spec = {new: (obj.get("spec") or {}).get(old, 0)}
        made.append({**obj, "apiVersion": request["desiredAPIVersion"], "spec": spec})
    return {"convertedObjects": made, "result": {"status": "Success"}}


@pytest.fixture
def turning(server, namespace, hook):
    """The paths of the converted kind at v1 and v2, and its kind."""
    hook.answers["convert"] = _converted
    manifest = _converting(hook, namespace)
    server.install(manifest)
    names = manifest["spec"]["names"]

    def path(version, name=""):
        at = f"/apis/{GROUP}/{version}/namespaces/{namespace}/{names['plural']}"
        return f"{at}/{name}" if name else at

    while server.get(path("v2")).status != 200:
        pass
    yield path, names["kind"]
    hook.answers["convert"] = _converted
    server.delete(f"{CRDS}/{manifest['metadata']['name']}")


def turned(kind, version, name="one", **spec):
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def test_objects_are_converted_between_versions(server, turning):
    path, kind = turning
    made = server.post(path("v2"), turned(kind, "v2", length=5)).expect(201).json
    assert made["spec"] == {"length": 5}
    assert server.get(path("v1", "one")).json["spec"] == {"size": 5}
    server.patch(path("v2", "one"), {"spec": {"length": 6}}).expect(200)
    server.patch(path("v1", "one"), {"spec": {"size": 7}}).expect(200)
    found = server.get(path("v2", "one")).expect(200).json
    assert (found["apiVersion"], found["spec"]) == (f"{GROUP}/v2", {"length": 7})
    assert found["metadata"]["uid"] == made["metadata"]["uid"]


def test_lists_and_watches_are_converted(server, turning):
    path, kind = turning
    for name in ("one", "two"):
        server.post(path("v1"), turned(kind, "v1", name, size=1)).expect(201)
    listed = server.get(path("v2")).expect(200).json
    assert [item["spec"] for item in listed["items"]] == [{"length": 1}] * 2
    version = listed["metadata"]["resourceVersion"]
    with server.watch(path("v2"), resourceVersion=version) as events:
        server.patch(path("v1", "two"), {"spec": {"size": 2}}).expect(200)
        assert next(events)["object"]["spec"] == {"length": 2}


def test_a_conversion_that_fails_fails_the_request(server, hook, turning):
    path, kind = turning
    server.post(path("v1"), turned(kind, "v1", size=1)).expect(201)
    hook.answers["convert"] = lambda _: {
        "result": {"status": "Failure", "message": "no way"}
    }
    answer = server.get(path("v2", "one")).expect(500)
    assert answer.json["message"] == (
        f"conversion webhook for {GROUP}/v1, Kind={kind} failed: no way"
    )
    server.get(path("v1", "one")).expect(200)


@pytest.mark.parametrize("form", ["Table", "PartialObjectMetadataList"])
def test_a_list_in_another_form_is_converted_too(server, hook, turning, form):
    path, kind = turning
    headers = {"Accept": f"application/json;as={form};v=v1;g=meta.k8s.io"}
    # From here, because a real server lists what it has converted before.
    hook.answers["convert"] = lambda _: {
        "result": {"status": "Failure", "message": "no way"}
    }
    server.post(path("v1"), turned(kind, "v1", size=1)).expect(201)
    assert server.call("GET", path("v2"), headers=headers).status >= 429
    server.call("GET", path("v1"), headers=headers).expect(200)
    hook.answers["convert"] = _converted
    one = form.removesuffix("List")
    headers = {"Accept": f"application/json;as={one};v=v1;g=meta.k8s.io"}
    found = server.call("GET", path("v2", "one"), headers=headers).expect(200).json
    assert found["kind"] == one


def test_a_conversion_may_not_change_who_an_object_is(server, hook, turning):
    path, kind = turning
    server.post(path("v1"), turned(kind, "v1", size=1)).expect(201)

    def renamed(request):
        answer = json.loads(json.dumps(_converted(request)))
        for obj in answer["convertedObjects"]:
            obj["metadata"]["labels"] = {"by": "hook"}
            obj["metadata"]["finalizers"] = ["x.example.com/y"]
        return answer

    hook.answers["convert"] = renamed
    found = server.get(path("v2", "one")).expect(200).json["metadata"]
    assert found["labels"] == {"by": "hook"}
    assert "finalizers" not in found


def _condition(expression, **more):
    """Return members of a webhook that is called for the probe in any case."""
    text = f"request.name == 'probe' || ({expression})"
    return {"matchConditions": [{"name": "wanted", "expression": text}], **more}


def test_conditions_say_what_a_webhook_is_asked_about(
    server, namespace, hook, configure
):
    hook.answers["h0"] = denied(message="too big")
    configure("Validating", _condition("object.spec.size > 5"))
    server.post(widgets(namespace), widget("small", size=3)).expect(201)
    assert hook.of("h0") == []
    answer = server.post(widgets(namespace), widget("big", size=7))
    assert answer.refused(400, None)["message"] == f"{DENIED}: too big"


@pytest.mark.parametrize(
    ("policy", "status"), [("Fail", 403), ("Ignore", 201)], ids=["fail", "ignore"]
)
def test_a_condition_that_fails_follows_the_failure_policy(
    server, namespace, hook, configure, policy, status
):
    hook.answers["h0"] = allowed
    webhook = _condition("object.spec.nothing == 1", failurePolicy=policy)
    configure("Validating", webhook)
    answer = server.post(widgets(namespace), widget("one", size=3))
    assert answer.status == status
    assert hook.of("h0") == []
    if policy == "Fail":
        document = answer.refused(403, "Forbidden")
        assert document["message"] == (
            f'widgets.{GROUP} "one" is forbidden: expression '
            "'request.name == 'probe' || (object.spec.nothing == 1)' resulted in "
            "error: no such key: nothing"
        )
        assert document["details"] == {"name": "one", "group": GROUP, "kind": "widgets"}


NOBODY = "authorizer.serviceAccount('default', 'nobody')"
SECRET = "resource('secrets').namespace('default').name('one')"


@pytest.mark.parametrize(
    ("expression", "asked"),
    [
        ("authorizer.requestResource.check('create').allowed()", True),
        (f"authorizer.group('').{SECRET}.check('get').allowed()", True),
        (f"{NOBODY}.group('').{SECRET}.check('get').allowed()", False),
        (f"{NOBODY}.group('').{SECRET}.subresource('x').check('get').errored()", False),
        ("authorizer.path('/nowhere').check('get').allowed()", True),
        (f"{NOBODY}.path('/nowhere').check('get').allowed()", False),
        (f"{NOBODY}.path('/nowhere').check('get').reason() == ''", True),
        (f"{NOBODY}.path('/nowhere').check('get').error() != ''", False),
    ],
)
def test_conditions_ask_what_the_user_may_do(
    server, namespace, hook, configure, expression, asked
):
    hook.answers["h0"] = allowed
    configure("Validating", _condition(expression))
    server.post(widgets(namespace), widget("one")).expect(201)
    assert [request["name"] for request in hook.of("h0")] == ["one"] * asked


@pytest.mark.parametrize(
    ("expression", "field"),
    [
        ("object.spec.size >", "expression"),
        ("'text'", "expression"),
        ("nobody.knows", "expression"),
        (" ", "expression"),
    ],
    ids=["broken", "no bool", "unknown", "blank"],
)
def test_a_condition_that_is_none_is_refused(server, hook, expression, field):
    condition = {"name": "wanted", "expression": expression}
    manifest = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "conditions"},
        "webhooks": [_webhook(hook, {"matchConditions": [condition]}, "none", 0)],
    }
    path = f"{CONFIGURATIONS}/validatingwebhookconfigurations"
    document = server.post(path, manifest).refused(422, "Invalid")
    fields = [cause["field"] for cause in document["details"]["causes"]]
    assert fields == [f"webhooks[0].matchConditions[0].{field}"]
