"""Schemas without the parts that the operator alone writes.

An API server pays for each node of a schema: it compiles it to validate and to prune,
and publishes it twice. Nobody but the operator writes a stored form or a status, and
what a conversion made must be kept as it is. So these parts keep whatever they are
given, and one version's status is left for `kubectl explain` to show.
"""

from asoreconcile.catalogue.conversion import ORIGINAL_VERSION
from asoreconcile.objects import JsonObject

_OPEN: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def open_stored(schema: JsonObject) -> JsonObject:
    """A stored form's schema of a whole object, with nothing left of spec and status.

    Only the version of its author stays: what one looks for first in a stored object.
    """
    author = schema["properties"]["spec"]["properties"][ORIGINAL_VERSION]
    spec = {**_OPEN, "properties": {ORIGINAL_VERSION: author}}
    return _with(schema, spec=spec, status=_OPEN)


def open_status(schema: JsonObject) -> JsonObject:
    """A version's schema of a whole object, with nothing left of the status but its id.

    Rules (CEL) ask for that one, and they may name only what a schema does.
    """
    known: JsonObject = schema["properties"]["status"]["properties"]
    named = {name: known[name] for name in ("id",) if name in known}
    return _with(schema, status={**_OPEN, "properties": named})


def _with(schema: JsonObject, **parts: JsonObject) -> JsonObject:
    return {**schema, "properties": {**schema["properties"], **parts}}
