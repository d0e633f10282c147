"""Render the statements for a user's manifest, without secrets. Pure.

The statements are those for a user that does not exist yet: only the server knows the
present state.
"""

from asoreconcile.azure.catalogue.payload import Inputs
from asoreconcile.azure.sql_users.dialect import creation
from asoreconcile.azure.sql_users.kinds import USER_KINDS
from asoreconcile.base.objects import GroupKind, JsonObject, key_of, spec
from asoreconcile.redaction import HIDDEN


def rendered_user(
    group_kind: GroupKind,
    obj: JsonObject,
    inputs: Inputs | None = None,  # noqa: ARG001
) -> JsonObject:
    """Return the document of one user. inputs: not used, because no secret is shown.

    Raises ConditionError for an invalid spec.
    """
    dialect = USER_KINDS[group_kind]().dialect
    content = spec(obj)
    name = str(content.get("azureName") or key_of(obj).name)
    desired = dialect.desired(name, content, password=HIDDEN)
    return {
        "server": f"{dialect.name}, of owner {content['owner']['name']}",
        "user": dict(dialect.identity(name, content)),
        "statements": [one.shown for one in creation(dialect, desired)],
    }
