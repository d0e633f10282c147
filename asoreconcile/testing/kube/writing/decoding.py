"""The decoding of a client's object: pruned, defaulted and validated.

Raises StatusError 400 for an object that cannot be read, and 422 for one that is not
valid.
"""

from collections.abc import Sequence

import attrs

from asoreconcile.base.objects import JsonObject, copy_json, finalizers, metadata
from asoreconcile.resources.crds.cause import Cause
from asoreconcile.testing.kube.access import rbacobjects
from asoreconcile.testing.kube.crds.definitions import admit_crd
from asoreconcile.testing.kube.fields import names, owners, schema
from asoreconcile.testing.kube.kinds import builtin
from asoreconcile.testing.kube.kinds.resources import CRDS, NAMESPACES, RestResource
from asoreconcile.testing.kube.rules import validation
from asoreconcile.testing.kube.wire.status import StatusError, invalid


@attrs.frozen
class DecodedBody:
    """An object ready to be stored, except for the fields of the server.

    warnings: warnings for the client.

    The defaults of its schema are filled in.
    """

    obj: JsonObject
    warnings: tuple[str, ...] = ()


class StrictError(StatusError):
    """An unknown or repeated field in a strict request."""

    def __init__(self, resource: RestResource, why: str) -> None:
        self.why = why
        kind, version = resource.kind, resource.version
        text = f'{kind} in version "{version}" cannot be handled as a {kind}: {why}'
        super().__init__(400, "BadRequest", text)


def decoded(
    resource: RestResource,
    obj: JsonObject,
    *,
    field_validation: str,
    repeated: Sequence[str] = (),
    patched: bool = False,
) -> DecodedBody:
    """Return a copy of an object with unknown fields removed and defaults filled in.

    patched: whether a patch or an apply made the object, rather than the client.
    """
    result = copy_json(obj)
    unknown = names.take_in(
        result, resource.kind, resource.version, built_in=not resource.is_custom
    )
    repeated_owners = owners.without_repeated(result, patched=patched)
    if resource.schema is not None:
        result, more = schema.admit(resource.schema, result)
    elif resource is CRDS:
        more = []
    else:
        result["apiVersion"], result["kind"] = resource.api_version, resource.kind
        result, more = builtin.take_in(
            resource.kind, resource.group, resource.version, result
        )
    result["apiVersion"], result["kind"] = resource.api_version, resource.kind
    complaints = [f'unknown field "{path}"' for path in (*unknown, *more)]
    complaints += [f'duplicate field "{path}"' for path in repeated]
    if complaints and field_validation == "Strict":
        raise StrictError(resource, f"strict decoding error: {', '.join(complaints)}")
    warned = field_validation in ("", "Warn")
    warnings = tuple(complaints) if warned else ()
    return DecodedBody(
        result, (repeated_owners, *warnings) if repeated_owners else warnings
    )


def validated(
    resource: RestResource,
    taken: DecodedBody,
    before: JsonObject | None,
) -> DecodedBody:
    """Return the decoded object if it is valid.

    before: the object that is replaced, or None.
    """
    obj = taken.obj
    if resource is CRDS:
        obj = admit_crd(obj, before)
    name = str(metadata(obj).get("name") or "")
    found = list(names.causes(obj, name_is=_naming(resource)))
    if resource.schema is None and resource is not CRDS:
        found += names.unqualified(obj)
    found += _content_causes(resource, obj, before)
    if found:
        raise invalid(resource.kind, resource.table.group, name, found)
    warnings = taken.warnings
    if before is None or finalizers(obj) != finalizers(before):
        warnings = (*warnings, *names.warnings(obj))
    return DecodedBody(obj, warnings)


def _naming(resource: RestResource) -> names.Naming:
    if resource is NAMESPACES:
        return "label"
    return "path" if resource.group == rbacobjects.GROUP else "subdomain"


def _content_causes(
    resource: RestResource, obj: JsonObject, before: JsonObject | None
) -> list[Cause]:
    if resource.schema is not None:
        found = schema.causes(resource.schema, obj)
        if resource.rules is not None:
            found += validation.broken(resource.rules, obj, before, found)
        return found
    return list(builtin.causes(obj, before))
