"""Writers of specs, and the Secrets that these name: policy, webhook, or neither."""

import pytest
from world import postgres_server

from asoreconcile.azure.catalogue.conversion import convert, stored_name
from asoreconcile.azure.catalogue.secret_policy import (
    secret_policy,
    secret_policy_binding,
)
from asoreconcile.azure.controllers.admission import Admission
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.secret_access import SecretAccessCheck, WriterAccess
from asoreconcile.azure.reconcile.model.annotations import CREDENTIAL_FROM
from asoreconcile.base.objects import GroupKind, ObjectKey, copy_json, gvk_of
from asoreconcile.kube.errors import ForbiddenError, NotFoundError
from asoreconcile.runtime.metrics_authorization import AccessReviews
from asoreconcile.testing.clock import FakeClock
from asoreconcile.webhooks.admission import AdmissionRequest, Allowed

SERVERS = builtin().kind(GroupKind("dbforpostgresql.azure.com", "FlexibleServer"))
VERSION = SERVERS.version()
# Some authorizers decide by the extra fields.
USER = {"username": "jo", "uid": "u", "groups": ["team"], "extra": {"oid": ["1"]}}


class Cluster:
    """An API server with a policy, which allows one user to get one Secret."""

    def __init__(self, policy=None, binding=None):
        self.documents = {
            "ValidatingAdmissionPolicy": policy,
            "ValidatingAdmissionPolicyBinding": binding,
        }
        self.reads, self.asked = 0, []
        self.may = {"db-admin"}
        self.error = None

    def get(self, resource, key):
        self.reads += 1
        assert key == ObjectKey("", "secrets.azure.com")
        if self.error:
            raise self.error
        found = self.documents[resource.kind]
        if found is None:
            raise NotFoundError("no", status=404)
        return found

    def create(self, _resource, obj):
        self.asked.append(obj["spec"])
        wanted = obj["spec"]["resourceAttributes"]
        assert wanted["resource"] == "secrets"
        assert wanted["verb"] == "get"
        assert wanted["namespace"] == "shop"
        return {"status": {"allowed": wanted.get("name") in self.may}}


def server(**notes):
    made = postgres_server("db1")
    made["metadata"] |= {"namespace": "shop", "annotations": notes}
    return made


def check(cluster, clock=None, *, asks=False):
    return SecretAccessCheck(
        cluster, builtin(), clock or FakeClock(), asks_for_certificates=asks
    )


def test_wh11_with_the_policy_nothing_is_said():
    policy = secret_policy(builtin().kinds())
    assert check(Cluster(policy, secret_policy_binding()))(VERSION, server()) == ""


def test_wh11_without_a_policy_it_is_said_where_a_secret_is_named():
    cluster, clock = Cluster(), FakeClock()
    one = check(cluster, clock)
    plain = server()
    del plain["spec"]["administratorLoginPassword"]
    assert one(VERSION, plain) == ""
    assert cluster.reads == 0
    for way in ("secret-policy.yaml", "certificate", "no ValidatingAdmissionPolicy"):
        assert way in one(VERSION, server())
    assert cluster.reads == 2  # for a minute
    cluster.documents = {
        "ValidatingAdmissionPolicy": secret_policy(builtin().kinds()),
        "ValidatingAdmissionPolicyBinding": secret_policy_binding(),
    }
    clock.advance(61)
    assert one(VERSION, server()) == ""


def test_wh11_a_policy_that_cannot_be_read_does_not_count():
    cluster = Cluster()
    cluster.error = ForbiddenError("may not", status=403)
    assert "cannot be read: may not" in check(cluster)(VERSION, server())


def test_wh11_callers_that_show_a_certificate_are_asked_by_the_webhook():
    cluster = Cluster()
    assert check(cluster, asks=True)(VERSION, server()) == ""
    assert cluster.reads == 0


def written(cluster, obj, old=None):
    """Return the webhook's decision if it asks for certificates."""
    reviews = AccessReviews(cluster, clock=FakeClock())
    admission = Admission(builtin(), check_writer=WriterAccess(reviews))
    request = AdmissionRequest(
        operation="UPDATE" if old else "CREATE",
        gvk=gvk_of(obj),
        key=ObjectKey("shop", "db1"),
        obj=obj,
        old=old,
        subresource="",
        dry_run=False,
        user=USER,
        options={},
    )
    return admission.validate(request)


def edited(**spec):
    made = copy_json(server())
    made["spec"] |= spec
    return made


def named(name):
    return edited(administratorLoginPassword={"name": name, "key": "password"})


def test_wh11_the_webhook_asks_about_the_whole_user_and_each_secret():
    cluster = Cluster()
    assert written(cluster, named("db-admin")) == Allowed()
    assert [one["user"] for one in cluster.asked] == ["jo"] * 2
    assert cluster.asked[0]["extra"] == USER["extra"]
    asked = [one["resourceAttributes"].get("name") for one in cluster.asked]
    assert asked == [None, "db-admin"]
    denied = written(cluster, named("another"))
    assert denied.message == "you may not get the Secret another, which the spec names"


@pytest.mark.parametrize(
    "change",
    [
        {"network": {"publicNetworkAccess": "Enabled"}},
        {"owner": {"name": "mine"}},
    ],
    ids=["spec", "owner"],
)
def test_wh11_an_edit_needs_the_right_too_and_other_writes_need_none(change):
    cluster = Cluster()
    old = named("another")
    assert written(cluster, copy_json(old), old) == Allowed()
    assert cluster.asked == []
    assert written(cluster, {**old, "spec": {**old["spec"], **change}}, old).code == 403
    leaving = copy_json(old)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    changed = copy_json(leaving)
    changed["spec"] |= change
    assert written(cluster, changed, leaving).code == 403
    assert written(cluster, copy_json(leaving), leaving) == Allowed()
    other = copy_json(old)
    other["metadata"]["annotations"] = {CREDENTIAL_FROM: "mine"}
    assert written(cluster, other, old).code == 403


def test_wh11_a_stored_form_is_judged_as_the_version_it_is_made_from():
    cluster = Cluster()
    stored = convert(SERVERS, named("db-admin"), stored_name(SERVERS))
    assert "stored form" in written(cluster, stored).message
    cluster.may.add(None)
    assert written(cluster, stored) == Allowed()
    wrong = copy_json(stored)
    wrong["spec"]["azureName"] = "a/b"
    assert written(cluster, wrong).code == 422
    moved = copy_json(stored)
    moved["metadata"]["annotations"] = {"asoreconcile/paused": "maybe"}
    assert written(cluster, moved, stored).code == 422
