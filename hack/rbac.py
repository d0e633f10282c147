"""Generate deploy/rbac.yaml: the operator's permissions for each kind.

    hack/rbac [--check]

The same rules, and those of the admission webhooks, are written into the files of the
Helm chart and the Kustomize base. With --check nothing is written; exit code 1 if a
file would change.
"""

import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from asoreconcile.azure.catalogue.reserved import RECORD_KEY_SECRET, SERVING_SECRET
from asoreconcile.azure.catalogue.secret_policy import (
    POLICY_NAME,
    secret_policy,
    secret_policy_binding,
)
from asoreconcile.azure.catalogue.webhook_manifests import (
    DELETIONS_NAME,
    MUTATING_NAME,
    STORED_NAME,
    VALIDATING_NAME,
    WebhookClient,
    deletion_rule,
    webhook_configurations,
)
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import JsonObject

ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = "azureserviceoperator-system"
LEASE = "controllers-leader-election-azinfra-generated"
DEPLOY = ROOT / "deploy"
CHART_RULES = DEPLOY / "helm" / "asoreconcile" / "files" / "rules"
KUSTOMIZE = DEPLOY / "kustomize"
# The parts of operator.yaml and rbac.yaml for Kustomize: some belong to every operator,
# some to the cluster, some only to operators with webhooks.
PLACES = {
    "ClusterRoleBinding/azureserviceoperator-manager-rolebinding": "every-namespace",
    "ClusterRoleBinding/azureserviceoperator-crd-manager-rolebinding": "webhooks",
    "ClusterRole/azureserviceoperator-metrics-auth-role": "cluster",
    "ClusterRole/azureserviceoperator-manager-role": "cluster",
    "ClusterRole/azureserviceoperator-cluster-reader-role": "cluster",
    "ClusterRole/azureserviceoperator-crd-manager-role": "cluster",
    "Service/azureserviceoperator-webhook-service": "webhooks",
}
HEAD = """\
# Made by hack/rbac: do not edit. The permissions that the manager uses, with the reason
# beside each rule. It may delete nothing, and no rule has a wildcard.
"""
ASKED = """\
# Made by hack/rbac: do not edit. With these webhooks wrong objects are refused when they
# are written, and names are filled in. Apply them when the pods of operator.yaml are ready:
# until the operator has written its caBundle here, writes of Azure kinds are refused.
"""
POLICY = """\
# Made by hack/rbac: do not edit. With this policy the API server refuses a spec that names
# Secrets which its writer may not get. Set
# ASORECONCILE_CHECK_SECRET_ACCESS=true with it: the operator then reads, by the role below,
# whether the policy is there. The operator gets no right to write policies.
"""
WIDTH = 84
# Groups and resources that several rules cover.
SECRETS = [""], ["secrets"]
LEASES = ["coordination.k8s.io"], ["leases"]
CRDS = ["apiextensions.k8s.io"], ["customresourcedefinitions"]


@dataclass(frozen=True)
class Rule:
    """A rule of a role.

    why: reason of the rule, for readers of the role.
    names: if not empty, the only objects that the rule covers.
    """

    why: str
    groups: list[str]
    resources: list[str]
    verbs: list[str]
    names: list[str] = field(default_factory=list)

    def text(self) -> str:
        content = {"apiGroups": self.groups, "resources": self.resources}
        if self.names:
            content["resourceNames"] = self.names
        content["verbs"] = self.verbs
        return comment(self.why) + yaml.safe_dump([content], sort_keys=False)


@dataclass(frozen=True)
class Role:
    """A role.

    why: purpose of the role, and the account that must be bound to it.
    """

    why: str
    name: str
    rules: list[Rule]
    namespace: str = ""

    def text(self) -> str:
        meta: dict[str, object] = {"name": self.name}
        if self.namespace:
            meta["namespace"] = self.namespace
        meta["labels"] = {"app.kubernetes.io/name": "asoreconcile"}
        head = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role" if self.namespace else "ClusterRole",
            "metadata": meta,
        }
        rules = "".join(rule.text() for rule in self.rules)
        return (
            f"{comment(self.why)}{yaml.safe_dump(head, sort_keys=False)}rules:\n{rules}"
        )


def comment(text: str) -> str:
    lines = textwrap.wrap(text, WIDTH, break_long_words=False)
    return "".join(f"# {line}\n" for line in lines)


def objects() -> Iterator[Rule]:
    """Yield the rules for objects in namespaces."""
    yield Rule(
        "A value is read when an object names it. The watch asks for metadata only, but "
        "RBAC cannot enforce that: the role allows reading all Secrets of a namespace in "
        "which it is bound. If that is too much, bind it by RoleBindings in the "
        "namespaces of AZURE_TARGET_NAMESPACES. Exports are created and patched.",
        [""],
        ["secrets", "configmaps"],
        ["get", "list", "watch", "create", "patch"],
    )
    yield Rule(
        "A ReferenceGrant of the Gateway API lets another namespace write below a "
        "resource; read when the scopes of a Namespace do not allow one.",
        ["gateway.networking.k8s.io"],
        ["referencegrants"],
        ["list"],
    )
    yield Rule(
        "Events about an object are written in its namespace; a repeated event is "
        "counted.",
        [""],
        ["events"],
        ["create", "patch"],
    )
    for group, names in plurals():
        yield Rule(
            f"The objects of {group} are watched, read again before a PUT, and patched: "
            "finalizer, annotations and owner references. Users create and delete them.",
            [group],
            names,
            ["get", "list", "watch", "patch"],
        )
        yield Rule(
            "Their conditions, and the status that Azure reports.",
            [group],
            [f"{name}/status" for name in names],
            ["patch"],
        )


