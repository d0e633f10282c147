"""Tells which differences may leave access to a resource open. Pure.

If Azure accepts a PUT and keeps an identity, a policy or a firewall rule that the spec
no longer declares, the condition `Drifted` says so for as long as it lasts.
"""

from collections.abc import Iterable, Iterator

from asoreconcile.azure.catalogue.body_shape import plain_path
from asoreconcile.azure.middleware.declared import LISTS, Declared
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.azure.reconcile.model.merged_body import with_value
from asoreconcile.base.objects import JsonObject

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


def access_lists(body: JsonObject, at: str = "") -> Iterator[str]:
    """Yield the paths of the lists in a body that control access and are not empty.

    at: path of the body.
    """
    for name, value in body.items():
        path = f"{at}/{name}" if at else name
        if isinstance(value, dict):
            yield from access_lists(value, path)
        elif isinstance(value, list) and value and _is_access(path):
            yield path


def without_lists(body: JsonObject, have: JsonObject, declared: Declared) -> JsonObject:
    """Return the body of a PUT with an empty list in place of each list that controls
    access, that an accepted PUT declared and that the spec no longer does.

    Some providers keep a list that a PUT does not name. have: the resource.
    """
    for path in access_lists(have):
        if declared.is_withdrawn(LISTS, path):
            body = with_value(body, path.split("/"), [])
    return body


def _is_access(path: str) -> bool:
    # Names of elements and of tags are their author's, and say nothing.
    names = plain_path(path)
    if names.startswith("tags/"):
        return False
    return any(part in names for part in _ACCESS)
