"""The checks of an installation: what each finds, and what it says to do."""

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.crd_plan import DesiredCrds
from asoreconcile.azure.controllers.diagnosis import (
    checks,
    crd_checks,
    credential_checks,
    environment_checks,
    webhook_checks,
)
from asoreconcile.azure.controllers.diagnosis.rights import (
    Right,
    of_rights,
    operator_rights,
)
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.base.certificates import Authority
from asoreconcile.base.objects import GroupKind, copy_json

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
BUILD = "asoreconcile-1.2.3"
SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"
RBAC = Path(__file__).parents[4] / "deploy" / "rbac.yaml"
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


def of_crds(*crds, served=None):
    """The findings. served: discovery; None shows the versions of the CRDs."""
    names = {
        GroupKind(crd["spec"]["group"], crd["spec"]["names"]["kind"]): [
            v["name"] for v in crd["spec"].get("versions", ()) if v["served"]
        ]
        for crd in crds
        if crd.get("status", {}).get("conditions")
    }
    shown = names if served is None else served
    return crd_checks.of_crds(crds, builtin(), BUILD, shown)


def test_kinds_in_order():
    assert only(of_crds(installed())).text == "1 kinds are installed"
    assert levels(of_crds()) == ["error"]
    other = {"spec": {"group": "example.com", "names": {"kind": "Thing"}}}
    assert "no CRD of an Azure kind" in only(of_crds(other)).text


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"status__conditions": []}, "is not served"),
        ({"status__storedVersions": ["v1beta1"]}, "stores objects at v1beta1"),
        (
            {"spec__versions": [{"name": "v2999", "served": True}]},
            "versions that this build does not know: v2999",
        ),
    ],
)
def test_a_kind_that_is_in_trouble(changes, text):
    found = [*of_crds(installed(**changes))]
    assert text in " ".join(f.text for f in found)
    assert all(f.level == "error" and f.mend for f in found)


def test_a_kind_that_does_not_run_is_named():
    (late,) = of_crds(installed(), served={})
    assert "discovery shows no version of v" in late.text
    going = installed()
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    (found,) = of_crds(going)
    assert (found.level, "is being deleted" in found.text) == ("error", True)


def test_a_crd_without_conversion_is_not_edited():
    """The API server adds `strategy: None` to it."""
    kind = builtin().kind(GroupKind("sql.azure.com", "User"))
    made = copy_json(DesiredCrds(BUILD).manifest(kind))
    made["status"] = {**installed()["status"], "storedVersions": ["v1"]}
    made["spec"]["conversion"] = {"strategy": "None"}
    assert levels(of_crds(made)) == ["ok"]


@pytest.mark.parametrize("url", ["", "https://127.0.0.1:9443"])
def test_a_crd_that_was_edited_by_hand_is_named(url):
    kind = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
    client = WebhookClient(url=url, ca_bundle="x") if url else None
    made = copy_json(DesiredCrds(BUILD, conversion=client).manifest(kind))
    made["status"] = installed()["status"]
    made["status"]["storedVersions"] = [
        one["name"] for one in made["spec"]["versions"] if one["storage"]
    ]
    assert levels(of_crds(made)) == ["ok"]

    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["location"]

    found = only(of_crds(made))
    assert (found.level, "it was edited" in found.text) == ("warning", True)


def bundled(days):
    made_at = NOW - timedelta(days=100)
    pem = Authority.make("ca", now=made_at, days=100 + days).pem
    text = base64.b64encode(pem).decode()
    client = {"clientConfig": {"caBundle": text}}
    return installed(spec__conversion={"strategy": "Webhook", "webhook": client})


