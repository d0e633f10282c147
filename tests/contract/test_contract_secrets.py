"""Secrets of Kubernetes' own types, and fields of a new object that a client cannot
set.
"""

import pytest
from contractclient import Server

OBJECT, LETTER = "e30=", "YQ=="
TAKEN = [
    ("kubernetes.io/dockercfg", {".dockercfg": OBJECT}),
    ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": OBJECT}),
    ("kubernetes.io/basic-auth", {"username": LETTER}),
    ("kubernetes.io/basic-auth", {"password": LETTER}),
    ("kubernetes.io/ssh-auth", {"ssh-privatekey": LETTER}),
    ("kubernetes.io/tls", {"tls.crt": LETTER, "tls.key": ""}),
    ("bootstrap.kubernetes.io/token", {}),
    ("anybody.example.com/own", {}),
]
LACKING = [
    ("kubernetes.io/dockercfg", {}, [".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", {}, [".dockerconfigjson"]),
    ("kubernetes.io/basic-auth", {}, ["username", "password"]),
    ("kubernetes.io/ssh-auth", {}, ["ssh-privatekey"]),
    ("kubernetes.io/ssh-auth", {"ssh-privatekey": ""}, ["ssh-privatekey"]),
    ("kubernetes.io/tls", {}, ["tls.crt", "tls.key"]),
    ("kubernetes.io/tls", {"tls.crt": LETTER}, ["tls.key"]),
    ("kubernetes.io/tls", {"tls.key": LETTER}, ["tls.crt"]),
]


def secrets(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/secrets"


@pytest.mark.parametrize(("sort", "data"), TAKEN)
def test_a_typed_secret_with_its_keys_is_taken(server: Server, namespace, sort, data):
    body = {"metadata": {"name": "one"}, "type": sort, "data": data}
    server.post(secrets(namespace), body).expect(201)


@pytest.mark.parametrize(("sort", "data", "missing"), LACKING)
def test_a_typed_secret_needs_its_keys(server: Server, namespace, sort, data, missing):
    body = {"metadata": {"name": "one"}, "type": sort, "data": data}
    answer = server.post(secrets(namespace), body)
    answer.refused(422, "Invalid")
    assert answer.causes == [
        {
            "reason": "FieldValueRequired",
            "message": "Required value",
            "field": f"data[{key}]",
        }
        for key in missing
    ]


@pytest.mark.parametrize("key", [".dockercfg", ".dockerconfigjson"])
def test_a_docker_configuration_is_json(server: Server, namespace, key):
    sort = f"kubernetes.io/{key[1:]}"
    body = {"metadata": {"name": "one"}, "type": sort, "data": {key: LETTER}}
    answer = server.post(secrets(namespace), body)
    answer.refused(422, "Invalid")
    why = "invalid character 'a' looking for beginning of value"
    assert answer.causes == [
        {
            "reason": "FieldValueInvalid",
            "message": f'Invalid value: "<secret contents redacted>": {why}',
            "field": f"data[{key}]",
        }
    ]


def test_a_token_names_its_service_account(server: Server, namespace):
    body = {"metadata": {"name": "one"}, "type": "kubernetes.io/service-account-token"}
    answer = server.post(secrets(namespace), body)
    answer.refused(422, "Invalid")
    at = "metadata.annotations[kubernetes.io/service-account.name]"
    assert [cause["field"] for cause in answer.causes] == [at]
    body["metadata"]["annotations"] = {"kubernetes.io/service-account.name": "default"}
    server.post(secrets(namespace), body, dryRun="All").expect(201)


def test_keys_may_be_given_as_strings(server: Server, namespace):
    keys = {"tls.crt": "a", "tls.key": "b"}
    body = {
        "metadata": {"name": "one"},
        "type": "kubernetes.io/tls",
        "stringData": keys,
    }
    server.post(secrets(namespace), body).expect(201)


@pytest.mark.parametrize(
    "status", [None, {}, {"phase": "Terminating"}, {"phase": "Odd"}]
)
def test_a_new_namespace_is_active_whatever_its_author_says(server: Server, status):
    body = {"metadata": {"generateName": "new-"}}
    if status is not None:
        body["status"] = status
    made = server.post("/api/v1/namespaces", body, dryRun="All").expect(201).json
    assert made["status"] == {"phase": "Active"}


def test_a_new_definition_has_no_conditions_of_its_author(server: Server):
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    condition = {"type": "Odd", "status": "True", "reason": "x", "message": "y"}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "odds.odd.example.com"},
        "spec": {
            "group": "odd.example.com",
            "names": {"kind": "Odd", "plural": "odds"},
            "scope": "Namespaced",
            "versions": [version],
        },
        "status": {"conditions": [condition], "storedVersions": ["v0"]},
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made = server.post(path, body, dryRun="All").expect(201).json
    conditions = made["status"].get("conditions") or []
    assert "Odd" not in [one["type"] for one in conditions]
    assert made["status"]["storedVersions"] == ["v1"]
