"""The admission policy for Secrets that a spec names, as an API server evaluates it."""

import random
import string

import pytest
from world import postgres_server

from asoreconcile.azure.catalogue.inputs import has_secrets, inputs_of
from asoreconcile.azure.catalogue.secret_policy import (
    MOST_NAMES,
    secret_kinds,
    secret_policy,
    secret_policy_binding,
    why_not_in_force,
)
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import annotations, copy_json, gvk_of, spec
from asoreconcile.testing.kube.access.rbac import RbacDecision
from asoreconcile.testing.kube.access.users import User
from asoreconcile.testing.kube.kinds import policyobjects
from asoreconcile.testing.kube.rules import policies

CREDENTIAL = "serviceoperator.azure.com/credential-from"
POLICY = secret_policy(builtin().kinds())
KINDS = secret_kinds(builtin().kinds())


def judged(obj, old=None, *, may=(), every=False, version=""):
    """Return the names that the API server is asked about, and the mistakes."""
    asked = []

    def decide(_user, wanted):
        place = (wanted.verb, wanted.group, wanted.resource, wanted.namespace)
        assert place == ("get", "", "secrets", "default")
        if wanted.name:
            asked.append(wanted.name)
        allowed = wanted.name in may if wanted.name else every
        return RbacDecision(allowed=allowed, reason="")

    gvk = gvk_of(obj)
    kind = {"group": gvk.group, "version": version or gvk.version, "kind": gvk.kind}
    request = {
        "operation": "UPDATE" if old else "CREATE",
        "kind": kind,
        "resource": {"group": gvk.group, "resource": "any"},
        "namespace": "default",
        "object": obj,
        "oldObject": old,
    }
    user = User("author")
    found = policies.failures(spec(POLICY), request, None, user, decide)
    return asked, [why for why, reason in found]


def filled(draw, table, depth=0):
    """Return an object of a table with names in all places of Secrets."""
    made = {}
    for field in table.fields:
        if field.is_secret:
            value = {"name": "".join(draw.choices(string.ascii_lowercase, k=8))}
        elif field.table is not None and has_secrets(field.table) and depth < 12:
            value = filled(draw, field.table, depth + 1)
        else:
            continue
        nesting = field.nesting
        while nesting:
            value = [value] if nesting.endswith("[]") else {"k,'1": value}
            nesting = nesting[:-2]
        made[field.source] = value
    return made


def test_wh11_the_policy_is_one_that_an_api_server_takes():
    assert list(policyobjects.causes(POLICY)) == []
    assert list(policyobjects.causes(secret_policy_binding())) == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.group_kind))
def test_wh11_each_secret_of_each_version_is_asked_about(kind):
    """The catalogue's own walk over a spec names the same ones."""
    draw = random.Random(str(kind.group_kind))
    for name in kind.versions:
        version = kind.version(name)
        if not has_secrets(version.table):
            continue
        obj = {
            "apiVersion": version.gvk.api_version,
            "kind": version.gvk.kind,
            "metadata": {"name": "a", "namespace": "default"},
            "spec": filled(draw, version.table),
        }
        wanted = {
            given.value["name"]
            for given in inputs_of(version, obj["spec"])
            if given.kind in ("secret", "secret-map")
        }
        assert wanted
        if len(wanted) > MOST_NAMES:
            assert "more than" in judged(obj, may=wanted)[1][0]
            continue
        asked, wrong = judged(obj, may=wanted)
        assert (set(asked), len(asked), wrong) == (wanted, len(wanted), [])
        lacking = draw.choice(sorted(wanted))
        why = f"you may not get the Secret {lacking}, which the spec names"
        assert judged(obj, may=wanted - {lacking})[1] == [why]
        assert judged(obj, every=True)[1] == []
        del obj["spec"]
        assert judged(obj) == ([], [])


def edited(**metadata):
    made = postgres_server("db")
    made["metadata"] |= {"namespace": "default", **metadata}
    return made


def test_wh11_only_a_change_of_the_spec_or_the_credential_is_asked_about():
    old = edited()
    name = old["spec"]["administratorLoginPassword"]["name"]
    labelled = edited(labels={"a": "b"}, annotations={"c": "d"}, finalizers=["e"])
    assert judged(labelled, old) == ([], [])
    credential = edited(annotations={CREDENTIAL: "mine"})
    assert judged(credential, old)[0] == [name]
    assert judged(edited(), credential)[0] == [name]
    moved = copy_json(old)
    moved["spec"]["owner"] = {"name": "mine"}
    assert judged(moved, old)[1] != []
    # Also while it is deleted: the deletion of a database user reads Secrets.
    leaving = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    gone, before = copy_json(moved), copy_json(old)
    gone["metadata"] |= leaving
    before["metadata"] |= leaving
    assert judged(gone, before)[1] != []


def test_wh11_a_stored_form_needs_all_secrets():
    hidden = edited()
    hidden["spec"] = {"$propertyBag": {"administratorLoginPassword": '{"name":"x"}'}}
    assert "stored form" in judged(hidden, version="v20250801storage")[1][0]
    assert judged(hidden, every=True, version="v20250801storage")[1] == []


def test_wh11_more_names_than_are_asked_about_need_all_secrets():
    def group(count):
        given = [{"secureValue": {"name": f"s{n % count}"}} for n in range(60)]
        return {
            "apiVersion": "containerinstance.azure.com/v1api20211001",
            "kind": "ContainerGroup",
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {"containers": [{"environmentVariables": given}]},
        }

    may = [f"s{n}" for n in range(60)]
    assert judged(group(MOST_NAMES), may=may)[1] == []
    assert "more than" in judged(group(MOST_NAMES + 1), may=may)[1][0]
    assert judged(group(60), every=True)[1] == []


def stored():
    policy, binding = copy_json(POLICY), copy_json(secret_policy_binding())
    for one in (policy, binding):
        policyobjects.take_in(one)
    return policy, binding


@pytest.mark.parametrize(
    ("what", "change"),
    [
        (0, lambda made: made.update(failurePolicy="Ignore")),
        (0, lambda made: made["validations"].pop()),
        (0, lambda made: made["variables"][3].update(expression="''")),
        (0, lambda made: made["matchConstraints"]["resourceRules"].pop()),
        (0, lambda made: made["matchConstraints"].update(objectSelector={"a": "b"})),
        (
            0,
            lambda made: made["matchConstraints"].update(excludeResourceRules=[{}]),
        ),
        (0, lambda made: made["matchConditions"].append({"name": "a"})),
        (1, lambda made: made.update(validationActions=["Warn"])),
        (1, lambda made: made.update(policyName="other")),
        (1, lambda made: made.update(matchResources={"namespaceSelector": {"a": 1}})),
    ],
)
def test_wh11_a_policy_that_was_weakened_does_not_count(what, change):
    documents = stored()
    assert why_not_in_force(documents[0], documents[1], builtin().kinds()) == ""
    change(spec(documents[what]))
    assert why_not_in_force(documents[0], documents[1], builtin().kinds())
    assert why_not_in_force(None, documents[1], builtin().kinds())
    assert why_not_in_force(documents[0], None, builtin().kinds())
    assert annotations(documents[0]) == {}
