"""Tell values that Azure never shows from values that Azure does not have. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.azure.reconcile.model.normalization import is_same
from asoreconcile.base.objects import JsonObject

_STEP = re.compile(r"([^/\[\]]+)|\[([^\]]*)\]")
_ELEMENT = re.compile(r"\[[^\]]*\]")
_OPTIONS = ("properties/options",)
_UNSHOWN: Mapping[str, tuple[str, ...]] = {
    "microsoft.documentdb/databaseaccounts/cassandrakeyspaces": _OPTIONS,
    "microsoft.documentdb/databaseaccounts/cassandrakeyspaces/tables": _OPTIONS,
    "microsoft.documentdb/databaseaccounts/gremlindatabases": _OPTIONS,
    "microsoft.documentdb/databaseaccounts/gremlindatabases/graphs": _OPTIONS,
    "microsoft.documentdb/databaseaccounts/mongodbdatabases": _OPTIONS,
    "microsoft.documentdb/databaseaccounts/mongodbdatabases/collections": (
        *_OPTIONS,
        "properties/resource/indexes/options",
    ),
    "microsoft.documentdb/databaseaccounts/sqldatabases": _OPTIONS,
    "microsoft.documentdb/databaseaccounts/sqldatabases/containers": _OPTIONS,
    "microsoft.documentdb/databaseaccounts/tables": _OPTIONS,
    "microsoft.insights/workbooks": ("properties/serializeddata",),
    "microsoft.keyvault/vaults": ("properties/createmode",),
    "microsoft.kubernetesconfiguration/extensions": ("identity/type",),
    "microsoft.machinelearningservices/workspaces/computes": ("sku",),
    "microsoft.machinelearningservices/workspaces/connections": (
        "properties/value",
        "properties/valueformat",
    ),
    "microsoft.servicebus/namespaces/topics/subscriptions/rules": (
        "properties/correlationfilter/contenttype",
    ),
    "microsoft.subscription/aliases": (
        "properties/billingscope",
        "properties/displayname",
        "properties/workload",
    ),
}
"""By type, in lower case: where a value begins that Azure uses and does not show,
although the type's answers have a field for it. All were seen in recorded traffic, or
are the same option of a sibling type.
"""


def is_never_shown(version: KindVersion, found: Difference) -> bool:
    """Return whether a wanted value is absent because Azure does not show it: the
    kind's status, the schema of Azure's answers, lacks its field, or the type is known.
    """
    if found.kind != "absent":
        return False
    path = f"{_ELEMENT.sub('', found.path).casefold()}/"
    unshown = _UNSHOWN.get(version.arm_type.lower(), ())
    if any(path.startswith(f"{one}/") for one in unshown):
        return True
    body = found.want
    # From the inside out: each step wraps the value in its container.
    for match in reversed([*_STEP.finditer(found.path)]):
        name, element = match.groups()
        if element is None:
            body = {name: body}
        else:
            identity = {"name": element} if isinstance(body, dict) else {}
            body = [{**identity, **body}] if isinstance(body, dict) else [body]
    return not _holds(status_of(version, body), found.want)


def what_differs(
    version: KindVersion,
    want: JsonObject,
    have: JsonObject,
    found: Sequence[Difference],
) -> tuple[list[str], list[Difference]]:
    """Return the paths at which a resource differs from the body of a PUT, and the
    values that Azure does not show.

    found: their differences, in which a location does not count.
    """
    unseen = [one for one in found if is_never_shown(version, one)]
    paths = [one.path for one in found if one not in unseen]
    stated, theirs = want.get("location"), have.get("location")
    if stated and theirs and not is_same(stated, theirs):
        paths.append("location")
    return paths, unseen


def _holds(value: Any, wanted: Any) -> bool:
    if value == wanted:
        return True
    if isinstance(value, dict):
        return any(_holds(inner, wanted) for inner in value.values())
    if isinstance(value, list):
        return any(_holds(inner, wanted) for inner in value)
    return False
