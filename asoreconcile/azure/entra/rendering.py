"""Render the request of a kind of Entra from its manifest alone. Pure."""

from asoreconcile.azure.catalogue.payload import Inputs
from asoreconcile.azure.entra.desired import creation_body, mark_of
from asoreconcile.azure.entra.kinds import kind_of
from asoreconcile.azure.entra.links import creation_links, object_ids
from asoreconcile.base.objects import JsonObject, spec, uid_of


def described_object(obj: JsonObject, inputs: Inputs) -> JsonObject:
    """Return the request that creates the entry of a manifest, and the entry that would
    be adopted instead.

    Raises ConditionError for an invalid spec, and the errors of `inputs`.
    """
    content, kind = spec(obj), kind_of(obj)
    desired, of = kind.desired(content), kind.collection
    links, _ = creation_links(
        kind.links,
        lambda link: object_ids(content, link, inputs.config_map),
        lambda id_: f"directoryObjects/{id_}",
    )
    mark = mark_of(uid_of(obj) or "<uid of the object>")
    document: JsonObject = {"service": "Microsoft Graph"}
    if not desired.is_only_read and not desired.lacks:
        named = f"(uniqueName='{mark}')" if of.has_unique_names else ""
        document["method"] = "PATCH" if named else "POST"
        document["path"] = f"/v1.0/{of.name}{named}"
        document["body"] = creation_body(desired, mark, links)
    if desired.adopts:
        found = of.filter_of(*desired.search)
        document["adopts"] = f"the {of.noun} with {found}, if there is one"
    return document
