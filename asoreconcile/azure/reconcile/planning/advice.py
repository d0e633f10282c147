"""The cause of a state of Ready in one sentence, and what a person can do. Pure.

Reasons are the operator's own or Azure's error codes. Names, actions and ids are taken
from Azure's message, so that the advice names them.
"""

import re
from collections.abc import Callable, Mapping

from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.model.conditions import (
    DRIFTED,
    EXPORT_FAILED,
    find_ready,
)
from asoreconcile.base.objects import (
    JsonObject,
    generation,
    is_deleting,
    status,
)

ADVICE = {
    "AlreadyExists": "Set the annotation asoreconcile/if-exists to "
    "adopt or observe, or correct the name.",
    "AlreadyManaged": "Delete one of the two objects, or set the annotation "
    f"{RECONCILE_POLICY}: skip on the one that is only to read the resource.",
    "AzureResourceNotFound": "The policy is skip, so nothing creates the resource: "
    "make it in Azure, or change the policy to manage.",
    "ConfigMapNotFound": "Create the ConfigMap, or the key in it, in the object's own "
    "namespace. The object is looked at as soon as it is there.",
    "CredentialError": "Look at the Secret of the credential: its keys, whether the "
    "client secret has expired, and whether the identity is trusted.",
    "DeclaredByAnother": "Delete the object that the message names, or set the "
    f"annotation {RECONCILE_POLICY}: skip on it; or set detach-on-delete on this one, "
    "which leaves the resource in Azure.",
    "Deleting": "Nothing to do while Azure works. If it takes long, look at the "
    "operation and at locks on the resource or its group.",
    "DeletionNotSupportedInAzure": "Delete its owner, or set the policy to "
    "detach-on-delete.",
    "DeletionProtected": "Nothing is deleted while the protection holds: remove the "
    "annotation that the message names, or set the policy to detach-on-delete.",
    "Failed": "Mend the spec: the message says what is wrong. The object is tried "
    "again as soon as it changes.",
    "FailedWritingAdditionalKubernetesObjects": "The resource is in order; what it "
    "exports could not be written. Look at the names in spec.operatorSpec and at the "
    "operator's rights in the namespace.",
    "Invalid": "Mend the fields that the message names.",
    "NamespaceUnreadable": "Let the operator's role get, list and watch namespaces, "
    "and see whether the API server answers. The write is sent once it does.",
    "NotAllowedInNamespace": "Ask an administrator to allow the scope or the type on "
    "the Namespace, or create the resource in a namespace that may have it.",
    "OutsideMaintenanceWindow": "The change is sent when the next maintenance window "
    "opens. To send it now, set asoreconcile/reconcile-at to a new value.",
    "Paused": "Nothing is done while the object or its Namespace has "
    "asoreconcile/paused: remove that annotation.",
    "PostReconciliationFailure": "The message names what the resource lacks: supply "
    "it.",
    "Reconciling": "Nothing to do while Azure works. If it takes long, look at the "
    "operation.",
    "ReconcilePolicyUnreadable": "Nothing is written or deleted in Azure until the "
    f"annotation {RECONCILE_POLICY}, of the object or its Namespace, is manage, "
    "detach-on-delete or skip.",
    "ReconciliationBlocked": "Nothing is sent until what the message names changes.",
    "RecordKeyUnreadable": "Let the operator's role get and create Secrets in its own "
    "namespace, and see whether the API server answers.",
    "ReferenceNotFound": "Create the object that is referred to, in the same "
    "namespace, or name the resource by armId.",
    "SecretAccessDenied": "Let a user who may get the Secret write the object, or "
    "grant its author that permission.",
    "SecretNotFound": "Create the Secret, or the key in it, in the object's own "
    "namespace. The object is looked at as soon as it is there.",
    "SubscriptionMismatch": "The object is in one subscription and the credential in "
    "another: give the namespace or the object a credential of that subscription.",
    "Succeeded": "",
    "UnknownError": "Look into the operator's log, which has the whole answer. The "
    "operator tries again.",
    "Unreadable": "Mend the field that the message names, with `kubectl apply`.",
    "WaitingForOwner": "Create the owner, or look at why it is not Ready.",
    "WaitingForReference": "Look at why the object that the message names is not in "
    "Azure yet.",
}
"""What to do, by the reason of a Ready condition; "" where nothing is to be done."""