def test_authorities_that_end():
    look = webhook_checks.of_conversions
    assert [*look([bundled(90)], NOW)] == []
    assert only(look([bundled(5)], NOW)).level == "warning"
    ended = only(look([bundled(-1)], NOW))
    assert (ended.level, ended.fix) == ("error", "remove-ca-bundle")
    assert ended.target == "resourcegroups.resources.azure.com"
    two = [*look([bundled(90), bundled(91)], NOW)]
    assert "2 authorities" in only(two).text
    none = installed(spec__conversion={"strategy": "Webhook", "webhook": {}})
    assert "no authority for the conversion" in only(look([none], NOW)).text
    odd = bundled(90)
    odd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = "bm9uZQ=="
    assert "cannot be read" in only(look([odd], NOW)).text
    # cert-manager's is not ours to take away.
    odd["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": "n/c"}
    assert only(look([odd], NOW)).fix == ""
    assert [*look([installed()], NOW)] == []


def test_an_authority_that_is_not_the_operator_s():
    authority = Authority.make("ca", now=NOW - timedelta(days=1), days=90)
    trusted = installed(
        spec__conversion={
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {"caBundle": base64.b64encode(authority.pem).decode()}
            },
        }
    )

    def look(**values):
        own = secret(**values) if values else None
        return [*webhook_checks.of_conversions([trusted], NOW, serving=own)]

    other = Authority.make("ca", now=NOW, days=90).pem.decode()
    assert look() == []
    assert look(**{"ca.crt": authority.pem.decode()}) == []
    # The next authority is published beside the one in use.
    assert look(**{"ca.crt": other + authority.pem.decode()}) == []
    assert "trusts another authority" in only(look(**{"ca.crt": other})).text
    assert look(**{"ca.crt": "none"}) == []


def admission(*names, namespace="n", bundle="x"):
    client = {"caBundle": bundle, "service": {"namespace": namespace}}
    there = {"webhooks": [{"clientConfig": client}]}
    return {
        name: there if name in names else None for name in ("Mutating", "Validating")
    }


def test_admission_webhooks_that_nobody_answers():
    look = webhook_checks.of_admission
    assert "no admission webhooks" in only(look(admission(), "n")).text
    assert [*look(admission("Mutating", "Validating"), "n")] == []
    half = only(look(admission("Mutating"), "n"))
    assert half.text == "there is no Validating"
    silent = [*look(admission("Mutating", "Validating", bundle=""), "n")]
    assert levels(silent) == ["error", "error"]
    other = [*look(admission("Mutating", "Validating", namespace="o"), "n")]
    assert all("asks an operator in o" in one.text for one in other)


def test_wh11_a_check_of_secrets_that_nothing_makes_is_a_warning():
    def look(why, *words):
        containers = [{"args": words}]
        deployment = {"spec": {"template": {"spec": {"containers": containers}}}}
        return only(webhook_checks.of_secret_access(why, deployment))

    assert look("").level == "ok"
    assert look("no policy", "--webhook-client-ca=/ca").level == "ok"
    missing = look("no policy")
    assert missing.level == "warning"
    assert missing.text.endswith("in a spec: no policy")
    assert "deploy/secret-policy.yaml" in missing.mend


def test_a_service_that_leads_to_no_webhook():
    client = {"clientConfig": {"service": {"namespace": "n", "name": "hooks"}}}
    crd = installed(spec__conversion={"strategy": "Webhook", "webhook": client})
    reviews = {"metadata": {"name": "reviews"}, "webhooks": [client]}
    ((key, asked),) = webhook_checks.services_asked([crd], [reviews, None]).items()
    assert str(key) == "n/hooks"
    assert asked == "the conversion of resourcegroups.resources.azure.com"
    assert webhook_checks.services_asked([], [reviews]) == {key: "reviews"}
    assert webhook_checks.services_asked([installed()], [None]) == {}

    def look(service, *words, app="a"):
        template = {
            "metadata": {"labels": {"app": app}},
            "spec": {"containers": [{"args": words}]},
        }
        deployment = {"spec": {"template": template}}
        return [*webhook_checks.of_service(key, service, asked, deployment)]

    service = {"spec": {"selector": {"app": "a"}}}
    assert look(service, "--webhook-port=9443") == []
    assert "there is no Service n/hooks" in only(look(None)).text
    assert "serves no webhooks" in only(look(service, "--webhook-port=0")).text
    assert look(service, "--webhook-port=0", app="b") == []  # another operator's


