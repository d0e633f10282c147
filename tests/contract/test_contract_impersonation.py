"""Acting as another user: `Impersonate-` headers, and `kubectl --as`."""

import pytest
from contractclient import config_maps

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def who(server, **headers):
    answer = server.call("POST", WHO, {}, headers=headers).expect(201)
    return answer.json["status"]["userInfo"]


@pytest.mark.parametrize(
    ("headers", "name", "groups"),
    [
        ({"Impersonate-User": "bob"}, "bob", ["system:authenticated"]),
        (
            {"Impersonate-User": "bob", "Impersonate-Group": "team"},
            "bob",
            ["team", "system:authenticated"],
        ),
        (
            {"Impersonate-User": "system:serviceaccount:a:b"},
            "system:serviceaccount:a:b",
            [
                "system:serviceaccounts",
                "system:serviceaccounts:a",
                "system:authenticated",
            ],
        ),
    ],
    ids=["user", "group", "account"],
)
def test_a_request_is_the_other_users(server, headers, name, groups):
    found = who(server, **headers)
    assert (found["username"], found["groups"]) == (name, groups)


def test_the_other_user_may_do_no_more_than_he_may(server, namespace):
    path = config_maps(namespace)
    answer = server.call("GET", path, headers={"Impersonate-User": "bob"})
    assert answer.refused(403, "Forbidden")["message"] == (
        'configmaps is forbidden: User "bob" cannot list resource "configmaps" in API '
        f'group "" in the namespace "{namespace}"'
    )
    masters = {"Impersonate-User": "bob", "Impersonate-Group": "system:masters"}
    server.call("GET", path, headers=masters).expect(200)


def test_a_group_without_a_user_is_refused(server, namespace):
    headers = {"Impersonate-Group": "team"}
    answer = server.call("GET", config_maps(namespace), headers=headers)
    message = answer.refused(400, "BadRequest")["message"]
    assert message.endswith(" without impersonating a user name")
