"""Error rows of the inventory: the code and text that match become what they say."""

import pytest
from extensions_chains import composed, group_kind, version

from asoreconcile.azure.arm.classification import Classification
from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.requests import ClassifyError
from asoreconcile.azure.testing.extensions import arm_fault

FATAL = Classification("Error", RetryClass.VERY_SLOW, "Code", "as Azure said")
MILD = Classification("Warning", RetryClass.FAST, "Code", "as Azure said")

ENVIRONMENT = ("ManagedEnvironmentNotProvisioned", "not yet")
ORIGIN = (
    "BadRequest",
    (
        "Please make sure that the originGroup is created successfully and that "
        "at least one enabled origin is created under it"
    ),
)
RECORD = ("BadRequest", "The referenced resource '/x/y' was not found.")
QUOTA = ("OperationNotAllowed", "quota exceeded")
NOT_PROVISIONED = ("ReferencedResourceNotProvisioned", "later")

RETRIED = [
    ("app/ContainerApp", *ENVIRONMENT),
    ("app/Job", *ENVIRONMENT),
    ("cdn/AfdCustomDomain", "BadRequest",
     "Fail. This resource is still associated with a route. Delete it first"),
    ("cdn/Route", *ORIGIN),
    ("cdn/Rule", *ORIGIN),
    ("cdn/SecurityPolicy", "BadRequest",
     ("Domain d is not associated with the AFDX profile, or is in a invalid provisioning state")),
    ("compute/Disk", "BadRequest", "DiskAccess '/a/b' was not found"),
    ("compute/Disk", "Conflict", "DiskAccess /a/b is in failed state."),
    ("compute/VirtualMachine", *QUOTA),
    ("compute/VirtualMachineScaleSet", *QUOTA),
    ("containerservice/FleetsMember", "DependentResourceNotFound", "later"),
    ("containerservice/ManagedCluster", "CustomKubeletIdentityMissingPermissionError", "later"),
    ("containerservice/ManagedClustersAgentPool", "NodePoolMcVersionIncompatible", "later"),
    ("documentdb/CassandraCluster", "BadRequest", "the service principal lacks it"),
    ("documentdb/MongodbDatabase", "BadRequest", "whatever"),
    ("documentdb/SqlDatabase", "BadRequest", "whatever"),
    ("documentdb/SqlRoleAssignment", "BadRequest",
     "The principal p was not found in the AAD tenant(s) t"),
    ("insights/DataCollectionRule", "WorkspaceNotFound", "later"),
    ("insights/ScheduledQueryRule", "BadRequest", "the table does not exist"),
    ("insights/ScheduledQueryRule", "BadRequest", "you have insufficient access"),
    ("machinelearningservices/Workspace", "BadRequest",
     "Failed: StorageAccountIsNotProvisioned, later"),
    ("network/AzureFirewall", "AzfwAddToFirewallPolicyFailed",
     "Put: Failed to reference firewall policy p"),
    ("network/DnsForwardingRuleset", "PropertyChangeNotAllowed", "it was not found"),
    ("network/DnsZonesARecord", *RECORD),
    ("network/DnsZonesAAAARecord", *RECORD),
    ("network/DnsZonesCNAMERecord", *RECORD),
    ("network/NetworkWatchersFlowLog", "NetworkSecurityGroupNotFoundForFlowLog", "later"),
    ("network/NetworkWatchersFlowLog", "StorageProvisioningStateNotSucceeded", "later"),
    ("network/PublicIPAddress", *NOT_PROVISIONED),
    ("network/VirtualNetworksVirtualNetworkPeering", *NOT_PROVISIONED),
    ("network/VirtualNetworksSubnet", "NetcfgSubnetRangeOutsideVnet", "later"),
    ("servicebus/NamespacesTopicsSubscription", "MessagingGatewayBadRequest", "later"),
    ("sql/ServersVulnerabilityAssessment", "VulnerabilityAssessmentADSIsDisabled", "later"),
]  # fmt: skip
GIVEN_UP = [
    (
        "documentdb/DatabaseAccount",
        "ServiceUnavailable",
        "We are currently experiencing high demand in West Europe",
    ),
    ("sql/Server", "PasswordNotComplex", "Password validation failed"),
]
ROWS = [*RETRIED, *GIVEN_UP]
KINDS = sorted({row[0] for row in ROWS})
# Matched by its text alone.
TEXT_ONLY = {"network/DnsForwardingRuleset"}
# Matched by their code alone.
CODE_ONLY = {
    row[0]
    for row in ROWS
    if row[2] in ("later", "not yet", "whatever", "quota exceeded")
} | {"sql/Server"}


def ids(rows):
    return [f"{kind}-{code}" for kind, code, _ in rows]


def judged(kind, code, message, default):
    extensions = composed({CLASSIFY_ERROR: lambda req: default})
    chain = extensions.chain(CLASSIFY_ERROR, group_kind(kind))
    return chain(ClassifyError(version(kind), arm_fault(400, code, message)))


def test_every_classifier_of_the_inventory_is_there():
    assert len(KINDS) == 32


@pytest.mark.parametrize(("kind", "code", "message"), RETRIED, ids=ids(RETRIED))
def test_a_dependency_that_is_late_is_retried_slowly(kind, code, message):
    answer = judged(kind, code, message, FATAL)
    assert (answer.severity, answer.retry) == ("Warning", RetryClass.SLOW)
    assert (answer.code, answer.message) == (FATAL.code, FATAL.message)


@pytest.mark.parametrize(("kind", "code", "message"), GIVEN_UP, ids=ids(GIVEN_UP))
def test_what_only_a_person_can_mend_is_an_error(kind, code, message):
    assert judged(kind, code, message, MILD).severity == "Error"


OTHER = "SomethingElse", "entirely different"
ELSEWHERE = [
    *((kind, *OTHER) for kind in KINDS),
    # The same code with another message, and the same message under another code.
    *((kind, code, OTHER[1]) for kind, code, _ in ROWS if kind not in CODE_ONLY),
    *((k, OTHER[0], text) for k, _, text in ROWS if k not in CODE_ONLY | TEXT_ONLY),
]


@pytest.mark.parametrize(("kind", "code", "message"), ELSEWHERE)
def test_what_matches_in_part_stays_as_it_was(kind, code, message):
    assert judged(kind, code, message, FATAL) is FATAL
