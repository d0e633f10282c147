"""Tells which differences may leave access to a resource open. Pure.

If Azure accepts a PUT and keeps an identity, a policy or a firewall rule that the spec
no longer declares, the condition `Drifted` says so for as long as it lasts.
"""

from collections.abc import Iterable

from asoreconcile.azure.catalogue.body_shape import plain_path
from asoreconcile.azure.reconcile.model.differences import Difference

# Parts of the names of fields, in lower case.
_ACCESS = (
    *("identit", "principal", "polic", "permission", "role", "auth", "access"),
    *("firewall", "iprule", "ipfilter", "networkacl", "networkrule", "securityrule"),
    *("virtualnetworkrule", "restriction", "allow", "admin", "anonymous", "rbac"),
    *("sharedkey", "localaccount", "localuser", "public", "private", "external"),
    *("trusted", "cors"),
)


def opens_access(found: Iterable[Difference]) -> list[Difference]:
    """Return the differences at fields that control access, without fields that Azure
    does not show.
    """
    return [one for one in found if one.kind != "absent" and _is_access(one.path)]


def _is_access(path: str) -> bool:
    # Names of elements and of tags are their author's, and say nothing.
    names = plain_path(path)
    if names.startswith("tags/"):
        return False
    return any(part in names for part in _ACCESS)
