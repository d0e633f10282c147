"""Authors of objects, and the Secrets that these may have read for them."""

from world import RECORD_KEY

from asoreconcile.azure.catalogue.conversion import convert, stored_name
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.secret_access import AuthorRecords, SecretAccess
from asoreconcile.base.objects import GroupKind, ObjectKey, gvk_of
from asoreconcile.runtime.metrics_authorization import AccessReviews
from asoreconcile.testing.clock import FakeClock
from asoreconcile.webhooks.admission import AdmissionRequest

SERVER = builtin().kind(GroupKind("dbforpostgresql.azure.com", "FlexibleServer"))
OLD = "v1api20221201"
USER = {
    "username": "jo",
    "uid": "u",
    "groups": ["team", "system:authenticated"],
    "extra": {"oid": ["1"]},
}


class Reviews:
    """An API server that allows everything, and keeps what it is asked."""

    def __init__(self):
        self.asked = []

    def create(self, _resource, obj):
        self.asked.append(obj["spec"])
        return {"status": {"allowed": True}}


def test_a_record_holds_in_every_version_and_brings_the_whole_user():
    """Some authorizers decide by the extra fields."""
    assert OLD in SERVER.versions
    password = {"name": "db-admin", "key": "password"}
    obj = {
        "apiVersion": f"{SERVER.group}/{OLD}",
        "kind": "FlexibleServer",
        "metadata": {"name": "db1", "namespace": "shop"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "sku": {"name": "Standard_D4s_v3", "tier": "GeneralPurpose"},
            "administratorLoginPassword": password,
        },
    }
    key = ObjectKey("shop", "db1")
    request = AdmissionRequest(
        "CREATE", gvk_of(obj), key, obj, None, "", dry_run=False, user=USER, options={}
    )
    version = SERVER.version(OLD)
    made = AuthorRecords(lambda: RECORD_KEY)(request, version, obj)

    stored = convert(SERVER, made, stored_name(SERVER))
    api = Reviews()
    reviews = AccessReviews(api, clock=FakeClock())
    access = SecretAccess(builtin(), lambda: RECORD_KEY, reviews)
    newest = convert(SERVER, stored, SERVER.storage)
    for shown in (made, stored, newest):
        assert access(shown, "db-admin") == ""
    (asked,) = api.asked
    assert asked.pop("resourceAttributes")["namespace"] == "shop"
    assert {"username": asked.pop("user"), **asked} == USER
    assert access({**stored, "spec": {**stored["spec"], "location": "x"}}, "db-admin")