CAUSES = {
    "AlreadyExists": "The resource was in Azure before this object.",
    "AlreadyManaged": "Another object manages this resource.",
    "AzureResourceNotFound": "The resource is not in Azure.",
    "ConfigMapNotFound": "A ConfigMap, or a key in it, is missing.",
    "CredentialError": "The operator cannot sign in to Azure with the credential.",
    "DeclaredByAnother": "Another object declares the resource that is to be deleted.",
    "Deleting": "Azure is deleting the resource.",
    "DeletionNotSupportedInAzure": "Azure cannot delete this type of resource.",
    "DeletionProtected": "The object is protected from deletion.",
    "Failed": "Azure or the operator refused the object.",
    "FailedWritingAdditionalKubernetesObjects": "The exported values could not be "
    "written to the cluster.",
    "Invalid": "Fields of the object are wrong.",
    "NamespaceUnreadable": "The operator cannot read the object's Namespace.",
    "NotAllowedInNamespace": "The Namespace does not allow this resource.",
    "OutsideMaintenanceWindow": "The change waits for the maintenance window.",
    "Paused": "The object is paused.",
    "PostReconciliationFailure": "The resource was written and is not usable yet.",
    "Reconciling": "Azure is making or changing the resource.",
    "ReconcilePolicyUnreadable": "The reconcile policy is not a known one.",
    "ReconciliationBlocked": "A check holds the write back.",
    "RecordKeyUnreadable": "The operator cannot read its own key.",
    "ReferenceNotFound": "An object that this one refers to is missing.",
    "SecretAccessDenied": "The object's author may not read a Secret that it names.",
    "SecretNotFound": "A Secret, or a key in it, is missing.",
    "SubscriptionMismatch": "The credential is of another subscription.",
    "Succeeded": "The resource is as the object wants it.",
    "UnknownError": "Azure's answer, or a failure in the cluster, was not understood.",
    "Unreadable": "The stored object cannot be read.",
    "WaitingForOwner": "The owner is missing or not Ready.",
    "WaitingForReference": "An object that this one refers to is not in Azure yet.",
}
"""The cause in one sentence, by the reason of a Ready condition."""

_LOOK = (
    "ook whether an operator runs that watches this namespace, and at its log: "
    "asoctl doctor."
)
UNSEEN = {
    "no condition yet": ("No operator has looked at the object yet.", f"L{_LOOK}"),
    "changed since the last look": (
        "The object has changed, and no operator has looked at the change yet.",
        f"Wait a minute. If it stays so, l{_LOOK}",
    ),
    "in deletion": (
        "The object is being deleted, and no operator has acted on that yet.",
        f"Wait a minute. If it stays so, l{_LOOK}",
    ),
}
"""By a state that no Ready condition shows: its cause, and what to do."""

BESIDE_READY = {
    DRIFTED: "Take the values that the message names into the spec, or find out who "
    "changes them in Azure. A sync in mode `report` only reports.",
    EXPORT_FAILED: "The values are fetched again by each sync. If the message names a "
    "right that lacks, grant it.",
}
"""What to do about a condition other than Ready, by its type."""

