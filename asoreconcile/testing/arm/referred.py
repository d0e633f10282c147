"""References to resources whose write still runs, which some types refuse."""

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.operations import Operations
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.resources import Resources, references

_SUBNETS = "microsoft.network/virtualnetworks/subnets"
_ADDRESSES = "microsoft.network/publicipaddresses"


@attrs.frozen
class _Pairs:
    """The types that a type may refer to only while no write of them runs.

    code: code of the refusal; "" is the network provider's.
    """

    types: frozenset[str]
    code: str = ""


# As recorded. Other references to such resources are accepted.
_PAIRS = {
    "microsoft.network/bastionhosts": _Pairs(frozenset({_SUBNETS})),
    "microsoft.network/loadbalancers": _Pairs(frozenset({_ADDRESSES})),
    "microsoft.network/natgateways": _Pairs(frozenset({_ADDRESSES})),
    "microsoft.network/networkinterfaces": _Pairs(frozenset({_SUBNETS, _ADDRESSES})),
    "microsoft.network/privatelinkservices": _Pairs(
        frozenset({_SUBNETS, "microsoft.network/loadbalancers"})
    ),
    "microsoft.network/virtualnetworks/virtualnetworkpeerings": _Pairs(
        frozenset({"microsoft.network/virtualnetworks"})
    ),
    "microsoft.network/networkwatchers/flowlogs": _Pairs(
        frozenset({"microsoft.storage/storageaccounts"}),
        "StorageProvisioningStateNotSucceeded",
    ),
    "microsoft.web/sites": _Pairs(frozenset({"microsoft.web/serverfarms"}), "Conflict"),
}


def check_referred(
    resources: Resources, operations: Operations, address: ArmAddress, body: JsonObject
) -> None:
    """Check that no write runs of the resources that a body refers to.

    Raises RefusedError.
    """
    pairs = _PAIRS.get(address.type)
    if pairs is None:
        return
    for id_ in references(body):
        found = resources.find(id_)
        if found is None or found.address.type not in pairs.types:
            continue
        running = operations.running(found.address.key)
        if running is None or running.method != "PUT":
            continue
        text = (
            f"Cannot proceed with operation because resource {found.address.id} used "
            f"by resource {address.id} is not in Succeeded state. Resource is in "
            f"{found.state} state."
        )
        if pairs.code:
            status = 409 if pairs.code == "Conflict" else 400
            raise RefusedError(status, pairs.code, text, from_gateway=False)
        details = [{"code": "ReferencedResourceNotProvisioned", "message": text}]
        raise RefusedError(
            429,
            "RetryableError",
            "A retryable error occurred.",
            from_gateway=False,
            extra={"details": details},
        )
