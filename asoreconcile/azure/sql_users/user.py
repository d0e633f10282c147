"""Which user of a server an object stands for, and the note that says so.

The note is an annotation of our own, written before the user is made: so a deletion
drops what this object has made, and nothing else, and a rename is known for one.
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
    """The annotation that says which user an object has made."""
    return {NOTE: jsontext.dumps(dict(identity)).decode()}


def made_by(obj: JsonObject, now: UserIdentity) -> UserIdentity | None:
    """The user that an object has made; None where it has made none.

    now: what its spec says; Azure Service Operator, which notes nothing, made that.
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
    """As people write it: `name`, or `name@host`."""
    host = identity.get("host")
    return f"{identity['name']}@{host}" if host else identity["name"]
