"""The user of a server that an object represents, and the annotation that records it.

The annotation is our own and is written before the user is created. So a deletion drops
only the user that this object has created, and a rename is recognized.
"""

from collections.abc import Mapping

from asoreconcile.azure.reconcile.model.annotations import (
    LAST_RECONCILED_VERSION,
    OWN_PREFIX,
)
from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject, annotations, labels

UserIdentity = Mapping[str, str]
"""name, and of MySQL host."""

NOTE = OWN_PREFIX + "database-user"
_OURS = "asoreconcile-"


def noted(identity: UserIdentity) -> dict[str, str]:
    """Return the annotation that records which user an object has created."""
    return {NOTE: jsontext.dumps(dict(identity)).decode()}


def made_by(obj: JsonObject, now: UserIdentity) -> UserIdentity | None:
    """Return the user that an object has created; None if it has created none.

    now: the user in its spec. An object of Azure Service Operator, which records
    nothing, has created that user.
    """
    note = annotations(obj).get(NOTE)
    if note:
        try:
            said = jsontext.loads(note.encode())
        except (AsoreconcileError, ValueError):
            said = None
        if isinstance(said, dict) and set(said) == set(now):
            return {key: str(value) for key, value in said.items()}
    build = labels(obj).get(LAST_RECONCILED_VERSION, "")
    return None if build.startswith(_OURS) else now


def shown_user(identity: UserIdentity) -> str:
    """Return the user in the usual notation: `name`, or `name@host`."""
    host = identity.get("host")
    return f"{identity['name']}@{host}" if host else identity["name"]