def serving(days):
    authority = Authority.make("ca", now=NOW - timedelta(days=100), days=100 + days)
    return secret(**{"tls.crt": authority.pem.decode()})


def test_the_webhooks_own_certificate():
    look = webhook_checks.of_serving_certificate
    assert [*look(None, NOW)] == []
    assert levels(look(serving(20), NOW)) == ["ok"]
    assert levels(look(serving(0.5), NOW)) == ["warning"]
    assert levels(look(serving(-1), NOW)) == ["error"]
    unreadable = only(look(secret(**{"tls.crt": "none"}), NOW))
    assert "kubectl delete secret -n n s" in unreadable.mend


def test_who_installed_the_kinds_and_what_is_left_of_older_ones():
    def labelled(build):
        made = installed()
        made["metadata"]["labels"] = {"app.kubernetes.io/version": build}
        return made

    def told(build):
        return [*of_crds(labelled(build))][1:]

    assert "Azure Service Operator v2.13.0" in only(told("v2.13.0")).text
    assert told("asoreconcile-1.2.3") == []
    assert "older than this program" in only(told("asoreconcile-1.2.2")).text
    assert "newer than this program" in only(told("asoreconcile-1.10.0")).text
    moved = installed()
    stored = moved["status"]["storedVersions"]
    extra = {"name": "v20200601", "storage": False, "served": False}
    moved["spec"]["versions"].append(extra)
    stored.append("v20200601")
    left = only(of_crds(moved))
    assert (left.level, left.fix) == ("warning", "drop-stored-versions")


def test_kinds_of_azure_service_operator_that_are_not_here_are_named():
    """Of a later release than the catalogue's."""
    marks = {
        "app.kubernetes.io/name": "azure-service-operator",
        "app.kubernetes.io/version": "v2.99.0",
    }
    newer = {
        "metadata": {"name": "things.entra.azure.com", "labels": marks},
        "spec": {"group": "entra.azure.com", "names": {"kind": "Thing"}},
    }
    others = {**newer, "metadata": {"name": "things.entra.azure.com"}}
    found = [*of_crds(installed(), newer, others)][-1]
    assert (found.level, found.check) == ("warning", "kinds")
    assert "v2.99.0 has kinds that this program lacks" in found.text
    assert found.text.count("Thing.entra.azure.com") == 1


def test_kinds_that_are_asked_for_and_not_there():
    def running(pattern):
        containers = [{"name": "manager", "args": [f"--crd-pattern={pattern}"]}]
        return {"spec": {"template": {"spec": {"containers": containers}}}}

    def look(pattern):
        return [
            *crd_checks.of_missing_kinds(running(pattern), [installed()], builtin())
        ]

    assert look("resources.azure.com/ResourceGroup") == []
    (missing,) = look("resources.azure.com/*;network.azure.com/VirtualNetwork")
    assert "network.azure.com/VirtualNetwork" in missing.text
    # Kinds that are no ARM resources are installed, too.
    (users,) = look("resources.azure.com/ResourceGroup;sql.azure.com/User")
    assert "sql.azure.com/User" in users.text
    (wrong,) = look("resources.azure.com/ResourceGrop")
    assert "did you mean" in wrong.text


def test_settings_that_changed_after_the_start():
    changed = secret()
    changed["metadata"]["managedFields"] = [{"time": ago(hours=1)}]

    def look(**time):
        pods = [{"status": {"startTime": ago(**time)}}]
        return [*checks.of_restart(changed, pods, "n/d")]

    assert look(minutes=5) == []
    late = only(look(hours=2))
    assert (late.fix, late.target) == ("restart-operator", "n/d")


