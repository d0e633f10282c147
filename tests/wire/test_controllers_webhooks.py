"""Conversion and admission of Azure kinds, asked over TLS as an API server asks."""

import base64
import json
import ssl
from contextlib import closing, contextmanager
from queue import SimpleQueue

import orjson
import pytest
import urllib3

from asoreconcile.azure.catalogue.conversion import CONVERSION_DATA
from asoreconcile.azure.catalogue.problems import Problem
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.controllers.admission import LAST_APPLIED, Admission
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.crds import CrdInstaller, manifest
from asoreconcile.azure.controllers.deletion_guard import DeletionGuard
from asoreconcile.azure.controllers.webhooks import (
    WebhookOptions,
    WebhookOptionsError,
    Webhooks,
    converter,
)
from asoreconcile.azure.expressions.api import shared
from asoreconcile.azure.reconcile.model.annotations import FINALIZER, RESOURCE_ID
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import GroupKind, ObjectKey, copy_json, key_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.config import load
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, ApiResource
from asoreconcile.runtime.application import Application
from asoreconcile.testing.kube import KubeServer
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.webhooks.server import WebhookServer, webhook_path
from asoreconcile.webhooks.serving_certificates import FileCertificates

AUTHORITY = certificate_authority()
NETWORK = "network.azure.com"
SECRET = ObjectKey("default", "webhook-certificate")


@pytest.fixture
def folder(tmp_path):
    """Of the serving certificate."""
    for name, pem in zip(
        ("tls.crt", "tls.key"), AUTHORITY.issue(["127.0.0.1"]), strict=True
    ):
        (tmp_path / name).write_bytes(pem)
    return tmp_path


@pytest.fixture
def ask(folder):
    server = WebhookServer(
        "127.0.0.1:0", certificates=FileCertificates(folder), clock=SystemClock()
    )
    admission = Admission(builtin(), forbidden_tag)
    server.convert("/convert", converter(builtin()))
    server.validate("/validate", admission.validate)
    server.mutate("/mutate", admission.mutate)
    with asking(server) as call:
        yield call


@contextmanager
def asking(server, authority=AUTHORITY.pem):
    """Start a server, and give what asks it: answers the response to a review."""
    server.start()
    context = ssl.create_default_context(cadata=authority.decode())
    with urllib3.PoolManager(ssl_context=context) as pool:

        def call(path, kind, request):
            group = "apiextensions" if kind == "ConversionReview" else "admission"
            document = {
                "apiVersion": f"{group}.k8s.io/v1",
                "kind": kind,
                "request": {"uid": "u", **request},
            }
            answer = pool.request(
                "POST",
                f"https://127.0.0.1:{server.port}{path}?timeout=30s",
                body=orjson.dumps(document),
                headers={"Content-Type": "application/json"},
            )
            assert answer.status == 200, answer.status
            return orjson.loads(answer.data)["response"]

        yield call
    assert server.stop(5) == []


def forbidden_tag(_version, obj):
    wrong = "forbidden" in obj["spec"].get("tags", {})
    return [Problem("spec.tags.forbidden", "is forbidden")] if wrong else []


def vnet(version="v20250301", name="it", **spec):
    return {
        "apiVersion": f"{NETWORK}/{version}",
        "kind": "VirtualNetwork",
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"},
        "spec": {"location": "westus", "owner": {"name": "rg"}, **spec},
    }


# Conversion


def test_a_batch_is_converted_in_its_order(ask):
    objects = [
        vnet("v1api20201101" if n % 2 else "v20250301storage", f"n{n}")
        for n in range(50)
    ]

    response = ask(
        "/convert",
        "ConversionReview",
        {"desiredAPIVersion": f"{NETWORK}/v20250301", "objects": objects},
    )

    assert response["result"]["status"] == "Success"
    converted = response["convertedObjects"]
    assert [o["metadata"]["uid"] for o in converted] == [f"uid-n{n}" for n in range(50)]
    assert {o["apiVersion"] for o in converted} == {f"{NETWORK}/v20250301"}
    # The other half was written in this very version.
    assert [
        CONVERSION_DATA in o["metadata"].get("annotations", {}) for o in converted
    ] == [bool(n % 2) for n in range(50)]


