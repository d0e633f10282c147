"""Render the request of a SecurityGroup from its manifest alone. Pure."""

from typing import Protocol

from asoreconcile.azure.entra.desired import (
    creation_body,
    desired_group,
    unique_name_of,
)
from asoreconcile.azure.entra.links import MOST_AT_CREATION, object_ids
from asoreconcile.base.objects import JsonObject, spec, uid_of


class ConfigMapReader(Protocol):
    """Looks up values (`catalogue.payload.Inputs`)."""

    def config_map(self, ref: JsonObject) -> str:
        """Return the value of one key of a ConfigMap."""


def described_group(obj: JsonObject, inputs: ConfigMapReader) -> JsonObject:
    """Return the request that creates the group, and the group that would be adopted.

    Raises ConditionError for an invalid spec, and the errors of `inputs`.
    """
    content = spec(obj)
    desired = desired_group(content)
    links: dict[str, list[str]] = {}
    room = MOST_AT_CREATION
    for link in ("owners", "members"):
        ids = object_ids(content, link, inputs.config_map) or ()
        links[link] = [f"directoryObjects/{id_}" for id_ in ids[:room]]
        room -= len(links[link])
    mark = unique_name_of(uid_of(obj) or "<uid of the object>")
    document: JsonObject = {
        "service": "Microsoft Graph",
        "method": "PATCH",
        "path": f"/v1.0/groups(uniqueName='{mark}')",
        "body": creation_body(desired, links),
    }
    if desired.adopts:
        name = desired.display_name.replace("'", "''")
        document["adopts"] = f"the group with displayName eq '{name}', if there is one"
    return document
