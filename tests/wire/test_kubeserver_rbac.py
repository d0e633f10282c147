"""RBAC of the embedded API server: what Roles and bindings allow, and the refusals."""

import pytest
from kubeapi import client_of, kube_server

from asoreconcile.testing.kube import User
from asoreconcile.testing.kube.access.users import read_tokens

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
BOB = User("bob", ("team-a",))


@pytest.fixture
def served():
    with (
        kube_server(rbac=True, users=[("bobs-token", BOB)]) as (kube, admin),
        client_of(kube, "bobs-token") as bob,
    ):
        yield kube, admin, bob


def role(name, *rules, namespace=""):
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": meta,
        "rules": list(rules),
    }


def rule(verbs, resources, groups=("",), **more):
    return {
        "verbs": verbs.split(),
        "apiGroups": list(groups),
        "resources": resources.split(),
        **more,
    }


def binding(name, to, subject, *, namespace="", kind="ClusterRole"):
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": meta,
        "subjects": [subject],
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": to},
    }


def user(name):
    return {"kind": "User", "apiGroup": GROUP, "name": name}


def grant(admin, *rules, subject=None, namespace=""):
    """A ClusterRole bound everywhere, or in one namespace."""
    admin.post(f"{RBAC}/clusterroles", role("granted", *rules)).expect(201)
    bound = binding("granted", "granted", subject or user("bob"), namespace=namespace)
    path = "/clusterrolebindings"
    if namespace:
        path = f"/namespaces/{namespace}/rolebindings"
    admin.post(RBAC + path, bound).expect(201)


def config_map(name):
    return {"metadata": {"name": name}, "data": {"k": "v"}}


def test_nothing_is_allowed_that_no_rule_allows(served):
    _, _, bob = served
    refused = bob.get(CONFIG_MAPS).refused(403, "Forbidden")
    assert refused["message"] == (
        'configmaps is forbidden: User "bob" cannot list resource "configmaps" in API '
        'group "" in the namespace "default"'
    )
    assert refused["details"] == {"kind": "configmaps"}


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        (
            "GET",
            f"{SECRETS}/s",
            (
                'secrets "s" is forbidden: User "bob" cannot get resource "secrets" in API '
                'group "" in the namespace "default"'
            ),
        ),
        (
            "GET",
            "/api/v1/secrets",
            (
                'secrets is forbidden: User "bob" cannot list resource "secrets" in API '
                'group "" at the cluster scope'
            ),
        ),
        (
            "DELETE",
            "/apis/example.com/v1/widgets",
            (
                'widgets.example.com is forbidden: User "bob" cannot deletecollection '
                'resource "widgets" in API group "example.com" at the cluster scope'
            ),
        ),
        (
            "PATCH",
            "/apis/example.com/v1/namespaces/x/widgets/w/status",
            (
                'widgets.example.com "w" is forbidden: User "bob" cannot patch resource '
                '"widgets/status" in API group "example.com" in the namespace "x"'
            ),
        ),
        ("GET", "/metrics", 'forbidden: User "bob" cannot get path "/metrics"'),
        (
            "GET",
            "/api/v1/namespaces/default",
            (
                'namespaces "default" is forbidden: User "bob" cannot get resource '
                '"namespaces" in API group "" in the namespace "default"'
            ),
        ),
    ],
)
def test_refusals_say_who_may_not_do_what_where(served, method, path, message):
    _, _, bob = served
    assert bob.call(method, path).refused(403, "Forbidden")["message"] == message


def test_a_rule_allows_its_verbs_and_resources_alone(served):
    _, admin, bob = served
    grant(admin, rule("get create", "configmaps"))
    bob.post(CONFIG_MAPS, config_map("one")).expect(201)
    bob.get(f"{CONFIG_MAPS}/one").expect(200)
    bob.get(CONFIG_MAPS).refused(403, "Forbidden")
    bob.delete(f"{CONFIG_MAPS}/one").refused(403, "Forbidden")
    bob.get(f"{SECRETS}/one").refused(403, "Forbidden")


def test_resource_names_allow_these_objects_alone(served):
    _, admin, bob = served
    grant(admin, rule("get watch list", "configmaps", resourceNames=["one"]))
    admin.post(CONFIG_MAPS, config_map("one")).expect(201)
    bob.get(f"{CONFIG_MAPS}/one").expect(200)
    bob.get(f"{CONFIG_MAPS}/two").refused(403, "Forbidden")
    bob.get(CONFIG_MAPS).refused(403, "Forbidden")
    bob.get(CONFIG_MAPS, fieldSelector="metadata.name=one").expect(200)