@pytest.mark.parametrize(
    ("here", "renewed", "said"),
    [
        (0, None, ["ok"]),
        (9, -14, ["ok"]),
        (60, 0, ["warning"]),
        (-60, 0, ["warning"]),
        (0, 30, ["error"]),
        (60, 30, ["warning", "error"]),
    ],
)
def test_clocks_that_disagree(here, renewed, said):
    after = timedelta(seconds=renewed or 0)
    when = None if renewed is None else NOW + after
    look = environment_checks.of_clocks
    assert levels(look(NOW, NOW + timedelta(seconds=here), when)) == said


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, []),
        ({"HTTPS_PROXY": "http://user:hunter2@p", "NO_PROXY": "10.0.0.1"}, ["ok"]),
        ({"https_proxy": "http://p", "no_proxy": "x,10.0.0.0/16"}, ["ok"]),
        ({"HTTPS_PROXY": "http://user:hunter2@p"}, ["error"]),
        ({"HTTPS_PROXY": "http://p", "NO_PROXY": ".svc"}, ["error"]),
    ],
)
def test_a_proxy_between_the_operator_and_the_api_server(env, said):
    listed = [{"name": name, "value": value} for name, value in env.items()]
    containers = [{"name": "manager", "env": listed}]
    deployment = {"spec": {"template": {"spec": {"containers": containers}}}}
    found = [*environment_checks.of_proxies(deployment, "10.0.0.1", {})]
    assert levels(found) == said
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    ("server", "image", "said"),
    [
        ({"major": "1", "minor": "31"}, "r/asoreconcile:1.2.3", []),
        ({"major": "1", "minor": "27+"}, "r/asoreconcile:1.2.3", ["error"]),
        ({}, "r/asoreconcile:1.2.2", ["warning"]),
        ({}, "r/asoreconcile:v1.3.0-rc1", ["warning"]),
        ({}, "mcr/azureserviceoperator:v2.13.0", []),
        ({}, "r/asoreconcile@sha256:abc", []),
    ],
)
def test_versions_that_do_not_go_together(server, image, said):
    assert levels(environment_checks.of_versions(server, [image], "1.2.3")) == said


GOOD = {
    "AZURE_SUBSCRIPTION_ID": SUBSCRIPTION,
    "AZURE_TENANT_ID": SUBSCRIPTION,
    "AZURE_CLIENT_ID": SUBSCRIPTION,
}


def test_credentials_are_read_and_tried():
    def refused(_source):
        raise CredentialError("AADSTS7000222: the secret hunter2 has expired")

    look = credential_checks.of_secret
    good = secret(**GOOD, AZURE_CLIENT_SECRET="hunter2")
    assert "--azure tries" in only(look(good, None)).text
    assert "reads 3 subscriptions" in only(look(good, lambda _: 3)).text
    failed = only(look(good, refused))
    assert failed.level == "error"
    assert "AADSTS7000222" in failed.text
    assert "hunter2" not in failed.text
    assert only(look(secret(), None)).level == "error"
    workload = only(look(secret(**GOOD), lambda _: 3))
    assert (workload.level, workload.check) == ("unknown", "credentials")
    none = only(credential_checks.of_settings_credential(secret(), None))
    assert none.level == "warning"


def test_unreadable_policies_are_named_with_their_objects():
    policy = {RECONCILE_POLICY: "skipp"}
    objects = [obj("a"), obj("b", annotations=policy), obj("c")]
    found = [*checks.of_annotations(objects, {"n": policy}, builtin())]
    assert {one.level for one in found} == {"error"}
    text = " ".join(one.text for one in found)
    assert "skipp" in text
    assert all(f"n/{name}" in text for name in ("a", "b", "c"))
    assert not [*checks.of_annotations([obj("a")], {}, builtin())]
    for_a_while = {"n": {"asoreconcile/takes-over": "true"}}
    (reminder,) = checks.of_annotations([], for_a_while, builtin())
    assert "asoreconcile/takes-over" in reminder.text


def test_an_exported_credential_is_named_before_objects_move_here():
    look = credential_checks.of_export
    assert only(look("n/x", is_allowed=False)).level == "error"
    assert not [*look("n/x", is_allowed=True)]