@pytest.mark.parametrize(
    ("broken", "desired", "message"),
    [
        (vnet(name="b"), f"{NETWORK}/v20990101", "has no version 'v20990101'"),
        (vnet("v1", "b"), f"{NETWORK}/v20250301", "has no version 'v1'"),
        (vnet(name="b"), "compute.azure.com/v20250401", "is of another group"),
        (
            vnet(name="b") | {"kind": "VirtualNetwrk"},
            f"{NETWORK}/v20240301",
            "did you mean",
        ),
        (
            vnet("v20250301storage", "b", **{"$propertyBag": ["X"]}),
            f"{NETWORK}/v20250301",
            "a $propertyBag is no map",
        ),
    ],
    ids=["version", "own-version", "group", "kind", "bag"],
)
def test_a_failure_names_the_object(ask, broken, desired, message):
    response = ask(
        "/convert",
        "ConversionReview",
        {"desiredAPIVersion": desired, "objects": [broken]},
    )

    assert response["result"]["status"] == "Failure"
    assert (
        f"{broken['kind']} ns/b has no form in {desired}"
        in response["result"]["message"]
    )
    assert message in response["result"]["message"]
    assert response["convertedObjects"] == []


def test_an_entry_of_a_bag_that_cannot_be_read_fails_no_list(ask):
    bad = vnet("v20250301storage", "b", **{"$propertyBag": {"AddressSpace": "{"}})
    good = vnet("v20250301storage", "a")

    response = ask(
        "/convert",
        "ConversionReview",
        {"desiredAPIVersion": f"{NETWORK}/v20250301", "objects": [bad, good]},
    )

    assert response["result"]["status"] == "Success"
    assert [o["metadata"]["name"] for o in response["convertedObjects"]] == ["b", "a"]