def test_a_role_binding_allows_in_its_namespace_alone(served):
    _, admin, bob = served
    grant(admin, rule("list", "configmaps"), namespace="default")
    bob.get(CONFIG_MAPS).expect(200)
    bob.get("/api/v1/namespaces/kube-system/configmaps").refused(403, "Forbidden")
    bob.get("/api/v1/configmaps").refused(403, "Forbidden")


def test_a_role_of_the_namespace_is_bound_by_kind(served):
    _, admin, bob = served
    path = f"{RBAC}/namespaces/default"
    made = role("reader", rule("list", "secrets"), namespace="default")
    admin.post(f"{path}/roles", made).expect(201)
    bound = binding("b", "reader", user("bob"), namespace="default", kind="Role")
    admin.post(f"{path}/rolebindings", bound).expect(201)
    bob.get(SECRETS).expect(200)


def test_groups_and_service_accounts_are_subjects(served):
    kube, admin, bob = served
    grant(
        admin, rule("list", "configmaps"), subject={"kind": "Group", "name": "team-a"}
    )
    bob.get(CONFIG_MAPS).expect(200)
    token = kube.add_service_account("default", "robot")
    with client_of(kube, token) as robot:
        refused = robot.get(CONFIG_MAPS).refused(403, "Forbidden")
        assert 'User "system:serviceaccount:default:robot"' in refused["message"]
        subject = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
        bound = binding("robots", "granted", subject)
        admin.post(f"{RBAC}/clusterrolebindings", bound).expect(201)
        robot.get(CONFIG_MAPS).expect(200)


def test_subresources_are_rules_of_their_own(served):
    _, admin, bob = served
    grant(admin, rule("patch", "namespaces/status"))
    bob.patch("/api/v1/namespaces/default/status", {}).expect(200)
    bob.patch("/api/v1/namespaces/default", {}).refused(403, "Forbidden")


def test_an_apply_that_creates_needs_create_as_well(served):
    _, admin, bob = served
    grant(admin, rule("patch", "configmaps"))
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", **config_map("one")}
    refused = bob.apply(f"{CONFIG_MAPS}/one", wanted, "m").refused(403, "Forbidden")
    assert "cannot create resource" in refused["message"]
    admin.post(CONFIG_MAPS, config_map("one")).expect(201)
    bob.apply(f"{CONFIG_MAPS}/one", wanted, "m", force="true").expect(200)


def test_a_binding_to_no_role_says_so(served):
    _, admin, bob = served
    bound = binding("b", "nowhere", user("bob"))
    admin.post(f"{RBAC}/clusterrolebindings", bound).expect(201)
    refused = bob.get(CONFIG_MAPS).refused(403, "Forbidden")
    assert refused["message"].endswith(
        ': RBAC: clusterrole.rbac.authorization.k8s.io "nowhere" not found'
    )


def test_aggregated_roles_hold_the_rules_of_those_they_select(served):
    _, admin, bob = served
    whole = role("whole")
    selector = {"matchLabels": {"to": "whole"}}
    whole["aggregationRule"] = {"clusterRoleSelectors": [selector]}
    part = role("part", rule("list", "configmaps"))
    part["metadata"]["labels"] = {"to": "whole"}
    for made in (whole, part):
        admin.post(f"{RBAC}/clusterroles", made).expect(201)
    bound = binding("b", "whole", user("bob"))
    admin.post(f"{RBAC}/clusterrolebindings", bound).expect(201)
    bob.get(CONFIG_MAPS).expect(200)


def test_a_taken_away_role_is_taken_away_at_once(served):
    _, admin, bob = served
    grant(admin, rule("list", "configmaps"))
    bob.get(CONFIG_MAPS).expect(200)
    admin.delete(f"{RBAC}/clusterroles/granted").expect(200)
    bob.get(CONFIG_MAPS).refused(403, "Forbidden")


def test_everybody_may_discover_and_ask_about_himself(served):
    _, _, bob = served
    for path in ("/api", "/apis", "/api/v1", "/version", "/openapi/v3", "/readyz"):
        bob.get(path).expect(200)
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "secrets"}}}
    asked = bob.post(f"{AUTHORIZATION}/selfsubjectaccessreviews", review).expect(201)
    assert asked.json["status"] == {"allowed": False}
    bob.post(f"{AUTHORIZATION}/subjectaccessreviews", review).refused(403, "Forbidden")


def test_without_a_token_one_is_anonymous(served):
    kube, _, _ = served
    with client_of(kube) as nobody:
        answer = nobody.call("GET", CONFIG_MAPS, headers={"Authorization": ""})
        assert 'User "system:anonymous"' in answer.json["message"]
        nobody.call("GET", "/healthz", headers={"Authorization": ""}).expect(200)
        wrong = {"Authorization": "Bearer wrong"}
        nobody.call("GET", CONFIG_MAPS, headers=wrong).refused(401, "Unauthorized")


