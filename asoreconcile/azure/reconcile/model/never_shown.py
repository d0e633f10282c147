"""Tell values that Azure never shows from values that Azure does not have. Pure."""

import re
from typing import Any

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.reconcile.model.differences import Difference

_STEP = re.compile(r"([^/\[\]]+)|\[([^\]]*)\]")


def is_never_shown(version: KindVersion, found: Difference) -> bool:
    """Return whether a wanted value is absent because the kind's status, the schema of
    Azure's answers, lacks its field.
    """
    if found.kind != "absent":
        return False
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


def _holds(value: Any, wanted: Any) -> bool:
    if value == wanted:
        return True
    if isinstance(value, dict):
        return any(_holds(inner, wanted) for inner in value.values())
    if isinstance(value, list):
        return any(_holds(inner, wanted) for inner in value)
    return False
