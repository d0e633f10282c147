"""Distinguishes values that Azure never shows from values that Azure does not have.
Pure.
"""

import re
from collections.abc import Sequence
from typing import Any

from asoreconcile.azure.catalogue.body_shape import plain_path
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.catalogue.type_facts import facts_of
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.azure.reconcile.model.normalization import is_same
from asoreconcile.base.objects import JsonObject

_STEP = re.compile(r"([^/\[\]]+)|\[([^\]]*+)\]")


def is_never_shown(version: KindVersion, found: Difference) -> bool:
    """Return whether a wanted value is absent because Azure never shows it.

    That is so if the kind's status, which has the schema of Azure's answers, lacks the
    field, or if a table for the type says so.
    """
    if found.kind != "absent":
        return False
    path = f"{plain_path(found.path)}/"
    unshown = facts_of(version.arm_type).never_shown
    if any(path.startswith(f"{one}/") for one in unshown):
        return True
    body = found.want
    # From the inside out: each step wraps the value in its container.
    for name, element in reversed(_steps(found.path)):
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

    found: the differences between both bodies; a difference in location is ignored.
    """
    unseen = [one for one in found if is_never_shown(version, one)]
    left_out = {id(one) for one in unseen}
    paths = [one.path for one in found if id(one) not in left_out]
    stated, theirs = want.get("location"), have.get("location")
    if stated and theirs and not is_same(stated, theirs):
        paths.append("location")
    return paths, unseen


def _steps(path: str) -> list[tuple[str | None, str | None]]:
    """Return the steps of a path, each as the name of a member or the identity of an
    element.
    """
    # No identity ends after the last bracket: the search for one does not begin there.
    end = path.rfind("]") + 1
    found = [match.groups() for match in _STEP.finditer(path, 0, end)]
    names = path[end:].replace("[", "/").split("/")
    return [*((one, two) for one, two in found), *((one, None) for one in names if one)]


def _holds(value: Any, wanted: Any) -> bool:
    if value == wanted:
        return True
    if isinstance(value, dict):
        return any(_holds(inner, wanted) for inner in value.values())
    if isinstance(value, list):
        return any(_holds(inner, wanted) for inner in value)
    return False