_THROTTLED = frozenset(
    (
        "429",
        "ResourceRequestsThrottled",
        "SubscriptionRequestsThrottled",
        "TooManyRequests",
    )
)
_BUSY = frozenset(
    (
        "AadAuthOperationCannotBePerformedWhenServerIsNotAccessible",
        "AnotherOperationInProgress",
        "AzureCacheForRedisLongRunningOperationFailure",
        "GatewayTimeout",
        "InternalServerError",
        "NotLatestOperation",
        "OperationCancelled",
        "OperationLost",
        "ReferencedResourceNotProvisioned",
        "RetryableError",
        "RetryableErrorDueToAnotherOperation",
        "ServerIsBusy",
        "ServiceUnavailable",
        "StorageProvisioningStateNotSucceeded",
        "VirtualEndpointOwnerServerNotInReadyState",
        "VmssGatewayDeploymentFailed",
    )
)
_AZURE_CAUSES = {
    "AuthorizationFailed": "The operator's identity lacks a right in Azure",
    "LinkedAuthorizationFailed": "The operator's identity lacks a right in Azure",
    "RequestDisallowedByPolicy": "An Azure Policy forbids the request",
    "ScopeLocked": "A management lock in Azure forbids the request",
}
_NOTHING_TO_DO = "Nothing to do: it mends itself"
_DETACH = f"set the annotation {RECONCILE_POLICY}: detach-on-delete"
_SKIP = f"set the annotation {RECONCILE_POLICY}: skip"
_MISSING = (
    "Create what the message names, or correct the id in the spec; until then the "
    "write is repeated by itself."
)
_AZURE: Mapping[str, str] = {
    "BadRequest": "Mend the field that the message names.",
    "Conflict": "If the message names an operation, there is nothing to do: the write "
    "is repeated. If it names a resource, choose another name in the spec.",
    "FailedIdentityOperation": "Look whether the identity in the spec exists, and "
    "whether the operator may assign it (Managed Identity Operator).",
    "InvalidPrincipalId": "Write the object id of the principal, which is a GUID.",
    "InvalidResourceReference": _MISSING,
    "Endpoint validation": _MISSING,
    "NamespaceNotFound": _MISSING,
    "NetworkSecurityGroupNotFoundForFlowLog": _MISSING,
    "NotFound": _MISSING,
    "ParentResourceNotFound": _MISSING,
    "ResourceGroupNotFound": _MISSING,
    "ResourceNotFound": _MISSING,
    "DeletedVaultNotFound": "There is no deleted vault of this name: set createMode to "
    "default, or correct the name.",
    "PrincipalNotFound": "If the principal was just made, there is nothing to do: the "
    "directory knows it within minutes. Otherwise correct principalId.",
    "RoleAssignmentNotFound": _MISSING,
    "SubscriptionAliasNotFound": _MISSING,
    "SubscriptionNotFound": "Correct the subscription id, or give the credential "
    "access to the subscription.",
    "Unspecified": "The message is all that Azure says: mend what it names.",
    "UpdateRunTargetingEmptyFleet": "Add a member to the fleet first.",
    "UserErrorGenericResourceNotFound": _MISSING,
    "WorkspaceNotFound": _MISSING,
}
# Codes differ by service; their words say what is to be done.
_BY_WORDS = {
    "Quota|Limit(Exceeded|Reached)": "Ask Azure for more quota of the subscription in "
    "this region, delete what is not needed, or choose a smaller size or another "
    "region in the spec.",
    "Sku.*NotAvailable|AllocationFailed|NotAvailableInLocation": "Choose another size, "
    "zone or region in the spec: Azure does not offer this one there to the "
    "subscription.",
    "AlreadyTaken|NameNotAvailable|NameUnavailable|NameInUse": "Choose another name in "
    "spec.azureName: this one is in use, maybe in another subscription.",
    "AuthenticationToken|AuthenticationFailed": ADVICE["CredentialError"],
}
_REFUSED = (
    "Do what the message says. The request is repeated by itself, and at once when the "
    "spec changes."
)
_AUTHORIZATION = re.compile(
    r"client '(?P<client>[^']*)'(?: with object id '(?P<id>[^']*)')?.*?"
    r"perform action '(?P<action>[^']*)'.*?scope '(?P<scope>[^']*)'",
    re.DOTALL,
)
_LINKED = re.compile(
    r"action\(s\) '(?P<action>[^']*)' on the linked scope\(s\) '(?P<scope>[^']*)'"
)
_POLICY = re.compile(r'"policyAssignment":\s*{"name":\s*"([^"]*)"|\(policy: ([^)]*)\)')
_LOCKED = re.compile(r"scope\(s\) are locked: '([^']*)'")
_ARM_ID = re.compile(r"/subscriptions/[^\s,;'\"\])]+")


