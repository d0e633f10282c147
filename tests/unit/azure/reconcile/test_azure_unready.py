"""What keeps objects from being Ready, grouped by cause."""

from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.planning.advice import ADVICE, advice_on
from asoreconcile.azure.reconcile.planning.unready import causes_of

GROUP = "resources.azure.com/v1api20200601", "ResourceGroup"
NETWORK = "network.azure.com/v20250301", "VirtualNetwork"
SUBNET = "network.azure.com/v20250301", "VirtualNetworksSubnet"


def made(kind, name, reason="", owner="", message="why", severity="Warning"):
    ready = {"type": "Ready", "status": "False", "reason": reason}
    ready |= {"severity": severity, "message": message}
    if reason == "Succeeded":
        ready["status"] = "True"
    return {
        "apiVersion": kind[0],
        "kind": kind[1],
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"owner": {"name": owner}} if owner else {},
        "status": {"conditions": [ready]} if reason else {},
    }


def causes(*objects):
    return causes_of(objects, builtin())


def test_objects_in_order_have_no_cause():
    assert causes(made(GROUP, "a", "Succeeded")) == []


def test_who_waits_counts_to_the_cause_of_the_last_owner_that_is_not_ready():
    (cause,) = causes(
        made(GROUP, "rg", "AuthorizationFailed", message="no right", severity="Error"),
        made(NETWORK, "net", "WaitingForOwner", owner="rg"),
        made(SUBNET, "web", "WaitingForOwner", owner="net"),
        made(GROUP, "other", "Succeeded"),
    )
    assert cause.objects == ("ResourceGroup shop/rg",)
    assert cause.waiting == (
        "VirtualNetwork shop/net",
        "VirtualNetworksSubnet shop/web",
    )
    assert cause.advice == advice_on(
        "AuthorizationFailed", "Error", "no right", deleting=False
    )
    assert next(cause.lines()) == "AuthorizationFailed, Error: no right"


def test_who_waits_for_an_owner_that_is_not_there_is_a_cause_of_its_own():
    (cause,) = causes(made(NETWORK, "net", "WaitingForOwner", owner="gone"))
    assert (cause.objects, cause.waiting) == (("VirtualNetwork shop/net",), ())
    assert cause.advice == ADVICE["WaitingForOwner"]


def test_equal_messages_are_one_cause_and_the_most_frequent_is_first():
    first, second = causes(
        made(GROUP, "c", "SecretNotFound"),
        made(GROUP, "a", "Throttled", message="slow down"),
        made(GROUP, "b", "Throttled", message="slow down"),
    )
    assert first.objects == ("ResourceGroup shop/a", "ResourceGroup shop/b")
    assert second.reason == "SecretNotFound"


def test_an_object_that_no_operator_saw_is_named():
    (cause,) = causes(made(GROUP, "a"))
    assert cause.reason == "no condition yet"
    assert "asoctl doctor" in cause.advice


def test_advice_and_length_fit_the_object():
    """A deletion that is refused gets the advice on deletions; a long message is cut."""
    going = made(GROUP, "rg", "Conflict", message="x" * 900)
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    (cause,) = causes(going)
    assert cause.advice == advice_on("Conflict", "Warning", "x" * 900, deleting=True)
    assert len(next(cause.lines())) < 400


def test_who_is_ready_and_changed_or_in_deletion_since_is_named_with_what_to_do():
    changed, going = made(GROUP, "a", "Succeeded"), made(GROUP, "b", "Succeeded")
    changed["metadata"]["generation"] = 2
    changed["status"]["conditions"][0] |= {"observedGeneration": 1, "severity": ""}
    going["metadata"]["deletionTimestamp"] = "2026-11-01T00:00:00Z"
    going["status"]["conditions"][0]["severity"] = ""
    found = causes(changed, going)
    assert [one.reason for one in found] == [
        "changed since the last look",
        "in deletion",
    ]
    assert all("asoctl doctor" in one.advice for one in found)
