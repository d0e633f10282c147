"""ValidatingAdmissionPolicies: their refusals and warnings, and policies that the
server refuses.
"""

import itertools

import pytest
from contractclient import Server, config_maps, until

ROOT = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{ROOT}/validatingadmissionpolicies"
BINDINGS = f"{ROOT}/validatingadmissionpolicybindings"
_numbers = itertools.count()
BAD = "object.data.k != 'bad'"


def policy(name, *validations, **more):
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"],
    }
    stated = {"matchConstraints": {"resourceRules": [rule]}}
    spec = {**stated, "validations": list(validations), **more}
    return {"metadata": {"name": name}, "spec": spec}


def binding(name, namespace, *actions):
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    spec = {
        "policyName": name,
        "validationActions": list(actions),
        "matchResources": {"namespaceSelector": selector},
    }
    return {"metadata": {"name": f"b-{name}"}, "spec": spec}


class Bound:
    """A policy that is in force in a namespace."""

    def __init__(self, server, namespace):
        self.server, self.namespace = server, namespace
        self.name = f"policy-{next(_numbers)}"
        self.who = (
            f"ValidatingAdmissionPolicy '{self.name}' with binding 'b-{self.name}'"
        )

    def create(self, *validations, actions=("Deny",), **more):
        body = policy(self.name, *validations, **more)
        self.server.post(POLICIES, body).expect(201)
        body = binding(self.name, self.namespace, *actions)
        self.server.post(BINDINGS, body).expect(201)

    def remove(self):
        self.server.delete(f"{BINDINGS}/b-{self.name}")
        self.server.delete(f"{POLICIES}/{self.name}")

    def write(self, value="bad", *, when=lambda _: True):
        """Return the answer to a ConfigMap as soon as `when` holds for it.

        The write is repeated, because policies come into force a moment after they were
        written.
        """
        body = {"metadata": {"name": "one"}, "data": {"k": value}}
        path = config_maps(self.namespace)
        return until(lambda: self.server.post(path, body, dryRun="All"), when)


@pytest.fixture
def bound(server: Server, namespace: str):
    made = Bound(server, namespace)
    yield made
    made.remove()


def refused(answer):
    return answer.status != 201


MESSAGES = {
    "expression": ({}, f"failed expression: {BAD}"),
    "message": ({"message": "no bad"}, "no bad"),
    "computed": ({"messageExpression": "'got ' + object.data.k"}, "got bad"),
    "blank": ({"message": "m", "messageExpression": "' '"}, "m"),
}


@pytest.mark.parametrize(("more", "why"), MESSAGES.values(), ids=MESSAGES)
def test_a_policy_refuses_and_says_why(bound, more, why):
    bound.create({"expression": BAD, **more})
    answer = bound.write(when=refused)
    told = f"{bound.who} denied request: {why}"
    refusal = answer.refused(422, "Invalid")
    assert refusal["message"] == f'configmaps "one" is forbidden: {told}'
    assert refusal["details"] == {
        "name": "one",
        "kind": "configmaps",
        "causes": [{"message": told}],
    }
    bound.write("good").expect(201)


@pytest.mark.parametrize(
    ("reason", "status"), [("Forbidden", 403), ("RequestEntityTooLarge", 413)]
)
def test_a_policy_chooses_its_reason(bound, reason, status):
    bound.create({"expression": BAD, "reason": reason})
    bound.write(when=refused).refused(status, reason)


def test_the_first_that_fails_is_told(bound):
    first = {"expression": BAD, "message": "one"}
    bound.create(first, {"expression": "false", "message": "two"})
    message = bound.write(when=refused).refused(422, "Invalid")["message"]
    assert message.endswith("denied request: one")


def test_a_policy_may_only_warn(bound):
    first = {"expression": BAD, "message": "one"}
    second = {"expression": "object.data.k == 'x'", "message": "two"}
    bound.create(first, second, actions=["Warn"])
    answer = bound.write(when=lambda one: "Warning" in one.headers).expect(201)
    assert answer.headers["Warning"] == ", ".join(
        f'299 - "Validation failed for {bound.who}: {why}"' for why in ("one", "two")
    )


@pytest.mark.parametrize("given", ["variables", "namespaceObject", "request"])
def test_what_expressions_see(bound, namespace, given):
    text = {
        "variables": "variables.k + '!'",
        "namespaceObject": "namespaceObject.metadata.name + ''",
        "request": "request.operation + ''",
    }[given]
    told = {"variables": "bad!", "namespaceObject": namespace, "request": "CREATE"}
    bound.create(
        {"expression": "false", "messageExpression": text},
        variables=[
            {"name": "j", "expression": "object.data.k"},
            {"name": "k", "expression": "variables.j"},
        ],
    )
    message = bound.write(when=refused).refused(422, "Invalid")["message"]
    assert message.endswith(f"denied request: {told[given]}")


def test_an_expression_that_fails_refuses(bound):
    text = "object.data.none != 'bad'"
    bound.create({"expression": text})
    message = bound.write(when=refused).refused(422, "Invalid")["message"]
    why = f"expression '{text}' resulted in error: no such key: none"
    assert message.endswith(f"denied request: {why}")