@pytest.mark.parametrize(
    ("is_strict", "level"), [(True, "error"), (False, "ok")], ids=["strict", "relaxed"]
)
def test_namespaces_that_strict_identities_would_lock_out(is_strict, level):
    lacking = {"b": "no ServiceAccount aso-workload", "a": ""}
    look = credential_checks.of_strict_identities
    found = only(look(lacking, is_strict=is_strict))
    assert found.level == level
    assert "b (no ServiceAccount aso-workload)" in found.text
    assert only(look({"a": ""}, is_strict=is_strict)).level == "ok"
    assert not [*look({}, is_strict=is_strict)]


def test_the_rights_are_those_of_the_shipped_roles():
    """Every right of deploy/rbac.yaml, for every kind, and no other."""
    kinds = [kind.version() for kind in builtin().kinds()]
    asked = {
        (right.verb, right.group, f"{right.resource}/{right.subresource}".strip("/"))
        for right in operator_rights(
            kinds, namespace="n", lease="lease", writes_crds=True
        )
    }
    shipped = set()
    for role in yaml.safe_load_all(RBAC.read_text()):
        for rule in role["rules"]:
            shipped |= {
                (verb, group, resource)
                for verb in rule["verbs"]
                for group in rule["apiGroups"]
                for resource in rule["resources"]
            }
    webhooks = {
        right for right in shipped if right[1] == "admissionregistration.k8s.io"
    }
    assert asked == shipped - webhooks


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


def test_only_what_was_looked_at_counts_as_ready():
    ready = {"status": "True", "reason": "Succeeded", "observedGeneration": 1}
    found = only(
        checks.of_objects(
            [
                obj("a", ready, generation=1),
                obj("changed", ready, generation=2),
                obj("young", creationTimestamp=ago(seconds=10)),
                obj("going", ready, deletionTimestamp=ago(seconds=10)),
            ],
            NOW,
        )
    )
    assert found.text == (
        "1 of 4 are Ready; not yet: VirtualNetwork n/changed (changed since it was "
        "Ready), VirtualNetwork n/young (new), VirtualNetwork n/going (in deletion)"
    )


def test_what_is_ready_with_a_warning_is_seen():
    ready = {"status": "True", "reason": "Succeeded"}
    names = {"asoreconcile/pausd": "true", "asoreconcile/paused": "yes please"}
    objects = [obj("a", ready, annotations=names)]
    ignored = "spec.tags.a, spec.tagz.a, spec.agentPoolProfiles[name=x].count"
    of_namespace = {
        "n": {"asoreconcile/sync-mod": "put", "asoreconcile/ignore-fields": ignored}
    }
    found = list(checks.of_annotations(objects, of_namespace, builtin()))
    assert [one.level for one in found] == ["warning", "error", "warning", "warning"]
    assert found[3].text.endswith(
        "no kind has a field 'spec.tagz.a'; did you mean tags?"
    )
    assert "asoreconcile/pausd has no effect; did you mean" in found[0].text
    assert "asoreconcile/paused is 'yes please'" in found[1].text
    assert "the object is paused: VirtualNetwork n/a" in found[1].text
    assert "Namespace n: annotation asoreconcile/sync-mod has" in found[2].text


def test_objects_that_nobody_saw_or_lets_go():
    found = only(checks.of_objects([obj("new")], NOW))
    assert "never looked at: VirtualNetwork n/new" in found.text
    young = obj("young", creationTimestamp=ago(seconds=10))
    assert levels(checks.of_objects([young], NOW)) == ["ok"]
    stuck = obj("old", deletionTimestamp=ago(hours=3), finalizers=[FINALIZER])
    found = only(checks.of_objects([stuck], NOW))
    assert "detach-on-delete" in found.mend
    other = obj("other", deletionTimestamp=ago(hours=3), finalizers=["x/y"])
    assert "VirtualNetwork n/other (x/y)" in only(checks.of_objects([other], NOW)).text


def test_rights_that_lack_are_named():
    may = Right("patch", "", "secrets")
    assert only(of_rights({may: True}, "who")).level == "ok"
    asked = {Right("patch", "g", f"kind{n}", "status"): False for n in range(7)}
    found = only(of_rights(asked, "who"))
    assert found.level == "error"
    assert "patch kind0.g/status" in found.text
    assert "and 2 more" in found.text
