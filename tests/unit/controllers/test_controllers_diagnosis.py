"""The checks of an installation: what each finds, and what it says to do."""

import base64
from datetime import UTC, datetime, timedelta

import pytest

from asoreconcile.catalogue.crd import crd
from asoreconcile.certificates import Authority
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.controllers.diagnosis import checks
from asoreconcile.objects import GroupKind, copy_json

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"
FINALIZER = "serviceoperator.azure.com/finalizer"


def levels(findings):
    return [finding.level for finding in findings]


def only(findings):
    (finding,) = findings
    return finding


def ago(**time):
    return (NOW - timedelta(**time)).isoformat()


@pytest.mark.parametrize(
    ("wanted", "available", "level"),
    [(2, 2, "ok"), (2, 1, "warning"), (2, 0, "error"), (0, 0, "error")],
)
def test_replicas_that_do_not_run(wanted, available, level):
    deployment = {
        "spec": {"replicas": wanted},
        "status": {"availableReplicas": available},
    }
    assert only(checks.of_deployment(deployment, "n/d")).level == level


def test_an_operator_that_is_not_there():
    assert "--operator-namespace" in only(checks.of_deployment(None, "n/d")).mend


def pod(image="a:1", restarts=0):
    container = {
        "image": image,
        "restartCount": restarts,
        "lastState": {"terminated": {"reason": "OOMKilled"}},
    }
    return {"metadata": {"name": "p"}, "status": {"containerStatuses": [container]}}


def test_pods_that_crash_and_that_differ():
    assert [*checks.of_pods([pod(), pod(restarts=2)])] == []
    assert "last for OOMKilled" in only(checks.of_pods([pod(restarts=9)])).text
    assert "different images" in only(checks.of_pods([pod(), pod("a:2")])).text


def secret(**values):
    data = {k: base64.b64encode(v.encode()).decode() for k, v in values.items()}
    return {"metadata": {"name": "s", "namespace": "n"}, "data": data}


def test_settings_that_can_be_used_and_that_cannot():
    good = secret(
        AZURE_SUBSCRIPTION_ID=SUBSCRIPTION,
        AZURE_TENANT_ID=SUBSCRIPTION,
        AZURE_CLIENT_ID=SUBSCRIPTION,
        AZURE_CLIENT_SECRET="hunter2",
    )
    assert levels(checks.of_settings(good, "n/s")) == ["ok"]
    bad = secret(AZURE_SYNC_PERIOD="hunter2", AZURE_CLIENT_SECRET="hunter3")
    found = [*checks.of_settings(bad, "n/s")]
    assert "error" in levels(found)
    assert "AZURE_SYNC_PERIOD" in str(found)
    assert "hunter3" not in str(found)
    assert only(checks.of_settings(None, "n/s")).level == "error"


def lease(**spec):
    return {"spec": {"leaseDurationSeconds": 15, **spec}}


@pytest.mark.parametrize(
    ("made", "level"),
    [
        (None, "warning"),
        (lease(), "error"),
        (lease(holderIdentity="a", renewTime=ago(seconds=3)), "ok"),
        (lease(holderIdentity="a", renewTime=ago(seconds=40)), "error"),
        (lease(holderIdentity="a"), "error"),
    ],
)
def test_a_leader_that_does_not_renew(made, level):
    assert only(checks.of_lease(made, "n/l", NOW)).level == level


def installed(**changes):
    kind = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
    made = copy_json(crd(kind))
    version = made["spec"]["versions"][0]["name"]
    made["status"] = {
        "conditions": [{"type": "Established", "status": "True"}],
        "storedVersions": [version],
    }
    for path, value in changes.items():
        target = made
        *parents, last = path.split("__")
        for parent in parents:
            target = target[parent]
        target[last] = value
    return made


def test_kinds_in_order():
    assert (
        only(checks.of_crds([installed()], builtin())).text == "1 kinds are installed"
    )
    assert levels(checks.of_crds([], builtin())) == ["error"]
    other = {"spec": {"group": "example.com", "names": {"kind": "Thing"}}}
    assert "no CRD of an Azure kind" in only(checks.of_crds([other], builtin())).text


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"status__conditions": []}, "is not served"),
        ({"status__storedVersions": ["v1beta1"]}, "stores objects at v1beta1"),
        (
            {"spec__versions": [{"name": "v2999", "served": True}]},
            "versions that this build does not know: v2999",
        ),
        (
            {"spec__conversion": {"strategy": "Webhook", "webhook": {}}},
            "no authority for the conversion",
        ),
    ],
)
def test_a_kind_that_is_in_trouble(changes, text):
    found = [*checks.of_crds([installed(**changes)], builtin())]
    assert text in " ".join(f.text for f in found)
    assert all(f.level == "error" and f.mend for f in found)


def bundled(days):
    made_at = NOW - timedelta(days=100)
    pem = Authority.make("ca", now=made_at, days=100 + days).pem
    text = base64.b64encode(pem).decode()
    client = {"clientConfig": {"caBundle": text}}
    return installed(spec__conversion={"strategy": "Webhook", "webhook": client})


def test_authorities_that_end():
    assert [*checks.of_webhook_authorities([bundled(90)], NOW)] == []
    assert only(checks.of_webhook_authorities([bundled(5)], NOW)).level == "warning"
    assert only(checks.of_webhook_authorities([bundled(-1)], NOW)).level == "error"
    two = [*checks.of_webhook_authorities([bundled(90), bundled(91)], NOW)]
    assert "2 authorities" in only(two).text


def obj(name, condition=None, **meta):
    made = {"creationTimestamp": ago(days=1), **meta}
    return {
        "kind": "VirtualNetwork",
        "metadata": {"name": name, "namespace": "n", **made},
        "status": {"conditions": [{"type": "Ready", **condition}]} if condition else {},
    }


def failing(reason, severity):
    return {"status": "False", "reason": reason, "severity": severity}


def test_objects_are_counted_by_reason_and_the_first_are_named():
    ready = {"status": "True", "reason": "Succeeded"}
    assert levels(checks.of_objects([obj("a", ready)], NOW)) == ["ok"]
    many = [obj(f"o{n}", failing("WaitingForOwner", "Warning")) for n in range(7)]
    found = only(checks.of_objects(many, NOW))
    assert found.level == "warning"
    assert found.text.startswith("7 not Ready, WaitingForOwner: VirtualNetwork n/o0, ")
    assert found.text.endswith("...")
    both = [
        obj("e", failing("Failed", "Error")),
        obj("i", failing("Reconciling", "Info")),
    ]
    assert levels(checks.of_objects(both, NOW)) == ["error", "ok"]


def test_objects_that_nobody_saw_or_lets_go():
    found = only(checks.of_objects([obj("new")], NOW))
    assert "never looked at: VirtualNetwork n/new" in found.text
    young = obj("young", creationTimestamp=ago(seconds=10))
    assert levels(checks.of_objects([young], NOW)) == ["ok"]
    stuck = obj("old", deletionTimestamp=ago(hours=3), finalizers=[FINALIZER])
    found = only(checks.of_objects([stuck], NOW))
    assert "detach-on-delete" in found.mend
    other = obj("other", deletionTimestamp=ago(hours=3), finalizers=["x/y"])
    assert "never looked at" in only(checks.of_objects([other], NOW)).text


def test_rights_that_lack_are_named():
    assert only(checks.of_rights({"patch secrets": True}, "who")).level == "ok"
    asked = {f"patch kind{n}": False for n in range(7)}
    found = only(checks.of_rights(asked, "who"))
    assert found.level == "error"
    assert "and 2 more" in found.text