def test_reviews_of_others_name_the_rule(served):
    _, admin, _ = served
    grant(admin, rule("list", "configmaps"))
    attributes = {"verb": "list", "resource": "configmaps", "namespace": "default"}
    review = {"spec": {"user": "bob", "resourceAttributes": attributes}}
    answer = admin.post(f"{AUTHORIZATION}/subjectaccessreviews", review).expect(201)
    assert answer.json["status"] == {
        "allowed": True,
        "reason": (
            'RBAC: allowed by ClusterRoleBinding "granted" of ClusterRole "granted" to '
            'User "bob"'
        ),
    }
    path = f"{AUTHORIZATION}/namespaces/kube-system/localsubjectaccessreviews"
    admin.post(path, review).refused(422, "Invalid")


@pytest.mark.parametrize(
    ("kind", "spec", "code", "message"),
    [
        (
            "subjectaccessreviews",
            {"user": "bob"},
            422,
            "exactly one of nonResourceAttributes or resourceAttributes must be",
        ),
        (
            "subjectaccessreviews",
            {"nonResourceAttributes": {"verb": "get", "path": "/x"}},
            422,
            "at least one of user or group must be specified",
        ),
        ("selfsubjectrulesreviews", {}, 400, "no namespace on request"),
    ],
)
def test_reviews_that_ask_nothing_are_refused(served, kind, spec, code, message):
    _, admin, _ = served
    answer = admin.post(f"{AUTHORIZATION}/{kind}", {"spec": spec}).expect(code)
    assert message in answer.json["message"]


def test_ones_rules_are_listed(served):
    _, admin, bob = served
    granted = rule("list", "configmaps")
    grant(admin, granted, namespace="default")
    path = f"{AUTHORIZATION}/selfsubjectrulesreviews"

    def listed(namespace):
        answer = bob.post(path, {"spec": {"namespace": namespace}}).expect(201)
        return answer.json["status"]

    assert granted in listed("default")["resourceRules"]
    assert granted not in listed("kube-system")["resourceRules"]
    assert not listed("default")["incomplete"]


def test_tokens_are_reviewed(served):
    _, admin, _ = served

    def reviewed(token):
        answer = admin.post(
            f"{AUTHENTICATION}/tokenreviews", {"spec": {"token": token}}
        )
        return answer.expect(201).json["status"]

    assert reviewed("bobs-token")["user"] == {
        "username": "bob",
        "groups": ["team-a", "system:authenticated"],
    }
    assert reviewed("no-token") == {"user": {}, "error": "invalid bearer token"}


def test_without_rbac_every_token_may_do_everything():
    with (
        kube_server(users=[("bobs-token", BOB)]) as (kube, _),
        client_of(kube, "bobs-token") as bob,
    ):
        bob.post(CONFIG_MAPS, config_map("one")).expect(201)
        assert kube.journal[-1].user == "bob"


def test_users_come_from_a_file_as_kube_apiserver_has_it(tmp_path):
    path = tmp_path / "tokens.csv"
    path.write_text('# users\nt1,alice,7,"a,b"\n\nt2,bob,\n')
    assert read_tokens(path) == [
        ("t1", User("alice", ("a", "b"), "7")),
        ("t2", User("bob")),
    ]
    path.write_text("t1\n")
    with pytest.raises(ValueError, match="1: expected token"):
        read_tokens(path)


def test_impersonation_needs_a_role(served):
    kube, admin, bob = served
    path = f"{AUTHENTICATION}/selfsubjectreviews"
    headers = {"Impersonate-User": "alice"}
    answer = bob.call("POST", path, {}, headers=headers)
    assert answer.status == 403
    assert answer.json["message"] == (
        'users "alice" is forbidden: User "bob" cannot impersonate resource "users" in '
        'API group "" at the cluster scope'
    )
    admin.post(f"{RBAC}/clusterroles", role("actors", rule("impersonate", "users")))
    binding = {
        "metadata": {"name": "actors"},
        "subjects": [{"kind": "User", "name": "bob", "apiGroup": GROUP}],
        "roleRef": {"kind": "ClusterRole", "name": "actors", "apiGroup": GROUP},
    }
    admin.post(f"{RBAC}/clusterrolebindings", binding).expect(201)
    answer = bob.call("POST", path, {}, headers=headers).expect(201)
    assert answer.json["status"]["userInfo"]["username"] == "alice"
    assert kube.journal[-1].user == "alice"
