"""Tokens of service accounts: `serviceaccounts/NAME/token`."""

import pytest
from contractclient import Server


@pytest.fixture
def account(server, namespace):
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    server.post(path, {"metadata": {"name": "robot"}}).expect(201)
    return f"{path}/robot"


def test_a_token_is_the_accounts(server, namespace, account):
    made = server.post(f"{account}/token", {}).expect(201).json
    assert (made["kind"], made["spec"]["expirationSeconds"]) == ("TokenRequest", 3600)
    assert made["metadata"]["name"] == "robot"
    assert made["status"]["expirationTimestamp"] > made["metadata"]["creationTimestamp"]
    token = made["status"]["token"]
    with Server(server.url, token, server.authority_pem) as robot:
        who = robot.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
        found = who.expect(201).json["status"]["userInfo"]
        assert found["username"] == f"system:serviceaccount:{namespace}:robot"
        assert found["groups"] == [
            "system:serviceaccounts",
            f"system:serviceaccounts:{namespace}",
            "system:authenticated",
        ]
        robot.get(account).refused(403, "Forbidden")


@pytest.mark.parametrize(
    ("seconds", "why"),
    [
        (1, "may not specify a duration less than 10 minutes"),
        (1 << 33, "may not specify a duration larger than 2^32 seconds"),
    ],
)
def test_a_token_lasts_neither_too_short_nor_too_long(server, account, seconds, why):
    answer = server.post(f"{account}/token", {"spec": {"expirationSeconds": seconds}})
    answer.refused(422, "Invalid")
    assert answer.causes == [
        {
            "reason": "FieldValueInvalid",
            "message": f"Invalid value: {seconds}: {why}",
            "field": "spec.expirationSeconds",
        }
    ]


def test_nobody_has_no_token(server, account):
    answer = server.post(account.replace("robot", "nobody") + "/token", {})
    assert answer.refused(404, "NotFound")["details"] == {
        "name": "nobody",
        "kind": "serviceaccounts",
    }
