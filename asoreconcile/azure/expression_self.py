"""What export expressions see as `self`: the object as Azure Service Operator has it.

Its webhooks have filled in defaults before anything is evaluated, and an item of
`userAssignedIdentities` has its reference, if only an empty one. Here no webhook need
be there, so both are filled in for the expressions alone; the object stays as it is.
"""

from asoreconcile.azure.annotations import RESOURCE_ID
from asoreconcile.catalogue.defaults import with_defaults, with_identity_references
from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.objects import JsonObject, annotations, spec


def completed(version: KindVersion, obj: JsonObject) -> JsonObject:
    """The object with its defaults. Never changes obj, may share parts with it. Pure,
    but for a name that is drawn and not claimed yet (`names.azure_name`).
    """
    claimed = annotations(obj).get(RESOURCE_ID, "").rpartition("/")[2]
    whole = with_defaults(version, obj, claimed_name=claimed)
    if not spec(whole):
        return whole
    return {**whole, "spec": with_identity_references(spec(whole))}