def plurals() -> Iterator[tuple[str, list[str]]]:
    """Yield the groups, each with the plurals of its kinds."""
    found = defaultdict(list)
    for kind in builtin().kinds():
        found[kind.group].append(kind.plural)
    for group, names in sorted(found.items()):
        yield group, sorted(names)


def cluster() -> Iterator[Rule]:
    """Yield the rules for cluster-scoped objects, which are only watched."""
    yield Rule(
        "Annotations of a Namespace apply to its objects: policy and sync mode. They are "
        "read again before a PUT or DELETE.",
        [""],
        ["namespaces"],
        ["get", "list", "watch"],
    )
    yield Rule(
        "A kind starts and stops when its CRD is added and removed; metadata only.",
        *CRDS,
        ["list", "watch"],
    )


def election() -> Iterator[Rule]:
    yield Rule(
        "The lease is made once; Kubernetes cannot restrict `create` to a name.",
        *LEASES,
        ["create"],
    )
    yield Rule(
        "It is acquired, renewed and released; standbys watch it.",
        *LEASES,
        ["get", "list", "watch", "update"],
        [LEASE],
    )


def record_key() -> Iterator[Rule]:
    yield Rule(
        "The key of the operator's records is stored in a Secret, which is made once; "
        "Kubernetes cannot restrict `create` to a name.",
        *SECRETS,
        ["create"],
    )
    yield Rule(
        "All replicas read it. It is never changed.",
        *SECRETS,
        ["get"],
        [RECORD_KEY_SECRET],
    )


def definitions() -> Iterator[Rule]:
    names = sorted(f"{kind.plural}.{kind.group}" for kind in builtin().kinds())
    yield Rule(
        "--crd-pattern installs missing CRDs; `create` cannot be restricted to a name.",
        *CRDS,
        ["create"],
    )
    yield Rule(
        "--crd-pattern updates the CRDs of these kinds, and the operator writes the "
        "caBundle of its webhooks into them. No other CRD is touched.",
        *CRDS,
        ["get", "patch"],
        names,
    )
    yield Rule(
        "Versions in which no object is stored any more are removed from their status.",
        ["apiextensions.k8s.io"],
        ["customresourcedefinitions/status"],
        ["patch"],
        names,
    )
    for group, names in plurals():
        yield Rule(
            f"Before that, each object of {group} is written once, unchanged.",
            [group],
            names,
            ["list", "patch"],
        )
    yield Rule(
        "The caBundle is also written into the webhook configurations that `asoreconcile "
        "kinds webhooks` prints.",
        ["admissionregistration.k8s.io"],
        ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        ["get", "patch"],
        [MUTATING_NAME, VALIDATING_NAME],
    )


def certificate() -> Iterator[Rule]:
    yield Rule(
        "The webhooks' certificate is stored in a Secret, which is made once.",
        *SECRETS,
        ["create"],
    )
    yield Rule(
        "It is shared by all replicas, which watch it, and renewed.",
        *SECRETS,
        ["get", "list", "watch", "patch"],
        [SERVING_SECRET],
    )


def roles() -> Iterator[Role]:
    prefix = "azureserviceoperator"
    yield Role(
        "For the reconciled objects. operator.yaml binds it to the whole cluster, "
        "tenant.yaml to single namespaces.",
        f"{prefix}-manager-role",
        list(objects()),
    )
    yield Role(
        "For objects without a namespace. It shows no content of any namespace.",
        f"{prefix}-cluster-reader-role",
        list(cluster()),
    )
    yield Role(
        "For --enable-leader-election, in the operator's own namespace.",
        f"{prefix}-leader-election-role",
        list(election()),
        NAMESPACE,
    )
    yield Role(
        "For the key of the operator's records, in the operator's own namespace.",
        f"{prefix}-record-key-role",
        list(record_key()),
        NAMESPACE,
    )
    yield Role(
        "Only needed for --crd-pattern, and for webhooks whose certificate the operator "
        "makes: otherwise the manager never writes a CRD.",
        f"{prefix}-crd-manager-role",
        list(definitions()),
    )


def admission() -> str:
    """Return the rules of the admission webhooks as YAML."""
    client = WebhookClient(namespace=NAMESPACE, name="any")
    (rules,) = {
        yaml.safe_dump(hook["rules"], sort_keys=False)
        for configuration in webhook_configurations(builtin().kinds(), client)
        for hook in configuration["webhooks"]
        if hook["name"] not in (DELETIONS_NAME, STORED_NAME)
    }
    return rules