def unseen(obj: JsonObject) -> str:
    """Return what no operator has looked at, a key of `UNSEEN`; "" if the Ready
    condition speaks of the object as it is.
    """
    condition = find_ready(status(obj).get("conditions"))
    if not condition:
        return "no condition yet"
    if condition.get("severity") == "Info":
        return ""  # work that goes on is finished before a change is looked at
    if condition.get("status") == "True" and is_deleting(obj):
        return "in deletion"
    if condition.get("observedGeneration", generation(obj)) != generation(obj):
        return "changed since the last look"
    return ""


def cause_of(reason: str, *, deleting: bool) -> str:
    """Return the cause in one sentence; "" without a reason."""
    if reason in CAUSES or not reason:
        return CAUSES.get(reason, "")
    if reason in _THROTTLED:
        return f"The operator sent more requests than Azure allows ({reason})."
    if reason in _BUSY:
        return f"Azure cannot do it at the moment ({reason})."
    refused = f"Azure refuses the {'deletion' if deleting else 'request'}"
    return f"{_AZURE_CAUSES.get(reason, refused)} ({reason})."


def advice_on(
    reason: str, severity: str, message: str, *, deleting: bool, next_try: str = ""
) -> str:
    """Return what a person can do, in whole sentences; "" if the object is in order.

    next_try: when the operator tries again by itself, such as `at 14:05:10 UTC`.
    """
    if reason in ADVICE and not (reason == "Failed" and deleting):
        return ADVICE[reason]
    if reason in _BUSY | _THROTTLED:
        return f"{_NOTHING_TO_DO}, next try {next_try or 'within minutes'}."
    if reason == "ScopeLocked" and deleting:
        return _lock(message, _DETACH)
    if found := _PARSED.get(reason, _no_detail)(message):
        return found
    if deleting:
        return _deletion(message)
    if reason in _AZURE:
        return _AZURE[reason]
    for words, text in _BY_WORDS.items():
        if re.search(words, reason):
            return text
    if severity == "Info":
        return f"{_NOTHING_TO_DO}."
    if severity == "Warning":
        return _REFUSED
    return ADVICE["Failed"] if reason else ""


def _no_detail(_message: str) -> str:
    return ""


def _authorization(message: str) -> str:
    who = _AUTHORIZATION.search(message)
    what = _LINKED.search(message) or who
    if who is None or what is None:
        return (
            "Give the identity that the message names a role with the action on the "
            "scope that it names."
        )
    named = f"the client {who['client']}"
    if who["id"]:
        named += f" (object id {who['id']})"
    return (
        f"Give {named} a role with the action {what['action']} on {what['scope']}, or "
        "use another credential. New roles are effective after some minutes."
    )


def _policy(message: str) -> str:
    names = [one or other for one, other in _POLICY.findall(message)]
    named = f"policy {', '.join(names)}" if names else "policy that the message names"
    return (
        f"Change the spec so that it fits the Azure {named}, or ask its owner for an "
        "exemption."
    )


def _lock(message: str, other: str = _SKIP) -> str:
    locked = _LOCKED.search(message)
    place = locked[1] if locked else "the resource or its group"
    return f"Remove the management lock on {place}, or {other}."


def _deletion(message: str) -> str:
    blockers = sorted(set(_ARM_ID.findall(message)))
    which = f": {', '.join(blockers)}" if blockers else ""
    return (
        f"Delete or detach what blocks the deletion{which}. To remove the object and "
        f"leave the resource in Azure, {_DETACH}."
    )


_PARSED: Mapping[str, Callable[[str], str]] = {
    "AuthorizationFailed": _authorization,
    "CannotDeleteResource": _deletion,
    "InUseSubnetCannotBeDeleted": _deletion,
    "LinkedAuthorizationFailed": _authorization,
    "PublicIPAddressCannotBeDeleted": _deletion,
    "RequestDisallowedByPolicy": _policy,
    "ScopeLocked": _lock,
}
