"""Conversion and admission of Azure kinds, asked over TLS as an API server asks."""

import base64
import json
import ssl

import orjson
import pytest
import urllib3

from asoreconcile.azure.wire import FINALIZER, RESOURCE_ID
from asoreconcile.catalogue.conversion import CARRIED
from asoreconcile.catalogue.problems import Problem
from asoreconcile.catalogue.webhookclient import WebhookClient
from asoreconcile.clock import SystemClock
from asoreconcile.controllers.admission import Admission
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.controllers.conversions import converter
from asoreconcile.controllers.crds import CrdConflictError, manifest
from asoreconcile.controllers.crds import install as install_all
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, ApiResource
from asoreconcile.objects import GroupKind, ObjectKey, copy_json, key_of
from asoreconcile.testing.certificates import certificate_authority
from asoreconcile.testing.kube import KubeServer
from asoreconcile.webhooks.certificates import FileCertificates
from asoreconcile.webhooks.server import WebhookServer

AUTHORITY = certificate_authority()
NETWORK = "network.azure.com"


@pytest.fixture
def ask(tmp_path):
    for name, pem in zip(
        ("tls.crt", "tls.key"), AUTHORITY.issue(["127.0.0.1"]), strict=True
    ):
        (tmp_path / name).write_bytes(pem)
    server = WebhookServer(
        "127.0.0.1:0", certificates=FileCertificates(tmp_path), clock=SystemClock()
    )
    admission = Admission(builtin(), forbidden_tag)
    server.convert("/convert", converter(builtin()))
    server.validate("/validate", admission.validate)
    server.mutate("/mutate", admission.mutate)
    server.start()
    context = ssl.create_default_context(cadata=AUTHORITY.pem.decode())
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
    assert [CARRIED in o["metadata"].get("annotations", {}) for o in converted] == [
        bool(n % 2) for n in range(50)
    ]


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
            vnet("v20250301storage", "b", **{"$propertyBag": {"X": "{"}}),
            f"{NETWORK}/v20250301",
            "a $propertyBag holds no JSON",
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
    assert json.loads(notes.pop(CARRIED))["authored"] == "v1api20201101"
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


@pytest.mark.parametrize("how", ["metadata", "deleting", "status", "stored", "foreign"])
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
        case "stored":
            new["apiVersion"] = f"{NETWORK}/v20250301storage"
            new["spec"]["tags"] = {"a": "b"}
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


# In front of an API server


def test_a_kind_of_one_version_is_given_all_of_them(tmp_path):
    """What was stored in the one version is read in any, and keeps its author."""
    certificate, key = AUTHORITY.issue(["127.0.0.1"])
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(key)
    hooks = WebhookServer(
        "127.0.0.1:0", certificates=FileCertificates(tmp_path), clock=SystemClock()
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
        with pytest.raises(CrdConflictError, match="run with --all-versions"):
            install_all(client, [kind])
        client.close()
    assert hooks.stop(5) == []