def stored() -> JsonObject:
    """Return the webhook for stored forms."""
    client = WebhookClient(namespace=NAMESPACE, name="any")
    _, validating = webhook_configurations(builtin().kinds(), client)
    found: JsonObject = next(
        hook for hook in validating["webhooks"] if hook["name"] == STORED_NAME
    )
    return found


def policy_reader() -> Iterator[Rule]:
    yield Rule(
        "Whether the API server checks who names a Secret.",
        ["admissionregistration.k8s.io"],
        ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
        ["get"],
        [POLICY_NAME],
    )


def policy() -> str:
    """Return the policy that checks who names a Secret, and its binding, as YAML."""
    made = [secret_policy(builtin().kinds()), secret_policy_binding()]
    return yaml.safe_dump_all(made, sort_keys=False, width=1 << 20)


def policy_manifests() -> str:
    """Return the policy, and the permission to see whether it is there."""
    role = Role(
        "For ASORECONCILE_CHECK_SECRET_ACCESS.",
        "azureserviceoperator-secret-policy-reader-role",
        list(policy_reader()),
    )
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {
            "name": "azureserviceoperator-secret-policy-reader-rolebinding",
            "labels": {"app.kubernetes.io/name": "asoreconcile"},
        },
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": role.name,
        },
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": "azureserviceoperator-default",
                "namespace": NAMESPACE,
            }
        ],
    }
    bound = yaml.safe_dump(binding, sort_keys=False)
    return f"{policy()}---\n{role.text()}---\n{bound}"


def deletions() -> str:
    """Return the rules of the webhook for deletions as YAML."""
    return yaml.safe_dump([deletion_rule(builtin().kinds())], sort_keys=False)


def configurations() -> str:
    """Return the webhook configurations, which come before operator.yaml's Service."""
    client = WebhookClient(
        namespace=NAMESPACE, name="azureserviceoperator-webhook-service"
    )
    made = webhook_configurations(builtin().kinds(), client)
    return yaml.safe_dump_all(made, sort_keys=False)


def kustomize(rbac: str) -> Iterator[tuple[Path, str]]:
    """Yield the manifests at the places that Kustomize needs, unchanged.

    Kustomize reads no file outside the folder that names it, so these are copies.
    """
    manifests = [rbac.removeprefix(HEAD), (DEPLOY / "operator.yaml").read_text()]
    placed: defaultdict[str, list[str]] = defaultdict(list)
    for text in "---\n".join(manifests).split("---\n"):
        one = yaml.safe_load(text)
        name = f"{one['kind']}/{one['metadata']['name']}"
        placed[PLACES.get(name, "base")].append(text)
    certificate_role = Role(
        "For the webhooks' certificate, in the operator's own namespace.",
        "azureserviceoperator-webhook-certificate-role",
        list(certificate()),
        NAMESPACE,
    )
    placed["webhooks"] += [certificate_role.text(), configurations()]
    for place, texts in placed.items():
        head = "# Made by hack/rbac of what is in deploy/: do not edit.\n"
        yield KUSTOMIZE / place / "generated.yaml", head + "---\n".join(texts)


def files() -> Iterator[tuple[Path, str]]:
    """Yield each file with its new text."""
    made = list(roles())
    rbac = HEAD + "---\n".join(role.text() for role in made)
    yield DEPLOY / "rbac.yaml", rbac
    yield DEPLOY / "webhooks.yaml", ASKED + configurations()
    yield from kustomize(rbac)
    for role in made:
        name = role.name.removeprefix("azureserviceoperator-")
        text = HEAD + "".join(rule.text() for rule in role.rules)
        yield CHART_RULES / f"{name}.yaml", text
    text = HEAD + "".join(rule.text() for rule in certificate())
    yield CHART_RULES / "webhook-certificate-role.yaml", text
    head = "# Made by hack/rbac: do not edit. What the admission webhooks are asked about.\n"
    yield CHART_RULES / "admission.yaml", head + admission()
    head = "# Made by hack/rbac: do not edit. The deletions that a webhook is asked about.\n"
    yield CHART_RULES / "deletions.yaml", head + deletions()
    head = "# Made by hack/rbac: do not edit. The stored forms that a webhook is asked about.\n"
    parts = {name: stored()[name] for name in ("matchConditions", "rules")}
    text = yaml.safe_dump(parts, sort_keys=False, width=1 << 20)
    yield CHART_RULES / "stored.yaml", head + text
    yield DEPLOY / "secret-policy.yaml", POLICY + policy_manifests()
    yield CHART_RULES / "secret-policy.yaml", policy()
    text = HEAD + "".join(rule.text() for rule in policy_reader())
    yield CHART_RULES / "secret-policy-reader-role.yaml", text


def main() -> int:
    stale = 0
    for target, text in files():
        if target.exists() and target.read_text() == text:
            print(f"{target}: as it should be")
        elif "--check" in sys.argv[1:]:
            print(f"{target}: stale: run hack/rbac")
            stale = 1
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            print(f"{target}: made")
    return stale


if __name__ == "__main__":
    sys.exit(main())
