"""Objects converted between the versions of their kinds, as the API server asks.

For `webhooks.server.WebhookServer.convert`, at the path that our CRDs name
(`catalogue.crd.CONVERT_PATH`).
"""

from asoreconcile.catalogue.conversion import ConversionError, convert
from asoreconcile.catalogue.kinds import Catalogue, UnknownKindError
from asoreconcile.objects import JsonObject, gvk_of
from asoreconcile.webhooks.conversion import Convert


def converter(catalogue: Catalogue) -> Convert:
    """Converts objects of every kind of a catalogue. Pure; from any thread.

    One object that it fails for is one that no list of the kind can be had with. So an
    entry of a property bag that cannot be read is carried along; the operator, which
    would have to act on it, says so in the object's Ready condition.

    Raises ConversionError for an object, a version or a kind nobody knows.
    """

    def converted(obj: JsonObject, desired: str) -> JsonObject:
        gvk = gvk_of(obj)
        group, _, version = desired.rpartition("/")
        if group != gvk.group:
            raise ConversionError(f"{desired} is of another group than {gvk.group}")
        try:
            kind = catalogue.kind(gvk.group_kind)
        except UnknownKindError as error:
            raise ConversionError(str(error)) from error
        return convert(kind, obj, version, lenient=True)

    return converted