def test_a_policy_may_ignore_failures_but_not_what_is_false(bound):
    failing = {"expression": "object.data.none != 'bad'"}
    bound.create(failing, {"expression": BAD}, failurePolicy="Ignore")
    message = bound.write(when=refused).refused(422, "Invalid")["message"]
    assert message.endswith(f"failed expression: {BAD}")
    bound.write("good").expect(201)


def test_conditions_say_whom_a_policy_concerns(bound):
    condition = {"name": "m", "expression": "object.data.k == 'bad'"}
    bound.create({"expression": "false"}, matchConditions=[condition])
    bound.write(when=refused).refused(422, "Invalid")
    bound.write("good").expect(201)


def test_other_namespaces_and_resources_are_not_concerned(bound, server):
    bound.create({"expression": "false"})
    bound.write(when=refused).refused(422, "Invalid")
    body = {"metadata": {"name": "one"}}
    server.post(config_maps("default"), body, dryRun="All").expect(201)
    path = f"/api/v1/namespaces/{bound.namespace}/secrets"
    server.post(path, body, dryRun="All").expect(201)


def test_defaults_are_filled_in(bound, server, namespace):
    bound.create({"expression": "true"})
    made = server.get(f"{POLICIES}/{bound.name}").expect(200).json
    match = made["spec"]["matchConstraints"]
    assert match["matchPolicy"] == "Equivalent"
    assert (match["namespaceSelector"], match["objectSelector"]) == ({}, {})
    assert match["resourceRules"][0]["scope"] == "*"
    assert made["spec"]["failurePolicy"] == "Fail"
    assert made["status"] == {}
    match = server.get(f"{BINDINGS}/b-{bound.name}").json["spec"]["matchResources"]
    assert (match["objectSelector"], match["matchPolicy"]) == ({}, "Equivalent")


def validations(*, expression="true", **more):
    return {"validations": [{"expression": expression, **more}]}


AT = "spec.validations[0]"
MISTAKES = {
    "syntax": (validations(expression="object.data.k !="), f"{AT}.expression"),
    "unknown": (validations(expression="nonsense == 1"), f"{AT}.expression"),
    "blank": (validations(expression=" "), f"{AT}.expression"),
    "text": (validations(expression="'a'"), f"{AT}.expression"),
    "number": (validations(messageExpression="1"), f"{AT}.messageExpression"),
    "reason": (validations(reason="Odd"), f"{AT}.reason"),
    "policy": ({**validations(), "failurePolicy": "Odd"}, "spec.failurePolicy"),
    "later": (
        {
            **validations(expression="variables.b == 1"),
            "variables": [
                {"name": "a", "expression": "variables.b"},
                {"name": "b", "expression": "1"},
            ],
        },
        "spec.variables[0].expression",
    ),
    "name": (
        {**validations(), "variables": [{"name": "1k", "expression": "1"}]},
        "spec.variables[0].name",
    ),
}


@pytest.mark.parametrize(("more", "field"), MISTAKES.values(), ids=MISTAKES)
def test_a_policy_that_would_not_run_is_refused(server, more, field):
    answer = server.post(POLICIES, policy("wrong", **more), dryRun="All")
    answer.refused(422, "Invalid")
    assert [cause["field"] for cause in answer.causes] == [field]


def test_messages_of_wrong_types_and_choices(server):
    def message(**more):
        answer = server.post(POLICIES, policy("wrong", **more), dryRun="All")
        answer.refused(422, "Invalid")
        return answer.causes[0]["message"]

    known = '"Forbidden", "Invalid", "RequestEntityTooLarge"'
    assert message(**validations(expression="'a'")) == (
        "Invalid value: \"'a'\": must evaluate to bool but got string"
    )
    assert message(**validations(reason="Odd")) == (
        f'Unsupported value: "Odd": supported values: {known}'
    )


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({}, ["spec.policyName", "spec.validationActions"]),
        (
            {"policyName": "x", "validationActions": ["Deny", "Warn"]},
            ["spec.validationActions"],
        ),
        (
            {"policyName": "x", "validationActions": ["Odd", "Deny", "Deny"]},
            ["spec.validationActions[0]", "spec.validationActions[2]"],
        ),
    ],
)
def test_bindings_name_a_policy_and_what_to_do(server, spec, fields):
    body = {"metadata": {"name": "wrong"}, "spec": spec}
    answer = server.post(BINDINGS, body, dryRun="All")
    answer.refused(422, "Invalid")
    assert [cause["field"] for cause in answer.causes] == fields


def test_a_policy_needs_something_to_match_and_to_say(server):
    body = {"metadata": {"name": "wrong"}, "spec": {}}
    answer = server.post(POLICIES, body, dryRun="All")
    answer.refused(422, "Invalid")
    assert [cause["field"] for cause in answer.causes] == [
        "spec.matchConstraints",
        "spec.validations",
        "spec.auditAnnotations",
    ]
