"""The operator's admission policy for Secrets that a spec names, in force on an API
server, whose authorizer decides about the writer.
"""

import itertools

import pytest
import yaml
from contractclient import until
from world import postgres_server

from asoreconcile.azure.catalogue.secret_policy import (
    MOST_NAMES,
    secret_policy,
    secret_policy_binding,
    why_not_in_force,
)
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.crds import manifest
from asoreconcile.base.objects import GroupKind, copy_json

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{ADMISSION}/validatingadmissionpolicies"
BINDINGS = f"{ADMISSION}/validatingadmissionpolicybindings"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
KINDS = (
    builtin().kind(GroupKind("dbforpostgresql.azure.com", "FlexibleServer")),
    builtin().kind(GroupKind("containerinstance.azure.com", "ContainerGroup")),
)
SERVERS, GROUPS = (f"/apis/{k.group}/{k.storage}" for k in KINDS)
_numbers = itertools.count()


def served(kind):
    """Return a CRD with the newest version, and its stored form as another one."""
    crd = copy_json(manifest(kind, kind.storage))
    (version,) = crd["spec"]["versions"]
    stored = copy_json(version)
    stored |= {"name": f"{kind.storage}storage", "storage": False, "served": True}
    stored["schema"]["openAPIV3Schema"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    crd["spec"]["versions"].append(stored)
    return crd


class Policed:
    """A namespace on a server with the policy, and an author who may get `mine`."""

    def __init__(self, server, namespace):
        self.server, self.namespace = server, namespace
        self.user = f"author-{next(_numbers)}"
        azure = {
            "apiGroups": [k.group for k in KINDS],
            "resources": ["*"],
            "verbs": ["*"],
        }
        secrets = {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": ["mine", *(f"mine-{n}" for n in range(30))],
            "verbs": ["get"],
        }
        self.bind("author", azure, secrets)

    def bind(self, name, *rules):
        at = f"{RBAC}/namespaces/{self.namespace}"
        role = {"metadata": {"name": name}, "rules": list(rules)}
        self.server.post(f"{at}/roles", role).expect(201)
        group = {"apiGroup": "rbac.authorization.k8s.io"}
        binding = {
            "metadata": {"name": name},
            "roleRef": {**group, "kind": "Role", "name": name},
            "subjects": [{**group, "kind": "User", "name": self.user}],
        }
        self.server.post(f"{at}/rolebindings", binding).expect(201)

    def write(self, method, path, body):
        """Return the answer to the author."""
        headers = {"Impersonate-User": self.user}
        return self.server.call(method, path, body, headers=headers)

    def at(self, version, plural="flexibleservers"):
        return f"{version}/namespaces/{self.namespace}/{plural}"


@pytest.fixture
def policed(server, namespace):
    for kind in KINDS:
        crd = served(kind)
        name = crd["metadata"]["name"]
        at = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        if server.get(f"{at}/{name}").status == 404:
            server.install(crd)
    policy, binding = secret_policy(builtin().kinds()), secret_policy_binding()
    for path, document in ((POLICIES, policy), (BINDINGS, binding)):
        # As kubectl has it read from the file.
        server.post(path, yaml.safe_load(yaml.safe_dump(document))).expect(201)
    made = Policed(server, namespace)
    body = named("another")
    until(
        lambda: made.write("POST", f"{made.at(SERVERS)}?dryRun=All", body),
        lambda answer: answer.status == 403,
    )
    yield made
    for path in (BINDINGS, POLICIES):
        server.delete(f"{path}/{policy['metadata']['name']}")


def named(secret, name="db"):
    body = postgres_server(name)
    body["apiVersion"] = f"{KINDS[0].group}/{KINDS[0].storage}"
    body["spec"]["administratorLoginPassword"] = {"name": secret, "key": "password"}
    return body


def test_wh11_the_writer_must_be_allowed_to_get_what_the_spec_names(policed):
    path = policed.at(SERVERS)
    answer = policed.write("POST", path, named("another"))
    why = answer.refused(403, "Forbidden")["message"]
    assert "you may not get the Secret another, which the spec names" in why
    made = policed.write("POST", path, named("mine")).expect(201).json
    one = f"{path}/db"
    # A write that changes neither the spec nor the credential needs no right.
    policed.server.post(path, named("another", "theirs")).expect(201)
    theirs = policed.server.get(f"{path}/theirs").json
    theirs["metadata"]["labels"] = {"a": "b"}
    policed.write("PUT", f"{path}/theirs", theirs).expect(200)
    credential = {"serviceoperator.azure.com/credential-from": "mine"}
    for part, change in (
        ("spec", {"owner": {"name": "mine"}}),
        ("metadata", {"annotations": credential}),
    ):
        theirs = policed.server.get(f"{path}/theirs").json
        theirs[part] |= change
        policed.write("PUT", f"{path}/theirs", theirs).refused(403, "Forbidden")
    made["spec"]["administratorLoginPassword"]["name"] = "another"
    policed.write("PUT", one, made).refused(403, "Forbidden")
    policed.write("DELETE", one, None).expect(200)


def test_wh11_a_stored_form_is_no_second_door(policed):
    kind = KINDS[0]
    path = policed.at(f"/apis/{kind.group}/{kind.storage}storage")
    body = {**named("mine"), "apiVersion": f"{kind.group}/{kind.storage}storage"}
    why = policed.write("POST", path, body).refused(403, "Forbidden")["message"]
    assert "a stored form may name any Secret" in why
    everything = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    policed.bind("all", everything)
    until(
        lambda: policed.write("POST", f"{path}?dryRun=All", body),
        lambda answer: answer.status == 201,
    )


def test_wh11_as_many_names_as_are_asked_about_fit_into_the_budget(policed):
    """The budget of an expression, and that of the whole policy."""

    def group(count):
        given = [
            {"name": f"E{n}", "secureValue": {"name": f"mine-{n}", "key": "k"}}
            for n in range(count)
        ]
        container = {
            "name": "c",
            "image": "i",
            "resources": {"requests": {"cpu": 1, "memoryInGB": 1}},
            "environmentVariables": given,
        }
        return {
            "apiVersion": f"{KINDS[1].group}/{KINDS[1].storage}",
            "kind": "ContainerGroup",
            "metadata": {"name": f"g{count}"},
            "spec": {
                "owner": {"name": "rg"},
                "location": "westeurope",
                "osType": "Linux",
                "containers": [container],
            },
        }

    path = policed.at(GROUPS, "containergroups")
    policed.write("POST", path, group(MOST_NAMES)).expect(201)
    answer = policed.write("POST", path, group(MOST_NAMES + 1))
    assert "more than" in answer.refused(403, "Forbidden")["message"]


def test_wh11_the_operator_knows_the_policy_as_the_server_returns_it(policed):
    found = [
        policed.server.get(f"{path}/secrets.azure.com").expect(200).json
        for path in (POLICIES, BINDINGS)
    ]
    policy, binding = found
    assert why_not_in_force(policy, binding, builtin().kinds()) == ""
