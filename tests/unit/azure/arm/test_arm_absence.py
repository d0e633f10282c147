"""The meaning of a 404: this resource is gone, perhaps, or nothing about this resource."""

import pytest

from asoreconcile.azure.arm.absence import Absence, absence
from asoreconcile.azure.arm.error_body import UNKNOWN_CODE
from asoreconcile.azure.arm.errors import parse_fault
from asoreconcile.azure.arm.response import ArmResponse

GROUP = "https://management.azure.com/subscriptions/s/resourceGroups/rg"
NETWORK = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/vnet"
BUS = f"{GROUP}/providers/Microsoft.ServiceBus/namespaces/ns"


@pytest.mark.parametrize(
    ("code", "url", "expected"),
    [
        ("ResourceNotFound", NETWORK, Absence.CERTAIN),
        ("resourcegroupnotfound", GROUP, Absence.CERTAIN),
        ("ParentResourceNotFound", NETWORK, Absence.CERTAIN),
        ("NotFound", NETWORK, Absence.CERTAIN),
        ("SubscriptionNotFound", NETWORK, Absence.NOT),
        ("SubscriptionNotFound", BUS, Absence.NOT),
        ("SubscriptionNotFound", f"{BUS}/topics/t", Absence.NOT),
        ("SubscriptionNotFound", f"{BUS}/topics/t/subscriptions/s", Absence.CERTAIN),
        ("SubscriptionNotFound", f"{BUS}/topics/t/subscriptions/s/rules/r", Absence.CERTAIN),
        ("InvalidResourceType", NETWORK, Absence.NOT),
        ("InvalidResourceNamespace", NETWORK, Absence.NOT),
        ("MissingSubscription", NETWORK, Absence.NOT),
        ("NamespaceNotFound", BUS, Absence.CERTAIN),
        ("NamespaceNotFound", NETWORK, Absence.PERHAPS),
        ("ServerNotFound", NETWORK, Absence.PERHAPS),
        (UNKNOWN_CODE, NETWORK, Absence.PERHAPS),
        (UNKNOWN_CODE, f"{GROUP}/providers/Microsoft.Synapse/workspaces/w", Absence.CERTAIN),
    ],
)  # fmt: skip
def test_v3_a_code_says_what_is_absent(code, url, expected):
    assert absence(code, url) is expected


def test_a_proxy_s_404_says_nothing():
    page = ArmResponse(404, {"content-type": "text/html"}, b"<html>lost</html>")
    fault = parse_fault(page, method="GET", url=NETWORK)
    assert fault.absence is Absence.NOT
    assert not fault.is_not_found


@pytest.mark.parametrize("body", [b"", b"null", b'{"message":"no Route matched"}'])
def test_a_404_without_a_code_counts_only_if_azure_sent_it(body):
    marked = {"x-ms-request-id": "7"}
    for headers, expected in (({}, Absence.NOT), (marked, Absence.PERHAPS)):
        fault = parse_fault(ArmResponse(404, headers, body), url=NETWORK)
        assert fault.absence is expected