def test_metadata_changes_by_one_annotation_only(ask):
    """All that an API server lets a conversion change."""
    obj = vnet("v1api20201101")
    obj["metadata"] |= {"resourceVersion": "7", "annotations": {"a": "b"}}
    obj["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}

    (made,) = ask(
        "/convert",
        "ConversionReview",
        {"desiredAPIVersion": f"{NETWORK}/v20250301", "objects": [obj]},
    )["convertedObjects"]

    notes = made["metadata"].pop("annotations")
    assert json.loads(notes.pop(CONVERSION_DATA))["authored"] == "v1api20201101"
    assert notes == obj["metadata"].pop("annotations")
    assert made == obj | {"apiVersion": f"{NETWORK}/v20250301"}


# Admission


def review(obj, old=None, **request):
    group, _, version = obj["apiVersion"].partition("/")
    return {
        "kind": {"group": group, "version": version, "kind": obj["kind"]},
        "operation": "CREATE" if old is None else "UPDATE",
        "name": obj["metadata"]["name"],
        "namespace": "ns",
        "object": obj,
        "oldObject": old,
        **request,
    }


def test_a_good_object_is_let_in(ask):
    assert ask("/validate", "AdmissionReview", review(vnet()))["allowed"] is True


def test_everything_wrong_is_told_at_once(ask):
    bad = vnet(
        owner={"name": "rg", "armId": "/subscriptions/s/resourceGroups/r"},
        subnets=[{"natGateway": {}}],
        tags={"forbidden": "x"},
        ddosProtectionPlan={"reference": {"name": "plan"}},
    )

    response = ask("/validate", "AdmissionReview", review(bad))

    assert response["allowed"] is False
    assert response["status"]["code"] == 422
    message = response["status"]["message"]
    assert "spec.owner: set either armId or the owner's name, not both" in message
    assert "spec.ddosProtectionPlan.reference: set group and kind too" in message
    assert "spec.tags.forbidden: is forbidden" in message


def applied(obj, written):
    """As kubectl's client-side apply leaves an object whose manifest said more."""
    notes = {LAST_APPLIED: json.dumps(written)}
    return {**obj, "metadata": {**obj["metadata"], "annotations": notes}}


def test_a_field_that_was_dropped_is_warned_of_with_the_nearest_spelling(ask):
    written = vnet(addresSpace={}, dhcpOptions={"dnsServer": []})
    new = applied(vnet(dhcpOptions={}), written)
    request = review(new, vnet(dhcpOptions={}))

    response = ask("/validate", "AdmissionReview", request)

    assert response["allowed"] is True, "though the spec is what it was"
    assert response["warnings"] == [
        "spec.addresSpace was dropped: unknown field; did you mean 'addressSpace'?",
        "spec.dhcpOptions.dnsServer was dropped: unknown field; did you mean 'dnsServers'?",
    ]
    same = {**copy_json(new), "spec": {**new["spec"], "location": "eastus"}}
    assert "warnings" not in ask("/validate", "AdmissionReview", review(same, new))


def test_dropped_fields_are_told_beside_a_refusal(ask):
    written = vnet(addresSpace={}, tags={"forbidden": "x"})
    bad = applied(vnet(tags={"forbidden": "x"}), written)

    response = ask("/validate", "AdmissionReview", review(bad))

    assert response["allowed"] is False
    assert len(response["warnings"]) == 1


@pytest.mark.parametrize(
    "noted",
    [
        "no JSON",
        "[]",
        '{"spec": 7}',
        '{"apiVersion": "network.azure.com/v1", "kind": "VirtualNetwork"}',
        '{"apiVersion": "v1", "kind": "Secret", "spec": {"x": 1}}',
        json.dumps(
            vnet("v20250301", addressSpace={"addressPrefixes": ["10.0.0.0/16"]})
        ),
    ],
)
def test_a_note_that_says_nothing_of_dropped_fields_is_let_in(ask, noted):
    obj = vnet()
    obj["metadata"]["annotations"] = {LAST_APPLIED: noted}

    response = ask("/validate", "AdmissionReview", review(obj))

    assert (response["allowed"], response.get("warnings")) == (True, None)


def test_no_more_warnings_are_told_than_anybody_reads(ask):
    written = vnet(**{f"field{n}" * 60: 1 for n in range(30)})

    response = ask("/validate", "AdmissionReview", review(applied(vnet(), written)))

    assert len(response["warnings"]) == 10
    assert max(map(len, response["warnings"])) == 250


def test_r10_1_a_name_in_azure_stays(ask):
    old = vnet(azureName="a")
    old["metadata"]["annotations"] = {RESOURCE_ID: "/subscriptions/s"}
    new = copy_json(old)
    new["spec"]["azureName"] = "b"

    response = ask("/validate", "AdmissionReview", review(new, old))

    assert response["allowed"] is False
    assert (
        "spec.azureName: cannot change from 'a' to 'b'" in response["status"]["message"]
    )


def test_r10_2_a_name_not_yet_in_azure_may_change(ask):
    response = ask(
        "/validate",
        "AdmissionReview",
        review(vnet(azureName="b"), vnet(azureName="a")),
    )

    assert response["allowed"] is True


@pytest.mark.parametrize("how", ["metadata", "deleting", "status", "foreign"])
def test_an_object_that_broke_a_rule_before_stays_manageable(ask, how):
    old = vnet(owner={})
    new, request = copy_json(old), {}
    match how:
        case "metadata":
            new["metadata"]["annotations"] = {"a": "b"}
        case "deleting":
            new["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            new["spec"]["tags"] = {"a": "b"}
        case "status":
            new["status"], request = {"id": "x"}, {"subResource": "status"}
        case "foreign":
            new["kind"] = "Nobody"
            new["spec"]["tags"] = {"a": "b"}

    response = ask("/validate", "AdmissionReview", review(new, old, **request))

    assert response["allowed"] is True


@pytest.mark.parametrize(
    ("group", "tied"),
    [
        ("sql.azure.com", True),
        ("dbformysql.azure.com", True),
        ("dbforpostgresql.azure.com", False),
    ],
)
def test_a_user_is_tied_to_its_name_by_the_finalizer(ask, group, tied):
    user = {
        "apiVersion": f"{group}/v1",
        "kind": "User",
        "metadata": {"name": "u", "finalizers": []},
        "spec": {
            "azureName": "a",
            "owner": {"name": "o"},
            "localUser": {"serverAdminUsername": "a"},
        },
    }
    renamed = copy_json(user)
    renamed["spec"]["azureName"] = "b"

    before = ask("/validate", "AdmissionReview", review(renamed, user))
    renamed["metadata"]["finalizers"] = [FINALIZER]
    after = ask("/validate", "AdmissionReview", review(renamed, user))

    assert [before["allowed"], after["allowed"]] == [True, not tied]


def test_r10_1_the_azure_name_is_filled_in(ask):
    response = ask("/mutate", "AdmissionReview", review(vnet()))

    assert orjson.loads(base64.b64decode(response["patch"])) == [
        {"op": "add", "path": "/spec/azureName", "value": "it"}
    ]
    named = ask("/mutate", "AdmissionReview", review(vnet(azureName="a")))
    assert "patch" not in named


def assignment(version, **metadata):
    return {
        "apiVersion": f"authorization.azure.com/{version}",
        "kind": "RoleAssignment",
        "metadata": {"name": "reads", "namespace": "ns", **metadata},
        "spec": {
            "owner": {"armId": "/subscriptions/s/resourceGroups/r"},
            "operatorSpec": {"namingConvention": "random"},
        },
    }


def test_a_made_up_name_is_not_made_up_anew(ask):
    """Neither when an edit leaves it out, nor when the reconciler was first."""
    old = assignment("v1api20220401")
    old["spec"]["azureName"] = "drawn"
    claimed = assignment("v20220401", annotations={RESOURCE_ID: "/a/b/claimed"})

    edited = ask("/mutate", "AdmissionReview", review(assignment("v1api20220401"), old))
    first = ask("/mutate", "AdmissionReview", review(claimed, claimed))

    assert b'"drawn"' in base64.b64decode(edited["patch"])
    assert b'"claimed"' in base64.b64decode(first["patch"])


# The operator's own


@pytest.fixture
def app():
    """Of a cluster that is never asked."""
    made = Application("tests", cluster=ClusterConfig("http://127.0.0.1:1", None, str))
    yield made
    made.close()


@pytest.fixture
def registry(app):
    return app.registry


class NoObjects:
    """A cluster without Azure objects."""

    def get(self, _group_kind, _key):
        return None

    def is_installed(self, _group_kind):
        return False


@pytest.fixture
def make(app):
    """The operator's webhooks, as the operator puts them together."""

    def build(folder, *, app=app, crds=tuple):
        options = WebhookOptions(
            "127.0.0.1:0", cert_dir=folder, url="https://127.0.0.1:9443"
        )
        return Webhooks(
            app,
            options,
            builtin(),
            secret=SECRET,
            crds=crds,
            expressions=shared(),
            guard=DeletionGuard(app.client, Policy.MANAGE, lambda _arm_id, _uid: ()),
            owners=NoObjects(),
        )

    return build


def paths(gvk):
    return [webhook_path(verb, gvk) for verb in ("validate", "mutate")]


def assert_judged(ask, obj, *, validate, mutate):
    """A wrong object is refused at one path, and a good one completed at the other."""
    wrong = {**obj, "spec": {**obj["spec"], "owner": {}}}
    refused = ask(validate, "AdmissionReview", review(wrong))
    assert "spec.owner" in refused["status"]["message"]
    completed = ask(mutate, "AdmissionReview", review(obj))
    assert b"/spec/azureName" in base64.b64decode(completed["patch"])


def test_the_operator_answers_for_all_kinds_at_one_path_each(make, folder, registry):
    with asking(make(folder).server) as ask:
        assert_judged(ask, vnet(), validate="/validate", mutate="/mutate")
        desired = f"{NETWORK}/v1api20240301"
        (made,) = ask(
            "/convert",
            "ConversionReview",
            {"desiredAPIVersion": desired, "objects": [vnet()]},
        )["convertedObjects"]
    assert made["apiVersion"] == desired
    for path in ("/validate", "/mutate", "/convert"):
        labels = {"webhook": path, "code": "200"}
        name = "controller_runtime_webhook_requests_total"
        assert registry.get_sample_value(name, labels) == 1
    assert registry.get_sample_value("certwatcher_read_certificate_total") == 1


@pytest.mark.parametrize("field", ["secretExpressions", "configMapExpressions"])
def test_the_operator_judges_expressions_with_a_write(make, folder, field):
    """More than anybody writes by hand, which is told without an engine."""
    many = [
        {"name": "out", "key": f"k{n}", "value": "self.metadata.name"}
        for n in range(101)
    ]
    obj = vnet(operatorSpec={field: many})
    with asking(make(folder).server) as ask:
        response = ask("/validate", "AdmissionReview", review(obj))
    assert "holds 101 expressions, more than 100" in response["status"]["message"]


def test_wh2_a_kind_is_answered_at_the_paths_of_all_its_versions(make, folder):
    """Those that Azure Service Operator's configurations name."""
    hooks = make(folder)
    kind = builtin().kind(GroupKind(NETWORK, "VirtualNetwork"))
    hooks.admit(kind.group_kind)
    hooks.admit(kind.group_kind)  # its CRD may go and come again
    with asking(hooks.server) as ask:
        for version in kind.versions:
            validate, mutate = paths(kind.gvk(version))
            assert_judged(ask, vnet(version), validate=validate, mutate=mutate)


def test_wh8_the_operator_is_ready_while_a_client_would_be_greeted(make, app, folder):
    with asking(make(folder).server):
        assert app.readyz.report_one("webhooks").status == 200
    unready = app.readyz.report_one("webhooks")
    assert unready.status == 500


def test_a_certificate_of_others_needs_no_service_and_nobody_is_told(make, folder):
    hooks = make(folder)
    hooks.changed()
    assert isinstance(hooks.certificates, FileCertificates)


def test_a_folder_without_a_certificate_is_a_mistake_in_the_options(make, tmp_path):
    with pytest.raises(WebhookOptionsError, match=f"certificate in {tmp_path}"):
        make(tmp_path)


def test_wh7_our_own_certificate_comes_first_and_crds_that_come_are_told(
    make, tmp_path
):
    rounds = SimpleQueue()

    def crds():
        rounds.put("asked")
        return ()

    with KubeServer() as cluster:
        cluster.write_kubeconfig(tmp_path / "kubeconfig")
        app = Application("tests", cluster=str(tmp_path / "kubeconfig"))
        with closing(app):
            hooks = make(None, app=app, crds=crds)
            own, server = hooks.certificates, hooks.server
            own.start()
            rounds.get(timeout=30)
            hooks.changed()
            rounds.get(timeout=30)
            with asking(server, own.authorities) as ask:
                assert_judged(ask, vnet(), validate="/validate", mutate="/mutate")
            assert own.stop(10) == []
    read = app.registry.get_sample_value("certwatcher_read_certificate_total")
    assert read == 3


# In front of an API server


def test_a_kind_of_one_version_is_given_all_of_them(folder, tmp_path):
    """What was stored in the one version is read in any, and keeps its author."""
    hooks = WebhookServer(
        "127.0.0.1:0", certificates=FileCertificates(folder), clock=SystemClock()
    )
    hooks.convert("/convert", converter(builtin()))
    kind = builtin().kind(GroupKind(NETWORK, "VirtualNetwork"))

    def at(version):
        return ApiResource(
            group=NETWORK, version=version, plural=kind.plural, kind="VirtualNetwork"
        )

    def install(document):
        client.patch(
            CUSTOM_RESOURCE_DEFINITIONS,
            key_of(document),
            document,
            kind="apply",
            field_manager="tests",
            force=True,
        )

    with KubeServer() as cluster:
        cluster.write_kubeconfig(tmp_path / "kubeconfig")
        client = KubeClient(load(str(tmp_path / "kubeconfig")), user_agent="tests")
        hooks.start()
        install(manifest(kind, "v1api20240301"))
        obj = vnet("v1api20240301")
        obj["metadata"] = {"name": "it", "namespace": "default"}
        client.create(at("v1api20240301"), obj)
        bundle = base64.b64encode(AUTHORITY.pem).decode()
        url = f"https://127.0.0.1:{hooks.port}"

        install(manifest(kind, conversion=WebhookClient(url=url, ca_bundle=bundle)))

        key = ObjectKey("default", "it")
        stored = client.get(at("v20250301storage"), key)
        assert stored["spec"] == {**obj["spec"], "originalVersion": "v1api20240301"}
        assert client.get(at("v20250301"), key)["spec"] == obj["spec"]
        (listed,) = client.list_page(at("v1api20201101")).items
        assert listed["spec"] == obj["spec"]
        done = CrdInstaller(client).install([kind])
        assert done.applied == 0
        assert "--all-versions" in done.kept[f"{kind.plural}.{kind.group}"]
        client.close()
    assert hooks.stop(5) == []
