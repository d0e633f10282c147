"""Azure Policy: writes that are denied, with ARM's error (E4)."""

import re

import attrs

from asoreconcile.testing.arm.address import ArmAddress
from asoreconcile.testing.arm.refusals import RefusedError

_PREFIX = "/providers/Microsoft.Authorization"


@attrs.frozen
class _Denial:
    resource: re.Pattern[str]
    name: str


class Policies:
    """The policies of a server. The caller holds the server's lock."""

    def __init__(self) -> None:
        self._denials: list[_Denial] = []

    def deny(self, resource: str, name: str = "Allowed resources") -> None:
        """Refuse writes of resources whose id matches a pattern, without regard to
        case.
        """
        self._denials.append(_Denial(re.compile(resource, re.IGNORECASE), name))

    def clear(self) -> None:
        """Remove all policies."""
        self._denials.clear()

    def check(self, address: ArmAddress) -> None:
        """Check that no policy denies the write. Raises RefusedError 403 (E4)."""
        for denial in self._denials:
            if denial.resource.search(address.id):
                raise _refused(address, denial.name)


def _refused(address: ArmAddress, name: str) -> RefusedError:
    scope = f"/subscriptions/{address.subscription}{_PREFIX}"
    slug = name.lower().replace(" ", "-")
    info = {
        "policyDefinitionDisplayName": name,
        "policyDefinitionId": f"{_PREFIX}/policyDefinitions/{slug}",
        "policyDefinitionName": slug,
        "policyDefinitionEffect": "deny",
        "policyAssignmentDisplayName": name,
        "policyAssignmentId": f"{scope}/policyAssignments/{slug}",
        "policyAssignmentName": slug,
        "policyAssignmentScope": f"/subscriptions/{address.subscription}",
    }
    return RefusedError(
        403,
        "RequestDisallowedByPolicy",
        f"Resource '{address.name}' was disallowed by policy.",
        extra={
            "target": address.name,
            "additionalInfo": [{"type": "PolicyViolation", "info": info}],
        },
    )
